"""Speed figures that are older than a change to what they measure are told, and comments are no change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import freshness
import pytest
from freshness import Figure, check_freshness, code_lines, figures_in, hashes_of, sign, stale_figures

FIND = Figure("speed", "finding", ("session.py", "index/*.py"), "speed.py PICTURES --only finding")
TALK = Figure("speed", "long_talks", ("session.py",), "speed.py PICTURES --only long_talks")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two source files, where both figures have just been measured."""
    source = tmp_path / "src" / "viewfinder"
    (source / "index").mkdir(parents=True)
    (source / "session.py").write_text('"""Sessions."""\n\n\ndef say():  # a turn\n    return 1\n')
    (source / "index" / "scores.py").write_text("SCORES = 1\n")
    monkeypatch.setattr(freshness, "FIGURES", (FIND, TALK))
    write(tmp_path, signed(tmp_path, {"finding": {"ratio": 1.1}, "long_talks": {"ratio": 1.0}}))
    return tmp_path


def signed(tree: Path, results: dict[str, Any]) -> dict[str, Any]:
    sign(results, "speed", ["finding", "long_talks"], root=tree)
    return results


def write(tree: Path, results: dict[str, Any]) -> None:
    (tree / "speed.json").write_text(json.dumps(results))


def stale(tree: Path) -> dict[str, str]:
    return stale_figures((FIND, TALK), tree, tree)


def test_figures_that_were_just_measured_are_not_stale(tree: Path) -> None:
    kept = json.loads((tree / "speed.json").read_text())["measured"]["finding"]
    assert kept["files"] == ["session.py", "index/*.py"]
    assert list(kept["hashes"]) == ["src/viewfinder/index/scores.py", "src/viewfinder/session.py"]
    assert stale(tree) == {}


def test_a_change_makes_those_figures_stale_that_name_its_file_and_the_line_says_what_to_run(tree: Path) -> None:
    (tree / "src" / "viewfinder" / "index" / "scores.py").write_text("SCORES = 2\n")
    line = "speed/finding: index/scores.py changed since; run python benchmarks/speed.py PICTURES --only finding"
    assert stale(tree) == {"speed/finding": line}
    (tree / "src" / "viewfinder" / "session.py").write_text("")
    assert stale(tree).keys() == {"speed/finding", "speed/long_talks"}
    write(tree, signed(tree, json.loads((tree / "speed.json").read_text())))
    assert stale(tree) == {}


def test_a_file_that_came_or_went_is_a_change(tree: Path) -> None:
    folder = tree / "src" / "viewfinder" / "index"
    (folder / "ranking.py").write_text("")
    assert "index/ranking.py changed since" in stale(tree)["speed/finding"]
    (folder / "ranking.py").unlink()
    (folder / "scores.py").unlink()
    assert "index/scores.py changed since" in stale(tree)["speed/finding"]


def test_comments_docstrings_and_empty_lines_are_no_change(tree: Path) -> None:
    text = '"""Said otherwise,\n\nat length."""\n# why\n\ndef say():\n    """A turn."""\n    return 1  # one\n'
    (tree / "src" / "viewfinder" / "session.py").write_text(text)
    assert stale(tree) == {}


def test_what_looks_like_a_comment_or_a_docstring_is_code_where_it_does_something() -> None:
    source = 'x = "# no comment"\ny = f("""a\n\nb""")  # one\n\n"""Of y."""\n'
    assert code_lines(source) == ['x = "# no comment"', 'y = f("""a', 'b""")']
    assert code_lines("if a:\n    b\n") != code_lines("if a:\n    pass\nb\n")


def test_figures_that_do_not_say_what_they_measured_are_stale_and_those_never_measured_are_not(tree: Path) -> None:
    write(tree, {"finding": {"ratio": 1.1}})
    line = stale(tree).pop("speed/finding")
    assert line.startswith("speed/finding: it does not say which files it measured; run python benchmarks/speed.py")
    assert stale(tree).keys() == {"speed/finding"}


def test_a_figure_that_waits_is_told_one_that_does_not_fails_and_none_waits_in_vain() -> None:
    waiting, wrong = check_freshness({"a/b": "a/b: x", "a/c": "a/c: y"}, {"a/b": "no idle machine", "a/d": "why"})
    assert waiting == ["overdue (no idle machine): a/b: x"]
    assert wrong == ["stale: a/c: y", "a/d: is up to date; take it out of benchmarks/overdue.toml"]


@pytest.mark.parametrize("figure", freshness.FIGURES, ids=lambda figure: figure.name)
def test_every_figure_is_measured_by_files_and_a_program_that_are_there(figure: Figure) -> None:
    kept = json.loads((freshness.RESULTS / f"{figure.result}.json").read_text(encoding="utf-8"))
    assert figures_in(kept, figure.part), f"{figure.name} has not been measured"
    assert all(hashes_of([pattern]) for pattern in figure.files)
    assert len(hashes_of(figure.files)) < 24, "name the few files whose speed it is"
    program = freshness.ROOT / "benchmarks" / figure.command.split()[0]
    signing = rf'(?:sign\(results, |write_figures\(|measure_parts\()"{figure.result}"'
    assert re.search(signing, program.read_text(encoding="utf-8"))


def test_every_part_of_the_speed_benchmarks_is_a_figure() -> None:
    named = {figure.name for figure in freshness.FIGURES}
    for result in ("speed", "serving"):
        kept = json.loads((freshness.RESULTS / f"{result}.json").read_text(encoding="utf-8"))
        assert {f"{result}/{part}" for part in kept if part not in ("machine", "measured")} <= named
