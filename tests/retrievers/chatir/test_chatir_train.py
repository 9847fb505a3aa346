"""Training a dialogue encoder on talks about pictures that are quickly made."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from tests.training_log import read_log
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.chatir.network import load_text_model
from viewfinder.retrievers.chatir.settings import MASKED_SHARE, ChatirPreset
from viewfinder.retrievers.chatir.train import PRESETS, train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.training import load_preset
from viewfinder.weights import read_card, read_weights

ENCODER = ColourEncoder()
SMALL = (
    "batch=16", "model.width=16", "model.heads=2", "model.hidden=16", "model.layers=1", "model.image_width=12",
    "rounds=2", "training.learning_rate=0.01", "training.epochs=2",
)  # fmt: skip
WORDS = ["red", "green", "blue", "yellow", "purple", "orange", "white", "black", "what", "is", "below", "it", "big"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty-eight pictures of one colour over another, 32 for training; a dialogue names one colour, then the other."""
    folder = tmp_path_factory.mktemp("talks")
    pictures = tiny_pictures(folder / "images", 48)
    dialogues = [
        make_dialogue(
            f"images/{one.path.name}", one.top, [Round("is it big?", "can't tell"), Round("what is below?", one.bottom)]
        )
        for one in pictures
    ]
    (folder / "dialogues").mkdir()
    write_dialogues(folder / "dialogues" / "people_train.json", dialogues[:32])
    write_dialogues(folder / "dialogues" / "people_val.json", dialogues[32:])
    return folder


def plan(data: Path, out: Path, *overrides: str, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"preset": "lab", "overrides": (*SMALL, *overrides), "shown": False, "tensorboard": False}
    return TrainPlan(system="chatir", data=(data,), out=out, encoder=ENCODER, **(given | known))


@pytest.mark.parametrize("preset", list(tomllib.loads(PRESETS.read_text())))
def test_every_preset_can_be_read(preset: str) -> None:
    found = load_preset(PRESETS, preset, ChatirPreset)
    assert found.selects == ("loss" if preset in ("paper", "official", "plugir") else "recall")


def test_the_published_numbers_are_those_of_the_paper_and_of_its_re_implementation() -> None:
    paper, plugir = (load_preset(PRESETS, name, ChatirPreset) for name in ("paper", "plugir"))
    assert (paper.batch, paper.training.learning_rate, paper.training.epochs) == (512, 5e-5, 36)
    assert (plugir.batch, plugir.training.learning_rate, plugir.training.weight_decay) == (256, 1.25e-5, 1e-4)
    assert (paper.model.separator, plugir.model.separator) == ("sep", "comma")
    assert (plugir.mask, MASKED_SHARE, plugir.loss.temperature) == ("captions", 0.2, 0.01)


@pytest.mark.parametrize(("name", "size", "separator"), [
    ("paper", "base", "sep"), ("official", "base", "comma"), ("plugir", "large", "comma"),
])  # fmt: skip
def test_published_presets_read_strings_as_they_are_and_cut_the_end_at_200_tokens(
    name: str, size: str, separator: str
) -> None:
    model = load_preset(PRESETS, name, ChatirPreset).model
    assert (model.verbatim, model.most_tokens, model.separator) == (True, 200, separator)
    assert (model.reads, model.pooling, model.image) == ("tokens", "first", "shared")
    assert model.text_model == f"Salesforce/blip-itm-{size}-coco"


def test_the_official_preset_is_the_paper_s_training_with_the_strings_of_the_code() -> None:
    paper, official = (load_preset(PRESETS, name, ChatirPreset) for name in ("paper", "official"))
    assert replace(official, model=replace(official.model, separator="sep")) == paper


@pytest.mark.usefixtures("every_step_logged")
def test_what_was_answered_helps_and_the_card_says_how_it_was_trained(data: Path, tmp_path: Path) -> None:
    fitted = train(plan(data, tmp_path, "training.epochs=60", "training.validate_epochs=20"))
    lost = [record.loss for record in read_log(tmp_path / "log.jsonl") if record.loss is not None]
    assert np.mean(lost[-4:]) < np.mean(lost[:4]) - 0.5
    assert fitted.figures.keys() == {"loss", "recall", "first", "last", "hits"}
    assert fitted.figures["last"] == fitted.figures["hits"] == 1.0  # of 16 pictures, both colours are known
    card = read_card(fitted.best)
    assert (card.system, card.encoder) == ("chatir", ENCODER.raw_version)
    assert (card.settings["sentences_version"], card.settings["model"]["rounds"]) == (ENCODER.sentences_version, 2)


@pytest.mark.parametrize("image", ["whitened", "shared", "learned"])
def test_any_space_of_pictures_can_be_aimed_at(data: Path, tmp_path: Path, image: str) -> None:
    weights = read_weights(train(plan(data, tmp_path, f"model.image={image}")).best)
    own = image == "shared"
    assert weights.card.encoder == (ENCODER.version if own else ENCODER.raw_version)
    assert weights.card.settings["space"] == (ENCODER.version if own else None)
    assert weights.arrays["out.weight"].shape == (48 if own else 12, 16)
    assert {"whitened": "components", "shared": "shared_probe", "learned": "project.weight"}[image] in weights.arrays


