"""What every retriever must keep: `viewfinder.testing.check_retriever`, over every name there is.

Trained ones have the numbers that training starts from: what holds does not depend on what was learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from viewfinder.conversation import Reject
from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import LanguageModelFailed, UnknownName
from viewfinder.language.endpoint import Endpoint
from viewfinder.query import Part, Query, Reads, ResolvedTurn
from viewfinder.retrievers import RETRIEVERS, Retriever, load_retriever
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import TRAINERS, train_system
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all
from viewfinder.testing import LOOKS, ColourEncoder, check_retriever, every_kind_of_turn, tiny_pictures, tiny_snapshot

if TYPE_CHECKING:
    from viewfinder.training import TrainingJob, TrainingResult

ENCODER = ColourEncoder()
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
    """Pictures of one colour over another, with all that systems learn from: captions, pairs and transactions.

    Pairs for validation are of the first 24, as two of these are for validation by their names too.
    """
    folder = tmp_path_factory.mktemp("data")
    pictures = tiny_pictures(folder / "images", 72)
    keys = [one.path.stem for one in pictures]
    lines = [f"{one.path.name},{one.caption}" for one in pictures]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n", encoding="utf-8")
    for split, first, last in (("train", 24, 72), ("val", 0, 24)):
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
        return load_retriever(name, weights.get(name))

    return loaded


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language model of those that need one cannot be reached."""

    def fail(*prompt: object, **limits: object) -> str:
        raise LanguageModelFailed("nobody is there")

    monkeypatch.setenv("VIEWFINDER_LANGUAGE_MODEL", "http://127.0.0.1:9/v1#nobody")
    monkeypatch.setattr(Endpoint, "complete", fail)


@each
def test_every_retriever_keeps_the_contract_and_knows_its_name(
    name: str, load: Callable[[str], Retriever[Any]]
) -> None:
    check_retriever(lambda: load(name))
    assert load(name).name == name


class Whole:
    """A retriever without a fault: everything counts alike."""

    name = "whole"
    reads = Reads()

    def begin(self) -> tuple[Part, ...]:
        return ()

    def step(self, state: tuple[Part, ...], turn: ResolvedTurn) -> tuple[Part, ...]:
        words = [Part("words", turn.number, turn.text, 1.0, turn.words([turn.text])[0])] if turn.text else []
        seen = [Part("picture", turn.number, "it", 1.0, one.vectors["global"]) for one in (*turn.pictures, *turn.shown)]
        return (*state, *words, *seen)

    def query(self, state: tuple[Part, ...]) -> Query:
        return Query(state)


class Swallows(Whole):
    def step(self, state: tuple[Part, ...], turn: ResolvedTurn) -> tuple[Part, ...]:
        return state if isinstance(turn.turn, Reject) else super().step(state, turn)


class Grows(Whole):
    def begin(self) -> Any:
        return []

    def step(self, state: Any, turn: ResolvedTurn) -> Any:
        state += super().step((), turn)
        return state

    def query(self, state: Any) -> Query:
        return Query(tuple(state))


class Draws(Whole):
    def __init__(self) -> None:
        self._number = next(NUMBERS)

    def query(self, state: tuple[Part, ...]) -> Query:
        return Query(tuple(replace(part, weight=1.0 + self._number * part.turn) for part in state))


class Eager(Whole):
    def begin(self) -> tuple[Part, ...]:
        return (Part("words", 0, "red", 1.0, ENCODER.words(["red"])[0]),)


class Endless(Whole):
    def query(self, state: tuple[Part, ...]) -> Query:
        return Query(tuple(replace(part, vector_d=np.full(48, np.nan, np.float32)) for part in state))


NUMBERS = count(1)


def test_a_class_that_keeps_the_contract_passes() -> None:
    check_retriever(Whole)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Swallows, "swallowed turn 7 \\(Reject\\)"),
        (Grows, "a step changed a state that was there before it"),
        (Draws, "the same turns, other scores"),
        (Eager, "before anything was said"),
        (Endless, "finite scores"),
    ],
)
def test_a_retriever_that_breaks_the_contract_is_noticed(broken: type[Whole], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_retriever(broken)


def test_the_plain_encoder_on_the_caption_says_that_it_drops_what_follows() -> None:
    retriever = load_retriever("clip-caption")
    gallery = Gallery(tiny_snapshot(LOOKS), ENCODER)
    found = [retriever.begin()]
    for turn in every_kind_of_turn(retriever, gallery):
        found.append(retriever.step(found[-1], turn))
    query = retriever.query(found[-1])
    assert [(part.turn, part.label) for part in query.parts] == [(1, "red, no blue")]
    last_n, first_n = (score_all(gallery, retriever.query(state)).total_n for state in (found[-1], found[1]))
    np.testing.assert_array_equal(last_n, first_n)
    assert query.adapters[0] == "drop: clip-caption has no use for what is said after the first"


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        UnknownName,
        match="no retriever is called 'clip'; there are: chatir, chatsearcher, clip-caption, clip-i, clip-t, clip-ti,",
    ):
        load_retriever("clip")
