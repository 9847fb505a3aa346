"""Vectors that somebody else computed: those that a user brings in one file, and those stored one file a picture.

The latter are joined once into arrays that are mapped into memory:

    <folder>/manifest.json, global-<mark>.npy, regions-<mark>.npy    as `compute` writes them
             boxes-<mark>.npy       float32 (n r 4), where the regions lie, in pixels
             work/*.npy             rows so far of an unfinished run, and work/journal.jsonl the files they are of

Rows are appended, and the journal is written after they are on the disk: after kill -9 the next call goes on after
the last file that is in the journal. Nothing here knows a format: `read` does.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.features.compute import open_features
from viewfinder.encoders.features.store import (
    WORK_FOLDER,
    ArrayFile,
    DroppedPicture,
    Features,
    Manifest,
    PictureFile,
    Progress,
    claim_folder,
    feature_folders,
    finish_manifest,
    npy_header,
    read_manifest,
    rows_mark,
    writable_folder,
)
from viewfinder.errors import BadInput


def read_vectors(file: Path) -> tuple[tuple[str, ...], Float[np.ndarray, "n d"]]:
    """Vectors of pictures that the user brings: row i is the picture `keys[i]`.

    `x.npz` holds `vectors` (n d) and `keys` (n texts); `x.safetensors` holds `vectors`, `x.npy` is the array itself,
    memory-mapped. Where there is no `keys`, a JSON list of the n names lies beside the file as `x.npz.json`,
    `x.safetensors.json` or `x.npy.json`. Vectors are floats of any precision, names any texts, none of them twice.

    Raises:
        BadInput: a missing or damaged file, no floats (n d), names and vectors of different number, a name twice, or
            a vector with a number that is not finite.
    """
    keys, vectors_nd = _read_file(file)
    if keys is None:
        keys = _read_names_beside(file)
    if vectors_nd.ndim != 2 or not vectors_nd.size or not np.issubdtype(vectors_nd.dtype, np.floating):
        raise BadInput(f"{file}, vectors: floats (n d) are needed, not {vectors_nd.dtype} {vectors_nd.shape}")
    if len(keys) != len(vectors_nd):
        raise BadInput(f"{file}: {len(vectors_nd)} vectors, but {len(keys)} keys")
    name, times = Counter(keys).most_common(1)[0]
    if times > 1:
        raise BadInput(f"{file}, keys: {name!r} is there {times} times")
    for start in range(0, len(keys), 4096):
        finite = np.isfinite(vectors_nd[start : start + 4096]).all(axis=1)
        if not finite.all():
            raise BadInput(f"{file}, vectors: that of {keys[start + int(np.argmin(finite))]!r} is not finite")
    return keys, vectors_nd


def _read_file(file: Path) -> tuple[tuple[str, ...] | None, np.ndarray]:
    """The keys in a file, if it has them, and its vectors."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    if not file.is_file():
        raise BadInput(f"{file}: no such file")
    try:
        match file.suffix:
            case ".npy":
                return None, np.load(file, mmap_mode="r", allow_pickle=False)
            case ".npz":
                with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                    names = arrays["keys"].tolist() if "keys" in arrays else None
                    return None if names is None else tuple(map(str, names)), arrays["vectors"]
            case ".safetensors":
                return None, load_file(file)["vectors"]
            case suffix:
                raise BadInput(f"{file}: .npy, .npz or .safetensors is needed, not {suffix or 'a file without suffix'}")
    except KeyError as error:
        raise BadInput(f"{file}: there is no array `vectors` in it") from error
    except (OSError, ValueError, EOFError, BadZipFile, SafetensorError) as error:
        raise BadInput(f"{file}: damaged, or pickled ({error}); write the file again") from error


