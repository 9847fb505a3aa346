"""The machine, date and versions of a measurement, for every result file."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def described() -> dict[str, str]:
    """Processor, cores, date and the versions that matter."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "processor": f"{model}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("viewfinder", "numpy", "onnxruntime", "lancedb", "pillow")},
    }
