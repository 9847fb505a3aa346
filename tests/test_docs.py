"""The pages keep their promises: what they say to type runs, and their figures are those of the committed results."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from PIL import ExifTags, Image

from viewfinder.cli import ending, make_app
from viewfinder.cli.app import fill_in_ray
from viewfinder.questioners import Candidates
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
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


def lines_of(page: Path) -> list[tuple[str, str]]:
    """Every `viewfinder ...` line in the page's blocks of commands, after the kind of its block."""
    found = []
    for kind, block in FENCED.findall(page.read_text(encoding="utf-8")):
        lines = re.findall(r"^ *(?:\$ )?(?:\w+=\S+ )*viewfinder .+$", block.replace("\\\n", " "), re.MULTILINE)
        if kind in ("", "sh", "console"):
            found += [(kind, line) for line in lines]
    return found


def commands_of(page: Path) -> list[list[str]]:
    """The words of these lines, without the program."""
    return [shlex.split(line.partition("viewfinder ")[2], comments=True) for _, line in lines_of(page)]


def test_the_pages_lead_with_a_checkout_as_long_as_no_registry_has_the_package() -> None:
    """Extras by name are fine: pip takes the viewfinder that is installed."""
    from_registry = re.compile(r"^ *(?:\$ )?(?:uvx viewfinder|pip install viewfinder)\b(?!\[)", re.MULTILINE)
    blocks_of = {page: FENCED.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    assert [page for page, blocks in blocks_of.items() for _, block in blocks if from_registry.search(block)] == []
    [_, makes], [_, installs], *_ = blocks_of[ROOT / "README.md"]
    assert [line.split("#")[0].split() for line in makes.splitlines()] == [["make", "demo"], ["make", "test"]]
    tutorials = [blocks for page, blocks in blocks_of.items() if page.parent.name == "tutorials"]
    firsts = [next(block for kind, block in blocks if kind == "sh") for blocks in tutorials]
    assert all(block.startswith(("pip install .", 'pip install ".')) for block in (installs, *firsts))


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.stem)
def test_every_command_on_a_page_is_one_that_the_program_has(page: Path) -> None:
    verbs = typer.main.get_command(make_app())
    assert isinstance(verbs, typer.core.TyperGroup)
    for command in commands_of(page):
        own = command[: command.index("|")] if "|" in command else command  # what follows is another program's
        verb, *words = fill_in_ray([word for word in own if word != ">"])
        if not verb.startswith("--"):
            verbs.commands[verb].make_context(verb, words)  # raises where an option or argument is wrong


SHELL = """
set -eo pipefail
served=
trap '[ -z "$served" ] || kill $served' EXIT
viewfinder() {
  case "$*" in
    serve*) set -- "$@" ;;
    review*--write*) command viewfinder "$@" < /dev/null; return ;;
    review*) set -- "$@" --port 0 ;;
    *) command viewfinder "$@" < /dev/null; return ;;
  esac
  [ -z "$served" ] || { kill $served; wait $served || true; }
  command viewfinder "$@" > served.txt &
  served=$!
  { set +x; } 2> /dev/null
  until grep -q ' at http' served.txt; do kill -0 $served; sleep 0.1; done
  set -x
}
accept() { head -n 1 "$1" | jq -c '{id, verdict: "accepted", note: "", by: ""}' > "${1%.jsonl}.review.jsonl"; }
make() { [ "$1" != demo ] || viewfinder demo; }
pip() { [ "$1" = install ]; }
"""
"""Servers serve beside what follows; nothing is installed or tested: it is here. `accept FILE` accepts its first
dialogue."""

SHORTER = {
    "--count 1300": "--count 40",
    "--count 6500 --sprites PHOTOS": "--count 40",
    "--count 1500 --sprites PHOTOS": "--count 4",
    "--count 0 --sprites PHOTOS": "--count 60",
    "--limit 100": "--limit 4",
    "--preset lab": "--preset lab --set batch=8 --set training.epochs=1",
    "train drilldown": "train drilldown --set learned.epochs=1",
    "--workers 4": "--workers 2",
}
"""Less of the same, on every page."""

