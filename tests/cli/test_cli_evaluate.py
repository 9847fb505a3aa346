"""`evaluate` and `compare` as commands, on the drawn world with an encoder of colours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.encoders import load_encoder
from viewfinder.encoders.starter.encoder import StarterEncoder
from viewfinder.evaluation import read_run
from viewfinder.evaluation.overlap import Overlap
from viewfinder.testing import load_colour_encoder

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_colour_encoder)


def evaluated(viewfinder: Run, world: Path, out: Path, system: str = "clip-t", *more: str) -> Any:
    return viewfinder(
        "evaluate", system, "--data", str(world), "--protocol", "captions", "--out", str(out), "--features",
        str(out.parent / "features"), "--limit", "8", *more,
    )  # fmt: skip


def test_evaluate_prints_a_row_a_metric_and_writes_three_files(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    outcome = evaluated(viewfinder, world, tmp_path / "run")
    assert outcome.code == 0
    assert "captions, all: 8 dialogues, 40 pictures" in outcome.out
    assert [line.split()[0] for line in outcome.out.splitlines() if line.startswith("R@")] == ["R@1", "R@5", "R@10"]
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"results.json", "ranks.npz", "report.html"}


def test_what_is_not_known_to_be_unseen_is_flagged_and_can_be_refused(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    flag = "overlap: unknown, the encoder's head came without a list of training pictures"
    run = tmp_path / "run"
    assert flag in evaluated(viewfinder, world, run, "clip-t").out
    assert flag in (run / "report.html").read_text().replace("&#39;", "'")
    [task] = json.loads((run / "results.json").read_text())["tasks"]
    assert task["overlap"]["seen"] == {"the encoder's head": None}
    assert read_run(run).tasks[0].overlap == Overlap(**task["overlap"])
    refused = evaluated(viewfinder, world, tmp_path / "no", "clip-t", "--refuse-overlap")
    assert refused.code == 2 and flag in " ".join(refused.err.split())


def test_texts_are_looked_for_in_all_folders_that_were_learnt_from(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    for name in ("dialogues/world_{}.json", "ChatIR_Protocol/Search_Space_{}.json"):
        (other / name).parent.mkdir(parents=True)
        shutil.copy2(world / name.format("test"), other / name.format("train"))
    flag, chatir = "overlap: 100 % of test texts occur word for word in training", ("--protocol", "chatir")
    assert flag not in evaluated(viewfinder, world, tmp_path / "own", "random", *chatir).out
    assert flag in evaluated(viewfinder, world, tmp_path / "two", "random", *chatir, "--learnt-from", str(other)).out


def test_evaluate_as_json_names_every_figure_in_full(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    record = evaluated(viewfinder, world, tmp_path / "run", "clip-t", "--json").json
    [task] = record["tasks"]
    assert task["talks"] == 8
    assert set(task["figures"][0]) >= {"metric", "at", "gallery", "split", "caption", "ties", "mean", "low", "high"}


def test_a_checkpoint_for_what_is_not_trained_is_refused_in_one_line(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    outcome = evaluated(viewfinder, world, tmp_path / "run", "clip-t", "--checkpoint", str(tmp_path / "w.safetensors"))
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "clip-t has nothing to load" in outcome.err


def test_two_runs_are_compared_figure_by_figure(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    for system in ("random", "composer"):
        evaluated(viewfinder, world, tmp_path / system, system)
    runs = [tmp_path / name for name in ("random", "composer", "random")]
    outcome = viewfinder("compare", *runs)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[:3] == ["A  random", "B  composer", "C  random"]
    assert "captions, all: 8 dialogues" in lines
    first = next(place for place, line in enumerate(lines) if line.startswith("R@1 "))
    means = {line.split()[-3 if letter == "A" else 0]: line for letter, line in zip("ABC", lines[first:], strict=False)}
    assert set(means) == {"A", "B", "C"}
    assert "+0.0 (+0.0 to +0.0)" in means["C"]
    assert max(map(len, lines)) <= 80
    rows = viewfinder("compare", str(tmp_path / "random"), str(tmp_path / "composer"), "--json").json["rows"]
    assert 0 <= rows[0]["others"][0]["p_value"] <= 1


def test_a_folder_that_is_no_run_is_refused_in_one_line(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("compare", str(tmp_path), str(tmp_path))
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert "results.json" in outcome.err


def test_a_user_has_the_manners_it_is_given(viewfinder: Run, world: Path, tmp_path: Path) -> None:
    outcome = evaluated(
        viewfinder, world, tmp_path / "run", "clip-t", "--user", "oracle", "--manner", "patience=1", "--manner",
        "policy=describes", "--json",
    )  # fmt: skip
    assert outcome.code == 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["user"] == "oracle"


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ("patience", "write it as key=value"),
        ("charm=1", "no setting charm"),
        ("noise=1.5", "noise 1.5"),
        ("noise=much", "noise: Real is needed, this is str"),
        ("verbosity=1.5", "verbosity: Integral is needed, this is float"),
        ("patience=long", "patience: Integral or None is needed, this is str"),
        ("goes_on=no", "goes_on: bool is needed, this is str"),
        ("seed=null", "seed: Integral is needed, this is None"),
    ],
)
def test_a_manner_that_makes_no_sense_is_named(
    viewfinder: Run, world: Path, tmp_path: Path, manner: str, said: str
) -> None:
    outcome = evaluated(viewfinder, world, tmp_path / "run", "clip-t", "--user", "oracle", "--manner", manner)
    assert outcome.code == 2
    assert said in outcome.err


def test_a_place_where_no_run_can_be_written_is_refused_before_the_work(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    (file := tmp_path / "file").touch()
    for out in (file, file / "below"):
        outcome = evaluated(viewfinder, world, out)
        assert outcome.code == 2
        assert outcome.err == f"viewfinder: {out}: cannot be written (Not a directory); choose another --out\n"


def test_a_folder_that_was_learnt_from_and_is_not_there_is_refused(
    viewfinder: Run, world: Path, tmp_path: Path
) -> None:
    outcome = evaluated(viewfinder, world, tmp_path / "run", "random", "--learnt-from", str(tmp_path / "nowhere"))
    assert (outcome.code, outcome.err) == (2, f"viewfinder: {tmp_path / 'nowhere'}: no such folder; check the path\n")


def test_a_folder_without_data_is_refused(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("evaluate", "clip-t", "--data", str(tmp_path))
    assert outcome.code == 2
    assert "no data of any protocol" in outcome.err


def test_a_library_lends_its_vectors_and_the_figures_are_equal(
    viewfinder: Run, world: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_encoder)
    had = (world / ".viewfinder-features").exists()  # another test's
    own = evaluated(viewfinder, world, tmp_path / "own" / "run", "composer", "--json").json
    monkeypatch.setattr(StarterEncoder, "pictures", _no_picture_is_read)
    place = tmp_path / "lent"
    lent = evaluated(
        viewfinder, world, place / "run", "composer", "--library", str(library), "--json"
    ).json  # fmt: skip
    # Pictures share other batches in a library: the last digits of their vectors differ, and so may a rank by one.
    for one, other in zip(lent["tasks"][0]["figures"], own["tasks"][0]["figures"], strict=True):
        assert (one["metric"], one["at"]) == (other["metric"], other["at"])
        assert one["mean"] == pytest.approx(other["mean"], rel=0.05, abs=0.01)
    assert (place / "features" / "manifest.json").is_file()
    again = viewfinder(
        "evaluate", "composer", "--data", world, "--protocol", "captions", "--limit", "8", "--library", library,
        "--out", place / "again", "--json",
    ).json  # fmt: skip
    assert again["tasks"] == lent["tasks"]
    assert (library / "features" / world.name / "manifest.json").is_file()
    assert (world / ".viewfinder-features").exists() == had, "no features are put beside the data"


def _no_picture_is_read(*_: object, **__: object) -> None:
    raise AssertionError("a picture was encoded, although the library has its vector")


def test_what_a_library_lacks_is_computed_and_said(
    viewfinder: Run, world: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = evaluated(viewfinder, world, tmp_path / "other" / "run", "composer", "--library", str(library))
    assert outcome.code == 0
    assert "its vectors are starter-raw-1, not" in outcome.err and "they are computed" in outcome.err
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_encoder)
    folder = Path(shutil.copytree(world, tmp_path / "world"))
    for name in sorted(path.name for path in (folder / "images").iterdir())[5:]:
        (folder / "images" / name).unlink()
        (folder / "images" / name).symlink_to(world / "images" / name)
    outcome = evaluated(viewfinder, folder, tmp_path / "run", "composer", "--library", str(library))
    assert outcome.code == 0
    assert "5 of 40 pictures are not there as they are now; computed" in outcome.err
    own = read_run(tmp_path / "run").tasks[0]
    assert own.ranks.gallery_size == 40
