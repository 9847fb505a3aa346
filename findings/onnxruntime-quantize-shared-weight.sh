#!/bin/sh
# ONNX Runtime 1.31.1: quantize_dynamic computes something else where two Gemm nodes share one square weight.
#
# Before it rounds anything, `quantize_dynamic` turns every Gemm with transB=1 into MatMul and Add, and transposes the
# weight in place, for each such node anew, as if no other node read it. Of a weight that two nodes share, the second
# transposition takes back the first: both products are then taken with the matrix as it was, without transB. It says
# nothing. Not a rounding error: it is so for weights that are not rounded at all (here only "Gather" is to be, and
# there is none). If the weight is not square, the file that is written does not load, which is at least noticed.
#
# It meets this field in SigLIP: a head that pools a whole picture and, by a second use of the same layer, its regions.
# A way around: write such layers as MatMul with a weight that is transposed already, and compare the vectors of a
# quantized file with those of the file before it; do not take a high error for the price of 8 bits.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet onnxruntime==1.31.1 onnx==1.23.2 numpy==2.4.6 sympy
PLACE="$place" "$place/venv/bin/python" - <<'PYTHON'
import os
from importlib.metadata import version

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic

print("onnxruntime", version("onnxruntime"), "onnx", version("onnx"))
square = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
inputs = {name: np.eye(4, dtype=np.float32) for name in ("x1", "x2")}


def write_model(uses):
    """y = x W^T, as often as `uses` says, all with the one W."""
    values = [[helper.make_tensor_value_info(f"{side}{at}", TensorProto.FLOAT, ["n", 4]) for at in uses] for side in "xy"]
    nodes = [helper.make_node("Gemm", [f"x{at}", "W"], [f"y{at}"], transB=1) for at in uses]
    graph = helper.make_graph(nodes, "model", *values, [numpy_helper.from_array(square, "W")])
    file = os.path.join(os.environ["PLACE"], f"{len(uses)}.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    return file


def run_model(file, uses):
    return onnxruntime.InferenceSession(file).run(None, {f"x{at}": inputs[f"x{at}"] for at in uses})


for uses, alike in (((1,), True), ((1, 2), False)):
    before = write_model(uses)
    after = before.replace(".onnx", ".quantized.onnx")
    quantize_dynamic(before, after, op_types_to_quantize=["Gather"])
    exact, given = run_model(before, uses), run_model(after, uses)
    assert all(np.array_equal(one, square.T) for one in exact)
    difference = max(float(np.abs(one - other).max()) for one, other in zip(exact, given))
    print(f"{len(uses)} use(s) of the weight: the quantized model differs by {difference}")
    assert (difference == 0) is alike
    assert alike or all(np.array_equal(one, square) for one in given), "not even transposed"
print("as described")
PYTHON
