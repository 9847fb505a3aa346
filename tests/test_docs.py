"""The pages keep their promises: the README's code runs, and its figures are those of the committed results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.index import Gallery
from viewfinder.questioners import Candidates
from viewfinder.session import Session
from viewfinder.testing import ColourEncoder, check_picture_reader, check_questioner, check_retriever, tiny_snapshot

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


def code_of(page: str) -> dict[str, Any]:
    """What the one example of a page defines."""
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    defined: dict[str, Any] = {}
    exec(compile(f"from __future__ import annotations\n{code}", page, "exec"), defined)
    return defined


def test_the_retriever_of_the_page_on_retrievers_searches() -> None:
    newest = code_of("adding/retriever.md")["Newest"]()
    check_retriever(newest)
    looks = [("red", "red"), ("blue", "blue")]
    session = Session(Gallery(tiny_snapshot(looks), ColourEncoder()), newest, None)
    assert session.say("blue")[0].id == "p001"
    assert session.say("red")[0].id == "p000"


def test_the_questioner_of_the_page_on_questioners_keeps_the_contract() -> None:
    asks = code_of("adding/questioner.md")["AsksForColour"]()
    colours = {"colour": (("red", "blue"), np.array([0, 1], np.int32))}
    view = Candidates(np.full(2, 0.5), np.eye(2, dtype=np.float32), colours)
    assert asks.ask(view).choices == ("red", "blue", "don't know")
    check_questioner(asks, view)


def test_the_reader_of_the_page_on_readers_keeps_the_contract() -> None:
    check_picture_reader(code_of("adding/reader.md")["Tiny"](), b"tiny\x02\x03" + bytes(range(6)))


def test_what_the_glossary_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py):(\w+)`", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    for file, name in named:
        text = (ROOT / "src" / "viewfinder" / file).read_text(encoding="utf-8")
        assert re.search(rf"^(class |def )?{name}\b", text, re.MULTILINE), f"{file} has no {name}"


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
