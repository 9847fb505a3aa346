"""What the eye sees of a picture, as evidence: that it is black and white, and that something is not in it.

"Without people" is not the opposite of what an encoder makes of "people": a beach with people and one without are
mostly beach. Whether anybody is in a picture is predicted by itself (`questioners.photographs`).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.questioners.looks import LOOKS, picture_looks
from viewfinder.questioners.photographs import facets, label_columns, photograph_labels
from viewfinder.search.gallery import Gallery
from viewfinder.session.chances import find_chances_at
from viewfinder.session.predicted import can_predict, predict_labels
from viewfinder.wording.fact_phrases import FactPhrase, Kind, Names
from viewfinder.wording.look_phrases import PEOPLE
from viewfinder.wording.stems import stems

WRONG_SIGHT = 0.02
"""How often a picture has been seen otherwise than it is, whatever the prediction says."""

MIN_SEEN = 0.5
"""The chance from which on something holds of a picture, where pictures are counted."""

SEEN_IN = ("who", "animal", "place", "thing")
"""The facets of which something can be said to be absent."""

_PEOPLE_WORDS = ("people", "person", "human", "human being", "anyone", "anybody", "body", "one")
_ANIMAL_WORDS = ("animal", "pet")


def list_looks(gallery: Gallery) -> dict[Kind, Names]:
    """The looks of these pictures that can be told, and the things of which it can be told that they are absent."""
    found: dict[Kind, Names] = {}
    if can_predict(gallery, picture_looks()):
        found["looks"] = {look: (look,) for look in LOOKS}
    if can_predict(gallery, photograph_labels()):
        found["without"] = _list_things()
    return found


def _list_things() -> Names:
    """The labels that each word for a thing names, as stems."""
    named: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for facet in facets():
        if facet.name in SEEN_IN:
            for label, words in facet.words.items():
                for word in words:
                    named[word][label] = None
    things = {word: tuple(labels) for word, labels in named.items()}
    things |= {" ".join(stems(word)): _list_labels("animal") for word in _ANIMAL_WORDS}
    return things | {" ".join(stems(word)): (PEOPLE,) for word in _PEOPLE_WORDS}


def _list_labels(name: str) -> tuple[str, ...]:
    return next(tuple(facet.words) for facet in facets() if facet.name == name)


def find_look_chances(
    phrase: FactPhrase, gallery: Gallery, rows_k: Int[np.ndarray, " k"] | None = None
) -> Float32[np.ndarray, " n"] | None:
    """How likely a phrase about looks holds for every picture, or for some; None where that is not told, and for other
    phrases."""
    if phrase.kind not in ("looks", "without"):
        return None
    if rows_k is not None:
        return _find_chances(phrase, gallery, rows_k)
    return gallery.memory.remember(("seen", phrase.kind, phrase.values), lambda: _find_chances(phrase, gallery, None))


def samples_looks(phrase: FactPhrase, gallery: Gallery) -> bool:
    """Whether what can be told of a collection as a whole is told of a sample: all pictures would be looked at."""
    return phrase.kind == "without" and gallery.has_index and can_predict(gallery, photograph_labels())


def _find_chances(
    phrase: FactPhrase, gallery: Gallery, rows_k: Int[np.ndarray, " k"] | None
) -> Float32[np.ndarray, " n"] | None:
    if phrase.kind == "looks":
        looks_nl = predict_labels(gallery, picture_looks())
        if looks_nl is None:
            return None
        return looks_nl[slice(None) if rows_k is None else rows_k, LOOKS.index(phrase.values[0])].astype(np.float32)
    if rows_k is None:
        holds_nl = predict_labels(gallery, photograph_labels())
    else:
        holds_nl = find_chances_at(gallery, rows_k) if can_predict(gallery, photograph_labels()) else None
    if holds_nl is None:
        return None
    if phrase.values == (PEOPLE,):
        return _find_deserted(holds_nl)
    columns = [
        label_columns()[facet.name].start + at
        for facet in facets()
        if facet.name in SEEN_IN
        for at, label in enumerate(facet.labels)
        if label in phrase.values
    ]
    return np.asarray((1 - holds_nl[:, columns].astype(np.float32)).prod(axis=1))


def is_seen(phrase: FactPhrase, gallery: Gallery) -> bool:
    """Whether a phrase about looks holds for any picture."""
    rows_k = gallery.measures.samples.rows_k if samples_looks(phrase, gallery) else None
    seen_n = find_look_chances(phrase, gallery, rows_k)
    return seen_n is not None and bool((seen_n >= MIN_SEEN).any())


def _find_deserted(holds_nl: Float[np.ndarray, "n l"]) -> Float32[np.ndarray, " n"]:
    """The chance that nobody is in a picture: nobody is named, and no number of people.

    Captions that speak of "a surfer" name nobody by the words of "who", and a number of people all the same.
    """
    who, numbers = label_columns()["who"], label_columns()["number of people"]
    nobody_n = holds_nl[:, who.stop - 1].astype(np.float32)
    return np.asarray(nobody_n * (1 - holds_nl[:, numbers].astype(np.float32)).prod(axis=1))
