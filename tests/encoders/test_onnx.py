"""Where networks run: on a GPU if ONNX Runtime knows one, else on the CPU."""

from __future__ import annotations

import onnxruntime
import pytest

from viewfinder.encoders.onnx import CPU, GPUS, choose_providers, inference_session
from viewfinder.encoders.starter.encoder import NETWORK


@pytest.mark.parametrize(
    ("available", "chosen"),
    [
        ([CPU], [CPU]),
        (["TensorrtExecutionProvider", "CUDAExecutionProvider", CPU], ["CUDAExecutionProvider", CPU]),
        (["DmlExecutionProvider", "MIGraphXExecutionProvider", CPU], ["MIGraphXExecutionProvider", CPU]),
    ],
)
def test_the_best_gpu_comes_first_and_the_cpu_is_always_there(available: list[str], chosen: list[str]) -> None:
    assert choose_providers(available) == chosen


def test_a_network_of_pictures_asks_for_the_gpu_and_a_small_one_does_not() -> None:
    has_gpu = any(name in GPUS for name in onnxruntime.get_available_providers())
    assert (inference_session(NETWORK, on_gpu=True).get_providers() != [CPU]) == has_gpu
    assert inference_session(NETWORK).get_providers() == [CPU]
