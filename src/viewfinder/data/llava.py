"""LLaVA-Instruct-150k (Liu et al. 2023, "Visual Instruction Tuning") and the 665k mixture: talks about one picture.

A JSON list; `<image>` in a turn stands where the picture is shown:

    [{"id": "000000033471", "image": "000000033471.jpg", "conversations": [
        {"from": "human", "value": "<image>\\nWhat are the colors of the bus?"},
        {"from": "gpt", "value": "White and red."}]}]

The pictures are COCO's train2017; 665k writes them with their folder ("coco/train2017/000000033471.jpg"). An id names
the picture, so several samples may have the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.chatsearch import ChatTurn, ImageItem, Role, TextItem
from viewfinder.data.files import need_folder
from viewfinder.data.records import need_field, read_list
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput

PLACEHOLDER = "<image>"
ROLES: Mapping[str, Role] = {"human": "user", "gpt": "assistant"}


@dataclass(frozen=True)
class LlavaSample:
    """A talk, user and assistant by turns; `image` is "" (and `path` None) where it is about no picture.

    `path` is None too where pictures were not looked for.
    """

    id: str
    image: str
    path: Path | None
    turns: tuple[ChatTurn, ...]


def read_llava(
    file: Path, images: Path | None = None, *, need_images: bool = True
) -> tuple[list[LlavaSample], ReadReport]:
    """The samples of a file, those about no picture included.

    Left out and reported: samples whose picture is not in `images` (by default `images/` beside the file; not checked
    without `need_images`), that show no picture although they name one or the other way round, or in which the two
    sides do not alternate from the user on.

    Raises:
        BadInput: no such file or folder, damaged JSON, or a record of the wrong form (record and field are named).
    """
    records = read_list(file)
    folder = need_folder(images or file.parent / "images") if need_images else None
    samples: list[LlavaSample] = []
    dropped: list[Dropped] = []
    for position, record in enumerate(records):
        sample = _sample(record, f"{file}, [{position}]", folder)
        reason = _flaw(sample)
        if reason:
            dropped.append(Dropped(f"[{position}] {sample.id}", reason))
        else:
            samples.append(sample)
    return samples, ReadReport(len(records), len(samples), tuple(dropped))


def _sample(record: Any, where: str, folder: Path | None) -> LlavaSample:
    said: list[Any] = need_field(where, record, "conversations", list)
    image = need_field(where, record, "image", str) if "image" in record else ""
    turns = tuple(_turn(turn, image, f"{where}.conversations[{at}]") for at, turn in enumerate(said))
    name = str(record["id"]) if isinstance(record.get("id"), int) else need_field(where, record, "id", str)
    return LlavaSample(name, image, folder / image if folder and image else None, turns)


def _turn(turn: Any, image: str, where: str) -> ChatTurn:
    speaker = need_field(where, turn, "from", str)
    if speaker not in ROLES:
        raise BadInput(f"{where}.from: one of {', '.join(ROLES)} is needed, not {speaker!r:.60}")
    return ChatTurn(ROLES[speaker], _items(need_field(where, turn, "value", str), image))


def _items(text: str, image: str) -> tuple[TextItem | ImageItem, ...]:
    """A turn's words and pictures in order.

    >>> _items("<image>\\nWhat is this?", "1.jpg")
    (ImageItem(image='1.jpg'), TextItem(text='What is this?'))
    """
    first, *rest = (piece.strip() for piece in text.split(PLACEHOLDER))
    items: list[TextItem | ImageItem] = [TextItem(first)] if first else []
    for piece in rest:
        items.append(ImageItem(image))
        items += [TextItem(piece)] if piece else []
    return tuple(items)


def _flaw(sample: LlavaSample) -> str:
    """Why a sample cannot be used; "" if it can."""
    shown = sum(isinstance(item, ImageItem) for turn in sample.turns for item in turn.content)
    if not sample.turns:
        return "no turns"
    if any(turn.role != ("user", "assistant")[at % 2] for at, turn in enumerate(sample.turns)):
        return "user and assistant do not alternate"
    if any(not turn.content for turn in sample.turns):
        return "an empty turn"
    if bool(sample.image) != bool(shown):
        return f"names a picture, but no turn has {PLACEHOLDER}" if sample.image else f"{PLACEHOLDER}, but no picture"
    if sample.path is not None and not sample.path.is_file():
        return f"no such file: {sample.image}"
    return ""
