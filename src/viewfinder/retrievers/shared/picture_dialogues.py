"""Dialogues about pictures, with the pictures' raw vectors: what systems of questions and answers are trained on.

    found = read_picture_dialogues(folder, "train", encoder)                     # or pattern="world,generated*"
    one = found.dialogues[0]
    found.raw_ng[one.picture], one.caption, one.rounds

Read are dialogue files in ChatIR's form (dialogues/NAME_train.json), VisDial, and captions: one begins a dialogue, the
others of the picture are statements that nobody asked for, rounds without a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from viewfinder.data import ReadReport, read_coco, read_flickr8k
from viewfinder.data.captions import SPLITS, split_of
from viewfinder.data.dialogues import Dialogue, Round, read_dialogues, read_pool, read_visdial
from viewfinder.encoders.base import Encoder
from viewfinder.encoders.features import Features, features
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName

DIALOGUES = "dialogues"
"""The folder of dialogue files, in that of a data set."""

CAPTIONS = "captions"
"""By which captions are chosen where dialogues are there too."""

REWRITTEN = "_reconed"
"""How names of dialogues end that PlugIR has rewritten into one query a round: no talks."""

_NUMBER = re.compile(r"_(\d{12})\.jpg$")

Told = Callable[[str], None]


@dataclass(frozen=True)
class PictureDialogue:
    """What was said of picture `picture` (a row): a caption, then rounds; of captions, rounds without questions."""

    picture: int
    caption: str
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, eq=False)
class PictureDialogues:
    """Talks of one split, and the pictures they are about: row i of `raw_ng` is the picture `keys[i]`."""

    keys: tuple[str, ...]
    raw_ng: Float32[np.ndarray, "n g"]
    raw_version: str
    talks: tuple[PictureDialogue, ...]

    def __len__(self) -> int:
        return len(self.talks)

    def by_picture(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the talks about each picture, one at least, in the order of the pictures."""
        found: list[list[int]] = [[] for _ in self.keys]
        for number, talk in enumerate(self.talks):
            found[talk.picture].append(number)
        return tuple(map(tuple, found))


@dataclass(frozen=True)
class _Source:
    """A file of talks, by the name it is chosen by, and what reads it."""

    name: str
    read: Callable[[], tuple[list[Dialogue], ReadReport]]


def read_picture_dialogues(
    data: Path,
    split: str,
    encoder: Encoder,
    pattern: str = "*",
    *,
    features_folder: Path | None = None,
    told: Told = lambda line: None,
) -> PictureDialogues:
    """The talks of a split about pictures that have vectors; what is left out is told.

    Read is the first kind that is there of dialogue files, VisDial and captions, or what `pattern` names of all kinds.
    Dialogues rewritten into one query a round (NAME_reconed_train.json) are no talks, and left out.

    Args:
        data: the folder of a data set.
        split: "train", "val" or "test". Captions are split as a world lists its pictures, or where nothing is listed by
            their place in the file (`data.splits`).
        encoder: what makes the pictures' raw vectors, where they are not there yet.
        pattern: names with "*", separated by commas: "gpt" is dialogues/gpt_train.json, "visdial*" VisDial, "captions"
            captions although there are dialogues, "world,captions" both. Of other splits than
            train, all are read where none is called so: few are generated for validation.
        features_folder: where vectors are kept; by default beside the data.
        told: called with a line at every stage.

    Raises:
        BadInput: no such folder, no such talks in it, damaged data, or no picture of the talks has vectors.
        UnknownName: there is no such split.
    """
    if split not in SPLITS:
        raise UnknownName(f"{data}: no split is called {split!r}; there are: {', '.join(SPLITS)}")
    sources = _chosen(data, split, pattern)
    if not sources and split != "train":
        sources = _chosen(data, split, "*")
    dialogues = [talk for source in sources for talk in _read(data, split, source, told)]
    if not dialogues:
        raise BadInput(
            f"{data}: no talks of {split!r} called {pattern!r}; needed are {DIALOGUES}/NAME_{split}.json as "
            f"`viewfinder dialogues` writes them, visdial_1.0_{split}.json, or captions"
        )
    return _with_vectors(dialogues, _vectors(data, encoder, features_folder, told), f"{data}, {split}", told)


def join_picture_dialogues(parts: Sequence[PictureDialogues]) -> PictureDialogues:
    """Several sets as one, in their order.

    Raises:
        EncoderMismatch: their vectors are of different encoders.
    """
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
        talks=tuple(
            replace(talk, picture=first + talk.picture)
            for part, first in zip(parts, firsts, strict=False)
            for talk in part.talks
        ),
    )


