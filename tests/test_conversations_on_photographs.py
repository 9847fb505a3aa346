"""Turns about real photographs help: people who know one of them by its captions talk, and its rank is followed.

`benchmarks/conversations.py` measures the same on more photographs, that nothing was chosen on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Answer, Reject
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.pictures import AtMost, Limits
from viewfinder.pictures.decode import decode
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.users import AnnotatedPhotos, Screen, SpeakingStyle, photo_person, read_photo_notes
from viewfinder.wording.replies import is_dont_know

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
PEOPLE, PICTURES, TURNS, ENOUGH_CAPTIONS = 60, 250, 4, 4

MAX_LOST = 0.3
"""Bits of rank that a caption may lose when it is said in two turns. It loses 0.23; read apart, 0.42."""

pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")]


@dataclass(frozen=True)
class Heard:
    """An answer that says something (or the first sentence), the 0-based ranks before and after, and the verdict."""

    is_answer: bool
    before: float
    after: int
    verdict: str


@pytest.fixture(scope="module")
def notes() -> AnnotatedPhotos:
    return read_photo_notes(DATA, "choose")


@pytest.fixture(scope="module")
def gallery(notes: AnnotatedPhotos) -> Gallery:
    encoder, keys = StarterEncoder(), pick_evenly(sorted(notes.pictures), PICTURES)
    raw = []
    for at in range(0, len(keys), 64):
        files = [notes.of(key).path for key in keys[at : at + 64]]
        pixels = [decode(file.read_bytes(), limits=Limits(), fit=AtMost(256)).pixels for file in files if file]
        raw.append(encoder.pictures(pixels).global_bd)
    return Pictures(tuple(keys), encoder.project(np.concatenate(raw)).astype(np.float32), encoder).gallery()


@pytest.fixture(scope="module", params=[pytest.param("sentences", marks=pytest.mark.long), "fragments"])
def conversations(request: pytest.FixtureRequest, gallery: Gallery, notes: AnnotatedPhotos) -> list[Heard]:
    known = [key for key in gallery.snapshot.ids if len(notes.of(key).captions) >= ENOUGH_CAPTIONS]
    style = SpeakingStyle(speaks=request.param, policy="answers")
    return [heard for target in pick_evenly(known, PEOPLE) for heard in conversation(gallery, notes, target, style)]


def conversation(gallery: Gallery, notes: AnnotatedPhotos, target: str, style: SpeakingStyle) -> Iterator[Heard]:
    """A truthful person describes a photograph and answers what is asked; what says nothing is left out."""
    session, user = Session(gallery, load_retriever("composer"), "information_gain"), photo_person(notes, style=style)
    shown: tuple[str, ...] = ()
    for number in range(TURNS):
        before = session.rank_of(target) if number else math.nan
        turn = user.reply(target, Screen(tuple(key for key in shown if key != target), session.question, number))
        if turn is None:
            return
        hits = session.take(turn)
        shown = tuple(hit.id for hit in hits)
        if not isinstance(turn, Answer) or not is_dont_know(turn.text):
            yield Heard(isinstance(turn, Answer), before, session.rank_of(target), hits.verdict)


def test_a_truthful_answer_does_not_worsen_the_rank_on_average(conversations: list[Heard]) -> None:
    changes = [math.log2(one.after + 1) - math.log2(one.before + 1) for one in conversations if one.is_answer]
    assert len(changes) >= PEOPLE // 2, "hardly any question could be answered"
    assert np.mean(changes) <= 0, f"{np.mean(changes):+.3f} bits over {len(changes)} answers"


def test_what_is_among_the_first_ten_is_hardly_ever_called_not_there(conversations: list[Heard]) -> None:
    denied = [one.verdict == "nothing" for one in conversations if one.after < 10]
    assert len(denied) >= PEOPLE // 2, "hardly anything is found"
    assert np.mean(denied) <= 0.05, f"{sum(denied)} of {len(denied)} turns"


def test_what_is_said_in_two_turns_finds_nearly_as_much_as_in_one(gallery: Gallery, notes: AnnotatedPhotos) -> None:
    lost = []
    for target in pick_evenly(gallery.snapshot.ids, 2 * PEOPLE):
        thing, place, where = notes.of(target).captions[0].partition(" in ")
        if len(thing.split()) < 2 or not where:
            continue
        whole, parted = (Session(gallery, load_retriever("composer"), None) for _ in range(2))
        whole.say(f"{thing}{place}{where}")
        parted.say(thing)
        parted.say(f"it is{place}{where}")
        lost.append(math.log2(parted.rank_of(target) + 1) - math.log2(whole.rank_of(target) + 1))
    assert len(lost) >= PEOPLE // 3, "hardly any caption can be cut"
    assert np.mean(lost) <= MAX_LOST, f"{np.mean(lost):+.3f} bits over {len(lost)} captions"


def test_rejecting_what_one_does_not_look_for_sets_nothing_back(gallery: Gallery, notes: AnnotatedPhotos) -> None:
    style = SpeakingStyle(speaks="fragments", policy="answers")
    for target in pick_evenly(gallery.snapshot.ids, PEOPLE):
        session, user = Session(gallery, load_retriever("composer"), None), photo_person(notes, style=style)
        said = user.reply(target, Screen((), None, 0))
        assert said is not None
        shown, before = [hit.id for hit in session.take(said)], session.rank_of(target)
        others = tuple(key for key in shown if key != target)
        session.take(Reject(others))
        assert session.rank_of(target) == before - sum(shown.index(key) < before for key in others)
