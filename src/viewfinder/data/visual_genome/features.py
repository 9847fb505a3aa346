"""Precomputed picture vectors of Drill-down: 36 regions per picture from a detector, and one vector per picture.

Both are pickles with the suffix .npy; they are read without executing anything.

A pickle is a program, which `pickle.load` runs. Some published data sets are pickles,
so they are read here with a loader that knows numpy arrays, plain values and a `Vocabulary`, and refuses everything
else. Even numpy's own names are not passed through: the few functions below stand in for them, and accept only plain
numbers, truth values and texts, no objects and no structures.
"""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.data.files import read_bytes
from viewfinder.errors import BadInput

REGIONS = 36
WIDTH = 2048


@dataclass(frozen=True)
class RegionFeatures:
    """Regions of one picture: boxes (left, top, right, bottom in pixels) and vectors."""

    boxes_n4: Float32[np.ndarray, "n 4"]
    features_nd: Float32[np.ndarray, "n d"]


def read_region_features(path: Path) -> RegionFeatures:
    """Reads a file of `region_36_final/` (`Layout.region_features` says which)."""
    stored = read_pickle(path)
    if not isinstance(stored, dict):
        raise BadInput(f"{path}: an object with region_boxes is needed, this is a {type(stored).__name__}")
    boxes_n4 = _need_array(path, stored, "region_boxes", (REGIONS, 4))
    features_nd = _need_array(path, stored, "region_feats", (REGIONS, WIDTH))
    return RegionFeatures(boxes_n4.astype(np.float32, copy=False), features_nd.astype(np.float32, copy=False))


def read_global_feature(path: Path) -> Float32[np.ndarray, " d"]:
    """Reads a file of `global_features/` (`Layout.global_feature` says which); drops axes of length one."""
    stored = read_pickle(path)
    flat = stored.squeeze() if isinstance(stored, np.ndarray) else stored
    return _need_array(path, {"the vector": flat}, "the vector", (WIDTH,)).astype(np.float32, copy=False)


def _need_array(path: Path, stored: Mapping[Any, Any], name: str, shape: tuple[int, ...]) -> Float[np.ndarray, ...]:
    """The array `stored[name]`, checked."""
    if name not in stored:
        raise BadInput(f"{path}: no {name!r} here; there are: {', '.join(map(str, stored)) or 'none'}")
    value = stored[name]
    if not isinstance(value, np.ndarray):
        raise BadInput(f"{path}: {name} is no array but a {type(value).__name__}")
    if value.shape != shape:
        raise BadInput(f"{path}: {name} has the shape {_format_shape(value.shape)}; {_format_shape(shape)} is expected")
    if value.dtype.kind != "f":
        raise BadInput(f"{path}: {name} holds {value.dtype}; floating-point numbers are expected")
    array = np.asarray(value)
    finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
    if not finite.all():
        raise BadInput(f"{path}: {name}[{int(finite.argmin())}] is not finite; compute the features again")
    return array


def _format_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of a lone number"


class PickledVocabulary:
    """The content of a class named `Vocabulary`, of any module: its attributes, none of its code."""

    word2idx: dict[str, int]
    idx2word: dict[int, str]

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise _Refused("a Vocabulary that is more than its attributes")
        self.__dict__.update(state)


def read_pickle(path: Path) -> Any:
    """The value in a pickle of any protocol, written by Python 2 or 3 with numpy 1 or 2.

    Texts and bytes of Python 2 become texts.

    Raises:
        BadInput: the file is missing or damaged, or asks for anything that is not data (it is named).
    """
    data = read_bytes(path)
    try:
        return _Loader(io.BytesIO(data), encoding="latin1").load()
    except _Refused as refused:
        what = _in_one_line(refused)
        raise BadInput(f"{path}: this pickle holds {what}, which is not plain data; it is not read") from None
    except Exception as error:  # Damaged bytes are a damaged program, which may fail in any way.
        raise BadInput(f"{path}: damaged pickle ({_in_one_line(error)}); fetch the file again") from error


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


class _Refused(Exception):
    """Names what was asked for."""


class _Loader(pickle.Unpickler):
    """Resolves the names of `_KNOWN` and no others."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "Vocabulary":
            return PickledVocabulary
        # numpy 2 has its internals in numpy._core, numpy 1 in numpy.core.
        known = _KNOWN.get((module.replace("numpy._core", "numpy.core"), name))
        if known is None:
            raise _Refused(f"{module}.{name}")
        return known


_PLAIN = re.compile(r"(b1|[iu][1248]|f(2|4|8|16)|[SU]\d+)")


class _Dtype:
    """Stands in for numpy.dtype: numbers, truth values, texts."""

    def __init__(self, kind: str, align: Any = False, copy: Any = False) -> None:
        if not isinstance(kind, str) or not _PLAIN.fullmatch(kind):
            raise _Refused(f"an array of {kind!r}")
        self.dtype: np.dtype[Any] = np.dtype(kind)

    def __setstate__(self, state: Any) -> None:
        _, order, within, names, fields = state[:5]
        if within is not None or names is not None or fields is not None or order not in ("<", ">", "=", "|"):
            raise _Refused("an array of structures")
        self.dtype = self.dtype.newbyteorder(order)


class _Array(np.ndarray[Any, np.dtype[Any]]):
    """Stands in for numpy.ndarray: empty until its state is set."""

    def __new__(cls, *_: Any) -> _Array:
        return super().__new__(cls, (0,))

    def __setstate__(self, state: Any) -> None:
        version, shape, dtype, fortran, raw = state
        content = raw.encode("latin1") if isinstance(raw, str) else raw
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes):
            raise _Refused("an array of objects")
        super().__setstate__((version, shape, dtype.dtype, fortran, content))


def _make_empty_array(kind: Any, shape: Any, code: Any) -> _Array:
    if kind is not _Array:
        raise _Refused(f"an array that is {kind!r}")
    return _Array()


def _read_buffer(buffer: Any, dtype: _Dtype, shape: Any, order: Any, axes: Any = None) -> Any:
    """numpy's `_frombuffer`: how protocol 5 stores arrays."""
    flat = np.frombuffer(buffer, dtype=dtype.dtype)
    return flat.reshape(shape).transpose(axes) if axes is not None else flat.reshape(shape, order=order)


def _read_scalar(dtype: _Dtype, raw: str | bytes) -> Any:
    content = raw.encode("latin1") if isinstance(raw, str) else raw
    return np.frombuffer(content, dtype=dtype.dtype)[0]


def _encode_latin1(text: str, encoding: str = "latin1") -> bytes:
    """How the protocols 0 to 2 store bytes."""
    if encoding not in ("latin1", "latin-1"):
        raise _Refused(f"bytes in {encoding!r}")
    return text.encode("latin1")


def _make_vocabulary(kind: Any, base: Any, state: Any) -> PickledVocabulary:
    """How the protocols 0 and 1 make an object of a user-defined class."""
    if kind is not PickledVocabulary:
        raise _Refused(f"an object of {kind!r}")
    return PickledVocabulary()


_KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _make_empty_array,
    ("numpy.core.multiarray", "scalar"): _read_scalar,
    ("numpy.core.numeric", "_frombuffer"): _read_buffer,
    ("_codecs", "encode"): _encode_latin1,
    ("__builtin__", "bytes"): lambda: b"",
    ("builtins", "bytes"): lambda: b"",
    ("copyreg", "_reconstructor"): _make_vocabulary,
    ("copy_reg", "_reconstructor"): _make_vocabulary,
    ("builtins", "object"): object,
    ("__builtin__", "object"): object,
}
