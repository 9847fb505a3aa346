"""Pictures with their captions and raw vectors, on which Drill-down and its baselines are trained.

    pictures = read_captioned_pictures(plan, folder, "train")
    captions = pictures.dialogue(0, rng)           # ten sentences in the order of the turns
    regions_bre = pictures.regions_of([0, 7, 3])   # only these are read from disk

It reads folders in Drill-down's layout of Visual Genome, and captioned pictures (captions.csv, COCO). Where Visual
Genome comes with a detector's own features (36 regions a picture; Anderson et al. 2018), those are the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low

import numpy as np
from jaxtyping import Float16, Float32, Int, Num

from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.splits import SPLITS, choose_split, survey_captions
from viewfinder.data.visual_genome import (
    Vocabulary,
    build_vocabulary,
    find_layout,
    list_splits,
    read_global_feature,
    read_region_features,
    read_visual_genome,
    read_vocabulary,
)
from viewfinder.data.visual_genome.features import REGIONS, WIDTH
from viewfinder.data.visual_genome.regions import TURNS, VOCABULARY, read_picture_ids
from viewfinder.data.visual_genome.words import MIN_COUNT_IN_CODE
from viewfinder.encoders.features import Features
from viewfinder.encoders.features.compute import PictureVectors
from viewfinder.encoders.features.precomputed import collect_stored_vectors
from viewfinder.encoders.features.store import PictureFile, Progress
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training.progress import report_tenths

MAX_CAPTIONS = 5
"""Turns of a captioned picture: Flickr8k and COCO have five captions a picture."""

Notify = Callable[[str], None]
Positions = Sequence[int] | Int[np.ndarray, " b"]


RawBlock = tuple[Float32[np.ndarray, "_ g"], Float16[np.ndarray, "_ r e"]]
"""The raw vectors of one data set and their regions, memory-mapped."""


@dataclass(frozen=True, eq=False)
class CaptionedPictures:
    """Pictures of one split, by position; picture i is row `rows_n[i]` of block `block_n[i]`.

    Attributes:
        sentences: all distinct captions of each picture, lower-case, in the order of the data set.
    """

    keys: tuple[str, ...]  # the pictures' names, as `features` has them
    sentences: tuple[tuple[str, ...], ...]
    turns: int  # sentences of a dialogue
    raw_version: str
    blocks: tuple[RawBlock, ...]
    rows_n: Int[np.ndarray, " n"]
    block_n: Int[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def raw_width(self) -> int:
        """g, the width of a global vector."""
        return int(self.blocks[0][0].shape[1])

    @property
    def region_shape(self) -> tuple[int, int]:
        """r and e: regions of a picture, width of a region."""
        return self.blocks[0][1].shape[1], self.blocks[0][1].shape[2]

    def globals_of(self, positions: Positions) -> Float32[np.ndarray, "b g"]:
        """Raw global vectors of some pictures."""
        return self._gather_rows([raw_ng for raw_ng, _ in self.blocks], positions)

    def regions_of(self, positions: Positions) -> Float32[np.ndarray, "b r e"]:
        """Raw region vectors of some pictures."""
        return self._gather_rows([regions_nre for _, regions_nre in self.blocks], positions)

    def dialogue(self, position: int, rng: np.random.Generator | None = None) -> tuple[str, ...]:
        """The captions of a picture for `turns` turns: drawn in random order (training), or without `rng` the first
        ones.

        As published: `visual_genome.regions.choose_captions`. A picture with fewer captions repeats them.
        """
        said = self.sentences[position]
        order = range(len(said)) if rng is None else rng.permutation(len(said)).tolist()
        return tuple(said[order[turn % len(said)]] for turn in range(self.turns))

    def texts(self) -> tuple[str, ...]:
        """Every sentence that a dialogue may contain, once, sorted."""
        return tuple(sorted({sentence for sentences in self.sentences for sentence in sentences}))

    def _gather_rows(
        self, arrays: Sequence[Num[np.ndarray, "_ ..."]], positions: Positions
    ) -> Float32[np.ndarray, ...]:
        at_b = np.asarray(positions, np.intp)
        found = np.empty((len(at_b), *arrays[0].shape[1:]), np.float32)
        for number, array in enumerate(arrays):
            here = np.flatnonzero(self.block_n[at_b] == number)
            found[here] = array[self.rows_n[at_b[here]]]
        return found


def read_captioned_pictures(plan: TrainPlan, data: Path, split: str, *, whole: bool = False) -> CaptionedPictures:
    """The pictures of a split of one of a plan's data sets, with captions and raw vectors.

    The vectors are those of the data set's own detector if it has them (`region_36_final/`), else the encoder's. What
    is left out is reported.

    Args:
        plan: its encoder makes the raw vectors that are missing; it notes the pictures of the split "train".
        data: a folder in Drill-down's layout of Visual Genome; or with captions.csv beside images/; or of COCO.
            Captioned pictures are split by their place in the file (`data.splits`).
        split: "train", "val" or "test".
        whole: whether a detector's vectors of whole pictures are needed; without its files for them they are zeros.

    Raises:
        BadInput: data is missing or damaged, or no picture has vectors.
        UnknownName: there is no such split.
    """
    pictures, turns = _read_split(data, split, plan.notify)
    if has_detector_features(data):
        progress = report_tenths(plan.notify, f"vectors of {data}:")
        found = read_detector_features(data, split, whole=whole, out=plan.features_of(data), progress=progress)
    else:
        found = plan.vectors(data, regions=True)
    kept = [(picture, row) for picture in pictures if (row := found.find_row(picture.name)) is not None]
    if len(kept) < len(pictures):
        plan.notify(f"{data}, {split}: {len(pictures) - len(kept):,} pictures have no vectors and are left out")
    if not kept:
        raise BadInput(f"{data}: none of the {len(pictures)} pictures of {split!r} has vectors; are its images there?")
    assert found.regions_nre is not None
    rows_n = np.array([row for _, row in kept], np.intp)
    keys = tuple(found.keys[row] for _, row in kept)
    if split == "train":
        plan.note_training(data, keys)
    return CaptionedPictures(
        keys=keys,
        sentences=tuple(picture.captions for picture, _ in kept),
        turns=turns,
        raw_version=found.raw_version,
        blocks=((found.raw_nd, found.regions_nre),),
        rows_n=rows_n,
        block_n=np.zeros_like(rows_n),
    )


def join_captioned_pictures(parts: Sequence[CaptionedPictures]) -> CaptionedPictures:
    """Several sets as one, in their order; dialogues have as many turns as those of the set with the fewest.

    Raises:
        EncoderMismatch: their vectors are of different encoders.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if len({(part.raw_version, part.raw_width, part.region_shape) for part in parts}) > 1:
        versions = ", ".join(dict.fromkeys(part.raw_version for part in parts))
        raise EncoderMismatch(f"sets with vectors of {versions} cannot be learnt from together; train on one of them")
    firsts = np.cumsum([0, *(len(part.blocks) for part in parts)])
    return replace(
        first,
        keys=tuple(key for part in parts for key in part.keys),
        sentences=tuple(said for part in parts for said in part.sentences),
        turns=min(part.turns for part in parts),
        blocks=tuple(block for part in parts for block in part.blocks),
        rows_n=np.concatenate([part.rows_n for part in parts]),
        block_n=np.concatenate([part.block_n + at for part, at in zip(parts, firsts, strict=False)]),
    )


