r"""Instructions about pictures: LLaVA's dialogues, and InstructPix2Pix's changes of one picture into another.

LLaVA-Instruct-150k (Liu et al. 2023, "Visual Instruction Tuning") and the 665k mixture: dialogues about one picture.

A JSON list; `<image>` in a turn marks where the picture is shown:

    [{"id": "000000033471", "image": "000000033471.jpg", "conversations": [
        {"from": "human", "value": "<image>\nWhat are the colors of the bus?"},
        {"from": "gpt", "value": "White and red."}]}]

The pictures are COCO's train2017; 665k writes them with their folder ("coco/train2017/000000033471.jpg"). An id names
the picture, so several samples may share one.

InstructPix2Pix (Brooks et al. 2023): pairs of pictures and the instruction that leads from one to the other.

    clip-filtered-dataset/seeds.json           [["0000000", ["1716482101", ...]], ...]
                          0000000/prompt.json     {"input": caption, "edit": instruction, "output": caption, ...}
                                  1716482101_0.jpg, 1716482101_1.jpg
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.chatsearch import ChatTurn, ImageItem, Role, TextItem
from viewfinder.data.files import Dropped, ReadReport, need_field, need_folder, read_json
from viewfinder.errors import BadInput

PLACEHOLDER = "<image>"
ROLES: Mapping[str, Role] = {"human": "user", "gpt": "assistant"}


@dataclass(frozen=True)
class LlavaSample:
    """A dialogue, user and assistant in alternation; `image` is "" if it is about no picture."""

    id: str
    image: str
    turns: tuple[ChatTurn, ...]


def read_llava(file: Path) -> tuple[list[LlavaSample], ReadReport]:
    """The samples of a file, including those about no picture; whether a picture has a file is not checked.

    Left out and reported: samples that name a picture without showing it or the reverse, or in which the two sides do
    not alternate, user first.
    """
    records = read_json(file, list)
    samples: list[LlavaSample] = []
    dropped: list[Dropped] = []
    for position, record in enumerate(records):
        where = f"{file}, [{position}]"
        said = need_field(where, record, "conversations", list)
        image = need_field(where, record, "image", str) if "image" in record else ""
        turns = tuple(_turn(turn, image, f"{where}.conversations[{at}]") for at, turn in enumerate(said))
        name = str(record["id"]) if isinstance(record.get("id"), int) else need_field(where, record, "id", str)
        sample = LlavaSample(name, image, turns)
        reason = _flaw(sample)
        if reason:
            dropped.append(Dropped(f"[{position}] {sample.id}", reason))
        else:
            samples.append(sample)
    return samples, ReadReport(len(records), len(samples), tuple(dropped))


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
    return ""


@dataclass(frozen=True)
class EditPair:
    """Two pictures (files) and the instruction that leads from one to the other; `prompt` and `seed` name them."""

    prompt: str
    seed: str
    instruction: str
    source: Path
    target: Path


def read_instruct_pix2pix(folder: Path) -> tuple[list[EditPair], ReadReport]:
    """All pairs of a data set, by prompt and seed; without a seeds.json, those in its folders.

    Pairs with a missing picture are left out and reported.
    """
    pairs: list[EditPair] = []
    dropped: list[Dropped] = []
    for prompt, seeds in _seeds(need_folder(folder)):
        place = folder / prompt / "prompt.json"
        if not place.is_file():
            dropped += [Dropped(f"{prompt}/{seed}", "no prompt.json") for seed in seeds]
            continue
        instruction = need_field(str(place), read_json(place, dict), "edit", str).strip()
        for seed in seeds:
            files = [place.with_name(f"{seed}_{which}.jpg") for which in (0, 1)]
            missing = [file.name for file in files if not file.is_file()]
            if missing:
                dropped.append(Dropped(f"{prompt}/{seed}", f"no such file: {missing[0]}"))
            else:
                pairs.append(EditPair(prompt, seed, instruction, *files))
    return pairs, ReadReport(len(pairs) + len(dropped), len(pairs), tuple(dropped))


def _seeds(folder: Path) -> list[tuple[str, list[str]]]:
    """Prompts and the seeds of their pairs, in order of name."""
    file = folder / "seeds.json"
    if not file.is_file():
        prompts = sorted(file.parent for file in folder.glob("*/prompt.json"))
        if not prompts:
            missing = "neither seeds.json nor <prompt>/prompt.json here"
            raise BadInput(f"{folder}: {missing}; this is not InstructPix2Pix data")
        return [(place.name, sorted(file.name[:-6] for file in place.glob("*_0.jpg"))) for place in prompts]
    listed = []
    for position, entry in enumerate(read_json(file, list)):
        match entry:
            case [str(prompt), [*seeds]] if all(isinstance(seed, str | int) for seed in seeds):
                listed.append((prompt, sorted(map(str, seeds))))
            case _:
                raise BadInput(f"{file}, [{position}]: [prompt, [seed, ...]] is needed, not {entry!r:.60}")
    return sorted(listed)
