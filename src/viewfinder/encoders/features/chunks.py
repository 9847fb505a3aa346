"""The work of one call, cut into chunks: a chunk is a file that is there whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from viewfinder.encoders.base import Encoded, Encoder, Pixels
from viewfinder.encoders.features.lookup import DroppedPicture, PictureFile
from viewfinder.encoders.features.manifest import write_whole
from viewfinder.pictures import BadFile, DecodedFile, Decoders, Outcome

CHUNK = 64
"""Pictures that are acknowledged together: what a crash can cost."""

WORK_FOLDER = "work"

Progress = Callable[[int, int], None]
"""Told after each chunk: pictures done, pictures to do."""


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


def compute_chunks(run: ComputeRun, todo: Sequence[PictureFile]) -> tuple[list[RowBlock], list[DroppedPicture]]:
    """The chunks of `todo`, read where an interrupted call left them, else computed."""
    (run.folder / WORK_FOLDER).mkdir(exist_ok=True)
    chunks = [(_chunk_file(run.folder, at), todo[at : at + CHUNK]) for at in range(0, len(todo), CHUNK)]
    missing = [(file, planned) for file, planned in chunks if not _is_done(run, file, planned)]
    if missing:
        _compute(run, missing, len(todo))
    blocks, bad = [], []
    for file, _ in chunks:
        sources, dropped = _chunk_notes(file)
        blocks.append(RowBlock(sources, tuple(range(len(sources))), partial(_load_chunk, file)))
        bad += dropped
    return blocks, bad


def _compute(run: ComputeRun, missing: Sequence[tuple[Path, Sequence[PictureFile]]], total: int) -> None:
    done = total - sum(len(planned) for _, planned in missing)
    run.progress(done, total)
    with Decoders(run.workers, fit=run.encoder.fit) as decoders:
        outcomes = decoders.decode(run.dataset / source.key for _, planned in missing for source in planned)
        for file, planned in missing:
            _write_chunk(run, file, planned, list(islice(outcomes, len(planned))))
            done += len(planned)
            run.progress(done, total)


def _chunk_file(folder: Path, first: int) -> Path:
    return folder / WORK_FOLDER / f"{first // CHUNK:05}.safetensors"


def _plan(run: ComputeRun, planned: Sequence[PictureFile]) -> str:
    """What a chunk must have been made from to be of use."""
    return json.dumps([run.encoder.raw_version, run.regions, [astuple(source) for source in planned]])


def _write_chunk(run: ComputeRun, file: Path, planned: Sequence[PictureFile], outcomes: Sequence[Outcome]) -> None:
    from safetensors.numpy import save

    read = [(source.key, outcome) for source, outcome in zip(planned, outcomes, strict=True)]
    good = [(key, outcome) for key, outcome in read if isinstance(outcome, DecodedFile)]
    encoded = _encoded(run, [outcome.pixels for _, outcome in good])
    tensors = {"global": np.ascontiguousarray(encoded.global_bd, np.float32)}
    if encoded.regions_brd is not None:
        most = np.finfo(np.float16).max
        tensors["regions"] = np.ascontiguousarray(np.clip(encoded.regions_brd, -most, most), np.float16)
    notes = {
        "plan": _plan(run, planned),
        "pictures": json.dumps([(key, outcome.size, outcome.mtime_ns) for key, outcome in good]),
        "dropped": json.dumps(
            [(key, bad.size, bad.mtime_ns, bad.reason) for key, bad in read if isinstance(bad, BadFile)]
        ),
    }
    write_whole(file, [save(tensors, metadata=notes)])


def _encoded(run: ComputeRun, pixels: Sequence[Pixels]) -> Encoded:
    return run.encoder.pictures(pixels, regions=run.regions) if pixels else Encoded(np.zeros((0, 0), np.float32))


def _is_done(run: ComputeRun, file: Path, planned: Sequence[PictureFile]) -> bool:
    return file.is_file() and _chunk_metadata(file).get("plan") == _plan(run, planned)


def _chunk_metadata(file: Path) -> dict[str, str]:
    """The notes in a chunk's header; nothing if the file is damaged: it is then made again."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as chunk:
            return dict(chunk.metadata() or {})
    except (OSError, SafetensorError):
        return {}


def _chunk_notes(file: Path) -> tuple[tuple[PictureFile, ...], list[DroppedPicture]]:
    notes = _chunk_metadata(file)
    sources = tuple(PictureFile(*item) for item in json.loads(notes["pictures"]))
    return sources, [DroppedPicture(PictureFile(*item), reason) for *item, reason in json.loads(notes["dropped"])]


def _load_chunk(file: Path) -> Arrays:
    from safetensors.numpy import load_file

    arrays = load_file(file)
    return arrays["global"], arrays.get("regions")