SYSTEMS = ("chatir", "chatsearcher", "drilldown", "fashioniq", "mai", "one")
INSTEAD: dict[str, dict[str, str]] = {
    "docs/construction.md": {
        "--split test": "--split all",  # of forty pictures, five are for testing
        "viewfinder review": "accept dialogues/chatsearch/mChat_all.jsonl\nviewfinder review",
        "mChat_test": "mChat_all",
        "--protocol chatsearch": "--protocol chatsearch --split all",
    },
    "docs/command-line.md": {"--like ID": '--like "$(viewfinder find red --json | jq -r .results[0].id)"'},
    "docs/review.md": {"DATA": "~/world"},
    **{
        f"docs/systems/{system}.md": {
            "evaluate ANY": "evaluate composer",
            "captioner --data FOLDER --checkpoint F": "captioner --data FOLDER --checkpoint captioner.safetensors",
            "--checkpoint F": "--checkpoint best.safetensors",
            "runs/mine/best.safetensors": "best.safetensors",
            "--questioner Q": "--questioner information_gain",
            "--user U": "--user oracle",
            "--data FOLDER": "--data goods" if system == "fashioniq" else "--data scenes",
            "--data MY_PHOTOS": "--data scenes",
            "viewfinder evaluate": "viewfinder evaluate --limit 3",
        }
        for system in SYSTEMS
    },
}
"""What placeholders of a page stand for."""

LIBRARY = "export VIEWFINDER_LIBRARY=pictures.vf; viewfinder add ~/Pictures\n"
SCREENSHOTS = "mkdir -p ~/Pictures/Screenshots; cp ~/Pictures/000000000001.jpg ~/Pictures/Screenshots\n"
BEFORE = {
    "docs/tutorials/photos.md": SCREENSHOTS,
    "docs/command-line.md": SCREENSHOTS + "cp ~/Pictures/000000000002.jpg scan.tif\n"
    "viewfinder add ~/Pictures --catalogue ~/world/catalogue.csv\n",
    "docs/server.md": LIBRARY
    + """
viewfinder add ~/Pictures --library ~/pictures.vf
cp -r ~/world/dialogues dialogues; cp -r "$ROOT/examples/rocchio" rocchio; mkdir site
python -m pip install --quiet --no-index --no-deps --no-build-isolation --target site ./rocchio
sed -n '/^```python/,/^```/{//!p}' "$ROOT/docs/adding/questioner.md" > site/my_lab.py
export PYTHONPATH="$PWD/site:$PYTHONPATH"
jq -n --arg id "$(viewfinder find red --json | jq -r .results[0].id)" \\
  '{name: "Colours", consent: "I agree.", targets: [$id], rounds: 2, n: 4, retrievers: ["composer"]}' > study.json
""",
    "docs/operating.md": "rm -rf ~/pictures.vf; viewfinder add ~/Pictures --library ~/pictures.vf\n",
    "docs/construction.md": "cp -r ~/world scenes\n",
    "docs/review.md": """
ln -s ~/world ~/pictures; cp ~/world/chatsearch/mChat_test.jsonl made.jsonl; accept made.jsonl
""",
    **{
        f"docs/systems/{system}.md": LIBRARY
        + f"""
cp "$ROOT"/src/viewfinder/retrievers/{system}/{"gates" if system == "one" else "*"}.safetensors best.safetensors
cp "$ROOT/src/viewfinder/users/captioner/lab.safetensors" captioner.safetensors
{"" if system == "chatsearcher" else "cp -r ~/world scenes"}  # whose page makes them
viewfinder world goods --kind catalogue --count 60
"""
        for system in SYSTEMS
    },
}
"""What a page takes to be there; `ROOT` is this repository."""

NOT_RUN = {
    ("*", "--encoder clip"): "a model of the hub",
    ("*", "openai/clip"): "a model of the hub",
    ("docs/encoders.md", "--library clip.vf"): "a model of the hub",
    ("docs/systems/chatir.md", "MODEL.gguf"): "a language model; tests/questioners/test_plugir.py talks with one",
    ("docs/construction.md", "--generator"): "a language model; tests/cli/test_construct_verb.py answers for one",
    ("docs/systems/*.md", "viewfinder train"): "minutes to days; tests/retrievers trains each system small",
    ("CONTRIBUTING.md", "train starter"): "twenty minutes, on photographs that are not in the repository",
    ("docs/adding/*.md", "viewfinder"): "tests/cli/test_cli_plugins.py runs these pages",
    ("docs/embedding.md", ""): "a site of another origin; tests/server/page/test_page_embedded.py is one",
    ("docs/assistants.md", ""): "what an assistant starts, and speaks with; tests/assistants do",
    ("docs/describing.md", ""): "a model that one runs; tests/cli/test_cli_describe.py answers for one",
    ("examples/README.md", "viewfinder"): "on photographs beside the repository; tests/cli/test_cli_demo.py runs them",
    ("*", "$ viewfinder chat"): "what is typed is on the page too; tests/cli/test_cli_typed.py types it",
}
"""Which commands of a page are not run here, and why; parts of their lines."""


