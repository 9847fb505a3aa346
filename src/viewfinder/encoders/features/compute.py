"""Global and region vectors of a data set's pictures, computed once and kept in files.

    <folder>/manifest.json            the encoder; of every row the picture's key, size and time of change
             global-<mark>.npy        float32 (n d), rows in the order of the keys
             regions-<mark>.npy       float16 (n r e), where regions were asked for
             work/00000.safetensors   a chunk of an unfinished run; gone once the manifest is written

A key is the picture's POSIX path relative to the data set. Work is cut into chunks of the sorted keys, and a chunk is
there whole or not at all: after kill -9 the next call makes what is missing out of the same batches, so that the
result has the same bytes. Pictures that did not change since are not read again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath

import numpy as np

from viewfinder.encoders.base import Encoded, Encoder
from viewfinder.encoders.features.store import (
    IMAGES,
    WORK_FOLDER,
    ArrayFile,
    DetectedFeatures,
    DroppedPicture,
    Features,
    Manifest,
    PictureFile,
    Progress,
    claim_folder,
    feature_folders,
    finish_manifest,
    map_array,
    npy_header,
    read_manifest,
    repair_advice,
    rows_mark,
    writable_folder,
    write_whole,
)
from viewfinder.errors import BadInput
from viewfinder.pictures import BadFile, DecodedFile, Decoders, Outcome, scan

CHUNK = 64
"""Pictures that are acknowledged together: what a crash can cost."""


@dataclass(frozen=True)
class ComputeRun:
    """One call that has to compute something."""

    dataset: Path
    folder: Path
    encoder: Encoder
    regions: bool
    workers: int
    progress: Progress


Arrays = tuple[np.ndarray, np.ndarray | None]
"""Global vectors and, where asked for, regions of the same pictures."""


@dataclass(frozen=True)
class RowBlock:
    """Rows that were made: `rows[i]` of what `load` gives is the picture `sources[i]`."""

    sources: tuple[PictureFile, ...]
    rows: tuple[int, ...]
    load: Callable[[], Arrays]


def features(
    dataset: Path,
    encoder: Encoder,
    *,
    regions: bool = False,
    out: Path | None = None,
    workers: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Features:
    """The vectors of all pictures of a data set, from the files of earlier calls as far as these serve.

    Pictures are those in `dataset/images`, or anywhere in `dataset` where there is no such folder.

    Args:
        dataset: the folder.
        encoder: what makes vectors of pictures.
        regions: whether region vectors are needed too. Those that are there are kept up to date anyway.
        out: the folder for the files; by default `dataset/.viewfinder-features/<raw version>`, or the user's cache
            folder where that cannot be written.
        workers: processes that decode; by default as many as there are cores.
        progress: told how far it is.

    Raises:
        BadInput: no such folder, no picture in it that can be read, or damaged files of an earlier call.
        EncoderMismatch: `out` holds the vectors of another encoder.
        LibraryBusy: another process is at work there.
        DiskFull: what was acknowledged is kept.
    """
    found, unreadable = _pictures(dataset)
    places = [out] if out is not None else feature_folders(dataset, encoder.raw_version)
    for place in places:
        before = read_manifest(place, encoder.raw_version)
        if before is None or (regions and before.regions is None):
            continue
        if before.known() == {*found, *(bad.source for bad in unreadable)}:  # nothing is to be done
            return open_features(place, dataset, before, regions=regions)
    folder = writable_folder(places)
    with claim_folder(folder):
        before = read_manifest(folder, encoder.raw_version)
        if before is not None and regions and before.regions is None:
            before = None  # every picture is read again, for its regions
        kept = regions or (before is not None and before.regions is not None)
        run = ComputeRun(dataset, folder, encoder, kept, workers or os.cpu_count() or 1, progress)
        return open_features(folder, dataset, _update(run, before, found, unreadable), regions=regions)


def _pictures(dataset: Path) -> tuple[tuple[PictureFile, ...], tuple[DroppedPicture, ...]]:
    """The picture files of a data set in the order of their keys, and places that could not be looked into."""
    if not dataset.is_dir():
        raise BadInput(f"{dataset}: no such folder; name a folder of pictures, or a data set with images/ in it")
    inner = IMAGES if (dataset / IMAGES).is_dir() else "."
    found = scan([dataset / inner])
    [root] = found.roots
    if not found.files:
        raise BadInput(f"{dataset / inner}: no pictures in this folder")

    def key(path: Path) -> str:
        return (PurePosixPath(inner) / path.relative_to(root)).as_posix() if path.is_relative_to(root) else str(path)

    sources = sorted(PictureFile(key(file.path), file.size, file.mtime_ns) for file in found.files)
    unreadable = sorted(DroppedPicture(PictureFile(key(place.path), 0, 0), place.reason) for place in found.unreadable)
    return tuple(sources), tuple(unreadable)


def open_features(folder: Path, dataset: Path, manifest: Manifest, *, regions: bool) -> Features:
    """What a manifest lists, mapped into memory."""
    boxes_nr4 = map_array(folder, manifest.boxes) if regions and manifest.boxes else None
    kind = Features if boxes_nr4 is None else DetectedFeatures
    return kind(
        keys=tuple(source.key for source in manifest.sources),
        raw_nd=map_array(folder, manifest.raw),
        raw_version=manifest.raw_version,
        regions_nre=map_array(folder, manifest.regions) if regions and manifest.regions else None,
        boxes_nr4=boxes_nr4,
        dataset=dataset,
        dropped=manifest.dropped,
        folder=folder,
    )


def _update(
    run: ComputeRun, before: Manifest | None, found: Sequence[PictureFile], unreadable: Sequence[DroppedPicture]
) -> Manifest:
    """Computes what is missing, joins it with what was there, and writes the manifest last."""
    bad = {} if before is None else {item.source: item for item in before.dropped}
    blocks = []
    if before is not None:  # the rows of the present files whose pictures did not change since
        wanted = frozenset(found)
        kept = [(source, row) for row, source in enumerate(before.sources) if source in wanted]
        regions = None if before.regions is None else map_array(run.folder, before.regions)
        arrays = map_array(run.folder, before.raw), regions
        blocks = [RowBlock(tuple(source for source, _ in kept), tuple(row for _, row in kept), lambda: arrays)]
    known = {source for block in blocks for source in block.sources} | bad.keys()
    chunks, newly_bad = _compute_chunks(run, [source for source in found if source not in known])
    dropped = sorted([*(bad[source] for source in found if source in bad), *newly_bad, *unreadable])
    return _join(run, [*blocks, *chunks], dropped)


def _join(run: ComputeRun, blocks: Sequence[RowBlock], dropped: Sequence[DroppedPicture]) -> Manifest:
    """Writes the rows of all blocks in the order of their keys, then the manifest, then clears up."""
    entries = sorted(
        (source, number, row)
        for number, block in enumerate(blocks)
        for source, row in zip(block.sources, block.rows, strict=True)
    )
    sources = tuple(source for source, _, _ in entries)
    if not sources:
        first = dropped[0]
        raise BadInput(f"{run.dataset}: no picture here could be read; {first.source.key}: {first.reason}")
    mark, places = rows_mark(sources), [(number, row) for _, number, row in entries]
    raw = _write_rows(run, f"global-{mark}.npy", _rows_of(blocks, places, 0), len(places))
    regions = _write_rows(run, f"regions-{mark}.npy", _rows_of(blocks, places, 1), len(places)) if run.regions else None
    manifest = Manifest(run.encoder.raw_version, sources, tuple(dropped), raw, regions)
    return finish_manifest(run.folder, manifest, run.encoder.name)


def _rows_of(blocks: Sequence[RowBlock], places: Sequence[tuple[int, int]], which: int) -> Iterator[np.ndarray]:
    """Row by row the global vectors (`which` 0) or regions (1); one chunk is in memory at a time."""
    held: int | None = None
    for number, row in places:
        if number != held:
            rows_n, held = blocks[number].load()[which], number
        assert rows_n is not None, "regions are in all blocks or were not asked for"
        yield rows_n[row]


def _write_rows(run: ComputeRun, name: str, rows: Iterator[np.ndarray], count: int) -> ArrayFile:
    """An .npy file, written front to back: a full disk is an error here, through a memory map it would be a crash."""
    first = next(rows)

    def to_bytes(row: np.ndarray) -> bytes:
        if row.shape != first.shape:
            raise BadInput(
                f"{run.folder}: vectors of shapes {first.shape} and {row.shape}; {repair_advice(run.folder)}"
            )
        return row.tobytes()

    header = npy_header(count, first.shape, first.dtype)
    write_whole(run.folder / name, chain([header], map(to_bytes, chain([first], rows))))
    return ArrayFile(name, (count, *first.shape), str(first.dtype))


# -- chunks


def _compute_chunks(run: ComputeRun, todo: Sequence[PictureFile]) -> tuple[list[RowBlock], list[DroppedPicture]]:
    """The chunks of `todo`, read where an interrupted call left them, else computed."""
    work = run.folder / WORK_FOLDER
    work.mkdir(exist_ok=True)
    chunks = [(work / f"{at // CHUNK:05}.safetensors", todo[at : at + CHUNK]) for at in range(0, len(todo), CHUNK)]
    missing = [(file, planned) for file, planned in chunks if _read_notes(file).get("plan") != _plan(run, planned)]
    if missing:
        done = len(todo) - sum(len(planned) for _, planned in missing)
        run.progress(done, len(todo))
        with Decoders(run.workers, fit=run.encoder.fit) as decoders:
            outcomes = decoders.decode(run.dataset / source.key for _, planned in missing for source in planned)
            for file, planned in missing:
                _write_chunk(run, file, planned, list(islice(outcomes, len(planned))))
                done += len(planned)
                run.progress(done, len(todo))
    blocks, bad = [], []
    for file, _ in chunks:
        notes = _read_notes(file)
        sources = tuple(PictureFile(*item) for item in json.loads(notes["pictures"]))
        blocks.append(RowBlock(sources, tuple(range(len(sources))), partial(_load_chunk, file)))
        bad += [DroppedPicture(PictureFile(*item), reason) for *item, reason in json.loads(notes["dropped"])]
    return blocks, bad


def _plan(run: ComputeRun, planned: Sequence[PictureFile]) -> str:
    """What a chunk must have been made from to be of use."""
    return json.dumps([run.encoder.raw_version, run.regions, [astuple(source) for source in planned]])


def _write_chunk(run: ComputeRun, file: Path, planned: Sequence[PictureFile], outcomes: Sequence[Outcome]) -> None:
    from safetensors.numpy import save

    read = [(source.key, outcome) for source, outcome in zip(planned, outcomes, strict=True)]
    good = [(key, outcome) for key, outcome in read if isinstance(outcome, DecodedFile)]
    encoded = Encoded(np.zeros((0, 0), np.float32))
    if good:
        encoded = run.encoder.pictures([outcome.pixels for _, outcome in good], regions=run.regions)
    tensors = {"global": np.ascontiguousarray(encoded.global_bd, np.float32)}
    if encoded.regions_brd is not None:
        most = np.finfo(np.float16).max
        tensors["regions"] = np.ascontiguousarray(np.clip(encoded.regions_brd, -most, most), np.float16)
    dropped = [(key, bad.size, bad.mtime_ns, bad.reason) for key, bad in read if isinstance(bad, BadFile)]
    notes = {
        "plan": _plan(run, planned),
        "pictures": json.dumps([(key, outcome.size, outcome.mtime_ns) for key, outcome in good]),
        "dropped": json.dumps(dropped),
    }
    write_whole(file, [save(tensors, metadata=notes)])


def _read_notes(file: Path) -> dict[str, str]:
    """The notes in a chunk's header; nothing if there is no such file or it is damaged: it is then made again."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as chunk:
            return dict(chunk.metadata() or {})
    except (OSError, SafetensorError):
        return {}


def _load_chunk(file: Path) -> Arrays:
    from safetensors.numpy import load_file

    arrays = load_file(file)
    return arrays["global"], arrays.get("regions")
