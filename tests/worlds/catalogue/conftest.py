from pathlib import Path

import pytest

from viewfinder.worlds.catalogue import write_catalogue


@pytest.fixture(scope="session")
def drawn_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 150 drawn articles."""
    out = tmp_path_factory.mktemp("catalogue") / "drawn"
    write_catalogue(out, count=150, seed=5, transactions=200)
    return out
