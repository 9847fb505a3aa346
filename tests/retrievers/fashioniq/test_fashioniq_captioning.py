"""Training captioners on pairs of pictures of one colour over another, whose captions name the wanted colours."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.training_log import read_log
from viewfinder.data.fashion_iq import CaptionVocabulary, FashionPair, build_caption_vocabulary, write_fashion_iq
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.metrics import bleu
from viewfinder.retrievers.fashioniq.captioner_training import (
    PRESETS,
    CaptionerPreset,
    TrainingStopped,
    load_simulator,
    make_caption_examples,
    measure_captions,
    smoothed_loss,
    train_captioner,
)
from viewfinder.retrievers.fashioniq.garments import Garments, RecordedPairs, read_garments
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.training import TrainingResult, load_preset
from viewfinder.training.checkpoints import write_tensors
from viewfinder.users.captioner.captioner import END, PAD, START, Captioner
from viewfinder.users.captioner.network import make_captioner
from viewfinder.users.captioner.settings import RecurrentCaptioner, TransformerCaptioner
from viewfinder.weights import NETWORK, TrainingList, read_card

ENCODER = ColourEncoder()
SMALL = (
    "batch=16", "model.width=16", "model.heads=2", "model.hidden=16", "model.layers=1", "model.components=12",
    "model.dropout=0.0", "training.learning_rate=0.01", "training.epochs=2",
    "training.validate_epochs=1", "training.validate_steps='none'", "training.steps='none'",
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds of eighty pictures, 56 for training; each picture is wanted once, by who sees the one before it."""
    folder = tmp_path_factory.mktemp("pairs")
    pictures = tiny_pictures(folder / "images", 160)
    for kind, own in (("flags", pictures[:80]), ("signs", pictures[80:])):
        for split, some in (("train", own[:56]), ("val", own[56:])):
            keys = [one.path.stem for one in some]
            pairs = [
                FashionPair(one.path.stem, before.path.stem, (f"is {one.top}", f"is {one.top} over {one.bottom}"))
                for before, one in zip((some[-1], *some), some, strict=False)
            ]
            attributes = {one.path.stem: ((), (one.top,), (one.bottom,), (), (), ()) for one in some}
            write_fashion_iq(folder, kind, split, pairs, keys, attributes)
    return folder


def plan(data: Path, out: Path, *overrides: str, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"preset": "lab", "overrides": (*SMALL, *overrides), "shown": False, "tensorboard": False}
    return TrainPlan(
        system="captioner", data=(data,), out=out, encoder=ENCODER, features=data / "vectors", **(given | known)
    )


@pytest.fixture(scope="module")
def with_attributes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """A captioner that reads attributes, and was trained for a moment."""
    return train_captioner(plan(data, tmp_path_factory.mktemp("captioner")))


@pytest.fixture(scope="module")
def without_attributes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """One of signs that reads none."""
    out = tmp_path_factory.mktemp("plain")
    return train_captioner(plan(data, out, "model.attributes=0", "kinds=['signs']"))


def garments(
    captions: tuple[tuple[str, ...], ...], target: list[int], candidate: list[int], width: int = 4
) -> Garments:
    raw_ng = np.arange(20, dtype=np.float32).reshape(5, 4)
    pairs = RecordedPairs(np.array(target), np.array(candidate), captions)
    return Garments(tuple("abcde"), raw_ng, "raw-1", ("kind",), np.zeros(5, np.intp), ((),) * 5, ((),) * 5, pairs)


def says(most: int, learnt: int = 0) -> TransformerCaptioner:
    return TransformerCaptioner(most_words=most, learnt_words=learnt)


@pytest.mark.parametrize("preset", list(tomllib.loads(PRESETS.read_text())))
def test_every_captioner_preset_can_be_read(preset: str) -> None:
    assert load_preset(PRESETS, preset, CaptionerPreset).selects in {"bleu3", "cider"}


def test_the_official_preset_is_the_published_simulator() -> None:
    official = load_preset(PRESETS, "official", CaptionerPreset)
    assert official.model == TransformerCaptioner(learnt_words=64)
    assert (official.batch, official.smoothing, official.selects) == (64, 0.0, "bleu3")
    paper = load_preset(PRESETS, "paper", CaptionerPreset)
    assert (official.smoothing_over, paper.smoothing_over, paper.smoothing) == ("others", "others", 0.1)
    assert paper.model.learnt_words == 64


