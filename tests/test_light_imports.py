"""What takes seconds to import is imported where it is used: one table of what each step of a search does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viewfinder import testing
from viewfinder.library import Library

pytestmark = pytest.mark.afresh

LEARNING = ("torch", "transformers", "sklearn", "scipy", "matplotlib", "onnx", "pandas")
STORING = ("lancedb", "pyarrow")
LOOKING = ("onnxruntime", "PIL")
SERVING = ("fastapi", "uvicorn", "sqlalchemy")
LABORATORY = tuple(
    f"viewfinder.{folder}"
    for folder in ("construction", "data", "evaluation", "studies", "training", "tuning", "users", "worlds")
)
MAX_SERVER_LINES = 31_150
SHIPPED = """
from viewfinder.retrievers import load_retriever
for system in ("chatir", "chatsearcher", "drilldown", "fashioniq", "mai"):
    retriever = load_retriever(system)
    retriever.query(retriever.begin())
"""

STEPS = {
    "the package": ("import viewfinder", LEARNING + STORING + LOOKING + SERVING + ("numpy",)),
    "the help": (
        "from viewfinder.cli import run; run(['--help'])",
        LEARNING + STORING + LOOKING + SERVING + ("numpy",),
    ),
    "a search": (
        "from viewfinder.cli import run; run(['find', 'red', '--library', LIBRARY])",
        LEARNING
        + SERVING
        + ("lancedb", "pyarrow.compute", "PIL", "rich", "viewfinder.pictures.sandbox", "viewfinder.cli.chat"),
    ),
    "the first page": (
        "import pathlib; from starlette.testclient import TestClient; from viewfinder.library import Library;"
        "from viewfinder.server.app import create_app; from viewfinder.server.settings import ServerSettings\n"
        "app = create_app(Library.open(pathlib.Path(LIBRARY)), ServerSettings(_env_file=None))\n"
        "with TestClient(app, base_url='http://localhost', client=('127.0.0.1', 5)) as client:\n"
        "    assert client.get('/').is_success\n"
        "    session = client.post('/api/v1/sessions', json={}).json()['id']\n"
        "    turn = client.post(f'/api/v1/sessions/{session}/turns', json={'say': 'red'})\n"
        "    assert turn.is_success, turn.text\n",
        (*LEARNING, *LABORATORY, "lancedb"),
    ),
    "an opened library": (
        "import pathlib; from viewfinder.library import Library; Library.open(pathlib.Path(LIBRARY))",
        LEARNING + STORING + SERVING,
    ),
    "the systems' names": ("import viewfinder.retrievers.trainers", LEARNING),
    "encoders by name": ("import viewfinder.encoders.transformers", LEARNING),
    "words": (
        "from viewfinder.encoders import load_encoder; load_encoder('starter').words(['a dog'])",
        LEARNING + STORING,
    ),
    "pictures": (
        "import numpy; from viewfinder.encoders import load_encoder;"
        "load_encoder('starter').pictures([numpy.zeros((32, 48, 3), numpy.uint8)])",
        LEARNING + STORING,
    ),
    "tuning": (
        "import pathlib; from viewfinder.library import Library; from viewfinder.tuning import tune;"
        "tune(Library.open(pathlib.Path(LIBRARY)), captions=pathlib.Path(LIBRARY).with_name('captions.csv'))",
        LEARNING,
    ),
    "a world of goods": (
        "from viewfinder.cli import run; shop = LIBRARY + '-shop'\n"
        "assert run(['world', shop, '--kind', 'catalogue', '--count', '24']) == 0",
        LEARNING + STORING + SERVING,
    ),
    "questioners": (
        "from viewfinder.questioners.names import load_questioner as load; load('information_gain');"
        "load('llm=http://127.0.0.1:9/v1#none'); load('plugir=http://127.0.0.1:9/v1#none')",
        LEARNING,
    ),
    "the shipped systems": (SHIPPED, LEARNING),
}
"""A step: its code, where LIBRARY is the folder of a library, and the packages that it must not import."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of drawn pictures of the starter encoder."""
    folder = tmp_path_factory.mktemp("light")
    files = testing.tiny_pictures(folder / "pictures", 24)
    said = (f"{drawn.path.name},{drawn.top} over {drawn.bottom}\n" for drawn in files)
    (folder / "captions.csv").write_text("image,caption\n" + "".join(said), encoding="utf-8")
    Library.open(folder / "library").add(folder / "pictures", workers=1)
    return folder / "library"


@pytest.mark.parametrize("step", STEPS)
def test_a_step_imports_nothing_that_it_does_without(step: str, library: Path) -> None:
    code, unneeded = STEPS[step]
    assert imported(code.replace("LIBRARY", repr(str(library))), unneeded) == []


def test_a_server_loads_few_of_our_lines_and_none_of_the_laboratory() -> None:
    code = (
        "import sys, viewfinder.server.app; from pathlib import Path\n"
        "ours = {module.__file__ for name, module in sys.modules.items() if name.partition('.')[0] == 'viewfinder'}\n"
        f"assert sum(len(Path(file).read_text().splitlines()) for file in ours) <= {MAX_SERVER_LINES}"
    )
    assert imported(code, LABORATORY) == []


def test_a_server_that_has_begun_before_imports_nothing_that_changes_its_tables(library: Path) -> None:
    code = STEPS["the first page"][0].replace("LIBRARY", repr(str(library)))
    imported(code, ())
    assert imported(code, ("alembic", "mako", "pygments")) == []


def test_what_is_imported_is_noticed() -> None:
    assert imported("import sqlalchemy", ("sqlalchemy", "torch")) == ["sqlalchemy"]


def test_lance_is_imported_without_its_client_which_is_whole_when_it_is_imported_itself() -> None:
    client = "lance_namespace_urllib3_client"
    code = "from viewfinder.store.lance import import_lancedb; assert import_lancedb() is import_lancedb()\n"
    assert imported(code, ("lancedb", f"{client}.api", "torch")) == ["lancedb"]
    code += f"from {client} import TableApi; from {client}.models import QueryTableRequest; assert TableApi"
    assert imported(code, (f"{client}.api", "torch")) == [f"{client}.api"]


def imported(code: str, packages: tuple[str, ...]) -> list[str]:
    """Which of the packages a fresh interpreter has imported after the code."""
    program = f"{code}\nimport sys\nprint(*['imported:', *sorted({set(packages)!r} & sys.modules.keys())])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1].split()[1:]
