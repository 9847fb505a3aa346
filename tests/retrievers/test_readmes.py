"""The READMEs of the systems: where the tables of equations say that something is, it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import viewfinder
from viewfinder import retrievers

PACKAGE = Path(viewfinder.__file__).parent
READMES = sorted(Path(retrievers.__file__).parent.glob("*/README.md"))
REFERENCE = re.compile(r"`([\w/]+\.py):([\w.]+)`")


def last_cells(readme: Path) -> list[str]:
    """The last column of the table of equations, without its head."""
    section = readme.read_text().partition("## Equations\n")[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    assert rows, f"{readme}: no table under '## Equations'"
    assert (rows[0][0].strip(), rows[0][-1].strip()) == ("paper", "here"), f"{readme}: the columns of the table"
    return [row[-1].strip() for row in rows[2:]]


def names_in(module: Path) -> set[str]:
    """Functions, classes and constants of a module, methods and fields as `Class.name`."""
    found = set[str]()
    for node in ast.parse(module.read_text()).body:
        found |= names_of(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for part in node.body for name in names_of(part)}
    return found


def names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.parent.name)
def test_what_the_table_of_equations_names_is_there(readme: Path) -> None:
    cells = last_cells(readme)
    references = [found for cell in cells for found in REFERENCE.findall(cell)]
    assert references, f"{readme}: the table names no `file.py:name`"
    for file, name in references:
        module = next((path for path in (readme.parent / file, PACKAGE / file) if path.is_file()), None)
        assert module is not None, f"{readme}: there is no {file}"
        assert name in names_in(module), f"{readme}: {file} has no {name}"


def test_every_system_has_a_readme() -> None:
    folders = {path.parent for path in Path(retrievers.__file__).parent.glob("*/retriever.py")}
    assert folders == {readme.parent for readme in READMES}