def test_every_caption_of_a_pair_is_an_example_of_its_own() -> None:
    found = garments((("is red", "is red too"), ("is blue",)), target=[1, 4], candidate=[0, 2])
    words = build_caption_vocabulary(["is red too", "is blue"], least=1)
    examples = make_caption_examples(found, words, says(4))
    assert examples.shown_e.tolist() == [0, 0, 2]
    assert examples.wanted_e.tolist() == [1, 1, 4]
    red, too, blue, being = (words.numbers[word] for word in ("red", "too", "blue", "is"))
    assert examples.words_el.tolist() == [
        [START, being, red, END, PAD],
        [START, being, red, too, END],
        [START, being, blue, END, PAD],
    ]


def test_what_is_said_next_is_learnt_at_every_word() -> None:
    found = garments((("is red", "is red too"),), target=[1], candidate=[0])
    words = build_caption_vocabulary(["is red too"], least=1)
    batch = make_caption_examples(found, words, says(6)).batch(np.array([0, 1]))
    being, red, too = (words.numbers[word] for word in ("is", "red", "too"))
    assert batch.words_bt.tolist() == [[START, being, red, PAD], [START, being, red, too]]
    assert batch.goals_bt.tolist() == [[being, red, END, PAD], [being, red, too, END]]
    assert batch.shown_bg.tolist() == [[0, 1, 2, 3]] * 2
    assert batch.wanted_bg.tolist() == [[4, 5, 6, 7]] * 2


def test_of_a_caption_that_is_too_long_no_end_is_learnt() -> None:
    found = garments((("is red and very big",),), target=[1], candidate=[0])
    words = build_caption_vocabulary(["is red and very big"], least=1)
    batch = make_caption_examples(found, words, says(3)).batch(np.array([0]))
    being, red, both = (words.numbers[word] for word in ("is", "red", "and"))
    assert batch.words_bt.tolist() == [[START, being, red]]
    assert batch.goals_bt.tolist() == [[being, red, both]]


def test_captions_may_be_learnt_from_at_greater_length_than_they_are_said_and_end_where_they_are_cut() -> None:
    found = garments((("is red and very big", "is big"),), target=[1], candidate=[0])
    words = build_caption_vocabulary(["is red and very big"], least=1)
    being, red, both, very, big = (words.numbers[word] for word in ("is", "red", "and", "very", "big"))
    assert make_caption_examples(found, words, says(3, learnt=4)).words_el.tolist() == [
        [START, being, red, both, very, END],
        [START, being, big, END, PAD, PAD],
    ]
    model = replace(says(3, learnt=4), width=4, heads=2, hidden=4, layers=1, attributes=0)
    network = make_captioner(model, 4, len(words.words), 0)
    batch = make_caption_examples(found, words, says(3, learnt=4)).batch(np.array([0, 1]))
    assert network.logits(network.see(batch.shown_bg, batch.wanted_bg), batch.words_bt).shape == (
        2,
        5,
        len(words.words),
    )


def test_smoothing_over_others_gives_the_right_word_all_but_its_share() -> None:
    # Of four words the right one gets 0.9, each of the others 0.1 / 3; over all four it would get 0.925 and 0.025.
    logits = torch.tensor([[1.0, 2.0, 0.5, 0.0]])
    chances = logits.log_softmax(dim=1)[0]
    by_hand = -(0.9 * chances[1] + 0.1 / 3 * (chances[0] + chances[2] + chances[3]))
    found = smoothed_loss(logits, torch.tensor([1]), 0.1, "others")
    assert found.item() == pytest.approx(by_hand.item(), rel=1e-6)
    over_all = -(0.925 * chances[1] + 0.025 * (chances[0] + chances[2] + chances[3]))
    assert smoothed_loss(logits, torch.tensor([1]), 0.1, "all").item() == pytest.approx(over_all.item(), rel=1e-6)
    padded = smoothed_loss(logits.repeat(2, 1), torch.tensor([1, PAD]), 0.1, "others")
    assert padded.item() == pytest.approx(found.item())


def untrained(words: CaptionVocabulary) -> Any:
    torch.manual_seed(0)
    model = RecurrentCaptioner(width=8, attributes=0, most_words=4, dropout=0.0)
    return make_captioner(model, 4, len(words.words), 0).eval()


