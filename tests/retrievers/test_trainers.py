"""Plans of trainings: where vectors lie, and what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers import RETRIEVERS
from viewfinder.retrievers.shared.captioned_pictures import read_captioned_pictures
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import TRAINERS, train_system
from viewfinder.testing import ColourEncoder, tiny_pictures


def plan_of(*data: Path, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"system": "drilldown", "preset": "lab", "out": Path("out"), "data": data}
    return TrainPlan(**({"encoder": ColourEncoder()} | given | known))


def captioned(folder: Path, count: int = 13) -> Path:
    rows = [f"{one.path.name},{one.caption}" for one in tiny_pictures(folder / "images", count)]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    return folder


def test_everything_that_can_be_trained_is_a_retriever_or_a_part_of_one() -> None:
    assert set(TRAINERS) - set(RETRIEVERS) == {"attributes", "captioner"}


def test_an_unknown_system_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'composer'; there are: drilldown, hre"):
        train_system(plan_of(tmp_path, system="composer"))


def test_every_folder_of_data_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="other: no such folder"):
        train_system(plan_of(tmp_path, tmp_path / "other", out=tmp_path / "out"))


def test_a_finished_stage_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "learned" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "7.safetensors").write_bytes(b"")
    with pytest.raises(BadInput, match="holds a training already"):
        train_system(plan_of(tmp_path, out=tmp_path / "out"))


def test_vectors_lie_beside_the_data_unless_a_folder_is_named(tmp_path: Path) -> None:
    one, two = captioned(tmp_path / "one"), captioned(tmp_path / "two")
    kept = tmp_path / "kept"
    assert plan_of(one).features_of(one) is None
    assert plan_of(one, features=kept).features_of(one) == kept
    assert plan_of(one, two, features=kept).features_of(two) == kept / "two"
    plan = plan_of(one, two, features=kept)
    for folder in (one, two):
        assert len(read_captioned_pictures(plan, folder, "train")) == 12  # of 13 one is for testing
    assert {file.parent.name for file in kept.rglob("manifest.json")} == {"one", "two"}
    assert not list(tmp_path.glob("*/.viewfinder-features"))


def test_sentences_are_kept_where_the_pictures_vectors_are(tmp_path: Path) -> None:
    data = captioned(tmp_path / "data")
    said = plan_of(data).sentences(["red", "blue over red"])
    np.testing.assert_array_equal(said.matrix_ns, ColourEncoder().sentences(said.texts).astype(np.float16))
    assert list((data / ".viewfinder-features" / "sentences" / "colours-said-1").glob("*.safetensors"))
    plan_of(data, features=tmp_path / "kept").sentences(["red"])
    assert list((tmp_path / "kept" / "sentences").rglob("*.safetensors"))
