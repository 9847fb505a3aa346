"""Dialogues about a picture: VisDial 1.0, the dialogue files and picture pools of ChatIR, and PlugIR's files.

A dialogue is a caption and up to ten rounds of question and answer. ChatIR (Levy et al., "Chatting Makes Perfect",
NeurIPS 2023) writes it as eleven strings, the caption and then "question? answer"; PlugIR (Lee et al., "Interactive
Text-to-Image Retrieval with Large Language Models", ACL 2024) keeps this format for its rewritten dialogues, in which
string k is the whole query of round k.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.files import (
    ReadReport,
    need_field,
    need_folder,
    need_split_file,
    need_texts,
    read_json,
    read_keys,
    write_json,
)
from viewfinder.errors import BadInput

VISDIAL_PICTURES = {"train": "COCO_train2014", "val": "VisualDialog_val2018", "test": "VisualDialog_test2018"}
"""Names of picture files in each split of VisDial: this, an underscore, and the id in 12 digits."""

_LEAK = re.compile(r"\bAnswer\s*:")
_ASKED = re.compile(r"\?[)\]\"'’”]*")
_GAP = re.compile(r"\s{2,}(?=\S)")
_LAST_YES_OR_NO = re.compile(r"\s(?=(?:yes|no)\s*$)", re.IGNORECASE)


@dataclass(frozen=True)
class Round:
    """A question and its answer; either may be empty if only the other is known."""

    question: str
    answer: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.question, self.answer) if part)


@dataclass(frozen=True)
class Dialogue:
    """A conversation about one picture.

    Attributes:
        image: the picture, as the pool names it ("unlabeled2017/000000000008.jpg").
        caption: what is said first.
        rounds: questions and answers; none in a rewritten dialogue.
        strings: caption and rounds as in the file. Retrievers are given these.
        rewritten: string k is the complete query of round k, not an addition to those before.
    """

    image: str
    caption: str
    rounds: tuple[Round, ...]
    strings: tuple[str, ...]
    rewritten: bool = False


def make_dialogue(image: str, caption: str, rounds: Iterable[Round]) -> Dialogue:
    """A dialogue whose strings are composed as in the released files: caption, then "question? answer"."""
    said = tuple(rounds)
    return Dialogue(image, caption, said, (caption, *map(str, said)))


def split_round(text: str) -> Round:
    """Question and answer of one string of a dialogue; the two, joined by a blank, are the text (except for blanks).

    The question ends at the last "?" before a leaked "Answer:", if there is one. Some released turns have no
    question mark, because their questions were cut off; the answer then begins, by the first rule that applies,
    at a leaked "Answer:", after the last gap of two blanks, or at a last word yes or no. A string that cannot be
    split is all question.

    >>> split_round("What is the weather like? Is it sunny? no")
    Round(question='What is the weather like? Is it sunny?', answer='no')
    >>> split_round("What is on her feet? Answer: sandals What is on her feet? Answer: sandals").question
    'What is on her feet?'
    >>> split_round("Is the computer desk well no")
    Round(question='Is the computer desk well', answer='no')
    """
    cut = _seam(text)
    return Round(text[:cut].strip(), text[cut:].strip())


def _seam(text: str) -> int:
    leak = _LEAK.search(text)
    asked = list(_ASKED.finditer(text, 0, leak.start() if leak else len(text)))
    if asked:
        return asked[-1].end()
    if leak:
        return leak.start()
    ends = list(_GAP.finditer(text.rstrip())) or list(_LAST_YES_OR_NO.finditer(text))
    return ends[-1].start() if ends else len(text)


def read_dialogues(file: Path, pool: Collection[str] | None = None) -> tuple[list[Dialogue], ReadReport]:
    """Dialogues as ChatIR and PlugIR release them: `[{"img": path, "dialog": [caption, "question? answer", ...]}]`.

    ChatIR's Human_BLIP2 has the questions of VisDial with the last of them first: rotate its rounds by one before
    comparing them with VisDial's round by round. The protocol uses the files as they are.

    Every target must be in the `pool`, the pictures that are searched. In a file named `..._reconed`, like PlugIR's,
    string k is the whole query of round k.
    """
    whole = file.stem.endswith("_reconed")
    dialogues = [_dialogue(f"{file}: [{i}]", record, whole) for i, record in enumerate(read_json(file, list))]
    known = None if pool is None else frozenset(pool)
    for i, dialogue in enumerate(dialogues):
        if known is not None and dialogue.image not in known:
            what = f"{file}: [{i}], field 'img': {dialogue.image} is not among the {len(known)} pictures of the pool"
            raise BadInput(f"{what}; take the pool that belongs to this file")
    return dialogues, ReadReport(len(dialogues), len(dialogues))


def _dialogue(where: str, record: Any, rewritten: bool) -> Dialogue:
    image = need_field(where, record, "img", str)
    strings = need_texts(f"{where}, field 'dialog'", need_field(where, record, "dialog", list))
    if not strings:
        raise BadInput(f"{where}, field 'dialog': a caption is needed, the list is empty; write the file again")
    rounds = () if rewritten else tuple(split_round(text) for text in strings[1:])
    return Dialogue(image, strings[0], rounds, strings, rewritten)


def write_dialogues(file: Path, dialogues: Iterable[Dialogue]) -> None:
    """Write dialogues as ChatIR's files are written, byte for byte: one list on one line, in ASCII."""
    write_json(file, [{"img": one.image, "dialog": list(one.strings)} for one in dialogues])