def test_validation_s_loss_is_the_mean_of_minus_log_chances_over_all_words() -> None:
    found = garments((("is red", "is red too"), ("is blue",)), target=[1, 4], candidate=[0, 2])
    words = build_caption_vocabulary(["is red too", "is blue"], least=1)
    network, examples = untrained(words), make_caption_examples(found, words, says(4))
    with torch.no_grad():
        figures = measure_captions(network, examples=examples, garments=found, words=words)
        lost = []
        for shown, wanted, row_l in zip(examples.shown_e, examples.wanted_e, examples.words_el, strict=True):
            row = [int(number) for number in row_l if number != PAD]
            memory = network.see(examples.raw_ng[[shown]], examples.raw_ng[[wanted]])
            chances_tv = network.logits(memory, torch.tensor([row[:-1]])).log_softmax(dim=2)[0]
            lost += [-float(chances_tv[place, word]) for place, word in enumerate(row[1:])]
    assert len(lost) == 3 + 4 + 3
    assert figures["loss"] == pytest.approx(sum(lost) / 10, rel=1e-5)


def test_validation_s_bleu_is_that_of_its_captions(
    data: Path, tmp_path: Path, without_attributes: TrainingResult
) -> None:
    found = read_garments(plan(data, tmp_path), "val", ("signs",))
    captioner = Captioner.load(without_attributes.best)
    rows = found.pairs
    said = captioner.captions(found.raw_ng[rows.candidate_p], found.raw_ng[rows.target_p], "greedy")
    assert without_attributes.figures["bleu3"] == pytest.approx(bleu(said, rows.captions)[2])


def test_a_captioner_without_attributes_needs_none(without_attributes: TrainingResult) -> None:
    assert not (without_attributes.best.parent / "attributes").exists()
    assert Captioner.load(without_attributes.best).predictor is None
    assert read_card(without_attributes.best).settings["kinds"] == ["signs"]


@pytest.mark.usefixtures("every_step_logged")
@pytest.mark.slow
@pytest.mark.parametrize("preset", ["lab", "rnn-lab"])
@pytest.mark.long
def test_a_captioner_learns_to_name_the_wanted_colour(preset: str, data: Path, tmp_path: Path) -> None:
    recurrent = () if preset == "lab" else ("model.width=32",)
    sizes = SMALL if preset == "lab" else tuple(one for one in SMALL if "heads" not in one and "hidden" not in one)
    sizes = tuple(one for one in sizes if preset == "lab" or "layers" not in one)
    more = (*recurrent, "training.epochs=14", "training.validate_epochs=7", "smoothing=0.0")
    fitted = train_captioner(replace(plan(data, tmp_path), preset=preset, overrides=(*sizes, *more)))
    pictures = read_garments(plan(data, tmp_path), "val", ("flags",))
    captioner = Captioner.load(fitted.best)
    pairs = pictures.pairs
    said = captioner.captions(pictures.raw_ng[pairs.candidate_p], pictures.raw_ng[pairs.target_p], "greedy")
    right = [known[0].split()[1] in words.split() for words, known in zip(said, pairs.captions, strict=True)]
    assert np.mean(right) > 0.7  # of eight colours one would be right by chance
    words_lost = [one.figures["word_loss"] or 0.0 for one in read_log(tmp_path / "log.jsonl") if one.kind == "train"]
    assert words_lost[-1] < 0.5 * words_lost[0]


def test_the_attributes_are_trained_first_and_saved_along(data: Path, with_attributes: TrainingResult) -> None:
    captioner = Captioner.load(with_attributes.best)
    own = read_card(with_attributes.best.parent / "attributes" / "best.safetensors").settings["labels"]
    assert captioner.predictor is not None
    assert list(captioner.predictor.labels) == own
    assert {"red", "blue"} <= set(own)


def test_attributes_that_are_named_are_not_trained_again(
    data: Path, tmp_path: Path, with_attributes: TrainingResult
) -> None:
    file = with_attributes.best.parent / "attributes" / "best.safetensors"
    again = train_captioner(plan(data, tmp_path, f"attribute_file={str(file)!r}"))
    assert not (tmp_path / "attributes").exists()
    assert again.figures == with_attributes.figures  # the same seed, the same attributes


