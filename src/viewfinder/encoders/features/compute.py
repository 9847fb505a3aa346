"""Vectors of a data set's pictures, computed once and kept in files.

    <folder>/manifest.json            the encoder; for each row the picture's key, size and time of change
             global-<mark>.npy        float32 (n d), rows in the order of the keys
             regions-<mark>.npy       float16 (n r e), where regions were asked for
             boxes-<mark>.npy         float32 (n r 4), in pixels, where a detector chose the regions
             work/                    the rows so far of an unfinished run, and a journal of their pictures

A key is the picture's POSIX path relative to the data set. Rows are appended chunk by chunk, and the journal is written
once they are on disk: after kill -9 the next call resumes with the same batches, so that the result has the same bytes.
Pictures that have not changed are not read again.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from itertools import islice, repeat
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Encoded, Encoder
from viewfinder.encoders.features import store
from viewfinder.errors import BadInput
from viewfinder.pictures import BadFile, DecodedFile, Decoders
from viewfinder.pictures.scan import scan
from viewfinder.processors import check_processes, count_processors

MAX_PICTURES = 64
"""Pictures acknowledged together: the most that a crash can cost."""

JOURNAL = "journal.jsonl"

ARRAYS: dict[str, np.dtype[Any]] = {
    "global": np.dtype(np.float32),
    "regions": np.dtype(np.float16),
    "boxes": np.dtype(np.float32),
}


@dataclass(frozen=True, eq=False, slots=True)
class PictureVectors:
    """The stored vectors of one picture: its own, those of its regions, and, from a detector, their boxes in pixels."""

    global_g: Float[np.ndarray, " g"]
    regions_re: Float[np.ndarray, "r e"] | None = None
    boxes_r4: Float[np.ndarray, "r 4"] | None = None


Read = tuple[store.PictureFile, PictureVectors | str]
"""The result of reading a picture: its vectors, or why there are none."""


def features(
    dataset: Path,
    encoder: Encoder,
    *,
    regions: bool = False,
    out: Path | None = None,
    workers: int | None = None,
    progress: store.Progress = lambda done, total: None,
) -> store.Features:
    """The vectors of all pictures of a data set, taken from the files of earlier calls where possible.

    The pictures are those in `dataset/images`, or anywhere in `dataset` if there is no such folder.

    Args:
        dataset: the folder.
        encoder: makes the vectors.
        regions: whether region vectors are needed too. Existing ones are kept up to date anyway.
        out: the folder for the files; by default `dataset/.viewfinder-features/<raw version>`, or the user's cache
            folder if that cannot be written.
        workers: decoding processes; by default one per core.
        progress: called with the progress.

    Raises:
        BadInput: no such folder, no readable picture in it, or damaged files of an earlier call.
        EncoderMismatch: `out` holds the vectors of another encoder.
        LibraryBusy: another process is at work there.
        DiskFull: what was acknowledged is kept.
    """
    if workers is not None:
        check_processes("workers", workers)
    found, unreadable = find_pictures(dataset)
    places = [out] if out is not None else store.feature_folders(dataset, encoder.raw_version)
    for place in places:
        before = store.read_manifest(place, encoder.raw_version)
        if before is None or (regions and "regions" not in before.arrays):
            continue
        if before.known() == {*found, *(bad.source for bad in unreadable)}:  # nothing to do
            return store.open_features(place, dataset, before, regions=regions)
    folder = store.find_writable_folder(places)
    with store.claim_folder(folder):
        before = store.read_manifest(folder, encoder.raw_version)
        if before is not None and regions and "regions" not in before.arrays:
            before = None  # every picture is read again, for its regions
        kept = regions or (before is not None and "regions" in before.arrays)
        known = {} if before is None else _read_known(folder, before)

        def read(rest: Sequence[store.PictureFile]) -> Iterator[list[Read]]:
            return _compute_chunks(dataset, encoder, rest, known, regions=kept, workers=workers or count_processors())

        outcomes = write_rows(folder, json.dumps([encoder.raw_version, kept]), found, read, progress)
        if all(reason for _, reason in outcomes):
            first, reason = outcomes[0]
            raise BadInput(f"{dataset}: no picture here could be read; {first.key}: {reason}")
        manifest = finish_rows(folder, encoder.raw_version, encoder.name, outcomes, unreadable)
        return store.open_features(folder, dataset, manifest, regions=regions)


def find_pictures(dataset: Path) -> tuple[tuple[store.PictureFile, ...], tuple[store.DroppedPicture, ...]]:
    """The picture files of a data set in the order of their keys, and places that could not be read."""
    if not dataset.is_dir():
        raise BadInput(f"{dataset}: no such folder; name a folder of pictures, or a data set with images/ in it")
    inner = store.IMAGES if (dataset / store.IMAGES).is_dir() else "."
    found = scan([dataset / inner])
    [root] = found.roots
    if not found.files:
        raise BadInput(f"{dataset / inner}: no pictures in this folder")

    def key(path: Path) -> str:
        return (PurePosixPath(inner) / path.relative_to(root)).as_posix() if path.is_relative_to(root) else str(path)

    sources = sorted(store.PictureFile(key(file.path), file.size, file.mtime_ns) for file in found.files)
    unreadable = sorted(
        store.DroppedPicture(store.PictureFile(key(place.path), 0, 0), place.reason) for place in found.unreadable
    )
    return tuple(sources), tuple(unreadable)


def _read_known(folder: Path, before: store.FeaturesManifest) -> dict[store.PictureFile, PictureVectors | str]:
    """Vectors, or reasons for none, that an earlier call left for pictures; its arrays stay mapped."""
    raw_nd, regions_nre = (
        np.asarray(store.map_array(folder, array)) if (array := before.arrays.get(name)) else repeat(None)
        for name in ("global", "regions")
    )
    known: dict[store.PictureFile, PictureVectors | str] = {bad.source: bad.reason for bad in before.dropped}
    return known | dict(zip(before.sources, map(PictureVectors, raw_nd, regions_nre), strict=True))


def _compute_chunks(
    dataset: Path,
    encoder: Encoder,
    sources: Sequence[store.PictureFile],
    known: Mapping[store.PictureFile, PictureVectors | str],
    *,
    regions: bool,
    workers: int,
) -> Iterator[list[Read]]:
    """The vectors of `sources`: a chunk has what is known and up to `MAX_PICTURES` new pictures, as one batch."""
    todo = [at for at, source in enumerate(sources) if source not in known]
    starts = [0, *todo[MAX_PICTURES::MAX_PICTURES]]
    with closing(Decoders(workers, fit=encoder.fit)) as decoders:
        outcomes = decoders.decode(dataset / sources[at].key for at in todo)
        for start, end in zip(starts, [*starts[1:], len(sources)], strict=True):
            missing = [source for source in sources[start:end] if source not in known]
            computed = _encode_batch(encoder, missing, list(islice(outcomes, len(missing))), regions=regions)
            yield [(source, known[source]) if source in known else next(computed) for source in sources[start:end]]


def _encode_batch(
    encoder: Encoder,
    sources: Sequence[store.PictureFile],
    outcomes: Sequence[DecodedFile | BadFile],
    *,
    regions: bool,
) -> Iterator[Read]:
    """The pictures of one batch, with the size and time of change that they had when they were read."""
    pixels = [outcome.pixels for outcome in outcomes if isinstance(outcome, DecodedFile)]
    encoded = encoder.pictures(pixels, regions=regions) if pixels else Encoded(np.zeros((0, 0), np.float32))
    regions_bre = repeat(None) if encoded.regions_brd is None else encoded.regions_brd
    vectors = map(PictureVectors, encoded.global_bd, regions_bre)
    for source, outcome in zip(sources, outcomes, strict=True):
        found = next(vectors) if isinstance(outcome, DecodedFile) else outcome.reason
        yield store.PictureFile(source.key, outcome.size, outcome.mtime_ns), found


# -- rows on disk


def write_rows(
    folder: Path,
    plan: str,
    sources: Sequence[store.PictureFile],
    read: Callable[[Sequence[store.PictureFile]], Iterator[list[Read]]],
    progress: store.Progress,
) -> list[tuple[store.PictureFile, str]]:
    """Appends what `read` yields for `sources` to arrays in `folder/work`, after the rows of an interrupted call.

    Returns every picture with the reason why it has no row ("": it has one). Rows made by another `plan` are not used.
    """
    work = folder / store.WORK_FOLDER
    done = _read_journal(work, plan, sources)
    progress(len(done), len(sources))
    for chunk in read(sources[len(done) :]) if len(done) < len(sources) else ():
        vectors = [found for _, found in chunk if isinstance(found, PictureVectors)]
        if vectors:
            _append_rows(work, sum(not reason for _, reason in done), vectors)
        outcomes = [(source, found if isinstance(found, str) else "") for source, found in chunk]
        with (work / JOURNAL).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([(*astuple(source), reason) for source, reason in outcomes]) + "\n")
        done += outcomes
        progress(len(done), len(sources))
    return done


def _read_journal(work: Path, plan: str, sources: Sequence[store.PictureFile]) -> list[tuple[store.PictureFile, str]]:
    """The pictures whose rows an interrupted call left; what follows a difference is dropped."""
    file, known, kept = work / JOURNAL, list[tuple[store.PictureFile, str]](), [plan]
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for line in lines[1:] if lines[:1] == [plan] else []:
        try:
            chunk = [(store.PictureFile(*source), reason) for *source, reason in json.loads(line)]
        except ValueError:  # cut short by a crash
            break
        if [source for source, _ in chunk] != list(sources[len(known) : len(known) + len(chunk)]):
            break
        known += chunk
        kept.append(line)
    # A call interrupted while finishing has moved the rows, so no more can be appended to them.
    if not known or (len(known) < len(sources) and not (work / "global.npy").is_file()):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        known, kept = [], [plan]
    file.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return known


def _append_rows(work: Path, count: int, found: Sequence[PictureVectors]) -> None:
    """Writes rows after the first `count` of each array; what an interrupted call left there is overwritten."""
    columns = zip(*((one.global_g, one.regions_re, one.boxes_r4) for one in found), strict=True)
    for (name, dtype), rows in zip(ARRAYS.items(), columns, strict=True):
        if rows[0] is None:
            continue
        file = work / f"{name}.npy"
        file.touch()
        with file.open("r+b") as stream:
            shape = _row_shape(stream) if count else rows[0].shape
            header = store.npy_header(0, shape, dtype)
            stream.seek(0)
            stream.write(header)
            stream.seek(len(header) + count * dtype.itemsize * math.prod(shape))
            stream.truncate()
            for row in rows:
                if row.shape != shape:
                    folder = work.parent
                    raise BadInput(
                        f"{folder}: vectors of shapes {shape} and {row.shape}; {store.repair_advice(folder)}"
                    )
                most = float(np.finfo(dtype).max)  # numbers too large for this precision become its largest
                fits = row if row.dtype == dtype else np.clip(row, -most, most).astype(dtype)
                stream.write(fits.tobytes())
            stream.flush()
            os.fsync(stream.fileno())


def finish_rows(
    folder: Path,
    raw_version: str,
    made_by: str,
    outcomes: Sequence[tuple[store.PictureFile, str]],
    unreadable: Sequence[store.DroppedPicture] = (),
) -> store.FeaturesManifest:
    """Sets the length of the arrays of `write_rows`, moves them into place, then writes the manifest."""
    sources = tuple(source for source, reason in outcomes if not reason)
    dropped = sorted([*(store.DroppedPicture(source, reason) for source, reason in outcomes if reason), *unreadable])
    mark, arrays = store.rows_mark(sources), {}
    for name, dtype in ARRAYS.items():
        unfinished, file = folder / store.WORK_FOLDER / f"{name}.npy", folder / f"{name}-{mark}.npy"
        if unfinished.is_file():  # else it is not needed, or a call interrupted right here has moved it
            with unfinished.open("r+b") as stream:
                header = store.npy_header(len(sources), _row_shape(stream), dtype)
                stream.seek(0)
                stream.write(header)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(file)
        if file.is_file():
            values = np.load(file, mmap_mode="r", allow_pickle=False)
            arrays[name] = store.ArrayFile(file.name, values.shape, str(values.dtype))
    return store.finish_manifest(folder, store.FeaturesManifest(raw_version, sources, tuple(dropped), arrays), made_by)


def _row_shape(stream: BinaryIO) -> tuple[int, ...]:
    np.lib.format.read_magic(stream)
    (_, *shape), _, _ = np.lib.format.read_array_header_1_0(stream)
    return tuple(shape)
