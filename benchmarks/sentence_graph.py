"""Writes `encoders/starter/sentences.onnx`, the network of sentences without its weights.

    python benchmarks/sentence_graph.py

all-MiniLM-L6-v2 (six layers of BERT, 384 numbers a token), and the mean over tokens, for one text. The three matrices
of an attention are one, every matrix is multiplied in 8 bits, and the weights are named as `arrange_weights` gives
them. Needs the package `onnx`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from viewfinder.encoders.starter.sentence_network import (
    GRAPH,
    LAYERS,
    TOGETHER,
    WIDTH,
    Weights,
    arrange_weights,
    find_model,
    read_model,
)

HEADS = 12
EPSILON = 1e-12
OWN = "com.microsoft"
"""The domain of ONNX Runtime's operators."""

INT8 = 4
"""The level of accuracy of `MatMulNBits` at which tokens are in 8 bits, too."""


def build_graph(weights: Weights) -> onnx.ModelProto:
    """The network; of the weights only shapes and types are in it."""
    nodes: list[onnx.NodeProto] = []

    def add(operator: str, given: list[str], made: str | list[str], domain: str = "", **settings: Any) -> None:
        names = [made] if isinstance(made, str) else made
        nodes.append(helper.make_node(operator, given, names, domain=domain, **settings))

    def multiply(given: str, name: str, made: str) -> None:
        columns, blocks, _ = weights[name].shape
        given_all = [given, name, f"{name}_scales", "", "", f"{name}_bias"]
        add(
            "MatMulNBits", given_all, made, OWN,
            N=columns, K=blocks * TOGETHER, bits=8, block_size=TOGETHER, accuracy_level=INT8,
        )  # fmt: skip

    def norm_sum(one: str, other: str, name: str, made: str) -> None:
        given = [one, other, f"{name}_gain", f"{name}_shift"]
        add("SkipLayerNormalization", given, made, OWN, epsilon=EPSILON)

    add("Gather", ["words", "ids"], "words_of_text")
    add("Cast", ["words_of_text"], "unscaled", to=TensorProto.FLOAT)
    add("Gather", ["word_scales", "ids"], "scales_of_text")
    add("Mul", ["unscaled", "scales_of_text"], "scaled")
    add("Shape", ["ids"], "length", start=1, end=2)
    add("Slice", ["places", "zero", "length"], "places_of_text")
    add("Add", ["scaled", "places_of_text"], "embedded")
    add("LayerNormalization", ["embedded", "first_gain", "first_shift"], "tokens", axis=-1, epsilon=EPSILON)
    tokens = "tokens"
    for layer in range(LAYERS):
        multiply(tokens, f"asked{layer}", f"heads{layer}")
        parts = [f"{name}{layer}" for name in ("query", "key", "value")]
        add("Split", [f"heads{layer}", "thirds"], parts, axis=2)
        add("MultiHeadAttention", parts, f"seen{layer}", OWN, num_heads=HEADS)
        multiply(f"seen{layer}", f"told{layer}", f"said{layer}")
        norm_sum(f"said{layer}", tokens, f"told{layer}", f"attended{layer}")
        multiply(f"attended{layer}", f"inner{layer}", f"wide{layer}")
        add("Gelu", [f"wide{layer}"], f"curved{layer}", OWN)
        multiply(f"curved{layer}", f"outer{layer}", f"narrow{layer}")
        tokens = f"tokens{layer}"
        norm_sum(f"narrow{layer}", f"attended{layer}", f"outer{layer}", tokens)
    add("ReduceMean", [tokens], "mean", axes=[1], keepdims=0)
    small = {"zero": [0], "thirds": [WIDTH] * 3}
    constants = [helper.make_tensor(name, TensorProto.INT64, [len(values)], values) for name, values in small.items()]
    graph = helper.make_graph(
        nodes,
        "sentences",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["texts", WIDTH])],
        [*constants, *(_leave_out(name, array.shape, array.dtype) for name, array in weights.items())],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(OWN, 1)], ir_version=8
    )


def _leave_out(name: str, shape: tuple[int, ...], dtype: object) -> onnx.TensorProto:
    """A tensor whose numbers are given when the network is loaded."""
    tensor = onnx.TensorProto(name=name, dims=shape, data_type=helper.np_dtype_to_tensor_dtype(dtype))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="given when it is loaded")
    return tensor


def main(target: Path = GRAPH) -> None:
    """Writes the graph."""
    weights = arrange_weights(*read_model(find_model()))
    onnx.save(build_graph(weights), target)


if __name__ == "__main__":
    main()
