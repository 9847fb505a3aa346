"""A change of mind: what a turn says in place of what was described before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from viewfinder.conversation import Like, Reject, Say, Show, Turn
from viewfinder.questioners.photographs import Facet, facets
from viewfinder.wording.clauses import is_correction, split_clauses
from viewfinder.wording.stems import WORD, stem, stems
from viewfinder.wording.taking_away import SMALL, list_content_words, remove_word

MAX_BARE = 3
"""Words of a text in which a colour stands alone, whatever has it: "no, a blue one"."""

Revise = Callable[[str], str]
"""Gives a description of before as it still holds; "" where nothing of it does."""

_ADDS = re.compile(r"\s*(?:but\s+)?(?:also|and|plus|with)\b", re.IGNORECASE)
"""What opens words that add to a description: "like this, but with a ball"."""


def find_revision(turn: Turn, text: str) -> Revise | None:
    """What a turn, read as `text`, changes of descriptions; None where it adds to them, as most do.

    A correction ("no, in the snow") and words with a picture ("like this, but in the snow") take the place of what
    cannot be true beside them; what is ruled out ("not on grass") is no longer wanted.
    """
    clauses = split_clauses(text)
    instead = ""
    match turn:
        case Say() if is_correction(text):
            instead = clauses.wanted
        case Like() | Show() if not _ADDS.match(text):
            instead = clauses.wanted
        case Say() | Like() | Show() | Reject():
            pass
        case _:
            return None
    return partial(revise, instead=instead, without=clauses.unwanted) if instead or clauses.unwanted else None


@lru_cache(maxsize=16_384)  # every later turn asks for all that was said again
def revise(description: str, instead: str = "", without: tuple[str, ...] = ()) -> str:
    """A description without what cannot be true beside `instead`, and without the words of the pieces in `without`.

    Two labels of one facet of photographs ("on grass", "in the snow") cannot, but for facets of which several are true
    as a rule. A number goes with the thing counted.

    >>> revise("a dog on the grass", "in the snow"), revise("a dog on the grass", "a cat")
    ('a dog', 'on the grass')
    >>> revise("a dog on the grass", "running"), revise("a man on a red bicycle", without=("red",))
    ('a dog on the grass', 'a man on a bicycle')
    """
    gone = {word for facet in facets() for word in _find_replaced(facet, description, instead)}
    gone |= set(_find_colour(description, instead))
    gone |= {word for piece in without for word in _find_ruled_out(description, piece)}
    for word in gone:
        description = remove_word(description, word)
    return description if list_content_words(description) else ""


def _find_replaced(facet: Facet, description: str, instead: str) -> Iterator[str]:
    """The words of a description that name a label of a facet, if what is said instead names others alone."""
    if facet.several:
        return
    old, new = facet.find_labels(description), facet.find_labels(instead)
    if old and new and not old & new:
        yield from _find_words(description, [phrase.split() for label in old for phrase in facet.words[label]])


def _find_ruled_out(description: str, piece: str) -> Iterator[str]:
    """The words of a description that a piece rules out, if it has all of what that piece names."""
    named = [stem(word) for word in list_content_words(piece)]
    if set(named) <= set(stems(description)):
        yield from _find_words(description, [[word] for word in named])


def _find_colour(description: str, instead: str) -> Iterator[str]:
    """The one colour of a description, if a colour is said instead, with hardly anything besides."""
    colour_of = next(facet.label_of for facet in facets() if facet.things)
    old, new = ({colour_of[word] for word in stems(text) if word in colour_of} for text in (description, instead))
    if len(old) == 1 and new and not old & new and len(stems(instead)) <= MAX_BARE:
        yield from _find_words(description, [[word] for word in colour_of if colour_of[word] in old])


def _find_words(description: str, phrases: Sequence[Sequence[str]]) -> Iterator[str]:
    """The words, as they are written, of the phrases (as stems) that stand in a description; not the small ones."""
    words = WORD.findall(description)
    folded = [stem(word) for word in words]
    for phrase in phrases:
        for at in range(len(words) - len(phrase) + 1):
            if folded[at : at + len(phrase)] == list(phrase):
                yield from (word for word in words[at : at + len(phrase)] if word.lower() not in SMALL)