def test_only_a_space_that_is_learnt_moves(data: Path, tmp_path: Path) -> None:
    def moved(image: str, name: str) -> bool:
        shared = (f"model.image={image}", "training.schedule={kind='constant'}")
        fitted = [train(plan(data, tmp_path / f"{image}{n}", *shared, f"training.steps={n}")) for n in (1, 3)]
        before, after = (read_weights(one.best).arrays[name] for one in fitted)
        return not np.array_equal(before, after)

    assert (moved("whitened", "components"), moved("learned", "project.weight")) == (False, True)


@pytest.mark.parametrize("mask", ["none", "captions", "questions", "answers", "rounds", "tokens"])
def test_every_strategy_of_hiding_trains(data: Path, tmp_path: Path, mask: str) -> None:
    fitted = train(plan(data, tmp_path, f"mask={mask}", "training.epochs=1"))
    assert read_card(fitted.best).settings["mask"] == mask


def test_the_surrogate_trains_and_the_loss_chooses_the_weights(data: Path, tmp_path: Path) -> None:
    fitted = train(
        plan(data, tmp_path, "loss.kind=surrogate", "loss.temperature=0.1", "selects=loss", "training.epochs=25")
    )
    log = read_log(tmp_path / "log.jsonl")
    lost = [record.figures["loss"] or 0.0 for record in log if record.kind == "validation"]
    assert fitted.figures["loss"] == min(lost) < lost[0] - 0.05
    assert read_weights(fitted.best).arrays["log_scale"] == pytest.approx(np.log(10.0))  # has no part in it


def test_a_network_of_captions_only_reads_no_rounds(data: Path, tmp_path: Path) -> None:
    fitted = train(plan(data, tmp_path, "rounds=0"))
    weights = read_weights(fitted.best)
    assert weights.card.settings["model"]["rounds"] == 0
    assert not [name for name in weights.arrays if name.startswith("round.")]
    assert fitted.figures["first"] == fitted.figures["last"] == fitted.figures["recall"]


def test_several_folders_are_learnt_from_together(data: Path, tmp_path: Path) -> None:
    """Thirty-two pictures with dialogues and twenty with captions: four batches of 13, where one set fills two."""
    rows = [f"{one.path.name},{one.caption}" for one in tiny_pictures(tmp_path / "more" / "images", 25)]
    (tmp_path / "more" / "captions.csv").write_text("\n".join(["image,caption", *rows]))
    both = replace(plan(data, tmp_path / "out", "batch=13", "training.epochs=1"), data=(data, tmp_path / "more"))
    assert train(both).step == 4


def test_the_same_seed_gives_the_same_weights_and_a_stopped_training_goes_on_to_the_same_end(
    data: Path, tmp_path: Path
) -> None:
    def mark(name: str, **known: Any) -> str:
        return read_weights(train(plan(data, tmp_path / name, **known)).best).fingerprint

    whole = mark("whole")
    assert mark("again") == whole != mark("other", seed=1)
    asked = iter([False, False, True])
    stopped = train(plan(data, tmp_path / "parts", should_stop=lambda: next(asked)))
    assert (stopped.ended, stopped.step) == ("asked", 3)
    assert mark("parts", resume=True) == whole


def test_a_training_may_begin_with_weights_whose_sizes_it_keeps(data: Path, tmp_path: Path) -> None:
    first = train(plan(data, tmp_path / "first"))
    second = train(plan(data, tmp_path / "second", "model.width=8", "training.learning_rate=1e-9", start=first.best))
    before, after = (read_weights(fitted.best) for fitted in (first, second))
    assert after.card.settings["model"] == before.card.settings["model"]
    np.testing.assert_allclose(after.arrays["out.weight"], before.arrays["out.weight"], atol=1e-5)
    other = plan(data, tmp_path / "third", start=first.best)
    with pytest.raises(EncoderMismatch, match="reads sentence vectors of 'colours-said-1', and this encoder's are 'x'"):
        train(replace(other, encoder=ColourEncoder(sentences_version="x")))


TWICE = """
import sys
from pathlib import Path
from viewfinder.retrievers.chatir.train import train
from viewfinder.retrievers.trainers import TrainPlan
from viewfinder.testing import ColourEncoder
from viewfinder.training import loop
loop.LOG_STEPS = 1
data, out, *overrides = sys.argv[1:]
train(TrainPlan(system="chatir", data=(Path(data),), preset="lab", out=Path(out), encoder=ColourEncoder(),
                overrides=tuple(overrides), shown=False, tensorboard=False))
"""


