"""`status`, `failures`, `prune`, `verify`, `doctor`, `bench` and `world`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
Draw = Callable[[Path, int], Path]


def test_status_counts_what_is_there(viewfinder: Run, indexed: Path) -> None:
    facts = viewfinder("status", "--library", indexed, "--json").json
    assert (facts["pictures"], facts["files"], facts["failures"], facts["encoder"]) == (40, 40, 0, "starter")
    assert "main_colour" in facts["catalogue_columns"]
    told = viewfinder("status", "--library", indexed).out
    assert any(line.split() == ["pictures", "40"] for line in told.splitlines())
    assert "space" in facts
    assert "space" not in told


def test_no_failures_is_good_news(viewfinder: Run, indexed: Path) -> None:
    assert viewfinder("failures", "--library", indexed, "--json").json == {"failures": []}
    assert "No failures" in viewfinder("failures", "--library", indexed).out


def test_failures_are_listed_with_reasons(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 1)
    (folder / "empty.jpg").touch()
    viewfinder("add", folder, "--library", tmp_path / "library")
    outcome = viewfinder("failures", "--library", tmp_path / "library")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split() == ["empty", "file", str(folder / "empty.jpg")]


def test_prune_forgets_what_is_gone_and_verify_agrees(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder, library = drawn(tmp_path / "pictures", 3), tmp_path / "library"
    viewfinder("add", folder, "--library", library)
    (folder / "0001.png").unlink()
    broken = viewfinder("verify", "--library", library, "--json")
    assert (broken.code, broken.json["problems"]) == (1, [f"gone: {folder / '0001.png'}"])
    gone = viewfinder("prune", "--dry-run", "--library", library, "--json").json["pruned"]
    assert len(gone) == 1
    assert viewfinder("status", "--library", library, "--json").json["pictures"] == 3
    assert viewfinder("prune", "--library", library).out == "1 picture forgotten\n"
    assert viewfinder("verify", "--library", library).out == "Everything is in order.\n"


def test_remove_forgets_what_is_named_and_leaves_the_files(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder, library = drawn(tmp_path / "pictures", 3), tmp_path / "library"
    viewfinder("add", folder, "--library", library)
    file = folder / "0001.png"
    meant = viewfinder("remove", file, "--dry-run", "--library", library, "--json").json
    assert meant["dry_run"] and len(meant["removed"]) == 1
    assert viewfinder("remove", file, "--library", library).out == "1 picture forgotten; files stay where they are\n"
    assert viewfinder("status", "--library", library, "--json").json["pictures"] == 2
    assert file.exists()
    again = viewfinder("remove", file, "--library", library)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert str(file) in again.err


def test_the_doctor_finds_everything_in_order(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("doctor", "--library", indexed, "--json")
    assert outcome.code == 0, outcome.out
    names = [check["name"] for check in outcome.json["checks"]]
    around = ["python", "packages", "encoder", "extras", "pictures", "plug-ins"]
    assert names == [*around, "disk", "library", "language", "network"]
    assert "40 pictures" in outcome.json["checks"][7]["detail"]


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("http://127.0.0.1:1/v1#tiny", "tiny cannot be reached"),
        ("nothing.gguf", "there is no language model nothing.gguf"),
    ],
)
def test_the_doctor_tries_the_language_model(
    viewfinder: Run, monkeypatch: pytest.MonkeyPatch, named: str, says: str
) -> None:
    monkeypatch.setenv("VIEWFINDER_LANGUAGE_MODEL", named)
    outcome = viewfinder("doctor")
    assert outcome.code == 1
    [line] = [line for line in outcome.out.splitlines() if line.split()[1] == "language"]
    assert line.startswith("BROKEN") and says in line


def test_the_doctor_needs_no_library(viewfinder: Run) -> None:
    outcome = viewfinder("doctor")
    assert outcome.code == 0, outcome.out
    assert "viewfinder add" in outcome.out


def test_the_doctor_finds_a_broken_library(viewfinder: Run, library: Path) -> None:
    (library / "library.json").write_text("{")
    outcome = viewfinder("doctor", "--library", library)
    assert outcome.code == 1
    assert [line.split()[1] for line in outcome.out.splitlines() if line.startswith("BROKEN")] == ["library"]


def test_the_doctor_names_the_extras_that_are_whole(viewfinder: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    extras = {"train": frozenset({"torch", "a_package_nobody_has"}), "torch": frozenset({"torch"})}
    monkeypatch.setattr("viewfinder.cli.doctor.EXTRAS", extras)
    found = {check["name"]: check["detail"] for check in viewfinder("doctor", "--json").json["checks"]}
    assert found["extras"] == "installed: torch"


def test_bench_measures_find_beside_its_parts(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("bench", "find", "--library", indexed, "--json")
    assert outcome.code == 0, outcome.err
    figures = outcome.json
    parts = figures["words_p50_ms"] + figures["scan_p50_ms"]
    assert figures["pictures"] == 40
    assert figures["find_over_words_and_scan"] == pytest.approx(figures["find_p50_ms"] / parts)


def test_an_unknown_bench_lists_what_there_is(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("bench", "nothing", "--library", indexed)
    assert outcome.code == 2
    assert "there are: find" in outcome.err


def test_a_world_is_drawn_and_the_same_seed_draws_it_again(viewfinder: Run, tmp_path: Path) -> None:
    made = viewfinder("world", tmp_path / "a", "--count", 2, "--seed", 5, "--json")
    viewfinder("world", tmp_path / "b", "--kind", "scenes", "--count", 2, "--seed", 5)
    assert (made.code, made.json["pictures"], made.json["out"]) == (0, 2, str(tmp_path / "a"))
    one, other = ((tmp_path / name / "images" / "000000000002.jpg").read_bytes() for name in "ab")
    assert one == other


@pytest.mark.parametrize("options", [("--kind", "dreams"), ("--count", "0")])
def test_a_world_that_cannot_be_is_wrong_use(options: tuple[str, str], viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("world", tmp_path / "a", *options)
    assert outcome.code == 2
    assert options[1] in outcome.err


def test_a_folder_that_is_not_empty_is_left_alone(viewfinder: Run, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    assert viewfinder("world", tmp_path, "--count", 1).code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_control_characters_in_names_are_printed_escaped_and_tables_hold(
    viewfinder: Run, drawn: Draw, tmp_path: Path
) -> None:
    folder, library = drawn(tmp_path / "pictures", 2), tmp_path / "library"
    (folder / "0001.png").rename(folder / "a\nb\x1b[31m.png")
    (folder / "bad\n\x9b2Jname.jpg").touch()
    outcomes = [
        viewfinder("add", folder, "--library", library),
        viewfinder("find", "a red shirt", "--library", library),
        viewfinder("failures", "--library", library),
    ]
    (folder / "a\nb\x1b[31m.png").unlink()
    outcomes += [
        viewfinder("verify", "--library", library),
        viewfinder("add", folder / "no\x1bwhere", "--library", library),
    ]
    for outcome in outcomes:
        assert not {"\x1b", "\x9b"} & {*outcome.out, *outcome.err}
    _, found, failed, verified, _ = (outcome.out.splitlines() for outcome in outcomes)
    assert len(found) == 3 + ("like" in found[0])
    assert any(r"a\nb\x1b[31m.png" in line for line in found)
    assert failed[-1].split() == ["empty", "file", str(folder) + r"/bad\n\x9b2Jname.jpg"]
    assert verified[0] == f"gone: {folder}" + r"/a\nb\x1b[31m.png"


def test_prune_and_repair_say_what_they_did(viewfinder: Run, drawn: Draw, tmp_path: Path) -> None:
    folder, library = drawn(tmp_path / "pictures", 3), tmp_path / "library"
    viewfinder("add", folder, "--library", library)
    assert viewfinder("repair", library).out == "Everything was in order.\n"
    for file in (library / "tables/vectors.starter-raw-1.lance/data").iterdir():
        file.write_bytes(file.read_bytes()[:-9])
    assert "damaged: tables/vectors" in viewfinder("verify", "--library", library).out
    said = viewfinder("repair", "--library", library).out.splitlines()
    assert said[0].startswith("  damaged: tables/vectors")
    assert "mended: vectors of 3 pictures, from their files" in said
    assert said[-1] == "nothing is lost"
    for file in folder.iterdir():
        file.unlink()
    refused = viewfinder("prune", "--library", library)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"nothing is left of {folder}, where 3 pictures were" in refused.err
    promised = viewfinder("prune", "--dry-run", "--library", library)
    assert promised.out.startswith("3 pictures would be forgotten, but `prune` would refuse: nothing is left of")
    assert "`viewfinder prune --force`" in promised.out
    as_json = viewfinder("prune", "--dry-run", "--library", library, "--json").json
    assert (len(as_json["pruned"]), as_json["refused"] in promised.out) == (3, True)
    assert "refused" not in viewfinder("prune", "--dry-run", "--force", "--library", library, "--json").json
    assert viewfinder("prune", "--force", "--library", library).out == "3 pictures forgotten\n"


def test_a_memory_limit_that_is_too_low_is_said_beforehand(indexed: Path) -> None:
    command = f"ulimit -v 2000000; exec {shlex.join(map(str, PROGRAM))} status --library {shlex.quote(str(indexed))}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "memory is limited to 2.0 GB here (ulimit -v), and searching needs 2.5 GB" in done.stderr
    assert (
        "memory"
        not in subprocess.run([*PROGRAM, "doctor", "--help"], capture_output=True, text=True, check=True).stderr
    )
