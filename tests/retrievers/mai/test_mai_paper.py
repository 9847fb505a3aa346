"""The paper's preset: its numbers, and a tiny one that trains from a tiny BLIP-2 to a search."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import numpy as np
import pytest
import torch

from tests.training_log import read_log
from viewfinder.conversation import Like
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput
from viewfinder.query import Picture, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.mai.network import MaiNetwork
from viewfinder.retrievers.mai.retriever import Mai
from viewfinder.retrievers.mai.settings import MaiPreset, Model
from viewfinder.retrievers.mai.texts import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.mai.train import PRESETS, train
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, TinyRaw, tiny_pictures
from viewfinder.training import load_network, load_preset
from viewfinder.training.presets import OneCycle, build_settings
from viewfinder.weights import read_weights

ENCODER = ColourEncoder()
TINY = (
    "model.width=16", "model.layers=2", "model.heads=2", "model.hidden=24", "model.image_width=12", "model.tokens=4",
    "model.projection=8", "model.prompts=2", "model.most_words=10", "model.iteration.neighbours=2", "batch=4",
    "training.epochs=1", "training.precision=no", "training.learning_rate=1e-3",
)  # fmt: skip


def test_the_published_numbers_are_those_of_the_paper_and_of_blip2() -> None:
    found = load_preset(PRESETS, "paper", MaiPreset)
    model, training, schedule = found.model, found.training, found.training.schedule
    assert (model.width, model.layers, model.heads, model.hidden, model.cross_every) == (768, 12, 12, 3072, 2)
    assert (model.tokens, model.prompts, model.projection, model.image_width) == (32, 32, 256, 1408)
    assert (model.stages, model.memory, model.words, model.most_words + 2) == ("two", "mio", "pieces", 128)
    assert (training.optimiser, training.learning_rate, training.weight_decay) == ("adamw", 1e-5, 0.05)
    assert (training.betas, training.eps, training.epochs, found.batch) == ((0.9, 0.98), 1e-7, 50, 32)
    assert isinstance(schedule, OneCycle)
    assert schedule.rising * 50 == pytest.approx(1.5) and schedule.start_divisor == 100
    assert (found.loss.scale, found.loss.learned_scale, len(found.loss.terms)) == (100.0, False, 4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Talks of three turns over pictures of one colour over another, some of which look back."""
    folder = tmp_path_factory.mktemp("colours")
    pictures = tiny_pictures(folder / "images", 12)
    names = [one.path.name for one in pictures]
    for split, first, count in (("train", 0, 8), ("val", 4, 5)):
        dialogues = []
        for at in range(first, first + count):
            row = [pictures[(at + turn) % len(pictures)] for turn in range(4)]
            said = [f"1. is {one.top} 2. is more {one.bottom}" for one in row[1:]]
            said[2] = f"I prefer the FIRST, and {said[2]}" if at % 2 else f"{said[2]} 3. keep the FIRST's top"
            captions = tuple(one.caption for one in row)
            dialogues.append(
                Transaction(row[0].path.name, tuple(one.path.name for one in row[1:]), tuple(said), captions)
            )
        write_transactions(folder, "shoes", split, dialogues, names)
    return folder


def plan(data: Path, out: Path, folder: Path, *overrides: str, **known: Any) -> TrainPlan:
    own = (f"model.qformer={folder}", f"model.tokeniser={folder}")
    given: dict[str, Any] = {"preset": "paper", "overrides": (*TINY, *own, *overrides), "seed": 42}
    given |= {"system": "mai", "encoder": ENCODER, "features": data / "vectors", "data": (data,), "out": out}
    return TrainPlan(shown=False, tensorboard=False, **(given | known))


