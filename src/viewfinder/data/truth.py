"""The facts of every picture of a world: `truth.jsonl`, one JSON object per picture.

Worlds write it; simulated users answer from it. Real data has no such file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from viewfinder.data.files import read_text
from viewfinder.errors import BadInput

TRUTH_FILE = "truth.jsonl"


@dataclass(frozen=True)
class ThingTruth:
    """One object of a scene. `nouns` are all words that name it, singular and plural; `box` is x, y, width, height.

    `column` (left, middle, right) and `row` (top, centre, bottom) say in which ninth of the picture it is; `faces`
    is "" if it cannot be seen.
    """

    number: int
    kind: str
    nouns: tuple[tuple[str, str], ...]
    colour: str
    size: str
    pattern: str
    faces: str
    box: tuple[int, int, int, int]
    column: str
    row: str


@dataclass(frozen=True)
class PictureTruth:
    """Everything a world knows of one picture; what does not apply to its kind of world is empty.

    Attributes:
        image: the file's name inside the world's `images/`.
        things: objects of a scene.
        relations: (number of a thing, predicate, number of another).
        place, light: the background of a scene.
        title, category: of products in a catalogue.
        attributes: of products: type (texture, fabric, shape, part, style) or column (colour, season) -> words.
    """

    image: str
    things: tuple[ThingTruth, ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()
    place: str = ""
    light: str = ""
    title: str = ""
    category: str = ""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def truth_line(truth: PictureTruth) -> str:
    """One line of `truth.jsonl`, without the line break."""
    return json.dumps(asdict(truth), ensure_ascii=False, sort_keys=True)


def read_truth(world: Path) -> dict[str, PictureTruth]:
    """The truth of every picture of a world, by the picture's file name.

    Raises:
        BadInput: there is no truth.jsonl in the folder, or a line of it is damaged (it is named).
    """
    from pydantic import TypeAdapter, ValidationError

    file = world / TRUTH_FILE
    if not file.is_file():
        raise BadInput(f"{world}: no {TRUTH_FILE} here, so this is no world; make one with `viewfinder world`")
    parse = TypeAdapter(PictureTruth).validate_json
    truths: dict[str, PictureTruth] = {}
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if not line:
            continue
        try:
            truth = parse(line)
        except ValidationError as error:
            first = error.errors()[0]
            why = ": ".join((*map(str, first["loc"]), first["msg"]))
            raise BadInput(f"{file}, line {number}: not a picture's truth ({why}); make the world again") from error
        truths[truth.image] = truth
    return truths
