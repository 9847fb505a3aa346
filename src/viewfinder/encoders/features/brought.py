"""Vectors of pictures that the user brings along."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float

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
    keys, vectors_nd = _brought(file)
    if keys is None:
        keys = _names_beside(file)
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


def _brought(file: Path) -> tuple[tuple[str, ...] | None, np.ndarray]:
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


def _names_beside(file: Path) -> tuple[str, ...]:
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
