"""The program as a whole: help, imports, exit codes, pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewfinder as package
from viewfinder import processors
from viewfinder.cli.app import fill_in_ray

Run = Callable[..., Any]

VERBS = [
    "add",
    "find",
    "values",
    "show",
    "describe",
    "chat",
    "serve",
    "status",
    "failures",
    "remove",
    "prune",
    "verify",
    "repair",
    "doctor",
    "encoders",
    "demo",
    "token",
    "mcp",
    "world",
    "construct",
    "review",
    "features",
    "tune",
    "train",
    "dialogues",
    "evaluate",
    "compare",
    "export",
    "bench",
]
OF_ENCODERS = ["list", "use", "forget", "move"]
PROGRAM = [sys.executable, "-c", "from viewfinder.cli import main; main()"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_and_prints_json(verb: str, viewfinder: Run) -> None:
    outcome = viewfinder(verb, "--help")
    assert outcome.code == 0
    assert f"viewfinder {verb}" in outcome.out
    assert "--json" in outcome.out


@pytest.mark.parametrize("verb", OF_ENCODERS)
def test_every_verb_of_encoders_explains_itself_and_prints_json(verb: str, viewfinder: Run) -> None:
    outcome = viewfinder("encoder", verb, "--help")
    assert (outcome.code, f"viewfinder encoder {verb}" in outcome.out, "--json" in outcome.out) == (0, True, True)


def test_encoder_without_what_to_do_is_refused_in_one_line(viewfinder: Run) -> None:
    outcome = viewfinder("encoder")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("viewfinder: Missing command; `viewfinder --help`") and outcome.err.count("\n") == 1


def test_help_lists_every_verb_in_whole_sentences(viewfinder: Run) -> None:
    outcome = viewfinder("--help")
    assert outcome.code == 0
    listed = outcome.out.partition("Commands:")[2].partition("Exit codes:")[0]
    assert [line.split()[0] for line in listed.strip().splitlines()] == [*VERBS, "encoder"]
    assert "..." not in listed


@pytest.mark.afresh
def test_help_takes_less_than_0_4_seconds() -> None:
    def seconds() -> float:
        """Of the processor, so that other processes do not count; reading nothing, it waits for nothing else."""
        before = os.times()
        subprocess.run([*PROGRAM, "--help"], check=True, capture_output=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.4


COMPLETIONS = {
    "bash": {"COMP_WORDS": "viewfinder find --wi", "COMP_CWORD": "2"},
    "zsh": {"_TYPER_COMPLETE_ARGS": "viewfinder find --wi"},
    "fish": {"_TYPER_COMPLETE_ARGS": "viewfinder find --wi", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.afresh
@pytest.mark.parametrize("shell", COMPLETIONS)
def test_shells_complete_options_and_are_not_kept_waiting(shell: str) -> None:
    def complete(mode: str) -> str:
        asked = {**os.environ, **COMPLETIONS[shell], "_VIEWFINDER_COMPLETE": f"{mode}_{shell}"}
        done = subprocess.run(PROGRAM, env=asked, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    before = os.times()
    assert "--without" in complete("complete")
    after = os.times()
    assert "viewfinder" in complete("source")
    assert after.children_user + after.children_system - before.children_user - before.children_system < 1


def test_completion_in_a_real_shell_finds_verbs(tmp_path: Path) -> None:
    program = tmp_path / "viewfinder"
    program.write_text(f"#!{sys.executable}\nfrom viewfinder.cli import main\nmain()\n")
    program.chmod(0o755)
    script = 'eval "$(_VIEWFINDER_COMPLETE=source_bash viewfinder)"; COMP_WORDS=(viewfinder ver); COMP_CWORD=1; '
    script += '_viewfinder_completion viewfinder; echo "${COMPREPLY[@]}"'
    asked = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=asked, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["verify"]


def test_the_version_is_the_packages(viewfinder: Run) -> None:
    assert viewfinder("--version").out.split() == ["viewfinder", package.__version__]


def test_no_verb_shows_the_help_and_is_wrong_use(viewfinder: Run) -> None:
    outcome = viewfinder()
    assert outcome.code == 2
    assert "Commands:" in outcome.out


@pytest.mark.parametrize("arguments", [["fnd"], ["find", "--lik", "x"], ["find", "x", "-n", "0"], ["world"]])
def test_wrong_use_is_one_line_and_exit_code_2(arguments: list[str], viewfinder: Run) -> None:
    outcome = viewfinder(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("viewfinder: ")
    assert outcome.err.count("\n") == 1


def test_with_json_an_error_is_json_too(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("status", "--library", tmp_path / "none", "--json")
    assert outcome.code == 1
    assert outcome.json["error"]["kind"] == "NotALibrary"
    assert outcome.json["error"]["exit_code"] == 1
    assert outcome.json["error"]["message"] in outcome.err


def test_a_closed_pipe_ends_the_program_silently(indexed: Path, program: Callable[..., Any]) -> None:
    process = program("find", "a red car", "-n", 40, "--library", indexed)
    process.stdout.close()  # as `| head -1` does
    assert process.wait(120) in (0, 1)
    assert process.stderr.read() == ""


ENDING = """
import atexit, os, signal, sys, threading
from viewfinder.cli import app
run = app.run
def run_late(arguments):
    {late}
    return run(arguments)
