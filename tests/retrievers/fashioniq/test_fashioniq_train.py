"""Training retrievers with a simulated user, on pictures of one colour over another."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training_log import read_log
from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.fashioniq import captioner_training
from viewfinder.retrievers.fashioniq.attribute_training import PRESETS as ATTRIBUTES
from viewfinder.retrievers.fashioniq.attribute_training import AttributePreset
from viewfinder.retrievers.fashioniq.captioner_training import train_captioner
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset
from viewfinder.retrievers.fashioniq.train import PRESETS, read_training_data, train
from viewfinder.retrievers.shared.network import WordVectors
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.training import load_preset
from viewfinder.training.presets import HalveOnPlateau
from viewfinder.weights import read_card, read_weights

ENCODER = ColourEncoder()
SMALL = (
    "batch=16", "model.width=16", "model.components=12", "turns=2", "training.learning_rate=0.01",
    "training.epochs=1",
)  # fmt: skip
LAYERS = ("model.heads=2", "model.hidden=16", "model.layers=1", "model.most_words=4", "model.attributes=2")
CAPTIONER = (
    "batch=32", "model.width=16", "model.heads=2", "model.hidden=16", "model.layers=1", "model.components=12",
    "model.dropout=0.0", "training.learning_rate=0.01", "training.epochs=4", "training.validate_epochs=4",
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds of pictures, 56 and 40 for training; each is wanted once, by who sees the one before it."""
    folder = tmp_path_factory.mktemp("garments")
    pictures = tiny_pictures(folder / "images", 144)
    for kind, own, first in (("flags", pictures[:80], 56), ("signs", pictures[80:], 40)):
        for split, some in (("train", own[:first]), ("val", own[first:])):
            pairs = [
                FashionPair(one.path.stem, before.path.stem, (f"is {one.top}", f"is {one.top} over {one.bottom}"))
                for before, one in zip((some[-1], *some), some, strict=False)
            ]
            attributes = {one.path.stem: ((), (one.top,), (one.bottom,), (), (), ()) for one in some}
            write_fashion_iq(folder, kind, split, pairs, [one.path.stem for one in some], attributes)
    lines = [f"{one.path.name},a {one.bottom} thing" for one in pictures]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n", encoding="utf-8")
    return folder


def plan(data: Path, out: Path, *overrides: str, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"preset": "lab", "overrides": (*SMALL, *LAYERS, *overrides)}
    given |= {"system": "fashioniq", "encoder": ENCODER, "features": data / "vectors"}
    return TrainPlan(data=(data,), out=out, shown=False, tensorboard=False, **(given | known))


