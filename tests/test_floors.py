"""No module imports another one that imports it, in however many steps, and wherever the import stands."""

from __future__ import annotations

import ast
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import viewfinder

SOURCES = Path(viewfinder.__file__).parents[1]


def modules() -> dict[str, Path]:
    """All modules of the package by name; a folder's `__init__` by that of the folder."""
    files = sorted(SOURCES.glob("viewfinder/**/*.py"))
    return {".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports_of(tree: ast.Module, known: set[str]) -> set[str]:
    """The modules that a module imports, inside its functions too."""
    found = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return found & known


def check_no_circle(graph: dict[str, set[str]]) -> None:
    """Raises CycleError where modules import one another."""
    TopologicalSorter(graph).prepare()


def test_no_files_import_one_another_in_a_circle() -> None:
    known = modules()
    graph = {name: imports_of(ast.parse(file.read_text()), set(known)) - {name} for name, file in known.items()}
    assert graph["viewfinder.session.session"], "imports are found"
    check_no_circle(graph)


def test_a_circle_would_be_noticed() -> None:
    tree = ast.parse("def later():\n    from viewfinder import library\n")
    assert imports_of(tree, {"viewfinder.library"}) == {"viewfinder.library"}
    with pytest.raises(CycleError, match="nodes are in a cycle"):
        check_no_circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_shapes_are_checked_of_every_network_and_loss() -> None:
    settings = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    checked = set(settings["ini_options"]["addopts"].rsplit("=", 1)[1].split(","))
    kinds = ("network", "numpy_network", "loss")
    assert {name for name in modules() if name.split(".")[-1] in kinds} <= checked
