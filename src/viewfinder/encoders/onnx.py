"""The one place where ONNX Runtime is started: on the CPU, and without telling anybody."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def inference_session(model: Path | bytes, *, threads: int | None = None) -> Any:
    """An `onnxruntime.InferenceSession`; `threads` 1 for work too small to share, None for as many as cores."""
    # Read when the library is loaded: without it, a device id is written and events may be sent.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
