"""The pages keep their promises: the README's code runs, and its figures are those of the committed results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_the_readmes_python_runs_as_it_stands(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    code = code.replace("~/pictures.vf", str(tmp_path / "pictures.vf")).replace("~/Pictures", str(tmp_path / "drawn"))
    # In a process of its own: the drawing is ten times slower under the axis checker.
    draw = "import sys\nfrom pathlib import Path\nfrom viewfinder.worlds import write_world\n"
    draw += "write_world(Path(sys.argv[1]), kind='scenes', count=12, seed=1)\n"
    done = subprocess.run(
        [sys.executable, "-c", draw + code, str(tmp_path / "drawn")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_figures_on_the_pages_are_those_of_the_results() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "report.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
