"""The one place where ONNX Runtime is started: on the CPU, or for larger work on a GPU; it sends no telemetry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

CPU = "CPUExecutionProvider"
GPUS = ("CUDAExecutionProvider", "MIGraphXExecutionProvider", "DmlExecutionProvider")
"""The providers that run picture networks on a GPU, the best first: `onnxruntime-gpu` has the first."""


def choose_providers(available: Sequence[str]) -> list[str]:
    """The best provider that a build of ONNX Runtime has, then the CPU for what that one cannot run.

    >>> choose_providers(["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"])
    ['CUDAExecutionProvider', 'CPUExecutionProvider']
    """
    return [*[name for name in GPUS if name in available][:1], CPU]


def inference_session(
    model: Path | bytes,
    *,
    threads: int | None = None,
    on_gpu: bool = False,
    is_brief: bool = False,
    weights: Mapping[str, np.ndarray] | None = None,
) -> Any:
    """An `onnxruntime.InferenceSession`; `threads` is 1 for work too small to share, None for one per core.

    `on_gpu`: use a GPU if ONNX Runtime finds one here; otherwise, as for everything under a millisecond, the CPU.
    `is_brief`: it is run a few times at most, so that nothing is made faster that has to be prepared.
    `weights`: the tensors that the model says lie elsewhere, by name.
    """
    # Read when the library is loaded: without it, a device id is written, and events may be sent.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    if is_brief:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.enable_cpu_mem_arena = False
    # Those of a mapped file may begin at any byte, and not every processor reads numbers from there.
    aligned = {name: np.require(array, requirements=["C", "ALIGNED"]) for name, array in (weights or {}).items()}
    kept = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in aligned.items()}
    if kept:
        options.add_external_initializers(list(kept), list(kept.values()))
    source = model if isinstance(model, bytes) else str(model)
    providers = choose_providers(onnxruntime.get_available_providers()) if on_gpu else [CPU]
    session = onnxruntime.InferenceSession(source, options, providers=providers)
    session.kept = kept  # ONNX Runtime reads them where they lie, and does not keep them
    return session
