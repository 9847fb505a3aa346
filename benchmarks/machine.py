"""The machine, date and versions of a measurement, for every result file."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("viewfinder", "numpy", "onnxruntime", "lancedb", "pillow")


def describe_host() -> dict[str, str]:
    """Processor, cores, GPU if there is one, date and the versions that matter."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "processor": ", ".join((model, f"{os.cpu_count()} cores", *_gpus())),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        **_versions(),
    }


def _gpus() -> list[str]:
    """The names of the GPUs of NVIDIA."""
    if not (program := shutil.which("nvidia-smi")):
        return []
    command = [program, "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")[:-1]


def _versions() -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
