"""Orders and reports of a construction, and an order's parts put together: the pictures to begin with, the writer, the
gallery and the captioner.

Samples name pictures by their paths below the folder that the samples are written to. If that is not the data set's
own folder, its pictures get names in `images/`, those of a gallery in `images/gallery/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

import numpy as np

from viewfinder.construction.galleries import (
    BY_CAPTIONS,
    EncodedGallery,
    KnownCaptions,
    ModelCaptioner,
    NamedVectors,
    name_vectors,
)
from viewfinder.construction.pipelines import GalleryRetriever, PictureCaptioner, PipelineParts, TextGenerator
from viewfinder.construction.remembered import AnswerJournal, JournalledModel
from viewfinder.construction.truth import CaptionedWorld, TruthWriter, read_world
from viewfinder.construction.written import ModelWriter
from viewfinder.data import ReadReport, captions
from viewfinder.data.splits import split_reader, survey_captions
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import features
from viewfinder.encoders.features.store import IMAGES
from viewfinder.errors import BadInput
from viewfinder.language import LoadsInBackground, load_language_model
from viewfinder.library import Library
from viewfinder.worlds.chatsearch import MIN_LIKENESS, PIPELINES, Pipeline
from viewfinder.worlds.making import take_evenly

Part = Literal["train", "val", "test", "all"]

PARTS: tuple[Part, ...] = get_args(Part)

GALLERY = f"{IMAGES}/gallery"


@dataclass(frozen=True)
class SourcePicture:
    """A picture with its captions, and its number in the data set."""

    name: str
    file: Path
    captions: tuple[str, ...]
    number: int


def read_captioned(folder: Path, part: Part, *, prefix: str | None = None) -> tuple[list[SourcePicture], ReadReport]:
    """The captioned pictures of a part of a data set, and what was left out of the whole.

    Parts are by name (see `data.splits`). Numbers are a world's own, or else positions in the captions file.

    Args:
        folder: with captions.csv beside images/, or annotations/captions_*.json like COCO's.
        part: "all", or a split.
        prefix: the folder that names begin with; None: names are paths below `folder`.

    Raises:
        BadInput: no such folder, no captions, damaged ones, or no picture of this part.
    """
    if not captions.has_captions(folder):
        needed = "captions.csv beside images/, or annotations/captions_*.json"
        raise BadInput(f"{folder}: no captions here; needed are {needed}")
    pictures, report = captions.read_captioned(folder)
    # A world's pictures are named after their numbers.
    stems = [picture.path.stem for picture in pictures]
    in_world = (folder / TRUTH_FILE).is_file() and all(stem.isdigit() for stem in stems)
    chosen, split_of = list[SourcePicture](), split_reader(folder)
    for number, picture in zip(map(int, stems) if in_world else range(len(pictures)), pictures, strict=True):
        if part in ("all", split_of(picture.path)):
            said = tuple(" ".join(caption.split()) for caption in picture.captions)
            name = name_in_samples(picture.path, folder, prefix)
            chosen.append(SourcePicture(name, picture.path, said, number))
    if not chosen:
        what = f"none of its {len(pictures)} captioned pictures is of the part {part!r}"
        raise BadInput(f"{folder}: {what}; {survey_captions(folder)}")
    return chosen, report


def name_in_samples(file: Path, folder: Path, prefix: str | None) -> str:
    """The name of a picture in samples.

    >>> file = Path("a/images/1.jpg")
    >>> name_in_samples(file, Path("a"), None), name_in_samples(file, Path("a"), "images/gallery")
    ('images/1.jpg', 'images/gallery/1.jpg')
    """
    key = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.name
    return key if prefix is None else (PurePosixPath(prefix) / key.removeprefix(f"{IMAGES}/")).as_posix()


WORLD = "world"
"""The generator that tells what a world knows of its pictures."""

THRESHOLD = 0.6
"""For cosines between pictures: four of five Flickr8k photographs have one this close. A world has its own measure."""

CEILING = 0.98

Notify = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ConstructionOrder:
    """Samples to be made.

    Attributes:
        data: captioned pictures: captions.csv beside images/, or COCO's; a world has its truth too.
        out: the folder of the samples: the data's own, or another one, into which pictures are linked.
        pipelines: which to run; `merge` makes what it joins, and writes that only if it is named too.
        split: which pictures, and what the files are called.
        generator: "world", or a language model as `language.load_language_model` takes it; None: the world's truth
            if there is one, else the model that the environment names.
        gallery: pictures that may be found: a folder, or a library; None: those of the split, found by their truth in
            a world that writes its own text.
        captioner: "captions" (what the data says), or BLIP by hub name or folder.
        encoder: what sees pictures of a gallery, unless it is a library with its own encoder.
        features: where vectors of the data's pictures are kept; None: with the data.
        threshold: minimum similarity of a target to its reference; None: 0.6 for cosines, 0.4 for a world's measure.
        ceiling: above this it counts as a copy.
        count: pictures to begin with, evenly spaced; None: all.
        only_targets: galleries list the pictures that samples have, not all that could have been found.
        seed: of all random draws.
        at_once: pictures processed at a time.
        seconds: time limit for a language model's answer; a later one counts as none.
    """

    data: Path
    out: Path
    pipelines: tuple[Pipeline, ...] = PIPELINES
    split: Part = "train"
    generator: str | None = None
    gallery: Path | None = None
    captioner: str = BY_CAPTIONS
    encoder: str = "starter"
    features: Path | None = None
    threshold: float | None = None
    ceiling: float = CEILING
    count: int | None = None
    only_targets: bool = False
    seed: int = 0
    at_once: int = 1
    seconds: float = 60.0

    @property
    def writes_truth(self) -> bool:
        """Whether sentences come from a world's truth."""
        return self.generator == WORLD or (self.generator is None and (self.data / TRUTH_FILE).is_file())

    @property
    def finds_by_truth(self) -> bool:
        """Whether neighbours come from it too."""
        return self.writes_truth and self.gallery is None

    @property
    def least_likeness(self) -> float:
        """The threshold that applies."""
        if self.threshold is not None:
            return self.threshold
        return MIN_LIKENESS if self.finds_by_truth else THRESHOLD

    @property
    def in_place(self) -> bool:
        """Whether samples are written to the data set's own folder."""
        return self.out.resolve() == self.data.resolve()


