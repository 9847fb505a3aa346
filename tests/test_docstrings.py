"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
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
