"""An order's parts put together: pictures to begin with, and what writes, finds and describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from viewfinder.construction.captioners import CAPTIONS, KnownCaptions, load_model_captioner
from viewfinder.construction.galleries import EncodedGallery, NamedVectors, name_vectors
from viewfinder.construction.order import ConstructionOrder, Notify
from viewfinder.construction.parts import Captioner, GalleryRetriever, TextGenerator
from viewfinder.construction.pictures import (
    GALLERY,
    SourcePicture,
    files_of,
    has_captions,
    read_captioned,
    sample_name,
    take_evenly,
)
from viewfinder.construction.pipelines import PipelineParts
from viewfinder.construction.remembered import AnswerJournal, JournalledCaptioner, JournalledModel
from viewfinder.construction.truth import CaptionedWorld, TruthGallery, TruthWriter, read_world
from viewfinder.construction.written import ModelWriter
from viewfinder.data import ReadReport
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import features
from viewfinder.encoders.features.lookup import IMAGES
from viewfinder.errors import BadInput
from viewfinder.language import LoadsInBackground, load_language_model
from viewfinder.library import Library

MakeEncoder = Callable[[], Encoder]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class ConstructionSetup:
    """What a run works with.

    Attributes:
        sources: the pictures to begin with.
        parts: see `pipelines`.
        files: where every picture lies that a sample may have, by name.
        captioner: the captioner's name.
        reports: what was read.
    """

    sources: tuple[SourcePicture, ...]
    parts: PipelineParts
    files: Mapping[str, Path]
    reports: tuple[ReadReport, ...]


def prepare_construction(
    order: ConstructionOrder,
    journal: AnswerJournal,
    make_encoder: MakeEncoder,
    told: Notify,
    progress: Progress = lambda done, total: None,
) -> ConstructionSetup:
    """Reads the data, loads what is named, computes vectors where they are needed.

    Raises:
        BadInput: data, gallery, generator or captioner are missing, damaged, or do not go together.
    """
    told(f"reading {order.data}")
    own, report = read_captioned(order.data, order.split, prefix=None if order.in_place else IMAGES)
    captions = {picture.name: picture.captions for picture in own}
    world = read_world(order.data, captions) if order.writes_truth else None
    writer = _writer(order, journal, world, told)
    if world is not None and order.finds_by_truth:
        gallery: GalleryRetriever = TruthGallery(world)
        brought = _Brought({}, {})
    else:
        gallery, brought = _encoded(order, own, make_encoder, told, progress)
    files = {**files_of(own), **brought.files}
    captioner = _captioner(order, journal, {**captions, **brought.captions}, files)
    parts = PipelineParts(writer, gallery, captioner, order.least_likeness, order.ceiling, order.seed)
    return ConstructionSetup(tuple(take_evenly(own, order.count)), parts, files, (report,))


@dataclass(frozen=True)
class _Brought:
    """The pictures of a gallery of their own, and what is said of them."""

    files: Mapping[str, Path]
    captions: Mapping[str, tuple[str, ...]]


def _writer(
    order: ConstructionOrder, journal: AnswerJournal, world: CaptionedWorld | None, told: Notify
) -> TextGenerator:
    if world is not None:
        return TruthWriter(world, order.seed)
    model = load_language_model(order.generator or "")
    if isinstance(model, LoadsInBackground):
        told(f"loading {model.name}")
        model.wait()
    return ModelWriter(JournalledModel(model, journal), order.seed, order.seconds)


def _captioner(
    order: ConstructionOrder, journal: AnswerJournal, captions: Mapping[str, tuple[str, ...]], files: Mapping[str, Path]
) -> Captioner:
    if order.captioner == CAPTIONS:
        return KnownCaptions(captions, order.seed)

    def mark(name: str) -> str:
        facts = files[name].stat()
        return f"{facts.st_size} {facts.st_mtime_ns}"

    return JournalledCaptioner(load_model_captioner(order.captioner, files), journal, mark)


def _encoded(
    order: ConstructionOrder, own: list[SourcePicture], make_encoder: MakeEncoder, told: Notify, progress: Progress
) -> tuple[GalleryRetriever, _Brought]:
    """Pictures seen through an encoder: those of the split, of another folder, or of a library."""
    if order.gallery is None:
        encoder = make_encoder()
        known = _vectors(order.data, files_of(own), encoder, order.features, told, progress)
        return EncodedGallery(known, known, encoder), _Brought({}, {})
    if (order.gallery / "library.json").is_file():
        library = Library.open(order.gallery, create=False)
        encoder, found, brought = library.encoder, *_of_library(library)
    else:
        encoder = make_encoder()
        brought = _of_folder(order.gallery, order.captioner == CAPTIONS)
        found = _vectors(order.gallery, brought.files, encoder, None, told, progress)
    if order.captioner == CAPTIONS and not brought.captions:
        raise BadInput(f"{order.gallery}: its pictures have no captions; name a model with --captioner")
    references = _vectors(order.data, files_of(own), encoder, order.features, told, progress)
    return EncodedGallery(found, references, encoder), brought


def _vectors(
    folder: Path, files: Mapping[str, Path], encoder: Encoder, out: Path | None, told: Notify, progress: Progress
) -> NamedVectors:
    told(f"vectors of the pictures in {folder}")
    return name_vectors(files, features(folder, encoder, out=out, progress=progress), encoder)


def _of_folder(folder: Path, captioned: bool) -> _Brought:
    """The captioned pictures of a folder, or all if a model looks at them."""
    from viewfinder.pictures import scan

    if has_captions(folder):
        pictures, _ = read_captioned(folder, "all", prefix=GALLERY)
        return _Brought(files_of(pictures), {picture.name: picture.captions for picture in pictures})
    if captioned:
        raise BadInput(f"{folder}: no captions here (captions.csv, annotations/); name a model with --captioner")
    inner = folder / IMAGES if (folder / IMAGES).is_dir() else folder
    found = scan([inner])
    return _Brought({sample_name(file.path, found.roots[0], GALLERY): file.path for file in found.files}, {})


def _of_library(library: Library) -> tuple[NamedVectors, _Brought]:
    """A library's pictures by their ids, as far as their files are there."""
    snapshot = library.gallery().snapshot
    files: dict[str, Path] = {}
    rows: list[int] = []
    for row, picture in enumerate(snapshot.ids):
        file = next((path for path in map(Path, snapshot.paths(row)) if path.is_file()), None)
        if file is not None:
            files[f"{GALLERY}/{picture}{file.suffix.lower()}"] = file
            rows.append(row)
    captions = {name: said for name, row in zip(files, rows, strict=True) if (said := snapshot.captions(row))}
    return NamedVectors(tuple(files), np.asarray(snapshot.matrix_nd[rows], np.float32)), _Brought(files, captions)