def _read_names_beside(file: Path) -> tuple[str, ...]:
    names = file.with_name(f"{file.name}.json")
    try:
        found = json.loads(names.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(
            f"{names}: no such file; a JSON list of the pictures' names is needed beside {file.name}"
        ) from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{names}: damaged ({error}); a JSON list of the pictures' names is needed") from error
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise BadInput(f"{names}: a JSON list of the pictures' names is needed")
    return tuple(found)


AT_ONCE = 64
"""Files that are acknowledged together: what a crash can cost."""

JOURNAL = "journal.jsonl"
ARRAYS: tuple[tuple[str, np.dtype], ...] = (
    ("global", np.dtype(np.float32)),
    ("regions", np.dtype(np.float16)),
    ("boxes", np.dtype(np.float32)),
)


@dataclass(frozen=True, eq=False)
class PictureVectors:
    """What is stored of one picture: its vector, those of its regions, and where these lie, in pixels."""

    global_g: Float[np.ndarray, " g"]
    regions_re: Float[np.ndarray, "r e"]
    boxes_r4: Float[np.ndarray, "r 4"]


ReadVectors = Callable[[PictureFile], PictureVectors]


def collect_stored_vectors(
    dataset: Path,
    raw_version: str,
    sources: Sequence[PictureFile],
    read: ReadVectors,
    *,
    part: str = "",
    made_by: str = "",
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Features:
    """The stored vectors of some pictures of a data set, from the arrays of an earlier call if these serve.

    Args:
        dataset: the folder, which the keys are relative to.
        raw_version: which numbers they are.
        sources: the pictures, and size and time of change of the files that are read; in the order of their keys.
        read: reads the files of one picture; one that it refuses (`BadInput`) is left out, with the reason.
        part: which part of the data set this is, such as a split: each has arrays of its own.
        made_by: what computed them, for people.
        out: the folder for the arrays; by default as for `compute.features`.
        progress: told how far it is.

    Raises:
        BadInput: none of the files can be read.
        EncoderMismatch, LibraryBusy, DiskFull: as `compute.features`.
    """
    name = f"{raw_version}-{part}" if part else raw_version
    places = [out / part if part else out] if out is not None else feature_folders(dataset, name)
    for place in places:
        before = read_manifest(place, raw_version)
        if before is not None and before.known() == set(sources):
            return open_features(place, dataset, before, regions=True)
    folder = writable_folder(places)
    with claim_folder(folder):
        rows = _read_all(folder / WORK_FOLDER, sources, read, progress)
        return open_features(folder, dataset, _finish(folder, raw_version, made_by, rows), regions=True)


Outcome = tuple[PictureFile, str]
"""A picture, and why it has no row ("": it has one)."""


def _read_all(work: Path, sources: Sequence[PictureFile], read: ReadVectors, progress: Progress) -> list[Outcome]:
    """Reads what the journal does not have yet; afterwards the rows of all pictures lie in `work`."""
    work.mkdir(exist_ok=True)
    done = _read_journal(work / JOURNAL, sources)
    progress(len(done), len(sources))
    for start in range(len(done), len(sources), AT_ONCE):
        outcomes: list[Outcome] = []
        found: list[PictureVectors] = []
        for source in sources[start : start + AT_ONCE]:
            try:
                found.append(read(source))
                outcomes.append((source, ""))
            except BadInput as error:
                outcomes.append((source, str(error)))
        if found:
            _append_rows(work, sum(not reason for _, reason in done), found)
        done += outcomes
        _write_journal(work / JOURNAL, outcomes)
        progress(len(done), len(sources))
    return done


def _read_journal(file: Path, sources: Sequence[PictureFile]) -> list[Outcome]:
    """What an interrupted call has read of these pictures; what follows a difference is forgotten."""
    known: list[Outcome] = []
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for line, source in zip(lines, sources, strict=False):
        try:
            *fields, reason = json.loads(line)
        except ValueError:  # cut short by a crash
            break
        if tuple(fields) != astuple(source):
            break
        known.append((source, reason))
    file.write_text("", encoding="utf-8")
    _write_journal(file, known)
    return known


def _write_journal(file: Path, outcomes: Sequence[Outcome]) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps([*astuple(source), reason]) + "\n" for source, reason in outcomes)


def _append_rows(work: Path, count: int, found: Sequence[PictureVectors]) -> None:
    """Writes rows after the first `count` of each array; whatever an interrupted call left there goes."""
    stacked = (
        np.stack([one.global_g for one in found]),
        np.stack([one.regions_re for one in found]),
        np.stack([one.boxes_r4 for one in found]),
    )
    for (name, dtype), values in zip(ARRAYS, stacked, strict=True):
        most = float(np.finfo(dtype).max)  # what is too large for this precision becomes the largest there is
        rows = np.clip(values, -most, most).astype(dtype)
        header = npy_header(0, rows.shape[1:], rows.dtype)
        file = work / f"{name}.npy"
        file.touch()
        with file.open("r+b") as stream:
            stream.write(header)
            stream.seek(len(header) + count * rows[0].nbytes)
            stream.truncate()
            stream.write(rows.tobytes())
            stream.flush()
            os.fsync(stream.fileno())


def _finish(folder: Path, raw_version: str, made_by: str, rows: Sequence[Outcome]) -> Manifest:
    """Gives the arrays their length and their place, then writes the manifest."""
    sources = tuple(source for source, reason in rows if not reason)
    if not sources:
        raise BadInput(f"{folder}: none of {len(rows)} pictures has vectors; {rows[0][1] if rows else 'no file'}")
    mark = rows_mark(sources)
    raw, regions, boxes = (_put_in_place(folder, name, mark, len(sources)) for name, _ in ARRAYS)
    dropped = tuple(DroppedPicture(source, reason) for source, reason in rows if reason)
    return finish_manifest(folder, Manifest(raw_version, sources, dropped, raw, regions, boxes), made_by)


def _put_in_place(folder: Path, name: str, mark: str, count: int) -> ArrayFile:
    unfinished, file = folder / WORK_FOLDER / f"{name}.npy", folder / f"{name}-{mark}.npy"
    if unfinished.is_file():  # else a call that was interrupted right here has moved it
        with unfinished.open("r+b") as stream:
            np.lib.format.read_magic(stream)
            (_, *shape), _, dtype = np.lib.format.read_array_header_1_0(stream)
            stream.seek(0)
            stream.write(npy_header(count, tuple(shape), dtype))
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
    values = np.load(file, mmap_mode="r", allow_pickle=False)
    return ArrayFile(file.name, values.shape, str(values.dtype))