@dataclass(frozen=True)
class ConstructionReport:
    """The result: samples by pipeline, and pictures that were dropped by pipeline and reason.

    Attributes:
        ended: False if the run was stopped; then no file was written, and what models wrote is kept.
        pictures: how many were started with, as far as the run got.
        asked: new answers from models; others were already known.
        files: what was written, as paths below `out`.
        left_out: what the readers of the data left out.
    """

    out: Path
    ended: bool
    pictures: int
    made: Mapping[Pipeline, int]
    dropped: Mapping[Pipeline, Mapping[str, int]]
    generator: str
    captioner: str
    asked: int = 0
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=())


MakeEncoder = Callable[[], Encoder]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ConstructionSetup:
    """The parts of a run: the pictures to begin with, and the file of every picture that a sample may have."""

    sources: tuple[SourcePicture, ...]
    parts: PipelineParts
    files: Mapping[str, Path]
    report: ReadReport


def prepare_construction(
    order: ConstructionOrder,
    journal: AnswerJournal,
    make_encoder: MakeEncoder,
    notify: Notify,
    progress: Progress = lambda done, total: None,
) -> ConstructionSetup:
    """Reads the data, loads what is named, computes vectors where they are needed.

    Raises:
        BadInput: data, gallery, generator or captioner are missing, damaged, or do not fit together.
    """
    notify(f"reading {order.data}")
    own, report = read_captioned(order.data, order.split, prefix=None if order.in_place else IMAGES)
    said = {picture.name: picture.captions for picture in own}
    world = read_world(order.data, said) if order.writes_truth else None
    writer = _make_writer(order, journal, world, notify)
    if world is not None and order.finds_by_truth:
        gallery: GalleryRetriever = world
        brought = _Brought({}, {})
    else:
        gallery, brought = _make_encoded_gallery(order, own, make_encoder, notify, progress)
    files = {picture.name: picture.file for picture in own} | brought.files
    captioner = _make_captioner(order, journal, said | brought.captions, files)
    parts = PipelineParts(writer, gallery, captioner, order.least_likeness, order.ceiling, order.seed)
    return ConstructionSetup(tuple(take_evenly(own, order.count)), parts, files, report)


