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

import numpy as np  # noqa: F401 (loads its BLAS)
from threadpoolctl import threadpool_info

PACKAGES = ("viewfinder", "numpy", "onnxruntime", "lancedb", "pillow")


def describe_host() -> dict[str, str]:
    """Processor, cores, GPU if there is one, date, versions that matter, and for which processor numpy multiplies."""
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
        **_name_kernels(),
    }


def _name_kernels() -> dict[str, str]:
    """For which processors numpy's OpenBLAS multiplies: of an older kind, by half the speed, if a variable says so."""
    for one in threadpool_info():
        if one["user_api"] == "blas" and "numpy" in one["filepath"] and "architecture" in one:
            return {"blas": f"{one['internal_api']} {one['architecture']}"}
    return {}


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
