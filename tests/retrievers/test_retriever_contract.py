"""What holds for every retriever there is; a new one is tested the day it is added to `RETRIEVERS`.

Trained ones have the numbers that training starts from: what holds does not depend on what was learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show
from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import LanguageModelFailed, UnknownName
from viewfinder.index import Gallery
from viewfinder.language.endpoint import Endpoint
from viewfinder.retrievers import RETRIEVERS, ResolvedTurn, Retriever, SentenceEncoder, load_retriever
from viewfinder.retrievers.base import AnsweringRetriever
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import TRAINERS, train_system
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_pictures, tiny_snapshot

if TYPE_CHECKING:
    from viewfinder.training import TrainingJob, TrainingResult

LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS]
ENCODER = ColourEncoder()


def gallery_of(looks: list[tuple[str, str]]) -> Gallery:
    return Gallery(tiny_snapshot(looks, [{"top": (top,)} for top, _ in looks]), ENCODER, TinyRaw(looks))


GALLERY = gallery_of(LOOKS)


def turns_for(retriever: Retriever[Any]) -> list[ResolvedTurn]:
    """Every kind of turn, with pictures as this retriever reads them."""
    reads = retriever.reads
    p, q = GALLERY.picture("p003", reads), GALLERY.picture("p009", reads)
    turns = [
        ResolvedTurn(Say("red, no blue"), 1, ENCODER.words, "red, no blue"),
        ResolvedTurn(
            Answer(Question("Top?", attribute="top"), "red"), 2, ENCODER.words, "red", (), (p, q), {"top": ("red",)}
        ),
        ResolvedTurn(Answer(Question("Bottom?"), "don't know"), 3, ENCODER.words, "don't know"),
        ResolvedTurn(Like("p003", "green"), 4, ENCODER.words, "green", (p,)),
        ResolvedTurn(Show("mine.png"), 5, ENCODER.words, "", (q,)),
        ResolvedTurn(Keep("top", 1), 6, ENCODER.words, "red", (p,), (), {"top": ("red",)}),
        ResolvedTurn(Reject(("p009",), "blue"), 7, ENCODER.words, "blue", (q,), (p, q)),
        ResolvedTurn(Reject(), 8, ENCODER.words, "", (), (p,)),
        ResolvedTurn(Like("p009", "", 1), 9, ENCODER.words, "", (q,)),
    ]
    return [replace(turn, sentences=SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)) for turn in turns]


each = pytest.mark.parametrize("name", sorted(RETRIEVERS))


class BeforeTraining(TrainPlan):
    """A plan whose trainings end before their first step: `best` is what they would have started from."""

    def fit(self, job: TrainingJob, out: Path | None = None) -> TrainingResult:
        from viewfinder.training import TrainingResult, save_network

        best = (out or self.out) / "best.safetensors"
        save_network(best, job.network, job.card)
        return TrainingResult(ended="steps", step=0, epoch=0, best=best, best_step=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one colour over another, with all that systems learn from: captions, pairs and transactions."""
    folder = tmp_path_factory.mktemp("data")
    pictures = tiny_pictures(folder / "images", 64)
    keys = [one.path.stem for one in pictures]
    lines = [f"{one.path.name},{one.caption}" for one in pictures]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n", encoding="utf-8")
    for split, first, last in (("train", 0, 48), ("val", 48, 64)):
        some = range(first + 1, last)
        pairs = [FashionPair(keys[at], keys[at - 1], (f"is {pictures[at].top}", "is lighter")) for at in some]
        attributes = {one.path.stem: ((), (one.top, one.bottom), (), (), (), ()) for one in pictures[first:last]}
        write_fashion_iq(folder, "flags", split, pairs, keys[first:last], attributes)
        names = [one.path.name for one in pictures]
        steps = [Transaction(names[at - 1], (names[at],), (f"1. is {pictures[at].caption}",)) for at in some]
        write_transactions(folder, "flags", split, steps, names)
    return folder


