"""Dialogues about pictures, with the pictures' raw vectors: what systems of questions and answers are trained on.

    found = read_picture_dialogues(plan, folder, "train")                        # or pattern="world,generated*"
    one = found.dialogues[0]
    found.raw_ng[one.picture], one.caption, one.rounds

It reads dialogue files in ChatIR's form (dialogues/NAME_train.json), VisDial, and captions: one caption begins a
dialogue, the picture's others are unasked statements, rounds without a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from viewfinder.data import ReadReport
from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.dialogues import Dialogue, Round, read_dialogues, read_pool, read_visdial
from viewfinder.data.splits import SPLITS, split_reader
from viewfinder.encoders.features import Features
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan

DIALOGUES = "dialogues"
"""The folder of dialogue files within a data set's folder."""

CAPTIONS_NAME = "captions"
"""The name that chooses captions where there are dialogues too."""

REWRITTEN = "_reconed"
"""Name ending of dialogues that PlugIR has rewritten into one query a round: no questions and answers."""

_NUMBER = re.compile(r"_(\d{12})\.jpg$")


@dataclass(frozen=True)
class PictureDialogue:
    """A dialogue about `picture` (a row): a caption, then rounds; further captions are rounds without questions."""

    picture: int
    caption: str
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, eq=False)
class PictureDialogues:
    """Dialogues of one split, and the pictures they are about: row i of `raw_ng` is the picture `keys[i]`."""

    keys: tuple[str, ...]
    raw_ng: Float32[np.ndarray, "n g"]
    raw_version: str
    dialogues: tuple[PictureDialogue, ...]

    def __len__(self) -> int:
        return len(self.dialogues)


_Source = tuple[str, Callable[[], tuple[list[Dialogue], ReadReport]]]
"""A file of dialogues: the name it is chosen by, and its reader."""


def read_picture_dialogues(plan: TrainPlan, data: Path, split: str, pattern: str = "*") -> PictureDialogues:
    """The dialogues of a split of one of a plan's data sets about pictures that have vectors.

    It reads the first kind found of dialogue files, VisDial and captions, or all kinds that `pattern` names. What is
    left out is reported; dialogues rewritten into one query a round (NAME_reconed_train.json) are.

    Args:
        plan: its encoder makes the raw vectors that are missing; it notes the pictures of the split "train".
        data: the folder of the data set.
        split: "train", "val" or "test". Captions are split as a world lists its pictures, or without a list by a hash
            of their names (`data.splits`).
        pattern: names with "*", separated by commas: "gpt" is dialogues/gpt_train.json, "visdial*" VisDial, "captions"
            captions although there are dialogues, "world,captions" both. In splits other than
            train, all are read if no name matches: few are generated for validation.

    Raises:
        BadInput: no such folder, no such dialogues in it, damaged data, or none of their pictures has vectors.
        UnknownName: there is no such split.
    """
    if split not in SPLITS:
        raise UnknownName(f"{data}: no split is called {split!r}; there are: {', '.join(SPLITS)}")
    sources = _choose_sources(data, split, pattern)
    if not sources and split != "train":
        sources = _choose_sources(data, split, "*")
    dialogues: list[Dialogue] = []
    for name, read in sources:
        found, report = read()
        plan.notify(f"{data}, {split}, {name}: {report}")
        dialogues += found
    if not dialogues:
        raise BadInput(
            f"{data}: no dialogues of {split!r} called {pattern!r}; needed are {DIALOGUES}/NAME_{split}.json as "
            f"`viewfinder dialogues` writes them, visdial_1.0_{split}.json, or captions"
        )
    vectors = plan.vectors(data)
    row_of = {image: _find_row(vectors, image) for image in dict.fromkeys(dialogue.image for dialogue in dialogues)}
    rows = sorted({row for row in row_of.values() if row is not None})
    place = {row: at for at, row in enumerate(rows)}
    kept = tuple(
        PictureDialogue(place[row], dialogue.caption, dialogue.rounds)
        for dialogue in dialogues
        if (row := row_of[dialogue.image]) is not None
    )
    if lost := len(dialogues) - len(kept):
        plan.notify(f"{data}, {split}: {lost:,} dialogues are about pictures without vectors and are left out")
    if not kept:
        raise BadInput(f"{data}, {split}: none of the {len(row_of):,} pictures has vectors; are its images there?")
    keys = tuple(vectors.keys[row] for row in rows)
    if split == "train":
        plan.note_training(data, keys)
    return PictureDialogues(keys, np.ascontiguousarray(vectors.raw_nd[rows], np.float32), vectors.raw_version, kept)


