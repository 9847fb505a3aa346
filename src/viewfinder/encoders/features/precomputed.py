"""Vectors that were computed elsewhere: a user's in one file, or those stored in one file per picture.

The latter are joined once into arrays as `compute` describes. Nothing here knows their format: `read` does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.features import store
from viewfinder.encoders.features.compute import MAX_PICTURES, PictureVectors, Read, finish_rows, write_rows
from viewfinder.errors import BadInput


def read_vectors(file: Path) -> tuple[tuple[str, ...], Float[np.ndarray, "n d"]]:
    """Reads a user's vectors of pictures: row i is the picture `keys[i]`.

    `x.npz` holds `vectors` (n d) and `keys` (n texts); `x.parquet` has one row per picture, with the columns `key` (a
    text) and `vector` (a list of d floats). `x.safetensors` holds `vectors`, `x.npy` is the array itself,
    memory-mapped. Without `keys`, a JSON list of the n names lies beside the file as `x.npz.json`,
    `x.safetensors.json` or `x.npy.json`. Vectors are floats of any precision, names any texts without duplicates.

    Raises:
        BadInput: a missing or damaged file, not floats (n d), different numbers of names and vectors, a duplicate name,
            or a vector with a number that is not finite.
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
            case ".parquet":
                return _read_parquet(file)
            case suffix:
                raise BadInput(
                    f"{file}: .npy, .npz, .parquet or .safetensors is needed, not {suffix or 'a file without suffix'}"
                )
    except KeyError as error:
        raise BadInput(f"{file}: there is no array `vectors` in it") from error
    except (OSError, ValueError, EOFError, BadZipFile, SafetensorError) as error:
        raise BadInput(f"{file}: damaged, or pickled ({error}); write the file again") from error


def _read_parquet(file: Path) -> tuple[tuple[str, ...], np.ndarray]:
    from pyarrow import compute, parquet, types

    schema = parquet.read_schema(file)
    if missing := sorted({"key", "vector"} - set(schema.names)):
        raise BadInput(f"{file}: there is no column `{missing[0]}` in it; key and vector are needed")
    kind = schema.field("vector").type
    if not (types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind)):
        raise BadInput(f"{file}, vector: lists of floats are needed, not {kind}")
    table = parquet.read_table(file, columns=["key", "vector"]).combine_chunks()
    lengths = compute.unique(compute.list_value_length(table["vector"])).to_pylist()
    if len(lengths) > 1 or None in lengths:
        raise BadInput(f"{file}, vector: lists of one length are needed, not of {', '.join(map(str, lengths))}")
    values = compute.list_flatten(table["vector"]).to_numpy()
    return tuple(map(str, table["key"].to_pylist())), values.reshape(len(table), -1)


def _read_names_beside(file: Path) -> tuple[str, ...]:
    names = file.with_name(f"{file.name}.json")
    try:
        found = json.loads(names.read_text(encoding="utf-8"))
    except FileNotFoundError:
        wanted = f"a JSON list of the pictures' names is needed beside {file.name}"
        raise BadInput(f"{names}: no such file; {wanted}") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{names}: damaged ({error}); a JSON list of the pictures' names is needed") from error
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise BadInput(f"{names}: a JSON list of the pictures' names is needed")
    return tuple(found)


ReadVectors = Callable[[store.PictureFile], PictureVectors]


def collect_stored_vectors(
    dataset: Path,
    raw_version: str,
    sources: Sequence[store.PictureFile],
    read: ReadVectors,
    *,
    part: str = "",
    made_by: str = "",
    out: Path | None = None,
    progress: store.Progress = lambda done, total: None,
) -> store.Features:
    """The stored vectors of some pictures of a data set, from the arrays of an earlier call if these can be used.

    Args:
        dataset: the folder to which the keys are relative.
        raw_version: which numbers they are.
        sources: the pictures, with size and time of change of the files to read, in the order of their keys.
        read: reads the files of one picture; a picture that it refuses (`BadInput`) is left out, with the reason.
        part: which part of the data set this is, such as a split; each part has its own arrays.
        made_by: what computed them, for display.
        out: the folder for the arrays; the default is that of `compute.features`.
        progress: called with the progress.

    Raises:
        BadInput: none of the files can be read.
        EncoderMismatch, LibraryBusy, DiskFull: as `compute.features`.
    """
    name = f"{raw_version}-{part}" if part else raw_version
    places = [out / part if part else out] if out is not None else store.feature_folders(dataset, name)
    for place in places:
        before = store.read_manifest(place, raw_version)
        if before is not None and before.known() == set(sources):
            return store.open_features(place, dataset, before, regions=True)
    folder = store.find_writable_folder(places)
    with store.claim_folder(folder):
        outcomes = write_rows(folder, json.dumps([raw_version]), sources, partial(_read_chunks, read), progress)
        if all(reason for _, reason in outcomes):
            first = outcomes[0][1] if outcomes else "no file"
            raise BadInput(f"{folder}: none of {len(outcomes)} pictures has vectors; {first}")
        return store.open_features(folder, dataset, finish_rows(folder, raw_version, made_by, outcomes), regions=True)


def _read_chunks(read: ReadVectors, sources: Sequence[store.PictureFile]) -> Iterator[list[Read]]:
    for start in range(0, len(sources), MAX_PICTURES):
        chunk: list[Read] = []
        for source in sources[start : start + MAX_PICTURES]:
            try:
                chunk.append((source, read(source)))
            except BadInput as error:
                chunk.append((source, str(error)))
        yield chunk
