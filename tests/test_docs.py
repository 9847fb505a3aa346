"""The pages keep their promises: what they say to type runs, and their figures are those of the committed results."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from PIL import ExifTags, Image

from viewfinder.cli import app, ending
from viewfinder.cli.app import fill_in_ray
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


PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def commands_of(page: Path) -> list[list[str]]:
    """The words of every `viewfinder ...` line in the page's blocks of commands."""
    found = []
    for kind, block in FENCED.findall(page.read_text(encoding="utf-8")):
        lines = re.findall(r"^ *(?:\$ )?(?:\w+=\S+ )*viewfinder (.+)$", block.replace("\\\n", " "), re.MULTILINE)
        if kind in ("", "sh", "console"):
            found += [shlex.split(line, comments=True) for line in lines]
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.stem)
def test_every_command_on_a_page_is_one_that_the_program_has(page: Path) -> None:
    verbs = typer.main.get_command(app)
    assert isinstance(verbs, typer.core.TyperGroup)
    for command in commands_of(page):
        verb, *words = fill_in_ray([word for word in command if word not in (">", "|")])
        if not verb.startswith("--"):
            verbs.commands[verb].make_context(verb, words)  # raises where an option or argument is wrong


SHELL = """
set -eo pipefail
served=
trap '[ -z "$served" ] || kill $served' EXIT
viewfinder() {
  if [ "$1" != serve ]; then command viewfinder "$@" < /dev/null; return; fi
  [ -z "$served" ] || { kill $served; wait $served || true; }
  command viewfinder "$@" > served.txt &
  served=$!
  until grep -q ' at http' served.txt; do kill -0 $served; sleep 0.1; done
}
uvx() { "$@"; }
pip() { [ "$1" = install ]; }
"""
"""Servers serve beside what follows; nothing is installed: it is here."""

QUICKER = {
    "--count 1300": "--count 40",
    "--limit 100": "--limit 4",
    "--preset lab": "--preset lab --set batch=8 --set training.epochs=1",
    "train drilldown": "train drilldown --set learned.epochs=1",
}
ELSEWHERE = ("openai/",)
"""What is not run here: a model of the hub."""


def script_of(page: Path, port: int) -> str:
    """The page as a script: its commands as they stand, or fewer of the same; its Python after the last of it."""
    text = page.read_text(encoding="utf-8").replace("localhost:8008", f"localhost:{port}")
    for long, short in QUICKER.items():
        text = text.replace(long, short)
    blocks = FENCED.findall(text)
    program = "".join(block for kind, block in blocks if kind == "python")
    last = max((place for place, (kind, _) in enumerate(blocks) if kind == "python"), default=None)
    parts = [SHELL]
    for place, (kind, block) in enumerate(blocks):
        if kind == "sh":
            parts += [line for line in block.splitlines() if not any(it in line for it in ELSEWHERE)]
        if place == last and page.name != "README.md":  # the README's has a test of its own
            parts.append(f"python - <<'END OF PROGRAM'\n{program}\nEND OF PROGRAM")
    return "\n".join(parts)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's folder: drawn pictures, and a shop of some of them."""
    folder = tmp_path_factory.mktemp("home")
    draw = "import sys\nfrom pathlib import Path\nfrom viewfinder.worlds import write_world\n"
    draw += "write_world(Path(sys.argv[1]), kind='scenes', count=40, seed=1)\n"
    subprocess.run([sys.executable, "-c", draw, str(folder / "world")], check=True, capture_output=True)
    (folder / "Pictures").mkdir()
    (folder / "shop").mkdir()
    rows = ["image,name,gender,price"]
    for number, file in enumerate(sorted((folder / "world" / "images").iterdir())):
        taken = Image.Exif()
        taken[ExifTags.Base.DateTime] = f"{2019 + number % 3}:07:{1 + number % 28:02d} 10:03:00"
        Image.open(file).save(folder / "Pictures" / file.name, exif=taken)
        (folder / "shop" / file.name).hardlink_to(file)
        rows.append(f"{file.name},thing {number},{('Women', 'Men', 'Unisex')[number % 3]},{10 * number}")
    (folder / "products.csv").write_text("\n".join(rows) + "\n")
    return folder


RUN = ("docs/command-line.md",)
RUN_LONG = (
    "README.md",
    "docs/index.md",
    "docs/cluster.md",
    *(f"docs/tutorials/{it}.md" for it in ("photos", "shop", "embed", "research")),
)
"""They train, serve, or say again what the others say."""


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(it, marks=pytest.mark.slow) for it in RUN),
        *(pytest.param(it, marks=pytest.mark.long) for it in RUN_LONG),
    ],
)
def test_the_commands_of_a_page_run_one_after_the_other(name: str, home: Path, tmp_path: Path) -> None:
    if not (shutil.which("curl") and shutil.which("jq")):
        pytest.skip("the pages use curl and jq, which are not here")
    page = ROOT / name
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)
    (programs / "viewfinder").write_text(f"#!{sys.executable}\nfrom viewfinder.cli import main\nmain()\n")
    (programs / "viewfinder").chmod(0o755)
    shutil.copy(home / "products.csv", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = {"HOME": home, "XDG_DATA_HOME": tmp_path / "data", "VIEWFINDER_PORT": port}
    settings = {**os.environ, **{name: str(place) for name, place in places.items()}}
    settings["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    settings["PATH"] = f"{programs}:{settings['PATH']}"
    if page.stem == "command-line":  # it begins with a library that is there
        subprocess.run(
            [programs / "viewfinder", "add", home / "Pictures", "--catalogue", home / "world" / "catalogue.csv"],
            env=settings, check=True, capture_output=True,
        )  # fmt: skip
    done = subprocess.run(
        ["bash", "-x", "-c", script_of(page, port)], cwd=tmp_path, env=settings, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_site_is_built_and_no_link_in_it_leads_nowhere(tmp_path: Path) -> None:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="the site needs what `pip install 'viewfinder[dev]'` brings")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    reference = (tmp_path / "site" / "python" / "index.html").read_text(encoding="utf-8")
    for name in ("library.Library.find", "session.Session.say", "index.ranking.Hit", "errors.UnknownName"):
        assert f'id="viewfinder.{name}"' in reference


def test_the_exit_codes_on_the_page_are_those_of_the_program() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (\d) \| (\w+)", page, re.MULTILINE))
    codes = (ending.FAILED, ending.WRONG_USE, ending.QUARANTINED)
    assert told == {"0": "done", **dict(zip(map(str, codes), ("failed", "wrong", "done"), strict=True))}


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
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
