import os
import subprocess
import sys
from pathlib import Path

import pytest

WRITE = """
import sys
from pathlib import Path
from viewfinder.worlds.catalogue import write_catalogue
write_catalogue(Path(sys.argv[1]), count=int(sys.argv[2]), seed=5, transactions=200)
"""


@pytest.fixture(scope="session")
def drawn_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 150 drawn articles, written by a process of its own: the type checks would slow the drawing down."""
    out = tmp_path_factory.mktemp("catalogue") / "drawn"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src")}
    subprocess.run([sys.executable, "-c", WRITE, str(out), "150"], check=True, env=environment)
    return out
