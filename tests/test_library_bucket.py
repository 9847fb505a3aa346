"""Libraries in a bucket, over a real S3 server: what one machine adds another finds, and writers never meet.

A machine is a cache folder of its own. This file is also the program of another process:
`python -m tests.test_library_bucket URL FOLDER` adds a folder, `... URL hold` takes the lock, says so and waits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

import viewfinder
import viewfinder.library
from tests.s3_server import S3Server, s3_server
from viewfinder.errors import LibraryBusy, LibraryError, NotALibrary
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.pictures.thumbnails import THUMBNAILS, thumbnail_path
from viewfinder.store import bucket
from viewfinder.store.bucket import Bucket, Lease
from viewfinder.store.objects import parse_url
from viewfinder.store.places import find_bucket, local_folder
from viewfinder.testing import draw_halves, load_colour_encoder, tiny_pictures

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "tests.test_library_bucket")

SHORT_S = 1.0
"""A lease for tests that wait for its end."""


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(autouse=True)
def machine(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a machine; everybody has the encoder that knows colours only, and looks every time."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr(bucket, "MAX_AGE_S", 0.0)


@pytest.fixture
def url(server: S3Server) -> str:
    return f"{server.make_bucket()}/library"


def on_another_machine(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str = "other") -> Library:
    """The library as somebody else opens it, who has an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    return viewfinder.open(url)