def build_description_vocabulary(*folders: Path, fewest: int = MIN_COUNT_IN_CODE) -> Vocabulary:
    """The words of data sets: the published list if one of them has it, else the words that occur at least `fewest`
    times in captions for training.

    Raises:
        BadInput: as `read_captioned_pictures`.
    """
    for folder in folders:
        if list_splits(folder) and (published := find_layout(folder).caches / VOCABULARY).is_file():
            return read_vocabulary(published)
    pictures = (picture for folder in folders for picture in _read_split(folder, "train", lambda line: None)[0])
    return build_vocabulary((caption for picture in pictures for caption in picture.captions), fewest=fewest)


@dataclass(frozen=True)
class _Captioned:
    """A picture's file, or its number if the data set has no file of it, and its captions."""

    name: Path | str
    captions: tuple[str, ...]


def _read_split(data: Path, split: str, notify: Notify) -> tuple[list[_Captioned], int]:
    """The pictures of a split, with distinct lower-case captions, and how many captions make a dialogue."""
    notify(f"reading {data}, {split}")
    if list_splits(data):
        regions, report = read_visual_genome(data, split)
        notify(f"{data}, {split}: {report}")
        named = [(picture.path or str(picture.id), picture) for picture in regions]
        return [_Captioned(name, picture.captions) for name, picture in named], TURNS
    if split not in SPLITS:
        raise UnknownName(f"{data}: no split is called {split!r}; there are: {', '.join(SPLITS)}")
    if not has_captions(data):
        raise BadInput(
            f"{data}: nothing to learn from here; needed are region descriptions (Visual Genome's "
            "region_descriptions.json, or rg_jsons/ and caches/), captions.csv beside images/, COCO's "
            "annotations/captions_*.json, or the files of Flickr8k, Flickr30k or Karpathy's splits"
        )
    pictures, report = read_captioned(data)
    notify(f"{data}: {report}")
    said = {one.path: tuple(dict.fromkeys(caption.lower() for caption in one.captions)) for one in pictures}
    chosen = choose_split(data, pictures, split)
    if not chosen:
        what = f"none of its {len(pictures)} pictures is for {split!r}"
        raise BadInput(f"{data}: {what}; some 50 are enough to split by name: {survey_captions(data)}")
    turns = min(MAX_CAPTIONS, median_low(map(len, said.values())))
    return [_Captioned(one.path, said[one.path]) for one in chosen], turns


