"""Turns about real photographs help: people who know one of them by its captions talk, and its rank is followed.

`benchmarks/conversations.py` measures the same on more photographs, that nothing was chosen on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, Question, Reject
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.pictures import AtMost, Limits
from viewfinder.pictures.decode import decode
from viewfinder.questioners.photographs import facets
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hit
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


@pytest.fixture(params=["composer", "one"])
def start(request: pytest.FixtureRequest, gallery: Gallery) -> Callable[[], Session]:
    return lambda: Session(gallery, load_retriever(request.param), None, n=20)


@pytest.fixture
def session(start: Callable[[], Session]) -> Session:
    return start()


def name(notes: AnnotatedPhotos, shown: Iterable[str], *words: str) -> int:
    """How many of these photographs have a caption with one of the words."""
    named = re.compile(rf"\b({'|'.join(words)})s?\b")
    return sum(any(named.search(caption.lower()) for caption in notes.of(key).captions) for key in shown)


def find(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_what_is_like_a_picture_comes_first_and_the_picture_before_all(gallery: Gallery, session: Session) -> None:
    described = find(session.say("a dog"))
    picked = find(session.like(described[10]))
    assert picked[0] == described[10]  # without words, this may well be the one

    def likeness(shown: list[str]) -> float:
        rows_nd = gallery.snapshot.matrix_nd[gallery.rows([described[10], *shown])]
        return float((rows_nd[1:] @ rows_nd[0]).mean())

    assert likeness(picked) > likeness(described)


def test_like_this_but_adds_what_is_said_and_leaves_the_picture_out(notes: AnnotatedPhotos, session: Session) -> None:
    described = find(session.say("a dog on the grass"))
    changed = find(session.like(described[0], but="in the water"))
    assert described[0] not in changed
    water = ("water", "pool", "lake", "ocean", "river", "wave", "splash")
    assert name(notes, changed[:10], *water) >= name(notes, described[:10], *water) + 4
    assert name(notes, changed[:10], "dog", "puppy") >= 7


@pytest.mark.parametrize("is_read", [True, False], ids=["as people talk to a library", "as systems are compared"])
def test_a_correction_takes_the_place_of_what_it_corrects(
    notes: AnnotatedPhotos, gallery: Gallery, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "matches_words", is_read)
    session = Session(gallery, load_retriever("composer"), None, n=20, memo=ByteCache())
    session.say("a dog on the grass")
    corrected = find(session.say("no, in the water"))
    water = ("water", "pool", "lake", "ocean", "river", "wave", "splash")
    assert name(notes, corrected[:10], *water) >= 6
    assert name(notes, corrected[:10], "dog", "puppy") >= 7


def test_a_picture_of_ones_own_finds_the_photograph_that_it_was_made_from(
    notes: AnnotatedPhotos, gallery: Gallery, session: Session, tmp_path: Path
) -> None:
    target = gallery.snapshot.ids[100]
    file = notes.of(target).path
    assert file is not None
    with Image.open(file) as photograph:
        cut = photograph.crop((10, 10, photograph.width - 10, photograph.height - 10)).transpose(
            Image.Transpose.FLIP_LEFT_RIGHT
        )
        cut.save(tmp_path / "own.jpg")
    session.say("something red")
    assert find(session.show(tmp_path / "own.jpg"))[0] == target


def test_an_attribute_of_what_was_shown_is_kept_in_another_search(notes: AnnotatedPhotos, session: Session) -> None:
    session.say("somebody in the snow")
    without = find(session.say("a person jumping"))
    kept = find(session.keep("place", 1))
    snow = ("snow", "snowy", "ski", "skier", "snowboard", "snowboarder", "ice")
    assert name(notes, kept[:10], *snow) >= name(notes, without[:10], *snow)
    assert name(notes, kept[:10], *snow) >= 7


def test_what_is_rejected_leaves_and_what_is_refused_in_words_falls(notes: AnnotatedPhotos, session: Session) -> None:
    described = find(session.say("a dog playing"))
    left = find(session.reject(*described[:3]))
    assert left[: len(described) - 3] == described[3:]
    refused = find(session.reject(text="no water"))
    water = ("water", "pool", "lake", "ocean", "river", "wave")
    assert name(notes, refused[:10], *water) <= name(notes, left[:10], *water)
    assert name(notes, refused, *water) < name(notes, left, *water)


def test_who_goes_back_finds_what_was_there_and_goes_on_as_if_nothing_had_followed(
    start: Callable[[], Session],
) -> None:
    session, elsewhere = start(), start()
    first = find(session.say("a child by the water"))
    session.say("a man on a bicycle")
    assert find(session.back_to(1)) == first
    elsewhere.say("a child by the water")
    assert find(session.say("in a red shirt")) == find(elsewhere.say("in a red shirt"))


@pytest.mark.parametrize(("text", "words"), [("a dog", ("dog", "puppy")), ("a group of people", ("people", "group"))])
def test_an_answer_brings_what_it_says(notes: AnnotatedPhotos, session: Session, text: str, words: list[str]) -> None:
    facet = next(facet for facet in facets() if text in facet.labels)
    before = find(session.say("outside on the grass"))
    answered = find(session.take(Answer(Question(facet.question, facet.labels, attribute=facet.name), text)))
    assert name(notes, answered, *words) >= name(notes, before, *words) + 2