@pytest.fixture(scope="module")
def trained(data: Path, blip2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights after two steps; what they began with is gone."""
    folder = copytree(blip2_folder, tmp_path_factory.mktemp("begun") / "blip2")
    fitted = train(plan(data, tmp_path_factory.mktemp("out"), folder))
    rmtree(folder)
    assert (fitted.step, fitted.ended) == (2, "epochs")
    return fitted.best


def test_two_steps_move_what_blip2_brought(trained: Path, blip2_folder: Path) -> None:
    arrays, before = read_weights(trained).arrays, blip2_tensors(blip2_folder)
    same = {"text.pieces.weight": "embeddings.word_embeddings.weight", "text_project.weight": "text_projection.weight"}
    same |= {name: name for name in arrays if name.startswith("qformer.")}
    moved = {name: np.abs(arrays[name] - before[theirs]).max() for name, theirs in same.items()}
    # Each of two steps of AdamW moves a number by a learning rate at most, and a little by decay; none was drawn anew.
    assert min(size for name, size in moved.items() if "key.bias" not in name) > 0
    assert max(moved.values()) < 3e-3
    assert float(arrays["log_scale"]) == pytest.approx(np.log(100.0))
    lost = [record.loss for record in read_log(trained.parent / "log.jsonl") if record.loss is not None]
    assert len(lost) == 1 and np.isfinite(lost).all()  # the mean of the epoch


def blip2_tensors(folder: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def test_a_search_gives_the_networks_own_queries_without_what_it_began_with(trained: Path) -> None:
    weights = read_weights(trained)
    mai = Mai(weights)
    [(whole_ng, regions_nre)] = TinyRaw([("red", "blue")], batch=1).batches(["p000"], regions=True)
    assert regions_nre is not None
    picture = Picture("p000", {"raw": whole_ng[0], "raw regions": regions_nre[0]}, caption="red over blue")
    sentences = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
    turn = Like("p000", "is more green: over the first's")
    resolved = ResolvedTurn(turn, 1, ENCODER.words, turn.text, (picture,), sentences=sentences)
    [part] = mai.query(mai.step(mai.begin(), resolved)).parts
    assert part.vector_d is not None
    np.testing.assert_allclose(part.vector_d, asked(trained, picture, turn.text), atol=1e-5)


@torch.no_grad()
def asked(trained: Path, picture: Picture, text: str) -> np.ndarray:
    """The query of the network in torch after a first turn."""
    settings = read_weights(trained).card.settings
    model, tokeniser = build_settings(Model, settings["model"]), SavedTokeniser(**settings["tokeniser"])
    network = MaiNetwork(model, 48, 3, tokeniser).eval()
    load_network(trained, network, system="mai", encoder=ENCODER.raw_version)
    pieces = PieceTokenizer(tokeniser, model.most_words)
    caption, said = (network.text(torch.from_numpy(pieces.numbers([one]))) for one in (picture.caption, text))
    image = network.images(
        network.images.components(picture.vectors["raw"][None], picture.vectors["raw regions"][None])
    )
    seen = network.fuse(network.learned[None], caption, image)
    return np.asarray(network.encode_queries(network.fuse(seen.tokens_bth, said, None))[0])


def test_a_training_goes_on_from_such_weights_with_their_tokeniser(data: Path, tmp_path: Path, trained: Path) -> None:
    fitted = train(plan(data, tmp_path, tmp_path / "gone", start=trained))
    before, after = (read_weights(path).card.settings for path in (trained, fitted.best))
    assert after["tokeniser"] == before["tokeniser"] and after["model"] == before["model"]


def test_what_is_wrong_with_blip2_is_told_before_any_picture_is_read(
    data: Path, tmp_path: Path, blip2_folder: Path
) -> None:
    told: list[str] = []
    with pytest.raises(BadInput, match=r"--set model\.layers=2"):
        train(plan(data, tmp_path, blip2_folder, "model.layers=3", notify=told.append))
    assert not told


def test_pieces_are_read_without_weights_of_others_as_well(data: Path, tmp_path: Path, blip2_folder: Path) -> None:
    own = (f"model.tokeniser={blip2_folder}", "model.words=pieces", "training.epochs=1", "batch=4")
    small = ("model.width=8", "model.hidden=8", "model.tokens=4", "model.components=6", "model.projection=4")
    fitted = train(plan(data, tmp_path, blip2_folder, preset="lab", overrides=(*own, *small)))
    weights = read_weights(fitted.best)
    assert weights.arrays["text.pieces.weight"].shape[1] == 8
    assert "vocabulary" not in weights.card.settings
