"""What becomes of a search whose person changes their mind? Writes results/changing_minds.json.

    python benchmarks/changing_minds.py DATA [--part report] [--cache FOLDER]

Somebody looks for a thing at a place ("a dog on the grass"), and then for it at another one: by a correction ("no, in
the snow"), or by a result that is picked with words ("like this, but in the snow"). All pairs of places are tried of
which the captions of at least five photographs name the thing. A figure is the share of the first ten results whose
captions name the thing and the new place; of fewer than ten such photographs, the share of those. `adds` is a composer
that keeps all that was said, as it did before it was told what a turn takes back.

`denials` are of somebody who only takes back ("I don't want grass"): the share of results whose captions name the thing
and not that place, before it is said and after.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from conversations import embed_photographs
from freshness import RESULTS
from machine import describe_host
from measuring import write_json
from quality import estimate_interval

from viewfinder.query import ResolvedTurn
from viewfinder.retrievers import Composer
from viewfinder.retrievers.composer import ComposerState
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.session.session import Session
from viewfinder.users import AnnotatedPhotos, read_photo_notes

THINGS = {
    "a dog": ("dog", "puppy"), "a child": ("child", "boy", "girl", "kid", "children", "toddler"),
    "a man": ("man", "guy"), "a woman": ("woman", "lady"), "some people": ("people", "men", "women", "crowd"),
}  # fmt: skip
PLACES = {
    "on the grass": ("grass", "grassy", "field", "lawn"), "in the water": ("water", "pool", "lake", "ocean", "river"),
    "in the snow": ("snow", "snowy"), "in the street": ("street", "road", "sidewalk"),
    "on the beach": ("beach", "sand"),
}  # fmt: skip
MIN_PHOTOGRAPHS = 5

Way = Callable[[Session, str, str, str], Hits]


def pick_but(chat: Session, thing: str, before: str, after: str) -> Hits:
    """The first result is picked, with words."""
    return chat.like(chat.say(f"{thing} {before}")[0], but=after)


def correct_in(words: str) -> Way:
    """The place that is meant, in such words."""
    return lambda chat, thing, before, after: say_both(chat, f"{thing} {before}", words.format(after))


WAYS: dict[str, Way] = {
    '"a dog in the snow" at once': lambda chat, thing, before, after: chat.say(f"{thing} {after}"),
    '"no, in the snow"': lambda chat, thing, before, after: say_both(chat, f"{thing} {before}", f"no, {after}"),
    '"sorry, I meant in the snow"': lambda chat, thing, before, after: say_both(
        chat, f"{thing} {before}", f"sorry, I meant {after}"
    ),
    **{
        f'"{words.format("in the snow")}"': correct_in(words)
        for words in ("wait it was {}", "close but it was {}", "make it {}", "{} actually")
    },
    '"like this, but in the snow"': pick_but,
    '"in the snow", without a word of correction': lambda chat, thing, before, after: say_both(
        chat, f"{thing} {before}", after
    ),
}

DENIALS = (
    "not {place}", "it wasn't {place}", "no {what}", "I don't want {what}", "there wasn't any {what}",
    "forget the {what}",
)  # fmt: skip
"""What is said after "a dog on the grass" by who does not want "grass"."""


class AddsOnly(Composer):
    """A composer that is not told what a turn takes back."""

    name: ClassVar[str] = "adds only"  # by which what it has heard is kept

    def step(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """As `Composer.step`, of a turn that adds."""
        return super().step(state, replace(turn, revise=None))

    def take_back(self, state: ComposerState, turn: ResolvedTurn) -> ComposerState:
        """The state as it is."""
        del turn
        return state


def main() -> None:
    """Tells all stories in all ways, and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", default="report", choices=["choose", "report"])
    parser.add_argument("--cache", type=Path, default=Path("runs/conversations"), help="raw vectors kept between runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "changing_minds.json")
    given = parser.parse_args()
    notes = read_photo_notes(given.data.resolve(), given.part)
    gallery = embed_photographs(notes, given.cache).gallery()
    stories = list_stories(notes, gallery.snapshot.ids)
    found: dict[str, Any] = {}
    for name, way in WAYS.items():
        shares = {
            kind: [measure(Session(gallery, retriever, None), way, *story) for story in stories]
            for kind, retriever in (("adds", AddsOnly()), ("revises", Composer()))
        }
        gained = [one - other for one, other in zip(shares["revises"], shares["adds"], strict=True)]
        found[name] = {kind: estimate_interval(values) for kind, values in (*shares.items(), ("gain", gained))}
        print(name, found[name], flush=True)
    denied = {}
    for words in DENIALS:
        pairs = [measure_denial(Session(gallery, Composer(), None), words, *it) for it in list_denied(notes, gallery)]
        before, after = map(list, zip(*pairs, strict=True))
        gained = [then - first for first, then in pairs]
        denied[words.format(place="on the grass", what="grass")] = {
            kind: estimate_interval(values) for kind, values in (("before", before), ("after", after), ("gain", gained))
        }
        print(words, denied, flush=True)
    results = {"part": given.part, "pictures": len(gallery), "stories": len(stories), "ways": found, "denials": denied}
    write_json(given.out, results | {"machine": describe_host()})


Story = tuple[str, str, str, frozenset[str]]
"""A thing, the place that is said first, the one that is meant, and the photographs that show it there."""


def list_stories(notes: AnnotatedPhotos, ids: Sequence[str]) -> list[Story]:
    """All pairs of places of which enough photographs show the thing."""
    shown = {
        (thing, place): frozenset(name_both(notes, ids, words, at))
        for thing, words in THINGS.items()
        for place, at in PLACES.items()
    }
    return [
        (thing, before, after, shown[thing, after])
        for thing in THINGS
        for before in PLACES
        for after in PLACES
        if before != after and min(len(shown[thing, before]), len(shown[thing, after])) >= MIN_PHOTOGRAPHS
    ]


def list_denied(notes: AnnotatedPhotos, gallery: Gallery) -> Iterable[tuple[str, str, frozenset[str]]]:
    """Things, places where enough photographs show them, and the photographs that show them without that place."""
    ids = gallery.snapshot.ids
    for thing, words in THINGS.items():
        for place, at in PLACES.items():
            there = frozenset(name_both(notes, ids, words, at))
            if len(there) >= MIN_PHOTOGRAPHS:
                yield thing, place, frozenset(name_both(notes, ids, words)) - there


def measure_denial(chat: Session, words: str, thing: str, place: str, wanted: frozenset[str]) -> tuple[float, float]:
    """The share of the first ten results that are wanted, before a place is denied in such words, and after."""
    before = chat.say(f"{thing} {place}")
    after = chat.say(words.format(place=place, what=place.rpartition(" ")[2]))
    return sum(hit.id in wanted for hit in before) / len(before), sum(hit.id in wanted for hit in after) / len(after)


def name_both(notes: AnnotatedPhotos, ids: Iterable[str], *words: Sequence[str]) -> Iterable[str]:
    """The photographs whose captions name one of each of some words."""
    patterns = [re.compile(rf"\b({'|'.join(some)})s?\b", re.IGNORECASE) for some in words]
    captions: Mapping[str, str] = {key: "\n".join(notes.of(key).captions) for key in ids}
    return (key for key, text in captions.items() if all(pattern.search(text) for pattern in patterns))


def say_both(chat: Session, first: str, then: str) -> Hits:
    """Two descriptions, one after the other."""
    chat.say(first)
    return chat.say(then)


def measure(chat: Session, way: Way, thing: str, before: str, after: str, wanted: frozenset[str]) -> float:
    """The share of the first ten results that show what is meant."""
    found = {hit.id for hit in way(chat, thing, before, after)}
    return len(found & wanted) / min(10, len(wanted))


if __name__ == "__main__":
    main()
