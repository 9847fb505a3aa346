"""Pictures embedded by Ray actors: the library is the one that `add` makes alone, also where actors die meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import fs

from tests.s3_server import S3Server, s3_server
from viewfinder.cluster import ActorEmbedder, embedding, ray_session
from viewfinder.cluster.embedding import EmbeddingActor
from viewfinder.errors import BadInput, ViewfinderError, advise_extra
from viewfinder.library import Library
from viewfinder.pictures import BadFile, FoundFile, IdentifiedFile
from viewfinder.store.ingest import EmbeddedFile
from viewfinder.store.objects import is_gone
from viewfinder.testing import tiny_pictures

pytestmark = pytest.mark.afresh


def pictures(folder: Path, count: int) -> Path:
    """Pictures, one of them twice, and a file that is none."""
    drawn = tiny_pictures(folder, count)
    shutil.copy(drawn[0].path, folder / "a copy.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    return folder


def check_same(library: Library, expected: Library) -> None:
    """Raises AssertionError where two libraries do not hold the same."""
    assert library.store.rows() == expected.store.rows()
    assert library.store.failures() == expected.store.failures()
    for space in expected.store.spaces():
        ids, vectors_nd = expected.store.read_vectors(space)
        assert library.store.read_vectors(space)[0] == ids
        # Half precision, of products whose last bits depend on how many pictures are multiplied together.
        np.testing.assert_allclose(library.store.read_vectors(space)[1], vectors_nd, rtol=1e-3, atol=2e-5)


@pytest.fixture
def embedder(ray: Any) -> Any:
    made = ActorEmbedder(ray, "starter", 2)
    yield made
    made.actors.close()


def processes(embedder: ActorEmbedder) -> list[int]:
    import ray

    return [ray.get(seat.actor.__ray_call__.remote(lambda actor: os.getpid())) for seat in embedder.actors.seats]


@pytest.mark.slow
def test_actors_make_the_library_that_one_process_makes_and_one_that_dies_loses_and_doubles_nothing(
    embedder: ActorEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "MAX_FILES_AT_ONCE", 4)
    folder = pictures(tmp_path / "pictures", 40)
    alone, together = (Library.open(tmp_path / name) for name in ("alone", "together"))
    expected = alone.add(folder, workers=1)
    victim, other = processes(embedder)
    os.kill(victim, signal.SIGSTOP)  # it takes files, and dies over them
    threading.Timer(1.0, os.kill, (victim, signal.SIGKILL)).start()
    report = together.add(folder, embedder=embedder)
    assert report == expected
    assert (report.added, report.duplicates, report.quarantined) == (40, 1, 1)
    check_same(together, alone)
    assert other in processes(embedder)
    assert victim not in processes(embedder)
    again = together.add(folder, embedder=embedder)
    assert (again.added, again.unchanged) == (0, 41)


@pytest.mark.long
def test_files_over_which_actors_die_again_and_again_are_named(
    embedder: ActorEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "MAX_DEATHS", 0)
    drawn = tiny_pictures(tmp_path / "pictures", 1)
    for process in processes(embedder):
        os.kill(process, signal.SIGSTOP)
        threading.Timer(0.5, os.kill, (process, signal.SIGKILL)).start()
    with pytest.raises(ViewfinderError, match=f"1 actors died over {drawn[0].path}"):
        list(embedder.embed([FoundFile(drawn[0].path, 1, 1)]))


PROGRAM = "from viewfinder.cli import main; main()"


class InThisProcess:
    """An embedder that is one actor, without Ray."""

    def __init__(self) -> None:
        self.actor = EmbeddingActor("starter")

    def embed(self, files: Iterable[FoundFile]) -> Iterator[EmbeddedFile | IdentifiedFile | BadFile]:
        yield from self.actor.embed(list(files))
        self.actor.close()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def url(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix that has what `pictures` makes, and a file that is no picture."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    made = f"{server.make_bucket()}/photos"
    files, place = fs.FileSystem.from_uri(made)
    folder = pictures(tmp_path / "pictures", 6)
    (folder / "a note.txt").write_text("no picture")
    for file in (it for it in folder.iterdir() if it.is_file()):
        with files.open_output_stream(f"{place}/trips/{file.name}") as stream:
            stream.write(file.read_bytes())
    return made


@pytest.mark.slow
def test_a_prefix_of_object_storage_is_added_as_the_folder_would_be(url: str, tmp_path: Path) -> None:
    expected, library = (Library.open(tmp_path / name) for name in ("alone", "library"))
    expected.add(tmp_path / "pictures", workers=1)
    report = library.add(url, embedder=InThisProcess())
    assert (report.found, report.added, report.duplicates, report.quarantined) == (8, 6, 1, 1)
    again = library.add(url, embedder=InThisProcess())
    assert (again.added, again.unchanged, again.quarantined) == (0, 7, 1)
    assert library.store.ids() == expected.store.ids()
    for space in expected.store.spaces():
        found_nd, expected_nd = (it.store.read_vectors(space)[1] for it in (library, expected))
        np.testing.assert_allclose(found_nd, expected_nd, atol=1e-6)
    assert library.prune() == []
    assert library.verify() == []
    snapshot = library.gallery().snapshot
    contents = {file.read_bytes() for file in (tmp_path / "pictures").glob("*-*.png")}
    assert {next(snapshot.files_there(row)).read_bytes() for row in range(6)} == contents
    [hit] = library.find("red", n=1)
    assert str(hit.path).startswith("s3:/pictures-")


@pytest.mark.long
def test_the_command_line_adds_a_prefix_by_a_cluster_of_this_machine(url: str, tmp_path: Path) -> None:
    if find_spec("ray") is None:  # not imported: it reads its settings then
        pytest.skip("the extra `ray` is not installed")
    command = [sys.executable, "-c", PROGRAM, "add", url, "--ray", "--workers", "1", "--json"]
    done = subprocess.run(
        [*command, "--library", str(tmp_path / "library")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr  # a file is in quarantine
    assert json.loads(done.stdout)["added"] == 6


def test_an_object_is_embedded_under_its_name_or_told_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    huge = FoundFile(Path("s3://photos/huge.png"), 1 << 50, 7)
    [found] = EmbeddingActor("starter").embed([huge])
    assert isinstance(found, BadFile)
    assert (found.path, found.size, found.mtime_ns) == (huge.path, 1 << 50, 7)
    assert "too large" in found.reason


def test_object_storage_without_a_cluster_is_refused_with_the_line_that_does_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="viewfinder add s3://photos/trips --ray local"):
        Library.open(tmp_path / "library").add("s3://photos/trips")
    assert not is_gone("s3:/photos/trips/a.png")
    assert is_gone(tmp_path / "nothing.png")


def test_a_cluster_without_ray_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ViewfinderError) as caught, ray_session("local"):
        pass
    assert str(caught.value) == f"ray is not installed, which this needs: {advise_extra('ray')}"


def test_a_cluster_that_is_not_there_is_said_in_one_line() -> None:
    if find_spec("ray") is None:  # not imported: it reads its settings then
        pytest.skip("the extra `ray` is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(BadInput, match=f"^--ray {address}: no cluster answers there"), ray_session(address):
        pass