def _chosen(data: Path, split: str, pattern: str) -> list[_Source]:
    """What the pattern chooses; "*" is all of the first kind that is there."""
    kinds = (_dialogue_files(data, split), _visdial(data, split), _captions(data, split))
    if pattern == "*":
        return next((kind for kind in kinds if kind), [])
    names = [name.strip() for name in pattern.split(",")]
    return [source for kind in kinds for source in kind if any(fnmatchcase(source.name, name) for name in names)]


def _dialogue_files(data: Path, split: str) -> list[_Source]:
    ending = f"_{split}"
    files = sorted((data / DIALOGUES).glob(f"*{ending}.json"))
    named = [(file.stem.removesuffix(ending), file) for file in files]
    return [_Source(name, partial(read_dialogues, file)) for name, file in named if not name.endswith(REWRITTEN)]


def _visdial(data: Path, split: str) -> list[_Source]:
    name = f"visdial_1.0_{split}.json"
    folders = (data, data / "visdial", data / "VisDial")
    folder = next((one for one in folders if (one / name).is_file() or (one / split / name).is_file()), None)
    return [] if folder is None else [_Source("visdial_1.0", partial(read_visdial, folder, split))]


def _captions(data: Path, split: str) -> list[_Source]:
    is_csv = (data / "captions.csv").is_file()
    if not is_csv and not any(data.glob("annotations/captions_*.json")):
        return []

    def read() -> tuple[list[Dialogue], ReadReport]:
        pictures, report = (read_flickr8k if is_csv else read_coco)(data)
        listed = _listed(data, split)
        return [
            _said_of(str(picture.path), caption, picture.captions)
            for place, picture in enumerate(pictures)
            if (split_of(place) == split if listed is None else picture.path in listed)
            for caption in picture.captions
        ], report

    return [_Source(CAPTIONS, read)]


def _said_of(image: str, caption: str, captions: Sequence[str]) -> Dialogue:
    """A caption, and the others of the picture as further statements, which nobody asked for."""
    others = tuple(Round("", other) for other in captions if other != caption)
    return Dialogue(image, caption, others, (caption, *(other.answer for other in others)))


def _listed(data: Path, split: str) -> frozenset[Path] | None:
    """The pictures of a split where the data set lists them, as a world does for its dialogues."""
    file = data / "ChatIR_Protocol" / f"Search_Space_{split}.json"
    return frozenset(data / key for key in read_pool(file)[0]) if file.is_file() else None


def _read(data: Path, split: str, source: _Source, told: Told) -> list[Dialogue]:
    dialogues, report = source.read()
    told(f"{data}, {split}, {source.name}: {report}")
    return dialogues


def _vectors(data: Path, encoder: Encoder, folder: Path | None, told: Told) -> Features:
    """Raw vectors of all pictures, computed where they are not there yet; every tenth of that is told."""
    tenths = set[int]()

    def progress(done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth not in tenths:
            tenths.add(tenth)
            told(f"vectors of {data}: {done:,} of {total:,} pictures")

    return features(data, encoder, out=folder, progress=progress)


def _with_vectors(dialogues: Sequence[Dialogue], found: Features, where: str, told: Told) -> PictureDialogues:
    """The talks whose pictures have vectors, and those of their pictures, in the order in which they come."""
    row_of: dict[str, int | None] = {}
    for dialogue in dialogues:
        if dialogue.image not in row_of:
            row_of[dialogue.image] = _row(found, dialogue.image)
    rows = sorted({row for row in row_of.values() if row is not None})
    place = {row: at for at, row in enumerate(rows)}
    talks = tuple(
        PictureDialogue(place[row], dialogue.caption, dialogue.rounds)
        for dialogue in dialogues
        if (row := row_of[dialogue.image]) is not None
    )
    if len(talks) < len(dialogues):
        told(f"{where}: {len(dialogues) - len(talks):,} talks are about pictures without vectors and are left out")
    if not talks:
        raise BadInput(f"{where}: none of the {len(row_of):,} pictures has vectors; are its images there?")
    raw_ng = np.ascontiguousarray(found.raw_nd[rows], np.float32)
    return PictureDialogues(tuple(found.keys[row] for row in rows), raw_ng, found.raw_version, talks)


def _row(found: Features, image: str) -> int | None:
    """The row of a picture, by its path or by what a dialogue file calls it; None where it has no vectors.

    VisDial has numbers only; where the file is not called as VisDial's own, the number is enough.
    """
    path = Path(image)
    names = [path if path.is_relative_to(found.dataset) else image, *_NUMBER.findall(image)]
    for name in names:
        try:
            return found.row_of(name)
        except UnknownName:
            continue
    return None