def test_what_one_machine_adds_another_finds_as_in_a_folder(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(tmp_path / "pictures", 6)
    for library in (viewfinder.open(url), viewfinder.open(tmp_path / "library")):
        assert library.add(tmp_path / "pictures", workers=1).added == 6
    in_folder = library.find("red", n=6)
    other = on_another_machine(url, tmp_path, monkeypatch)
    in_bucket = other.find("red", n=6)
    assert [(hit.id, hit.score, hit.match) for hit in in_bucket] == [
        (hit.id, hit.score, hit.match) for hit in in_folder
    ]
    assert other.status() == {**library.status(), "library": url}
    assert other.verify() == []
    assert other.add(tmp_path / "pictures", workers=1).unchanged == 6


def test_a_conversation_sees_what_another_machine_adds_meanwhile(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = viewfinder.open(url)
    tiny_pictures(tmp_path / "few", 3)
    first.add(tmp_path / "few", workers=1)
    chat = first.chat(questioner=None)
    assert len(chat.say("red")) == 3
    tiny_pictures(tmp_path / "more", 8)
    on_another_machine(url, tmp_path, monkeypatch).add(tmp_path / "more", workers=1)
    assert len(chat.say("blue")) == len(first) == 8  # of which three were there


@pytest.mark.long
def test_a_picture_whose_file_is_not_here_is_fetched_and_is_the_same(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(tmp_path / "pictures", 2)
    viewfinder.open(url).add(tmp_path / "pictures", workers=1)
    files = sorted(path for path in (tmp_path / "pictures").iterdir() if path.is_file())
    contents = {path.read_bytes() for path in files}
    snapshot = on_another_machine(url, tmp_path, monkeypatch).gallery().snapshot
    shutil.rmtree(tmp_path / "pictures")
    fetched = [next(snapshot.files_there(row)) for row in range(len(snapshot))]
    assert {path.read_bytes() for path in fetched} == contents


def test_a_server_on_another_machine_shows_and_gives_pictures_that_it_never_had(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    from viewfinder.server.app import create_app
    from viewfinder.server.settings import ServerSettings

    tiny_pictures(tmp_path / "pictures", 3)
    viewfinder.open(url).add(tmp_path / "pictures", workers=1)
    contents = {picture_id(path.read_bytes()): path.read_bytes() for path in (tmp_path / "pictures").glob("*.*")}
    shutil.rmtree(tmp_path / "pictures")
    other = on_another_machine(url, tmp_path, monkeypatch)
    settings = ServerSettings.model_validate({"originals": True})
    with TestClient(create_app(other, settings), base_url="http://localhost", client=("127.0.0.1", 50000)) as client:
        talk = client.post("/api/v1/sessions", json={"n": 3}).json()["id"]
        turn = client.post(f"/api/v1/sessions/{talk}/turns", json={"say": "red"}).json()
        assert len(turn["results"]) == 3
        for hit in turn["results"]:
            assert client.get(f"/api/v1/pictures/{hit['id']}/thumbnail").status_code == 200
            assert client.get(f"/api/v1/pictures/{hit['id']}/original").content == contents[hit["id"]]
    found = find_bucket(on_another_machine(url, tmp_path, monkeypatch, "third").folder)
    assert found is not None
    assert [name for name in found._list_names(f"thumbnails/{hit['id'][:2]}") if name.startswith(hit["id"])]


@pytest.mark.long
def test_a_server_whose_store_is_out_of_reach_goes_on_with_what_it_had_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    from viewfinder.server.app import create_app
    from viewfinder.server.settings import ServerSettings

    tiny_pictures(tmp_path / "pictures", 3)
    with ExitStack() as stack, ExitStack() as stores:
        store = stores.enter_context(s3_server())
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        library = viewfinder.open(f"{store.make_bucket()}/library")
        library.add(tmp_path / "pictures", workers=1)
        app = create_app(library, ServerSettings.model_validate({}))
        client = TestClient(app, base_url="http://localhost", client=("127.0.0.1", 5))
        stack.enter_context(client)
        ready = client.get("/api/v1/health/ready").json()
        assert ready["checks"] == {"database": "ok", "library": "ok"}
        stores.close()
        until = time.monotonic() + 120
        while "changes" not in (ready := client.get("/api/v1/health/ready").json())["checks"]:
            assert time.monotonic() < until
            app.state.services.library.look_now()
            time.sleep(0.1)
        assert ready["ok"]
        assert "check the network" in ready["checks"]["changes"]
        found = client.post("/api/v1/search", json={"text": "red"})
        assert (found.status_code, len(found.json()["results"])) == (200, 3)


@pytest.mark.long
def test_what_is_tuned_on_one_machine_is_searched_with_on_another(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(tmp_path / "pictures", 6)
    library = viewfinder.open(url)
    library.add(tmp_path / "pictures", workers=1)
    head = "heads/other.json"
    (library.folder / "heads").mkdir(exist_ok=True)
    (library.folder / head).write_text("[3.0, 1.0, 1.0]", encoding="utf-8")
    bucket_of = find_bucket(library.folder)
    assert bucket_of is not None
    bucket_of.push(head)
    tuned = load_colour_encoder("starter", head_file=library.folder / head)
    ids, raw_nr = library.store.read_vectors(tuned.raw_version)
    library.store.write_space(tuned.version, [(ids, tuned.project(raw_nr))])
    library.switch(tuned.version, head)
    other = on_another_machine(url, tmp_path, monkeypatch)
    assert other.status()["tuned"]
    assert other.find("red").to_json()["results"] == library.find("red").to_json()["results"]


@pytest.mark.long
def test_nothing_is_gone_or_forgotten_because_its_file_is_on_another_machine(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(tmp_path / "pictures", 4)
    viewfinder.open(url).add(tmp_path / "pictures", workers=1)
    shutil.rmtree(tmp_path / "pictures")
    other = on_another_machine(url, tmp_path, monkeypatch)
    assert other.verify() == []
    assert other.prune(force=True) == []
    assert other.status()["missing"] == 0
    assert len(other) == 4


def test_a_picture_that_is_removed_leaves_the_bucket_with_its_copies(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = tiny_pictures(tmp_path / "pictures", 3)
    library = viewfinder.open(url)
    library.add(tmp_path / "pictures", workers=1)
    gone = picture_id(drawn[0].path.read_bytes())
    there = find_bucket(library.folder)
    assert there is not None
    small = thumbnail_path(library.folder / THUMBNAILS, gone, 320)
    small.parent.mkdir(parents=True)
    small.write_bytes(b"a copy")
    there.push(small.relative_to(library.folder).as_posix())
    assert there.fetch_original(gone) is not None
    assert library.remove(drawn[0].path) == [gone]
    assert there.fetch_original(gone) is None
    assert not there.fetch(small.relative_to(library.folder).as_posix())
    other = on_another_machine(url, tmp_path, monkeypatch)
    assert len(other) == 2
    assert gone not in other
    assert other.verify() == []


def test_two_processes_that_add_at_once_take_turns_and_nothing_is_lost(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    colours = ["red", "green", "blue", "yellow"]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, left in zip(folders, colours, strict=False):
        folder.mkdir()
        for right in colours:
            Image.fromarray(draw_halves(left, right)).save(folder / f"{right}.png")
    processes = [
        subprocess.Popen(
            [*PROGRAM, url, str(folder)],
            cwd=ROOT,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / f"cache of {folder.name}")},
        )
        for folder in folders
    ]
    assert [process.wait(240) for process in processes] == [0, 0]
    library = on_another_machine(url, tmp_path, monkeypatch)
    assert len(library) == 8
    assert library.verify() == []


def test_while_one_writes_another_is_refused_and_told_who_it_is(url: str, tmp_path: Path) -> None:
    viewfinder.open(url)
    elsewhere = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache of the other")}
    process = subprocess.Popen([*PROGRAM, url, "hold"], cwd=ROOT, env=elsewhere, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        store = Library.open(local_folder(url)).store
        told = rf"another process \({process.pid} on .*\) is writing to {url}"
        with pytest.raises(LibraryBusy, match=told), store.writing(timeout=0.0):
            pass
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def connection(url: str, tmp_path: Path) -> object:
    return Bucket(tmp_path, url).connect("locks")


def test_of_many_who_want_a_lock_one_has_it_at_a_time(url: str, tmp_path: Path) -> None:
    inside, most, done = 0, 0, 0

    def work() -> None:
        nonlocal inside, most, done
        lease = Lease(connection(url, tmp_path), "writing")
        lease.acquire(120.0, "writing")
        inside += 1
        most = max(most, inside)
        lease.check()
        done += 1
        inside -= 1
        lease.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, done) == (1, 4)


def test_who_took_a_lock_that_is_made_again_notices_that_another_has_it(url: str, tmp_path: Path) -> None:
    place: Any = connection(url, tmp_path)
    first, second = (Lease(place, "writing", lease_s=5.0) for _ in range(2))
    first.acquire(0.0, "writing")
    row = {"number": 0, "beat": 0, "free": True, "holder": ""}  # as by a process that began to make it at the same time
    place.create_table("writing", data=pa.Table.from_pylist([row]), mode="overwrite")
    second.acquire(60.0, "writing")
    end = time.monotonic() + 60
    with pytest.raises(LibraryBusy):
        while time.monotonic() < end:
            first.check()
            time.sleep(0.1)
    second.check()
    second.release()


def test_the_lock_of_one_that_was_killed_passes_on_when_its_time_is_over(url: str, tmp_path: Path) -> None:
    dead, heir = (Lease(connection(url, tmp_path), "writing", lease_s=SHORT_S) for _ in range(2))
    dead.acquire(0.0, "writing")
    dead._ended.set()  # as if it had been killed: nobody beats, nobody releases
    heir.acquire(60.0, "writing")
    with pytest.raises(LibraryBusy, match="out of reach for so long that another process may be writing"):
        dead.check()
    heir.check()
    dead.release()  # comes to nothing
    with pytest.raises(LibraryBusy):
        Lease(connection(url, tmp_path), "writing", lease_s=60.0).acquire(0.0, "writing")
    heir.release()


def test_a_holder_that_stood_still_is_told_that_another_writes_now(url: str, tmp_path: Path) -> None:
    still, heir = (Lease(connection(url, tmp_path), "writing", lease_s=SHORT_S) for _ in range(2))
    still.acquire(0.0, "writing")
    still._ended.set()  # it stands still: it does not beat
    heir.acquire(60.0, "writing")
    still._ended.clear()
    still._keep_beating()  # it goes on, and ends as soon as it sees who has the lock
    with pytest.raises(LibraryBusy, match=r"another process has taken over the writing.* nothing acknowledged is lost"):
        still.check()
    heir.release()


def test_a_holder_that_beats_keeps_its_lock_longer_than_its_time(url: str, tmp_path: Path) -> None:
    holder = Lease(connection(url, tmp_path), "writing", lease_s=2.0)
    holder.acquire(0.0, "writing")
    with pytest.raises(LibraryBusy):
        Lease(connection(url, tmp_path), "writing", lease_s=2.0).acquire(3.0, "writing")
    holder.check()
    holder.release()


def test_a_writer_that_was_overtaken_commits_nothing_more(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_pictures(tmp_path / "pictures", 3)
    library = viewfinder.open(url)
    found = find_bucket(library.folder)
    assert found is not None
    with library.store.writing():
        found._leases["writing"]._good_until = 0.0
        with pytest.raises(LibraryBusy, match="out of reach"):
            library.add(tmp_path / "pictures", workers=1)
    assert library.store.ids() == []


def test_a_bucket_that_is_not_there_is_said_in_one_line() -> None:
    with pytest.raises(NotALibrary, match="there is no bucket called nowhere-at-all"):
        viewfinder.open("s3://nowhere-at-all/library")


def test_a_store_out_of_reach_is_said_with_what_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LibraryError, match="check the network, and AWS_ACCESS_KEY_ID"):
        viewfinder.open("s3://pictures/library")


def test_a_library_in_a_bucket_is_not_repaired_as_a_folder_is(url: str) -> None:
    folder = viewfinder.open(url).folder
    with pytest.raises(LibraryError, match=f"{url} lies in a bucket"):
        Library.repair(folder)


def test_a_url_survives_being_taken_for_a_path() -> None:
    assert parse_url(Path("gs://photos/a/b")) == parse_url("gs://photos/a/b/") == "gs://photos/a/b"
    assert parse_url("s3://photos") == "s3://photos"
    assert parse_url("pictures/s3") is parse_url("file:///pictures") is None


if __name__ == "__main__":
    viewfinder.library.load_encoder = load_colour_encoder  # type: ignore[attr-defined]
    opened = viewfinder.open(sys.argv[1])
    if sys.argv[2] == "hold":
        with opened.store.writing():
            print("held", flush=True)
            threading.Event().wait()
    opened.add(sys.argv[2], workers=1)


def test_a_lock_that_another_process_is_still_making_is_waited_for(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Lease(connection(url, tmp_path), "writing")
    first.acquire(10.0, "writing")  # makes the table
    first.release()
    shared: Any = connection(url, tmp_path)
    lease, opened, calls = Lease(shared, "writing"), shared.open_table, []

    def open_later(name: str) -> Any:
        calls.append(name)
        if len(calls) == 1:
            raise ValueError(f"Table '{name}' was not found")
        return opened(name)

    monkeypatch.setattr(shared, "open_table", open_later)
    lease.acquire(30.0, "writing")
    assert len(calls) > 1
    lease.release()