def test_weights_that_are_named_bring_their_training_pictures(
    data: Path, tmp_path: Path, with_attributes: TrainingResult
) -> None:
    file = tmp_path / "told.safetensors"
    shutil.copy2(with_attributes.best.parent / "attributes" / "best.safetensors", file)
    relist(file, TrainingList.of(["elsewhere"]).encode())
    first = train_captioner(plan(data, tmp_path / "1", f"attribute_file={str(file)!r}", "kinds=['signs']"))
    listed = TrainingList.decode(read_card(first.best).trained_on)
    signs = read_garments(plan(data, tmp_path), "train", ("signs",)).keys
    assert listed.digest == TrainingList.of(["elsewhere", *(Path(key).stem for key in signs)]).digest
    again = plan(data, tmp_path / "2")
    again.note_training(data, ["images/own.jpg"])
    load_simulator(again, str(first.best), "lab", ())
    assert TrainingList.decode(again.list_training()).digest == (listed | TrainingList.of(["own"])).digest
    relist(file, "")  # nobody knows: then nobody knows of what is trained with it
    unknown = train_captioner(plan(data, tmp_path / "3", f"attribute_file={str(file)!r}"))
    assert read_card(unknown.best).trained_on == ""


def relist(file: Path, trained_on: str) -> None:
    """Gives weights another list."""
    card = replace(read_card(file), trained_on=trained_on)
    write_tensors(file, load_file(file), asdict(card), schema=NETWORK)


def test_a_training_that_was_stopped_at_the_attributes_goes_on_to_the_same_numbers(
    data: Path, tmp_path: Path, with_attributes: TrainingResult
) -> None:
    stopped = train_captioner(plan(data, tmp_path, should_stop=lambda: True))
    assert stopped.ended == "asked"
    assert not (tmp_path / "best.safetensors").exists()
    assert train_captioner(plan(data, tmp_path, resume=True)).figures == with_attributes.figures


def test_who_simulates_is_trained_in_a_folder_of_its_own(data: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("viewfinder.retrievers.fashioniq.captioner_training.PRESETS", small_presets(tmp_path))
    trained = load_simulator(plan(data, tmp_path), "", "small", ("signs",))
    file = tmp_path / "captioner" / "best.safetensors"
    assert read_card(file).settings["kinds"] == ["signs"]
    again = load_simulator(plan(data, tmp_path), str(file), "small", ())
    assert again.fingerprint == trained.fingerprint
    with pytest.raises(TrainingStopped) as stopped:
        load_simulator(plan(data, tmp_path / "other", should_stop=lambda: True), "", "small", ())
    assert stopped.value.fitted.ended == "asked"


def small_presets(folder: Path) -> Path:
    """A table of presets with one that is trained at once."""
    file = folder / "captioner.toml"
    file.write_text(
        "[small]\nbatch = 16\n[small.model]\nkind = 'recurrent'\nwidth = 8\nattributes = 0\n"
        "[small.training]\nlearning_rate = 0.01\nepochs = 1\n"
    )
    return file


def test_a_simulator_of_another_encoder_is_refused(
    data: Path, tmp_path: Path, without_attributes: TrainingResult
) -> None:
    other = replace(plan(data, tmp_path), encoder=ColourEncoder(raw_version="colours-raw-2"))
    with pytest.raises(EncoderMismatch, match="colours-raw-1"):
        load_simulator(other, str(without_attributes.best), "lab", ())


def test_what_cannot_be_trained_on_is_said(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'hats'"):
        train_captioner(plan(data, tmp_path, "model.attributes=0", "kinds=['hats']"))
    with pytest.raises(BadInput, match="--start"):
        train_captioner(plan(data, tmp_path, start=data))
    pictures = tiny_pictures(tmp_path / "flat" / "images", 24)  # the last two are for validation
    lines = [f"{one.path.name},{one.caption}" for one in pictures]
    (tmp_path / "flat" / "captions.csv").write_text("\n".join(["image,caption", *lines]))
    with pytest.raises(BadInput, match="no pairs"):
        train_captioner(replace(plan(data, tmp_path, "model.attributes=0"), data=(tmp_path / "flat",), features=None))


@pytest.mark.parametrize("setting", ["batch=0", "smoothing=1.0", "selects='f1'"])
def test_settings_out_of_range_are_refused(setting: str) -> None:
    with pytest.raises(BadInput):
        load_preset(PRESETS, "lab", CaptionerPreset, [setting])
