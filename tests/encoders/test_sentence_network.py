"""The network of sentences multiplies in 8 bits what its package unpacks to float32, and says nearly the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from viewfinder.encoders.onnx import inference_session
from viewfinder.encoders.starter.encoder import sentence_encoder
from viewfinder.encoders.starter.sentence_network import (
    GRAPH,
    TOGETHER,
    Weights,
    arrange_weights,
    find_model,
    load_sentence_network,
    pack_columns,
    read_model,
)

TEXTS = (
    "a dog",
    "two children build a castle of sand on a windy beach",
    "red",
    "An old man in a blue hat, who sells apples; behind him a church. " * 6,
)


@pytest.fixture(scope="module")
def model() -> tuple[Weights, list[str]]:
    return read_model(find_model())


def test_vectors_are_nearly_those_of_the_network_in_float32() -> None:
    whole, sentences = inference_session(find_model(), threads=1), sentence_encoder()
    for text in TEXTS:
        ids_1t = np.array([sentences._tokenizer.encode(text).ids], np.int64)
        feed = {"input_ids": ids_1t, "attention_mask": np.ones_like(ids_1t), "token_type_ids": np.zeros_like(ids_1t)}
        mean_d = whole.run(None, feed)[0][0].mean(axis=0)
        assert sentences.compute(text) @ mean_d / np.linalg.norm(mean_d) > 0.9995, text


def test_what_is_read_of_a_model_is_what_onnx_reads(model: tuple[Weights, list[str]]) -> None:
    weights, matrices = model
    read = onnx.load(find_model())
    kept = {one.name: one for one in read.graph.initializer}
    for name in ("val_49_q", "val_49_scale", "inner.embeddings.LayerNorm.bias"):
        np.testing.assert_array_equal(weights[name], numpy_helper.to_array(kept[name]))
    products = [node.input[1] for node in read.graph.node if node.op_type == "MatMul"]
    assert matrices == [name for name in products if f"{name}_q" in kept]


def test_a_packed_matrix_is_its_columns_in_blocks_with_their_scales() -> None:
    rng = np.random.default_rng(0)
    kept_kn = rng.integers(-127, 128, (3 * TOGETHER, 5)).astype(np.int8)
    scale_1n = rng.random((1, 5)).astype(np.float32)
    packed, scales = pack_columns(kept_kn, scale_1n)
    unpacked_nk = (packed.astype(np.float32) - 128).reshape(5, -1) * np.repeat(scales, TOGETHER).reshape(5, -1)
    np.testing.assert_array_equal(unpacked_nk.T, kept_kn * scale_1n)


def test_the_graph_names_every_weight_that_it_is_given_and_no_other(model: tuple[Weights, list[str]]) -> None:
    arranged = arrange_weights(*model)
    left_out = {
        one.name: one for one in onnx.load(GRAPH, load_external_data=False).graph.initializer if one.external_data
    }
    assert left_out.keys() == arranged.keys()
    for name, array in arranged.items():
        assert tuple(left_out[name].dims) == array.shape
        assert helper.tensor_dtype_to_np_dtype(left_out[name].data_type) == array.dtype


def test_weights_stay_for_as_long_as_the_network_is_used() -> None:
    network, ids_1t = load_sentence_network(), np.array([[101, 1037, 3899, 102]])
    before_1d = network.run(None, {"ids": ids_1t})[0].copy()
    overwriting = [np.full((4096, 384), at, np.float32) for at in range(30)]  # where freed memory would be
    np.testing.assert_array_equal(network.run(None, {"ids": ids_1t})[0], before_1d)
    assert len(overwriting) == 30


@pytest.mark.parametrize("content", [b"", b"no model", b"\x3a\xff\xff\xff\x7f", b"\x3a\x02\x2a\x7f"])
def test_what_is_no_model_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(ValueError, match=r"model|empty"):
        read_model(tmp_path / "model.onnx")


def test_another_network_is_refused(model: tuple[Weights, list[str]], tmp_path: Path) -> None:
    weights, matrices = model
    with pytest.raises(ValueError, match="35 matrices of a network that has 36"):
        arrange_weights(weights, matrices[1:])
    fewer = {name: array for name, array in weights.items() if "layer.3" not in name}
    with pytest.raises(ValueError, match=r"another network: it has no 'inner.encoder.layer.3"):
        arrange_weights(fewer, matrices)
    graph = helper.make_graph(
        [],
        "other",
        [],
        [],
        [helper.make_tensor("packed", TensorProto.FLOAT, [2], np.ones(2, np.float32).tobytes(), raw=True)],
    )
    onnx.save(helper.make_model(graph), tmp_path / "other.onnx")
    assert [*read_model(tmp_path / "other.onnx")[0]] == ["packed"]


def test_weights_that_begin_anywhere_in_a_file_are_given_where_every_processor_reads_them(
    model: tuple[Weights, list[str]],
) -> None:
    arranged = arrange_weights(*model)
    network = inference_session(GRAPH, threads=1, weights=arranged)
    assert not all(array.flags.aligned for array in arranged.values())  # else the package would be another one
    assert network.kept.keys() == arranged.keys()
    for name, value in network.kept.items():
        assert value.data_ptr() % arranged[name].itemsize == 0, name