@dataclass(frozen=True)
class _Brought:
    """The pictures of a separate gallery, and their captions."""

    files: dict[str, Path]
    captions: dict[str, tuple[str, ...]]


def _make_writer(
    order: ConstructionOrder, journal: AnswerJournal, world: CaptionedWorld | None, notify: Notify
) -> TextGenerator:
    if world is not None:
        return TruthWriter(world, order.seed)
    model = load_language_model(order.generator or "")
    if isinstance(model, LoadsInBackground):
        notify(f"loading {model.name}")
        model.wait()
    return ModelWriter(JournalledModel(model, journal), order.seed, order.seconds)


def _make_captioner(
    order: ConstructionOrder, journal: AnswerJournal, said: Mapping[str, tuple[str, ...]], files: Mapping[str, Path]
) -> PictureCaptioner:
    if order.captioner == BY_CAPTIONS:
        return KnownCaptions(said, order.seed)
    from viewfinder.users.vqa import load_captioner  # imports torch

    model = load_captioner(order.captioner)
    return ModelCaptioner(model.name, model.text, files, journal)


def _make_encoded_gallery(
    order: ConstructionOrder, own: list[SourcePicture], make_encoder: MakeEncoder, notify: Notify, progress: Progress
) -> tuple[GalleryRetriever, _Brought]:
    """Pictures seen through an encoder: those of the split, of another folder, or of a library."""
    files = {picture.name: picture.file for picture in own}
    if order.gallery is None:
        encoder = make_encoder()
        known = _compute_vectors(order.data, files, encoder, order.features, notify, progress)
        return EncodedGallery(known, known, encoder), _Brought({}, {})
    if (order.gallery / "library.json").is_file():
        library = Library.open(order.gallery, create=False)
        encoder, found, brought = library.encoder, *_read_library(library)
    else:
        encoder = make_encoder()
        brought = _read_gallery_folder(order.gallery, order.captioner == BY_CAPTIONS)
        found = _compute_vectors(order.gallery, brought.files, encoder, None, notify, progress)
    if order.captioner == BY_CAPTIONS and not brought.captions:
        raise BadInput(f"{order.gallery}: its pictures have no captions; name a model with --captioner")
    references = _compute_vectors(order.data, files, encoder, order.features, notify, progress)
    return EncodedGallery(found, references, encoder), brought


def _compute_vectors(
    folder: Path, files: Mapping[str, Path], encoder: Encoder, out: Path | None, notify: Notify, progress: Progress
) -> NamedVectors:
    notify(f"vectors of the pictures in {folder}")
    return name_vectors(files, features(folder, encoder, out=out, progress=progress), encoder)


def _read_gallery_folder(folder: Path, captioned: bool) -> _Brought:
    """The captioned pictures of a folder, or all if a model looks at them."""
    from viewfinder.pictures.scan import scan

    if captions.has_captions(folder):
        pictures, _ = read_captioned(folder, "all", prefix=GALLERY)
        return _Brought(
            {picture.name: picture.file for picture in pictures},
            {picture.name: picture.captions for picture in pictures},
        )
    if captioned:
        raise BadInput(f"{folder}: no captions here (captions.csv, annotations/); name a model with --captioner")
    inner = folder / IMAGES if (folder / IMAGES).is_dir() else folder
    found = scan([inner])
    return _Brought({name_in_samples(file.path, found.roots[0], GALLERY): file.path for file in found.files}, {})


def _read_library(library: Library) -> tuple[NamedVectors, _Brought]:
    """A library's pictures by their ids, as far as their files exist."""
    snapshot = library.gallery().snapshot
    files: dict[str, Path] = {}
    rows: list[int] = []
    for row, picture in enumerate(snapshot.ids):
        file = next((path for path in map(Path, snapshot.paths(row)) if path.is_file()), None)
        if file is not None:
            files[f"{GALLERY}/{picture}{file.suffix.lower()}"] = file
            rows.append(row)
    told = {name: said for name, row in zip(files, rows, strict=True) if (said := snapshot.captions(row))}
    return NamedVectors(tuple(files), np.asarray(snapshot.matrix_nd[rows], np.float32)), _Brought(files, told)