DETECTOR_VERSION = f"visual-genome-{REGIONS}x{WIDTH}-1"
"""The `raw_version` of these vectors."""


def has_detector_features(data: Path) -> bool:
    """Whether a folder is in Drill-down's layout and has these vectors."""
    try:
        return find_layout(data).region_features(0).parent.is_dir()
    except BadInput:
        return False


def read_detector_features(
    data: Path,
    split: str,
    *,
    whole: bool = False,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Features:
    """The detector's vectors of the pictures of a split, with boxes; a picture without files is left out.

    A key is the path of the picture's file, or its number if the data set has no picture files.

    `whole`: vectors of whole pictures (`global_features/`) are needed too; else they are zeros if there is no such
    folder. `out`: where the arrays are kept; by default beside the data.

    Raises:
        BadInput: there is no such folder, or none of its files can be read.
        UnknownName: no such split.
    """
    layout = find_layout(data)
    ids = dict.fromkeys(read_picture_ids(layout.split(split)))
    for folder, needed in ((layout.region_features(0).parent, True), (layout.global_feature(0).parent, whole)):
        if needed and not folder.is_dir():
            raise BadInput(f"{folder}: no such folder; detector features ({DETECTOR_VERSION}) are read from there")
    pictures = layout.pictures() or {}
    files = {picture: pictures.get(picture) for picture in ids}
    named = {str(one) if file is None else file.relative_to(data).as_posix(): one for one, file in files.items()}
    has_global = layout.global_feature(0).parent.is_dir()

    def source_of(key: str) -> PictureFile:
        try:
            facts = layout.region_features(named[key]).stat()
        except OSError:  # `read` reports it, with the picture's name
            return PictureFile(key, 0, 0)
        return PictureFile(key, facts.st_size, facts.st_mtime_ns)

    def read(source: PictureFile) -> PictureVectors:
        picture = named[source.key]
        found = read_region_features(layout.region_features(picture))
        global_g = read_global_feature(layout.global_feature(picture)) if has_global else np.zeros(WIDTH, np.float32)
        return PictureVectors(global_g, found.features_nd, found.boxes_n4)

    return collect_stored_vectors(
        data,
        DETECTOR_VERSION,
        [source_of(key) for key in sorted(named)],
        read,
        part=split if has_global else f"{split}-regions",
        made_by="a detector, precomputed",
        out=out,
        progress=progress,
    )