def reason_not_to_run(name: str, line: str) -> str | None:
    """Why a line of this page is not run; None: it is."""
    return next((why for (page, part), why in NOT_RUN.items() if fnmatch(name, page) and part in line), None)


def script_of(name: str, port: int) -> str:
    """The page as a script: its commands as they stand, or fewer of the same; its Python after the last of it."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("localhost:8008", f"localhost:{port}")
    blocks = FENCED.findall(text)
    program = "".join(block for kind, block in blocks if kind == "python")
    if name.startswith("docs/systems/"):
        program = f"import viewfinder\n\nlibrary = viewfinder.open('pictures.vf')\n{program}"
    last = max((place for place, (kind, _) in enumerate(blocks) if kind == "python"), default=None)
    parts = [SHELL, BEFORE.get(name, "")]
    for place, (kind, block) in enumerate(blocks):
        if kind == "sh":
            lines = "\n".join(line for line in block.splitlines() if reason_not_to_run(name, line) is None)
            for given, instead in (*INSTEAD.get(name, {}).items(), *SHORTER.items()):
                lines = lines.replace(given, instead)
            parts.append(lines)
        if place == last and name != "README.md":  # the README's has a test of its own
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
        moment = f"{2019 + number % 3}:07:{1 + number % 28:02d} 10:03:00"
        taken.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = moment
        Image.open(file).save(folder / "Pictures" / file.name, exif=taken)
        (folder / "shop" / file.name).hardlink_to(file)
        rows.append(f"{file.name},thing {number},{('Women', 'Men', 'Unisex')[number % 3]},{10 * number}")
    (folder / "products.csv").write_text("\n".join(rows) + "\n")
    return folder


RUN = (
    "README.md",
    "docs/command-line.md",
    "docs/index.md",
    *(
        f"docs/{it}.md"
        for it in ("cluster", "construction", "encoders", "data", "review", "scale", "server", "operating")
    ),
    *(f"docs/systems/{it}.md" for it in SYSTEMS),
    *(f"docs/tutorials/{it}.md" for it in ("photos", "shop", "embed", "research")),
)


def test_every_command_on_a_page_is_run_or_there_is_a_reason_not_to() -> None:
    used = set()
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for kind, line in lines_of(page):
            reason = reason_not_to_run(name, line)
            assert reason or (kind == "sh" and name in RUN), f"{name}: nothing runs `{line}`"
            used.add(reason)
    assert used - {None} == set(NOT_RUN.values())


@pytest.mark.long
@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_run_one_after_the_other(name: str, home: Path, tmp_path: Path) -> None:
    if not (shutil.which("curl") and shutil.which("jq")):
        pytest.skip("the pages use curl and jq, which are not here")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python").chmod(0o755)
    as_installed = "from viewfinder.cli import main\nif __name__ == '__main__':\n    main()\n"
    (programs / "viewfinder").write_text(f"#!{sys.executable}\n{as_installed}")
    (programs / "viewfinder").chmod(0o755)
    shutil.copy(home / "products.csv", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = {"HOME": home, "ROOT": ROOT, "XDG_DATA_HOME": tmp_path / "data", "VIEWFINDER_PORT": port}
    settings = {**os.environ, **{name: str(place) for name, place in places.items()}}
    settings["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    settings["PATH"] = f"{programs}:{settings['PATH']}"
    done = subprocess.run(
        ["bash", "-x", "-c", script_of(name, port)], cwd=tmp_path, env=settings, capture_output=True, text=True,
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
    for name in ("library.Library.find", "session.Session.say", "search.hits.Hit", "errors.UnknownName"):
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
