"""`serve --ray`: the API over a cluster gives what it gives without one, and says what could not be searched."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from viewfinder.cli.output import print_hits
from viewfinder.cluster import searching
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.search.hits import Hits
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.server.workers import run_workers
from viewfinder.testing import tiny_pictures

pytestmark = [pytest.mark.slow, pytest.mark.afresh]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("served")
    tiny_pictures(folder / "pictures", 140)
    made = Library.open(folder / "library")
    made.add(folder / "pictures", workers=1)
    return made


@contextmanager
def served(library: Library, **settings: Any) -> Iterator[TestClient]:
    app = create_app(library, ServerSettings(_env_file=None, **settings))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 5)) as client:
        yield client


def say(client: TestClient, text: str) -> dict[str, Any]:
    session = client.post("/api/v1/sessions", json={"questioner": "none"}).json()["id"]
    answer = client.post(f"/api/v1/sessions/{session}/turns", json={"say": text})
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    found.pop("elapsed_ms")
    return found


def actors() -> list[int]:
    """The processes of actors that live."""
    import psutil

    living = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # another test's process has just ended
            if each.name().startswith("ray::ShardActor"):
                living.append(each.pid)
    return living


def test_the_api_over_a_cluster_gives_what_it_gives_without_and_names_what_is_missing(
    ray: Any, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(library) as client:
        expected = say(client, "red over blue")
    assert expected["missing"] == 0
    earlier = actors()  # of another test: Ray ends them in its own time
    with served(library, ray="local", shards=2) as client:
        assert say(client, "red over blue") == expected
        processes = [process for process in actors() if process not in earlier]
        assert len(processes) == 2
        monkeypatch.setattr(searching, "SHARD_PATIENCE_S", (0.2, 0.0))  # no actor starts anew within that
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        found = say(client, "red over blue")
        assert (found["results"], found["missing"]) == ([], 140)
        searched = client.post("/api/v1/search", json={"text": "red"}).json()
        assert (searched["results"], searched["missing"]) == ([], 140)
        monkeypatch.undo()
        assert say(client, "red over blue") == expected  # they are back
    end = time.monotonic() + 10
    while actors() and time.monotonic() < end:
        time.sleep(0.1)
    assert actors() == []


def test_several_workers_and_a_cluster_are_not_served_together(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="with --ray one process serves"):
        run_workers(tmp_path / "library", ServerSettings(_env_file=None, workers=2, ray="local"))


def test_the_command_line_names_what_could_not_be_searched(capsys: pytest.CaptureFixture[str]) -> None:
    print_hits(Hits((), "nothing", 1.0, 62_500))
    assert capsys.readouterr().out.splitlines()[0] == (
        "note: 62,500 pictures could not be searched: a part of the cluster is away"
    )
    assert Hits((), "nothing", 1.0, 62_500).to_json()["missing"] == 62_500
