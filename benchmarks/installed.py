"""How large is it? Installs the base into an empty environment; writes results/installed.json.

    python benchmarks/installed.py             # takes minutes: pip fetches all packages of the base

`tests/test_packaging.py` builds and installs by the same functions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from freshness import RESULTS
from measuring import write_figures

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
"""The files to pack; building leaves files behind, so it is done elsewhere."""


def main() -> None:
    """Build, install, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS / "installed.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel, _ = build_distributions(Path(folder))
        packages = install_wheel(wheel, Path(folder) / "empty")
        results: dict[str, Any] = {
            "site_packages_MB": round(size_of(packages) / 1e6),
            "packages": len(list(packages.glob("*.dist-info"))),
            "wheel_MB": round(wheel.stat().st_size / 1e6, 1),
        }
    write_figures("installed", results, given.out)
    print(json.dumps(results, indent=1))


def build_distributions(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of what is committed, in `folder`, made as `make dist` makes them."""
    (folder / "source").mkdir()
    run("git", "-C", ROOT, "archive", "HEAD", *SOURCES, "-o", folder / "source.tar")
    run("tar", "-xf", folder / "source.tar", "-C", folder / "source")
    code = "from setuptools.build_meta import build_sdist, build_wheel; build_sdist('dist'); build_wheel('dist')"
    run(sys.executable, "-c", code, cwd=folder / "source")
    [wheel], [sdist] = ((folder / "source" / "dist").glob(kind) for kind in ("*.whl", "*.tar.gz"))
    return wheel, sdist


def install_wheel(wheel: Path, folder: Path) -> Path:
    """The site-packages of a new environment in `folder`: the wheel, what it asks for, and no extra."""
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", wheel)
    return next((folder / "lib").glob("python*/site-packages"))


def size_of(folder: Path) -> int:
    """Bytes of all files below it."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def run(*command: object, cwd: Path | None = None) -> None:
    """A command in an environment that knows nothing of this tree. Raises CalledProcessError: it failed."""
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIEWFINDER_LIBRARY"}}
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=kept, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