@pytest.mark.usefixtures("every_step_logged")
@pytest.mark.slow
@pytest.mark.long
def test_two_processes_have_the_negatives_of_one(data: Path, tmp_path: Path) -> None:
    """Without draws of its own (captions, nothing hidden), a step of two processes has the loss of one with both."""
    settings = (*SMALL, "rounds=0", "mask=none", "model.dropout=0.0", "training.epochs=1")
    train(replace(plan(data, tmp_path / "one"), overrides=settings))
    (tmp_path / "train.py").write_text(TWICE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    plain = [
        "--num_machines",
        "1",
        "--mixed_precision",
        "no",
        "--dynamo_backend",
        "no",
        "--main_process_port",
        str(port),
    ]
    source = Path(__file__).resolve().parents[3] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    command = [*launch, *plain, str(tmp_path / "train.py"), str(data), str(tmp_path / "two"), *settings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one, two = ([step.loss for step in read_log(tmp_path / name / "log.jsonl")] for name in ("one", "two"))
    assert one[:2] == pytest.approx(two[:2], abs=1e-4)  # of 16 pictures; among 8 it would be log 2 smaller


# -- tokens


def bert_config(rows: int) -> dict[str, Any]:
    return {
        "vocab_size": rows, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 16, "max_position_embeddings": 40, "encoder_hidden_size": 16, "sep_token_id": 3,
    }  # fmt: skip


def text_encoder(folder: Path, kind: str) -> Path:
    """A tiny text encoder with drawn weights, saved as transformers saves them."""
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ",", "?", "'", *WORDS, "can", "t", "tell"]
    vocabulary = {word: number for number, word in enumerate(words)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=40).save_pretrained(folder)
    if kind == "bert":
        config = transformers.BertConfig(
            **{key: value for key, value in bert_config(len(words)).items() if "enc" not in key}
        )
        transformers.BertModel(config).save_pretrained(folder)
    else:
        vision = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
                  "image_size": 16, "patch_size": 8}  # fmt: skip
        both = transformers.BlipConfig(
            text_config=bert_config(len(words)), vision_config=vision, image_text_hidden_size=12, projection_dim=12
        )
        transformers.BlipForImageTextRetrieval(both).save_pretrained(folder)
    return folder


def tokens(*overrides: str) -> tuple[str, ...]:
    known = ("model.reads=tokens", "model.most_tokens=40", "model.pooling=first", "model.dropout=0.0", "rounds=2")
    return (*known, *overrides)


@pytest.mark.usefixtures("every_step_logged")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "blip"])
@pytest.mark.long
def test_a_text_encoder_learns_to_read_whole_dialogues(data: Path, tmp_path: Path, kind: str) -> None:
    folder = text_encoder(tmp_path / kind, kind)
    settings = tokens(f"model.text_model={folder}", "training.epochs=40", "training.validate_epochs=20")
    fitted = train(plan(data, tmp_path / "out", *settings))
    lost = [record.loss for record in read_log(tmp_path / "out" / "log.jsonl") if record.loss is not None]
    assert np.mean(lost[-4:]) < np.mean(lost[:4]) - 0.3
    weights = read_weights(fitted.best)
    before = load_text_model(str(folder)).network.state_dict()
    kept = {name.removeprefix("text."): array for name, array in weights.arrays.items() if name.startswith("text.")}
    assert kept.keys() == before.keys() and not any("crossattention" in name or "pooler" in name for name in kept)
    moved = [name for name, array in kept.items() if not np.allclose(array, before[name].numpy())]
    assert {name.split(".")[0] for name in moved} == {"embeddings", "encoder"}
    assert weights.card.settings["text"]["config"]["num_hidden_layers"] == 3


def test_of_a_text_encoder_the_first_layers_are_kept_and_the_last_of_those_train(data: Path, tmp_path: Path) -> None:
    folder = text_encoder(tmp_path / "bert", "bert")
    settings = tokens(f"model.text_model={folder}", "model.keep_layers=2", "model.train_layers=1", "training.epochs=1")
    first = train(plan(data, tmp_path / "out", *settings, "mask=tokens"))
    before, after = load_text_model(str(folder), 2).network.state_dict(), read_weights(first.best).arrays
    moved = {name for name, tensor in before.items() if not np.array_equal(after[f"text.{name}"], tensor.numpy())}
    assert {name.partition(".attention")[0].partition(".output")[0].partition(".inter")[0] for name in moved} == {
        "encoder.layer.1"
    }
    second = train(plan(data, tmp_path / "more", *settings, "training.learning_rate=1e-9", start=first.best))
    np.testing.assert_allclose(read_weights(second.best).arrays["out.weight"], after["out.weight"], atol=1e-5)


def test_blip_brings_its_projection(tmp_path: Path) -> None:
    folder = text_encoder(tmp_path / "blip", "blip")
    text = load_text_model(str(folder))
    assert text.projection is not None and text.projection.weight.shape == (12, 16)
    assert load_text_model("minilm", 1).projection is None


def test_a_text_encoder_that_cannot_serve_is_refused(data: Path, tmp_path: Path) -> None:
    folder = text_encoder(tmp_path / "bert", "bert")
    with pytest.raises(BadInput, match=r"bert has 3 layers; keep_layers must be at most so many, or 0 for all"):
        load_text_model(str(folder), 4)
    with pytest.raises(BadInput, match=r"most_tokens is 41; .*bert reads 40 at most"):
        train(plan(data, tmp_path / "out", *tokens(f"model.text_model={folder}", "model.most_tokens=41")))
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="cannot load the text encoder"):
        load_text_model(str(folder))
