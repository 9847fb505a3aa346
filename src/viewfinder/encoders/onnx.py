"""The one place where ONNX Runtime is started: on the CPU, or where there is more to do on a GPU; it tells nobody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CPU = "CPUExecutionProvider"
GPUS = ("CUDAExecutionProvider", "MIGraphXExecutionProvider", "DmlExecutionProvider")
"""What runs a network of pictures on a GPU, the best first: `onnxruntime-gpu` has the first."""


def choose_providers(available: Sequence[str]) -> list[str]:
    """The best of the providers that a build of ONNX Runtime has, then the CPU, which takes what that one cannot.

    >>> choose_providers(["TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"])
    ['CUDAExecutionProvider', 'CPUExecutionProvider']
    """
    return [*[name for name in GPUS if name in available][:1], CPU]


def inference_session(model: Path | bytes, *, threads: int | None = None, on_gpu: bool = False) -> Any:
    """An `onnxruntime.InferenceSession`; `threads` 1 for work too small to share, None for as many as cores.

    `on_gpu`: on a GPU, where ONNX Runtime knows one here; else, as for everything that takes less than a millisecond,
    on the CPU.
    """
    # Read when the library is loaded: without it, a device id is written and events may be sent.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    source = model if isinstance(model, bytes) else str(model)
    providers = choose_providers(onnxruntime.get_available_providers()) if on_gpu else [CPU]
    return onnxruntime.InferenceSession(source, options, providers=providers)