def join_picture_dialogues(parts: Sequence[PictureDialogues]) -> PictureDialogues:
    """Several sets as one, in their order. Raises EncoderMismatch: their vectors are of different encoders."""
    if len({(part.raw_version, part.raw_ng.shape[1]) for part in parts}) > 1:
        versions = ", ".join(dict.fromkeys(part.raw_version for part in parts))
        raise EncoderMismatch(f"sets with vectors of {versions} cannot be learnt from together; train on one of them")
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(len(part.keys) for part in parts)]).tolist()
    return PictureDialogues(
        keys=tuple(key for part in parts for key in part.keys),
        raw_ng=np.concatenate([part.raw_ng for part in parts]),
        raw_version=parts[0].raw_version,
        dialogues=tuple(
            replace(dialogue, picture=first + dialogue.picture)
            for part, first in zip(parts, firsts, strict=False)
            for dialogue in part.dialogues
        ),
    )


def _choose_sources(data: Path, split: str, pattern: str) -> Sequence[_Source]:
    """The files of dialogues that a pattern names; "*" names all of the first kind found."""
    ending = f"_{split}"
    files = [(file.stem.removesuffix(ending), file) for file in sorted((data / DIALOGUES).glob(f"*{ending}.json"))]
    dialogues = [(name, partial(read_dialogues, file)) for name, file in files if not name.endswith(REWRITTEN)]
    file_name = f"visdial_1.0_{split}.json"
    folders = [folder for folder in (data, data / "visdial", data / "VisDial") if folder.is_dir()]
    with_file = (one for one in folders if (one / file_name).is_file() or (one / split / file_name).is_file())
    visdial = [("visdial_1.0", partial(read_visdial, folder, split)) for folder in islice(with_file, 1)]
    kinds: tuple[Sequence[_Source], ...] = (dialogues, visdial, _list_captions(data, split))
    if pattern == "*":
        return next((kind for kind in kinds if kind), ())
    names = [name.strip() for name in pattern.split(",")]
    return [source for kind in kinds for source in kind if any(fnmatchcase(source[0], name) for name in names)]


def _list_captions(data: Path, split: str) -> list[_Source]:
    if not has_captions(data):
        return []

    def read() -> tuple[list[Dialogue], ReadReport]:
        pictures, report = read_captioned(data)
        # The pictures of the split where the data set lists them, as a world does for its dialogues.
        file = data / "ChatIR_Protocol" / f"Search_Space_{split}.json"
        listed = {data / key for key in read_pool(file)[0]} if file.is_file() else None
        dialogues, split_of = [], split_reader(data)
        for picture in pictures:
            if split_of(picture.path) != split if listed is None else picture.path not in listed:
                continue
            for caption in picture.captions:
                others = tuple(Round("", other) for other in picture.captions if other != caption)
                texts = (caption, *(other.answer for other in others))
                dialogues.append(Dialogue(str(picture.path), caption, others, texts))
        return dialogues, report

    return [(CAPTIONS_NAME, read)]


def _find_row(found: Features, image: str) -> int | None:
    """The row of a picture, by its path or by its name in a dialogue file; None if it has no vectors.

    VisDial has numbers only; if the file is not named like VisDial's own, the number is enough.
    """
    path = Path(image)
    names = [path if path.is_relative_to(found.dataset) else image, *_NUMBER.findall(image)]
    return next((row for name in names if (row := found.find_row(name)) is not None), None)