def read_pool(file: Path) -> tuple[tuple[str, ...], ReadReport]:
    """The pictures that are searched, each once, in the order of the file (`Search_Space_val_50k.json`)."""
    pool, dropped = read_keys(file)
    return pool, ReadReport(len(pool) + len(dropped), len(pool), tuple(dropped))


def write_pool(file: Path, pool: Iterable[str]) -> None:
    """Write the pictures that are searched, in the format of ChatIR's pool."""
    write_json(file, list(pool))


def read_visdial(folder: Path, split: str) -> tuple[list[Dialogue], ReadReport]:
    """VisDial 1.0 (Das et al., CVPR 2017): `<split>/visdial_1.0_<split>.json`, with or without the split's folder.

    Rounds hold indices into two lists, of questions (without their question marks) and of answers. Picture names are
    relative to `folder`: `val/images/VisualDialog_val2018_<12 digits>.jpg`; in train, `COCO_val2014` if the file is
    there under that name and not under `COCO_train2014`. The newest question of the test split has no answer.
    """
    nested = need_folder(folder) / split / f"visdial_1.0_{split}.json"
    file = nested if nested.is_file() else need_split_file(folder / nested.name, "**/visdial_1.0_*.json")
    data = need_field(str(file), read_json(file, dict), "data", dict)
    lists = {name: need_texts(f"{file}: data.{name}s", data.get(f"{name}s")) for name in ("question", "answer")}
    dialogues: list[Dialogue] = []
    for i, record in enumerate(need_field(f"{file}: data", data, "dialogs", list)):
        where = f"{file}: data.dialogs[{i}]"
        image = _visdial_picture(folder, split, need_field(where, record, "image_id", int))
        turns = need_field(where, record, "dialog", list)
        rounds = [_visdial_round(f"{where}.dialog[{k}]", turn, lists) for k, turn in enumerate(turns)]
        dialogues.append(make_dialogue(image, need_field(where, record, "caption", str), rounds))
    return dialogues, ReadReport(len(dialogues), len(dialogues))


def _visdial_round(where: str, turn: Any, lists: dict[str, tuple[str, ...]]) -> Round:
    question = _need_listed(where, turn, "question", lists).strip()
    open_end = isinstance(turn, dict) and "answer" not in turn
    answer = "" if open_end else _need_listed(where, turn, "answer", lists).strip()
    return Round(question if question.endswith("?") else f"{question}?", answer)


def _need_listed(where: str, turn: Any, name: str, lists: dict[str, tuple[str, ...]]) -> str:
    index, listed = need_field(where, turn, name, int), lists[name]
    if not 0 <= index < len(listed):
        raise BadInput(f"{where}, field {name!r}: {index}, but the file lists {len(listed)} {name}s; fetch it again")
    return listed[index]


def _visdial_picture(folder: Path, split: str, number: int) -> str:
    place = f"{split}/images/{{}}_{number:012d}.jpg"
    name = place.format(VISDIAL_PICTURES.get(split, f"VisualDialog_{split}2018"))
    other = place.format("COCO_val2014")
    moved = split == "train" and not (folder / name).is_file() and (folder / other).is_file()
    return other if moved else name
