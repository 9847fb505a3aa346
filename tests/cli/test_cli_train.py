"""`viewfinder train`: what it refuses at once, and a small training from end to end."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.training_log import read_log
from viewfinder import encoders
from viewfinder.cli.train import keep_options
from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.errors import BadInput
from viewfinder.testing import load_colour_encoder, tiny_pictures
from viewfinder.training import read_card

Run = Callable[..., Any]
Program = Callable[..., "subprocess.Popen[str]"]

SMALL = ("--set", "batch=8", "--set", "training.epochs=2", "--set", "training.validate_epochs=1")


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is loaded: what fails before that must not need one."""
    monkeypatch.setattr(encoders, "load_encoder", load_colour_encoder)


def test_an_unknown_system_lists_what_there_is(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("train", "nobody", "--data", tmp_path)
    assert outcome.code == 2
    assert "there are: starter, questions, one, drilldown, hre, r-hre, r-re, r-rankfusion" in outcome.err


@pytest.mark.parametrize("system", ["starter", "drilldown", "r-hre"])
@pytest.mark.parametrize("folder", ["none", "."])
def test_train_without_data_is_wrong_use(
    system: str, folder: str, viewfinder: Run, tmp_path: Path, colours: None
) -> None:
    outcome = viewfinder("train", system, "--data", tmp_path / folder, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert str(tmp_path) in outcome.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--preset", "huge"), "no preset is called 'huge'; there are: paper, printed, lab, modern"),
        (("--set", "batchsize=3"), "batchsize: no such key"),
        (("--set", "batch"), "a setting is written key=value"),
        (("--start", "nowhere.safetensors"), "nowhere.safetensors"),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_computed(
    options: tuple[str, ...], reason: str, viewfinder: Run, world: Path, colours: None, tmp_path: Path
) -> None:
    outcome = viewfinder("train", "drilldown", "--data", world, "--out", tmp_path / "out", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and reason in outcome.err


@pytest.mark.parametrize(
    "options",
    [("--preset", "lab"), ("--resume",), ("--seed", "2"), ("--set", "a=1"), ("--data", "."), ("--against", ".")],
)
def test_the_starter_has_no_such_options(options: tuple[str, ...], viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("train", "starter", "--data", tmp_path, *options)
    assert outcome.code == 2
    assert "starter" in outcome.err and outcome.err.count("\n") == 1


def test_a_training_is_not_overwritten(viewfinder: Run, world: Path, colours: None, tmp_path: Path) -> None:
    earlier = tmp_path / "out" / "fixed" / "checkpoints"
    earlier.mkdir(parents=True)
    (earlier / "00000010.safetensors").write_bytes(b"")
    outcome = viewfinder("train", "drilldown", "--data", world, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1 and "--resume" in outcome.err


BEGUN = {"system": "r-hre", "preset": "paper", "encoder": None, "settings": ["batch=8"], "seed": 5, "start": None}
SAID_AGAIN = {"system": "r-hre", "preset": None, "encoder": None, "settings": None, "seed": None, "start": None}


def test_a_training_that_was_killed_before_its_first_step_resumes_as_what_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), keep_options(out, BEGUN, resume=False):
        raise KeyboardInterrupt  # while vectors are computed
    with keep_options(out, SAID_AGAIN | {"settings": ["training.epochs=2"]}, resume=True) as options:
        assert (options["preset"], options["seed"], options["encoder"]) == ("paper", 5, "starter")
        assert options["settings"] == ["batch=8", "training.epochs=2"]


def test_a_second_training_in_the_folder_of_one_that_runs_is_refused_and_changes_nothing(
    viewfinder: Run, world: Path, colours: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with keep_options(out, BEGUN, resume=False):
        before = (out / "options.json").read_text()
        for more in ((), ("--resume",)):
            outcome = viewfinder("train", "r-hre", "--data", world, "--out", out, "--seed", 7, *more)
            assert outcome.code == 2
            assert (
                outcome.err == f"viewfinder: {out}: another process trains there; wait for it, or name another "
                "folder (--out)\n"
            )
        assert (out / "options.json").read_text() == before
        monkeypatch.setenv("RANK", "1")  # one of several processes that train together
        with keep_options(out, SAID_AGAIN, resume=True) as options:
            assert options["seed"] == 5
    monkeypatch.delenv("RANK")
    with keep_options(out, SAID_AGAIN, resume=True):
        pass


@pytest.mark.parametrize(
    ("name", "value"), [("system", "drilldown"), ("preset", "lab"), ("seed", 0), ("encoder", "clip"), ("start", "w")]
)
def test_a_training_does_not_resume_as_something_else(name: str, value: object, tmp_path: Path) -> None:
    with keep_options(tmp_path, BEGUN, resume=False):
        pass
    begun_with = f"begun with {name} .*, not {value}: leave that out"
    with pytest.raises(BadInput, match=begun_with), keep_options(tmp_path, SAID_AGAIN | {name: value}, resume=True):
        pass


@pytest.mark.slow
def test_a_trained_system_is_measured_by_the_command_that_is_named_next(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    given = ("--data", world, "--out", out, *SMALL, "--set", "learned.epochs=1", "--seed", 4)
    trained = viewfinder("train", "drilldown", *given)
    assert trained.code == 0, trained.err
    lines = trained.out.splitlines()
    assert lines[0] == "drilldown, preset lab: 4 steps, 1 epoch"  # 33 scenes are four batches of 8
    card = read_card(out / "best.safetensors")
    assert (card.system, card.preset) == ("drilldown", "lab")
    assert f"  recall: {card.figures['recall']:.4f}" in lines
    *_, last = lines
    assert last == f"next: viewfinder evaluate drilldown --data {world} --checkpoint {out / 'best.safetensors'}"
    command = last.removeprefix("next: viewfinder ").split()
    measured = viewfinder(*command, "--protocol", "drilldown", "--out", tmp_path / "run", "--json")
    assert measured.code == 0, measured.err
    assert measured.json["tasks"][0]["talks"] == 4


@pytest.mark.slow
def test_ctrl_c_stops_after_a_step_and_resume_goes_on(
    program: Program, viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    settings = ("--set", "training.epochs=8", "--set", "batch=8")
    arguments = ("train", "r-hre", "--data", world, "--out", out, *settings)
    log = out / "log.jsonl"
    process = program(*arguments)
    while process.poll() is None and not (log.is_file() and len(read_log(log)) > 1):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1 and f"--resume goes on from {out}" in err
    stopped = read_log(log)[-1].step
    assert 0 < stopped < 32  # 8 epochs of four steps
    assert viewfinder(*arguments[:6], "--resume", "--preset", "paper").code == 2
    resumed = viewfinder(*arguments[:6], "--resume", "--json")  # the settings of the beginning
    assert resumed.code == 0, resumed.err
    assert (resumed.json["ended"], resumed.json["step"]) == ("epochs", 32)
    trained = [record.step for record in read_log(log) if record.kind == "train"]
    assert trained == list(range(4, 33, 4))  # at the end of every epoch, and after 20 steps, which are five


WIDE = "tests.wide:WideColours"


@pytest.mark.slow
def test_the_turn_network_of_one_is_trained_for_another_encoder_and_talked_with(
    viewfinder: Run, tmp_path: Path
) -> None:
    data, library, out = tmp_path / "data", tmp_path / "library", tmp_path / "out"
    pictures = tiny_pictures(data / "images", 52)
    for split, some in (("train", pictures[:32]), ("val", pictures[32:])):
        pairs = [
            FashionPair(one.path.stem, before.path.stem, (f"is {one.top}", f"is {one.bottom} below"))
            for before, one in pairwise(some)
        ]
        write_fashion_iq(data, "flags", split, pairs, [one.path.stem for one in some], {})
    assert viewfinder("add", data / "images", "--library", library, "--encoder", WIDE, "--without-starter").code == 0
    small = ("--set", "batch=8", "--set", "training.steps=12", "--set", "model.width=16")
    trained = viewfinder("train", "one", "--data", data, "--encoder", WIDE, "--out", out, *small, "--library", library)
    assert trained.code == 0, trained.err
    first, checkpoint, *figures, last = trained.out.splitlines()
    assert first == "one, preset lab: 12 steps, 3 epochs"
    assert checkpoint.startswith(f"checkpoint: {out / 'best.safetensors'}, of step ")
    assert {line.split(":")[0].strip() for line in figures} == {"nats", "alone", "composer", "recall"}
    assert last.startswith(f"next: viewfinder evaluate one --data {data} --checkpoint {out / 'best.safetensors'}")
    command = last.removeprefix("next: viewfinder ").split()
    measured = viewfinder(*command, "--protocol", "fashioniq", "--task", "split gallery", "--split", "val", "--json")
    assert measured.code == 0, measured.err
    assert measured.json["tasks"][0]["talks"] == 19
    assert not list(library.rglob("features/**/regions*"))  # no system looks at these
    script = tmp_path / "turns.jsonl"
    script.write_text('{"say": "red"}\n')
    talk = ("chat", "--library", library, "--retriever", "one", "--script", script, "--json")
    spoken = viewfinder(*talk, "--checkpoint", out / "best.safetensors")
    assert spoken.code == 0, spoken.err
    picked = spoken.lines[0]["results"][0]["id"]
    script.write_text(f'{{"say": "red"}}\n{{"like": "{picked}", "but": "green"}}\n')
    assert len(viewfinder(*talk, "--checkpoint", out / "best.safetensors").lines) == 2
    wrong = viewfinder("train", "one", "--data", data, "--out", tmp_path / "other", "--start", out / "best.safetensors")
    assert (wrong.code, wrong.err.count("\n")) == (1, 1), wrong.err
    assert "reads vectors of 'wide-1'" in wrong.err


@pytest.mark.parametrize("system", ["r-hre", "questions"])
def test_a_training_that_was_never_begun_is_not_resumed(viewfinder: Run, tmp_path: Path, system: str) -> None:
    outcome = viewfinder("train", system, "--data", tmp_path, "--out", tmp_path / "none", "--resume")
    assert outcome.code == 2
    assert outcome.err == (
        f"viewfinder: {tmp_path / 'none'}: there is no training to go on with: name its folder with --out, or leave "
        "--resume out\n"
    )
    assert not (tmp_path / "none").exists()
