"""How many of the first ten pictures are right by their captions, for sentences about looks and about what is absent.

    python benchmarks/looks_said.py DATA PART      # the photographs of `choose` or `report`

"Black and white" is judged by pixels, since hardly a caption says it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
from PIL import Image

import viewfinder
from viewfinder.data.splits import Part, read_photographs
from viewfinder.library import Library

PEOPLE = re.compile(
    r"\b(?:m[ae]n|wom[ae]n|boys?|girls?|people|persons?|child|children|kids?|bab(?:y|ies)|guys?|lady|ladies|toddlers?|"
    r"\w*(?:players?|riders?|surfers?|skiers?|climbers?|boarders?|bikers?|cyclists?|swimmers?|walkers?|runners?|racers?)|"
    r"hikers?|crowd|some(?:one|body)|couple|group|team|friends|family|(?:fe)?male|teenagers?|adults?|worker|police\w*|"
    r"soldiers?|batter|pitcher|catcher|umpire|bride|groom|infant|rowers?|kayakers?|dancers?|musicians?|band|"
    r"passengers?|tourists?|student|fisherman|cowboy|motorcyclist|driver)\b",
    re.IGNORECASE,
)
"""Words of captions that name people."""

MAX_GREY = 5
"""How far the channels of a black and white picture are apart at most, of 255, in all but a twentieth of its pixels."""

Judge = Callable[[Path, Sequence[str]], bool]
"""Whether a picture with these captions is right."""


def is_grey(path: Path) -> bool:
    """Whether a picture is black and white by its pixels."""
    with Image.open(path) as picture:
        picture.draft("RGB", (224, 224))
        pixels = np.asarray(picture.convert("RGB"), np.int16)
    return float(np.percentile(np.ptp(pixels, axis=2), 95)) <= MAX_GREY


def names(*words: str) -> Judge:
    """Judges by captions: one has a phrase that matches."""
    pattern = re.compile("|".join(words), re.IGNORECASE)
    return lambda path, captions: any(pattern.search(caption) for caption in captions)


def is_deserted(path: Path, captions: Sequence[str]) -> bool:
    """Whether no caption names people."""
    del path
    return not PEOPLE.search(" ".join(captions))


SENTENCES: Mapping[str, Judge] = {
    "black and white": lambda path, captions: is_grey(path),
    "black and white photos": lambda path, captions: is_grey(path),
    "do you have any b&w pictures?": lambda path, captions: is_grey(path),
    "no people": is_deserted,
    "photos without anybody in them": is_deserted,
    "a beach with no people": is_deserted,
    "a street without people": is_deserted,
    "a room with nobody in it": is_deserted,
    "a park without people": is_deserted,
    "snow, no people": is_deserted,
    "a red car": names(r"red (?:\w+ )?(?:car|truck|van|vehicle)"),
    "yellow shirt": names(r"yellow (?:\w+ )?(?:t-?)?(?:shirt|top|jersey)"),
}


def count_right(
    library: Library, captions: Mapping[str, Sequence[str]], sentences: Mapping[str, Judge]
) -> dict[str, int]:
    """How many of the first ten are right for each sentence; `captions` by the names of the files."""
    found = {}
    for text, judge in sentences.items():
        paths = [Path(hit.path) for hit in library.chat(questioner="none").say(text)]
        found[text] = sum(judge(path, captions[path.name]) for path in paths[:10])
    return found


def main(data: str, part: str) -> None:
    """Adds the photographs to a library of their own, and prints a line a sentence."""
    sets = read_photographs(Path(data), cast(Part, part))
    captions = {picture.path.name: picture.captions for pictures in sets.values() for picture in pictures}
    with TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "photographs.vf")
        library.add(*(picture.path for pictures in sets.values() for picture in pictures))
        for text, right in count_right(library, captions, SENTENCES).items():
            print(f"{right:2} of 10  {text}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
