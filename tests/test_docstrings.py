"""The examples in docstrings are true, and what they name in backticks exists."""

from __future__ import annotations

import ast
import builtins
import doctest
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import viewfinder

HOME = Path(viewfinder.__file__).parent
WITH_EXAMPLES = [
    ".".join(("viewfinder", *file.relative_to(HOME).with_suffix("").parts)).removesuffix(".__init__")
    for file in sorted(HOME.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_what_a_docstring_shows_is_what_comes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(import_module(name))
    assert not found.failed


OUTSIDE_WORDS = """
    timeout_keep_alive MatMulInteger B00A p000 p001 Blip2Config Blip2QFormerAttention Blip2QFormerIntermediate
    Blip2QFormerOutput LlamaRMSNorm VIEWFINDER_DATABASE_URL q_proj lora_A lora_B default LOW HIGH
    mChat_test jsonl review Search_Space_val_50k MatMulNBits
"""
OUTSIDE = frozenset(OUTSIDE_WORDS.split())
"""Names of other programs and of data, and examples."""

OBJECTS = frozenset({"chat", "loop", "plan", "report"})
"""What stands for an object before a dot, though there are modules of these names."""

DATA = re.compile(r".+\.(?:json|jsonl|csv|safetensors)")


def test_what_a_docstring_names_exists() -> None:
    known = KnownNames(HOME)
    unknown = [
        f"{file.relative_to(HOME)}:{line}: {shown}"
        for file in sorted(HOME.rglob("*.py"))
        for line, text in docstrings(ast.parse(file.read_text(encoding="utf-8")))
        for shown in re.findall(r"`([^`\n]+)`", text)
        if not known.has(shown)
    ]
    assert unknown == []


def test_a_name_that_is_gone_is_noticed() -> None:
    known = KnownNames(HOME)
    assert known.has("Conversation.then") and known.has("search/gallery.py") and known.has("conversation.next_node")
    assert not known.has("Conversation.no_such_method") and not known.has("search/no_such_file.py")
    assert not known.has("conversation.split_clauses")  # it exists, but not there


class KnownNames:
    """All names in the code of a package, those of each module, and the words of its texts (keys, settings)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.of_module: dict[str, set[str]] = {}
        self.names = {*dir(builtins), *keyword.kwlist, *OUTSIDE}
        for file in home.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            of_file = {token.string for token in tokens if token.type == tokenize.NAME}
            self.of_module.setdefault(file.stem, set()).update(of_file)
            tree = ast.parse(text)
            shown = {line for line, _ in docstrings(tree)}
            texts = (
                one.value
                for one in ast.walk(tree)
                if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.lineno not in shown
            )
            self.names.update(of_file, *(re.findall(r"\w+", one) for one in texts))
            if file.stem == "__init__":
                inside = {part.stem for part in file.parent.iterdir()}
                self.of_module.setdefault(file.parent.name, set()).update(of_file, inside)
        self.names.update(part.stem for part in home.rglob("*"))
        for file in home.rglob("*.toml"):
            self.names.update(re.findall(r"\w+", file.read_text(encoding="utf-8")))

    def has(self, shown: str) -> bool:
        """Whether what stands in backticks exists, as far as it is a name or the path of a file."""
        if re.fullmatch(r"[\w/]+\.(?:py|toml|onnx)", shown):
            return bool([*self.home.rglob(shown)]) or (self.home.parents[1] / shown).exists()
        found = re.fullmatch(r"([A-Za-z_](?:\w|\.(?!\.))*\w)(?:\(.*\))?", shown)
        if found is None or DATA.fullmatch(shown):
            return True
        *owners, name = found[1].split(".")
        if owners and owners[-1] in self.of_module.keys() - OBJECTS and name not in self.of_module[owners[-1]]:
            return False
        return {*owners, name} <= self.names


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the text of every text that stands alone: docstrings, and those of constants."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Expr(value=ast.Constant(value=str() as text, lineno=line)):
                    yield line, text