@pytest.fixture(scope="module")
def load(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Retriever[Any]]:
    """`load_retriever`, for trained ones with what the training of their preset "lab" starts from."""
    weights: dict[str, Path] = {}

    def loaded(name: str) -> Retriever[Any]:
        if name in TRAINERS and name not in weights:
            out = tmp_path_factory.mktemp(name)
            given: dict[str, Any] = {"preset": "lab", "data": (data,), "encoder": ENCODER, "out": out}
            weights[name] = train_system(BeforeTraining(system=name, features=data / "vectors", **given)).best
        retriever = load_retriever(name, weights.get(name))
        # What is said in words changes no results: who answers always shows pictures here.
        return retriever.with_picture_bias(inf) if isinstance(retriever, AnsweringRetriever) else retriever

    return loaded


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language model of those that need one cannot be reached."""

    def fail(*prompt: object, **limits: object) -> str:
        raise LanguageModelFailed("nobody is there")

    monkeypatch.setenv("VIEWFINDER_LANGUAGE_MODEL", "http://127.0.0.1:9/v1#nobody")
    monkeypatch.setattr(Endpoint, "complete", fail)


def states(retriever: Retriever[Any]) -> list[Any]:
    """The states after 0, 1, 2 ... turns."""
    found = [retriever.begin()]
    for turn in turns_for(retriever):
        found.append(retriever.step(found[-1], turn))
    return found


def scores(retriever: Retriever[Any], state: Any, gallery: Gallery = GALLERY) -> np.ndarray:
    return np.asarray(gallery.scores(retriever.query(state)).total_n)


@each
def test_it_fulfils_the_contract_and_knows_its_name(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    assert isinstance(retriever, Retriever)
    assert retriever.name == name
    known = {"global", "regions", "named regions", "attributes", "own", "raw", "vocabulary"}
    assert set(retriever.reads.needs) <= known
    assert retriever.query(retriever.begin()).space == (retriever.reads.space or "global")


@each
def test_every_kind_of_turn_gives_one_finite_score_a_picture(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    for state in states(retriever):
        scores_n = scores(retriever, state)
        assert scores_n.shape == (len(LOOKS),)
        assert np.isfinite(scores_n).all()


@each
def test_the_same_turns_give_the_same_scores(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    one, other = load(name), load(name)
    for first, second in zip(states(one), states(other), strict=True):
        np.testing.assert_array_equal(scores(one, first), scores(other, second))


@each
def test_a_step_leaves_every_earlier_state_alone(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    found = states(retriever)
    before = [scores(retriever, state) for state in found]
    for state in found:
        for turn in turns_for(retriever):
            retriever.step(state, turn)
    for state, scores_n in zip(found, before, strict=True):
        np.testing.assert_array_equal(scores(retriever, state), scores_n)


@each
def test_shuffled_pictures_have_shuffled_scores(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    order = np.random.default_rng(0).permutation(len(LOOKS))
    shuffled = gallery_of([LOOKS[row] for row in order])
    for state in states(retriever):
        expected_n = scores(retriever, state)[order]
        np.testing.assert_allclose(scores(retriever, state, shuffled), expected_n, atol=1e-5)


@each
def test_nothing_said_asks_for_nothing(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    query = retriever.query(retriever.begin())
    assert (query.parts, query.excluded, query.adapters) == ((), frozenset(), ())


@each
def test_a_turn_is_taken_in_or_the_result_says_that_it_was_not(
    name: str, load: Callable[[str], Retriever[Any]]
) -> None:
    # "don't know" may pass in silence: there is nothing in it to take.
    retriever = load(name)
    found = states(retriever)
    for number, turn in enumerate(turns_for(retriever), start=1):
        before, after = retriever.query(found[number - 1]), retriever.query(found[number])
        used = any(part.turn == number for part in after.parts) or after.excluded != before.excluded
        silent = turn.number == 3
        assert used or silent or len(after.adapters) > len(before.adapters), f"{name} swallowed turn {number}"


def test_the_plain_encoder_on_the_caption_says_that_it_drops_what_follows() -> None:
    retriever = load_retriever("clip-caption")
    found = states(retriever)
    query = retriever.query(found[-1])
    assert [(part.turn, part.label) for part in query.parts] == [(1, "red, no blue")]
    np.testing.assert_array_equal(scores(retriever, found[-1]), scores(retriever, found[1]))
    assert query.adapters[0] == "drop: clip-caption has no use for what is said after the first"


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        UnknownName,
        match="no retriever is called 'clip'; there are: chatir, chatsearcher, clip-caption, clip-i, clip-t, clip-ti,",
    ):
        load_retriever("clip")
