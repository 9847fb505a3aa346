"""The `negation` mode of Drill-down's loader: things that a user asks for and then no longer wants.

Some of a talk's sentences are replaced by pairs about a thing that is not in the picture: the first asks for it,
a later one takes that back. The published mode has 22 and 39 templates; these here are as many, in our own words.

    absent = absent_names(picture.objects, [other.objects for other in pictures], 2, rng)
    sentences = with_negations(ten_captions(picture), absent, rng)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

WANTED = (
    "{} should be in it",
    "i am looking for {}",
    "there is {} somewhere",
    "i think it shows {}",
    "show me something with {}",
    "it has {} in it",
    "one can see {}",
    "i remember {} in the scene",
    "please include {}",
    "also with {}",
    "{} is part of the picture",
    "you can make out {}",
    "i would like to see {}",
    "{} appears in it",
    "the one with {}",
    "look for {} too",
    "it contains {}",
    "there must be {} in the photo",
    "somewhere in the frame is {}",
    "find the image that has {}",
    "{} can be spotted",
    "among other things {}",
)

UNWANTED = (
    "no {} after all",
    "forget about {}",
    "without {} please",
    "{} should not be in it",
    "i was wrong about {}",
    "there is no {}",
    "leave out {}",
    "i do not want {}",
    "nothing with {}",
    "{} is not in the picture",
    "not the ones that have {}",
    "take away {}",
    "on second thought no {}",
    "it does not have {}",
    "remove every image with {}",
    "skip those showing {}",
    "you can drop {}",
    "it is free of {}",
    "i made a mistake there was no {}",
    "anything but {}",
    "{} must not appear",
    "do not show me {}",
    "i cannot see {} in it",
    "exclude {}",
    "ignore what i said about {}",
    "it was never {}",
    "there should not be any {}",
    "none of them with {}",
    "i see no {}",
    "rule out {}",
    "sorry it lacks {}",
    "avoid {}",
    "the scene has no {} in it",
    "pictures that contain {} are wrong",
    "i no longer want {}",
    "you will not find {} there",
    "not {} i was thinking of another photo",
    "get rid of {}",
    "{} is missing from it",
)


@dataclass(frozen=True)
class _Pair:
    """Two sentences about one thing; the second is said some time after the first."""

    first: str
    second: str


def add_negations(captions: Sequence[str], absent: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """As many sentences as `captions`; the last two for each name in `absent` give way to a pair about that name.

    What is said next is drawn evenly from what is left to say, so that other sentences come before, between and
    after the two of a pair.

    Raises:
        ValueError: there are fewer captions than the pairs need.
    """
    if 2 * len(absent) > len(captions):
        raise ValueError(f"{len(absent)} pairs need {2 * len(absent)} captions to replace; there are {len(captions)}")
    kept = captions[: len(captions) - 2 * len(absent)]
    to_say: list[str | _Pair] = [*kept, *(_pair(name, rng) for name in absent)]
    said = []
    while to_say:
        position = int(rng.integers(len(to_say)))
        match to_say[position]:
            case _Pair(first, second):
                said.append(first)
                to_say[position] = second
            case sentence:
                said.append(sentence)
                del to_say[position]
    return tuple(said)


def draw_absent_names(
    present: Collection[str], others: Sequence[Collection[str]], count: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """`count` names of things in other pictures (of `others`, drawn evenly) that are not in this one (`present`).

    Raises:
        ValueError: the other pictures have fewer such names.
    """
    found: dict[str, None] = {}
    # In a large set the first few draws nearly always suffice; going through all makes sure of an end.
    drawn = rng.integers(len(others), size=8 * count).tolist() if others else []
    for index in chain(drawn, range(len(others))):
        if len(found) >= count:
            break
        found |= dict.fromkeys(name for name in others[index] if name not in present)
    if len(found) < count:
        raise ValueError(f"{count} names are needed that are not in this picture; the others have {len(found)}")
    return tuple(found)[:count]


def _pair(name: str, rng: np.random.Generator) -> _Pair:
    first, second = WANTED[rng.integers(len(WANTED))], UNWANTED[rng.integers(len(UNWANTED))]
    return _Pair(first.replace("{}", name), second.replace("{}", name))