app.run = run_late
app.main()
"""


@pytest.mark.afresh
def test_ctrl_c_after_the_last_word_changes_nothing() -> None:
    code = ENDING.format(late="atexit.register(os.kill, os.getpid(), signal.SIGINT)")
    for arguments, expected in (["--version"], 0), (["fnd"], 2):
        ended = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert (ended.returncode, "Traceback" in ended.stderr or "ignored" in ended.stderr) == (expected, False)


@pytest.mark.afresh
@pytest.mark.parametrize(("debug", "freed"), [("", []), ("1", ["freed"])])
def test_the_end_waits_for_threads_and_what_is_registered_but_frees_nothing(debug: str, freed: list[str]) -> None:
    late = (
        "threading.Thread(target=lambda: (threading.main_thread().join(), print('a thread'))).start()\n"
        "    atexit.register(print, 'registered')\n"
        "    app.held = type('Held', (), {'__del__': lambda self, write=os.write: write(1, b'freed')})()"
    )
    program = [sys.executable, "-c", ENDING.format(late=late), "fnd"]
    environment = {**os.environ, "VIEWFINDER_DEBUG": debug}
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.splitlines()) == (2, ["a thread", "registered", *freed])


def test_the_library_may_come_from_the_environment(
    viewfinder: Run, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIEWFINDER_LIBRARY", str(indexed))
    assert viewfinder("status", "--json").json["library"] == str(indexed)


def test_else_the_library_is_in_the_user_data_folder(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("find", "a dog")
    assert outcome.code == 1
    assert str(tmp_path / "data" / "viewfinder" / "library") in outcome.err
    assert "viewfinder add" in outcome.err


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("add Pictures --ray", "add Pictures --ray local"),
        ("serve --ray --shards 4", "serve --ray local --shards 4"),
        ("serve --ray auto", "serve --ray auto"),
        ("find --ray of light", "find --ray of light"),
    ],
)
def test_ray_without_an_address_is_this_machine(typed: str, read: str) -> None:
    assert fill_in_ray(typed.split()) == read.split()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("add", ""), "PATH..."),
        (("add", "pictures", ""), "PATH..."),
        (("find", "a dog", "--library", ""), "--library"),
        (("find", "a dog", "--library="), "--library"),
        (("encoder", "list", "--library", ""), "--library"),
        (("train", "drilldown", "--data", ""), "--data"),
        (("construct", ""), "DATA"),
        (("serve", "--root", ""), "--root"),
    ],
)
def test_an_empty_text_is_no_path(viewfinder: Run, arguments: tuple[str, ...], named: str) -> None:
    outcome = viewfinder(*arguments)
    advice = "an empty text names no file or folder; for the one you are in write ."
    assert (outcome.code, outcome.err) == (2, f"viewfinder: {named}: {advice}\n")


@pytest.mark.parametrize("place", ["s3://", "s3:", "gs://"])
@pytest.mark.parametrize("arguments", [("status",), ("add", "."), ("serve", "--create")])
def test_a_url_without_a_bucket_is_no_folder(viewfinder: Run, arguments: tuple[str, ...], place: str) -> None:
    outcome = viewfinder(*arguments, "--library", place)
    scheme = place[:2]
    assert outcome.code == 2
    assert outcome.err == f"viewfinder: {scheme}:// names no bucket: write {scheme}://BUCKET/NAME\n"
    assert not Path(f"{scheme}:").exists()


@pytest.mark.parametrize("arguments", [("add", "."), ("features", "."), ("serve", "--create", "--port", "0")])
def test_more_processes_than_the_machine_can_bear_are_refused(
    viewfinder: Run, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "count_processors", lambda: 2)
    library = () if arguments[0] == "features" else ("--library", tmp_path / "library")
    outcome = viewfinder(*arguments, *library, "--workers", "17")
    assert outcome.code == 2
    assert "17 processes are too many for the 2 cores here: give as many as there are cores, and 16" in outcome.err
    assert outcome.err.count("\n") == 1