@pytest.fixture(scope="module")
def simulator(data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What stands in a setting that names a simulated user; it was trained for a moment."""
    out = tmp_path_factory.mktemp("captioner")
    fitted = train_captioner(plan(data, out, system="captioner", overrides=CAPTIONER))
    return f"simulator={fitted.best}"


@pytest.mark.parametrize("preset", list(tomllib.loads(PRESETS.read_text())))
def test_every_preset_can_be_read(preset: str) -> None:
    found = load_preset(PRESETS, preset, FashionIqPreset)
    assert found.turns == (1 if found.model.kind == "composition" else 5)


def test_the_published_numbers_are_those_of_the_code_and_of_the_paper() -> None:
    code, paper = (load_preset(PRESETS, name, FashionIqPreset) for name in ("official", "paper"))
    assert (code.loss.squared, code.loss.margin, paper.loss.squared, paper.loss.margin) == (False, 10.0, True, 0.1)
    for preset in (code, paper):
        assert preset.model.kind == "transformer"
        assert (preset.model.layers, preset.model.heads, preset.model.width) == (6, 8, 256)
        assert (preset.training.optimiser, preset.training.learning_rate, preset.training.epochs) == ("adam", 1e-3, 100)
        assert (preset.turns, preset.exclude_shown, preset.selects) == (5, False, "percentile")
    assert code.model.kind == paper.model.kind == "transformer"
    assert (code.model.hidden, paper.model.hidden) == (1024, 2048)


@pytest.mark.parametrize("name", ["official", "paper"])
def test_the_published_presets_learn_words_unless_a_file_of_glove_is_given(name: str) -> None:
    """That file does not come with this; its vectors stay as they are, as in the published code."""
    learnt = load_preset(PRESETS, name, FashionIqPreset).model
    assert (learnt.words, learnt.glove, learnt.word_width) == ("learned", "", 300)
    frozen = load_preset(PRESETS, name, FashionIqPreset, ["model.words=glove", "model.glove=glove.txt"]).model
    assert (frozen.words, frozen.glove) == ("glove", "glove.txt")
    table = WordVectors(frozen, torch.ones(2, 300), 2)
    assert list(table.parameters()) == [] and list(WordVectors(learnt, None, 2).parameters()) != []


def test_the_official_preset_reads_feedback_and_halves_its_rate_as_the_code_does() -> None:
    official = load_preset(PRESETS, "official", FashionIqPreset)
    assert official.model.kind == "transformer"
    assert (official.model.start_token, official.model.tokens) == (True, "nltk")
    training, schedule = official.training, official.training.schedule
    assert (training.validate_epochs, training.validate_offset) == (3, 1)
    assert isinstance(schedule, HalveOnPlateau)
    assert (schedule.figure, schedule.higher, schedule.patience, schedule.floor) == ("percentile_sum", True, 2, 0.1)


@pytest.mark.parametrize(("name", "f1_of"), [("official", "picture"), ("paper", "picture"), ("lab", "all")])
@pytest.mark.parametrize("trains", [train, train_captioner])
def test_published_presets_learn_attributes_whose_f1_is_that_of_each_picture(
    name: str, f1_of: str, trains: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(asked: TrainPlan) -> None:
        assert load_preset(ATTRIBUTES, asked.preset, AttributePreset).f1_of == f1_of
        raise BadInput("attributes are asked for")

    monkeypatch.setattr(captioner_training, "train_attributes", stop)
    with pytest.raises(BadInput, match="attributes are asked for"):
        trains(plan(data, tmp_path, preset=name, overrides=()))


def test_a_retriever_s_own_attributes_are_those_of_its_preset(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def stop(own: TrainPlan) -> None:
        asked.append(own.preset)
        raise BadInput("attributes are asked for")

    monkeypatch.setattr(captioner_training, "train_attributes", stop)
    with pytest.raises(BadInput, match="attributes are asked for"):
        train(plan(data, tmp_path, preset="official", overrides=("simulator='recorded'", "turns=1")))
    assert asked == ["official"]


@pytest.mark.usefixtures("every_step_logged")
def test_dialogues_find_more_and_more(data: Path, tmp_path: Path, simulator: str) -> None:
    longer = ("recorded=1.0", "described=0.0", "training.epochs=8", "training.validate_epochs=4")
    fitted = train(plan(data, tmp_path, simulator, *longer, preset="modern"))
    log = [record.figures for record in read_log(tmp_path / "log.jsonl") if record.kind == "train"]
    found = [figures["percentile"] or 0.0 for figures in log]
    assert np.mean(found[-6:]) > np.mean(found[:6]) + 0.25
    assert log[0]["scale"] == pytest.approx(10.0)
    assert log[-1]["scale"] != log[0]["scale"]
    assert fitted.figures.keys() == {"percentile", "recall", "percentile_1", "recall_1"}
    assert read_card(fitted.best).settings["exclude_shown"] is True


def test_the_card_says_how_it_was_trained(data: Path, tmp_path: Path, simulator: str) -> None:
    fitted = train(plan(data, tmp_path, simulator))
    settings = read_card(fitted.best).settings
    assert (settings["kinds"], settings["exclude_shown"]) == (["flags", "signs"], False)
    assert settings["sentences_version"] == ENCODER.sentences_version
    assert {"red", "over", "thing"} <= {*settings["vocabulary"]}
    assert settings["vocabulary"] == sorted(settings["vocabulary"])
    arrays = read_weights(fitted.best).arrays
    assert arrays["attributes.weight"].shape == (len(settings["labels"]), 48)
    assert arrays["attribute.weight"].shape == (len(settings["labels"]) + 1, 16)
    assert "words.table" not in arrays


def test_an_interrupted_training_ends_with_the_same_numbers(data: Path, tmp_path: Path, simulator: str) -> None:
    asked: list[int] = []

    def after_three() -> bool:
        asked.append(1)
        return len(asked) == 3

    whole = train(plan(data, tmp_path / "whole", simulator, preset="modern"))
    parted = plan(data, tmp_path / "parted", simulator, preset="modern", should_stop=after_three)
    assert train(parted).ended == "asked"
    resumed = train(plan(data, tmp_path / "parted", simulator, preset="modern", resume=True))
    assert resumed.figures == whole.figures
    before, after = (read_weights(fitted.best).arrays for fitted in (whole, resumed))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_recorded_pairs_alone_need_no_simulated_user(data: Path, tmp_path: Path) -> None:
    alone = ("simulator=recorded", "turns=1", "model.attributes=0")
    fitted = train(plan(data, tmp_path, *alone))
    assert fitted.figures.keys() == {"percentile", "recall", "percentile_1", "recall_1"}
    assert {child.name for child in tmp_path.iterdir()} == {"best.safetensors", "checkpoints", "log.jsonl"}
    assert not any(name.startswith("attribute") for name in read_weights(fitted.best).arrays)


def test_attributes_are_trained_where_nobody_brings_them(data: Path, tmp_path: Path) -> None:
    fitted = train(plan(data, tmp_path, "simulator=recorded", "turns=1"))
    labels = read_card(tmp_path / "attributes" / "best.safetensors").settings["labels"]
    assert read_card(fitted.best).settings["labels"] == labels != []


def test_a_kind_of_its_own_and_words_that_are_learnt(data: Path, tmp_path: Path, simulator: str) -> None:
    own = ("kinds=['signs']", "model.words=learned", "model.word_width=6")
    fitted = train(plan(data, tmp_path, simulator, *own))
    settings = read_card(fitted.best).settings
    assert (settings["kinds"], settings["sentences_version"]) == (["signs"], "")
    assert read_weights(fitted.best).arrays["words.table"].shape == (len(settings["vocabulary"]) + 1, 6)


def test_a_training_goes_on_from_weights_with_their_words_and_labels(
    data: Path, tmp_path: Path, simulator: str
) -> None:
    first = train(plan(data, tmp_path / "first", simulator, "kinds=['signs']"))
    more = plan(data, tmp_path / "more", simulator, "kinds=['flags']", start=first.best)
    preset = load_preset(PRESETS, "lab", FashionIqPreset, more.overrides)
    material = read_training_data(more, preset, read_card(first.best))
    before = read_card(first.best).settings
    assert {name: material.card.settings[name] for name in ("vocabulary", "labels")} == {
        name: before[name] for name in ("vocabulary", "labels")
    }
    head = read_weights(first.best).arrays["head.weight"]
    assert np.array_equal(head, material.network.state_dict()["head.weight"])


def test_words_of_another_encoder_are_refused(data: Path, tmp_path: Path, simulator: str) -> None:
    first = train(plan(data, tmp_path / "first", simulator))
    other = replace(ColourEncoder(), sentences_version="colours-said-2")
    with pytest.raises(EncoderMismatch, match="colours-said-1"):
        train(plan(data, tmp_path / "more", simulator, start=first.best, encoder=other))


@pytest.mark.parametrize(
    ("overrides", "what"),
    [
        (("simulator=recorded",), "set turns to 1"),
        (("recorded=0.7", "described=0.4"), "together at most 1"),
        (("batch=97",), "change batch"),
    ],
)
def test_what_does_not_go_together_is_told(
    data: Path, tmp_path: Path, simulator: str, overrides: tuple[str, ...], what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        train(plan(data, tmp_path, simulator, *overrides))


def test_what_never_trains_stays(data: Path, tmp_path: Path, simulator: str) -> None:
    some = plan(data, tmp_path, simulator)
    material = read_training_data(some, load_preset(PRESETS, "lab", FashionIqPreset, some.overrides), None)
    before = {name: tensor.clone() for name, tensor in material.network.named_buffers()}
    train(some)
    after = read_weights(tmp_path / "best.safetensors").arrays
    kept = [name for name in before if name in after]
    assert {"looks.input.components", "attributes.weight"} <= {*kept}
    for name in kept:
        assert torch.equal(before[name].float(), torch.from_numpy(after[name]))
