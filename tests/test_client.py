"""A library on a server beside the same library here: what one says and gets is the same."""

from __future__ import annotations

import http.server
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from PIL import Image

import viewfinder
import viewfinder.library
from viewfinder import client
from viewfinder.client import RemoteLibrary
from viewfinder.conversation import Say
from viewfinder.errors import BadInput, EmptyQuery, ServerFailed, UnknownName, ViewfinderError
from viewfinder.library import Library
from viewfinder.search.hits import Hits
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.app import create_app
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.jobs import worker
from viewfinder.server.problems import KINDS
from viewfinder.server.settings import ServerSettings, database_url
from viewfinder.session.session import Session, TurnMethods
from viewfinder.store.rows import FileRecord
from viewfinder.testing import draw_halves, load_colour_encoder, tiny_pictures

COUNT = 20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Pairs of colours, with the upper one as a catalogue column."""
    home = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        drawn = tiny_pictures(home / "pictures", COUNT)
        rows = ["file,top", *(f"{picture.path.name},{picture.top}" for picture in drawn)]
        (home / "catalogue.csv").write_text("\n".join(rows), encoding="utf-8")
        here = Library.open(home / "library")
        (home / "pictures" / "bad.jpg").write_bytes(b"no picture")
        here.add(home / "pictures", catalogue=home / "catalogue.csv", workers=1)
        yield here


@contextmanager
def served(library: Library, **settings: Any) -> Iterator[str]:
    """The address of a server over a library, on this machine."""
    app = create_app(library, ServerSettings(_env_file=None, **settings))
    # uvloop complains of a job's pipe when it ends, which a server's own end hides.
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on", loop="asyncio"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def remote(library: Library) -> Iterator[RemoteLibrary]:
    with served(library) as url, viewfinder.connect(url) as connected:
        yield connected


def told(hits: Hits) -> tuple[Any, ...]:
    """Results with reasons; a server tells the last names of files alone."""
    return hits.verdict, [(hit.rank, hit.id, Path(hit.path).name, hit.score, hit.match, hit.why) for hit in hits]


def test_a_search_finds_the_same_on_a_server_as_here(library: Library, remote: RemoteLibrary) -> None:
    assert len(remote) == len(library) == COUNT
    for asked in (
        {"text": "red"},
        {"text": "blue", "n": 3, "without": "white"},
        {"text": "a", "where": {"top": "red"}},
    ):
        assert told(remote.find(**asked)) == told(library.find(**asked))


def test_pictures_and_failures_are_listed_as_here_but_for_paths(
    library: Library, remote: RemoteLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE", 7)
    named = [
        replace(row, files=tuple(FileRecord(Path(file.path).name, row.bytes, 0) for file in row.files), pixels=None)
        for row in library
    ]
    assert list(remote) == named
    assert remote[named[3].id] == named[3]
    assert named[3] in remote
    assert "nobody" not in remote
    assert remote.to_arrow().column("top").to_pylist() == library.to_arrow().column("top").to_pylist()
    assert [(it.path, it.reason) for it in remote.failures()] == [
        ("bad.jpg", failure.reason) for failure in library.failures()
    ]


COLOURS_WORKER = """
import os, sys
import viewfinder.library
from viewfinder.server.jobs.worker import main
from viewfinder.testing import load_colour_encoder

os.nice = lambda increment: 0  # the test waits for it, also on a busy machine
viewfinder.library.load_encoder = load_colour_encoder
sys.exit(main())
"""
"""A worker (`viewfinder.server.jobs.worker`) that knows colours only."""


@pytest.mark.slow
def test_pictures_of_this_machine_are_added_on_a_server_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setattr(worker, "COMMAND", (sys.executable, "-c", COLOURS_WORKER))
    mine = tmp_path / "mine"
    drawn = tiny_pictures(mine, 3)
    (mine / "again.png").write_bytes(drawn[0].path.read_bytes())
    (mine / "bad.jpg").write_bytes(b"no picture")
    with served(Library.open(tmp_path / "library")) as url, viewfinder.connect(url) as empty:
        assert list(empty) == []
        report = empty.add(mine)
        counts = (report.found, report.added, report.duplicates, report.quarantined, report.stopped)
        assert counts == (5, 3, 1, 1, False)
        assert [Path(failure.path).name for failure in report.failures] == ["bad.jpg"]
        assert empty.failures() == []
        end = time.monotonic() + 120
        while len(empty) < 3 and time.monotonic() < end:  # the server sees them a moment after its job has ended
            time.sleep(0.1)
        again = empty.add(drawn[1].path)
        assert (again.found, again.added, again.unchanged) == (1, 0, 1)
        assert len(empty) == 3
        with pytest.raises(BadInput, match="no such folder or file"):
            empty.add(tmp_path / "nowhere")
        first, second, third = empty
        empty.remove(first, second.id)
        while len(empty) > 1 and time.monotonic() < end + 120:
            time.sleep(0.1)
        assert list(empty) == [third]
        assert drawn[1].path.exists()
        with pytest.raises(UnknownName, match="nobody"):
            empty.remove("nobody")


def test_a_request_that_comes_too_soon_is_sent_again(remote: RemoteLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("viewfinder.client.time.sleep", waited.append)
    answers = [httpx.Response(429, headers={"Retry-After": "2"}), httpx.Response(200, json={"pictures": 3})]
    monkeypatch.setattr(remote._http, "request", lambda *args, **given: answers.pop(0))
    assert len(remote) == 3
    assert waited == [2]


def test_a_picture_of_the_library_is_searched_by_without_sending_it(library: Library, remote: RemoteLibrary) -> None:
    first = library.find("red")[0]
    here = library.find("but blue", like=first)
    assert here[0].id != first.id
    assert library.find(like=first)[0].id == first.id
    for known in (first, first.id, library[first]):
        assert told(library.find("but blue", like=known)) == told(here)
        assert told(remote.find("but blue", like=known)) == told(here)


def test_an_image_of_ones_own_is_sent_and_forgotten(library: Library, remote: RemoteLibrary, tmp_path: Path) -> None:
    image = Image.fromarray(draw_halves("green", "black", size=(50, 40)))
    image.save(tmp_path / "mine.png")
    here = library.find(like=image)
    for mine in (
        tmp_path / "mine.png",
        str(tmp_path / "mine.png"),
        image,
        draw_halves("green", "black", size=(50, 40)),
        (tmp_path / "mine.png").read_bytes(),
    ):
        assert told(remote.find(like=mine)) == told(here)
    with pytest.raises(BadInput, match="no such image"):
        remote.find(like="nowhere.png")
    kept = [file.name for file in (library.folder / "server" / "uploads").rglob("*") if file.is_file()]
    assert kept == [".lock"]


def test_a_conversation_goes_the_same_way_on_a_server_as_here(library: Library, remote: RemoteLibrary) -> None:
    def conversation(chat: TurnMethods) -> Iterator[Any]:
        hits = chat.say("red")
        yield told(hits), chat.question
        yield told(chat.like(hits[2], but="blue")), chat.question
        yield told(chat.reject(hits[0], text="white")), chat.question
        yield told(chat.keep("top", turn=1)), chat.question
        if chat.question is not None:
            yield told(chat.answer(chat.question.choices[0])), chat.question
        if chat.question is not None:
            yield told(chat.skip()), chat.question
        yield told(chat.like(draw_halves("red", "blue"), "darker")), chat.question
        yield told(chat.back_to(1)), chat.question
        yield told(chat.take(Say("black"))), chat.question

    here, there = library.chat(), remote.chat()
    steps = list(conversation(here))
    assert list(conversation(there)) == steps
    assert any(question is not None for _, question in steps)
    first = here.conversation.here.shown[0]
    assert there.rank_of(first) == here.rank_of(first) == 0
    assert there.rank_of(here.conversation.nodes[1].shown[-1]) == here.rank_of(here.conversation.nodes[1].shown[-1])
    assert len(there.conversation) == len(here.conversation)


def test_a_conversation_that_began_here_goes_on_there(library: Library, remote: RemoteLibrary) -> None:
    here = library.chat(n=5)
    here.say("red")
    there = remote.chat(n=5, conversation=here.conversation)
    assert there.question == here.question
    assert told(there.say("over blue")) == told(here.say("over blue"))
    there.forget()
    with pytest.raises(UnknownName, match="there is no session"):
        there.say("red")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda it: it.find(" "), EmptyQuery),
        (lambda it: it.find("red", where={"nothing": "x"}), UnknownName),
        (lambda it: it.find("red", where={"top": "mauve"}), UnknownName),
        (lambda it: it.find("red", n=0), BadInput),
        (lambda it: it.chat("nobody"), UnknownName),
        (lambda it: it.chat(questioner="nobody"), UnknownName),
        (lambda it: it.chat(picture_bias=1.0), BadInput),
        (lambda it: it.chat().say(""), EmptyQuery),
        (lambda it: it.chat().answer("red"), BadInput),
        (lambda it: it.chat().like("nobody"), UnknownName),
        (lambda it: it.chat().keep("colour", 7), BadInput),
        (lambda it: it.chat().back_to(7), BadInput),
        (lambda it: it.chat().show("nowhere.png"), BadInput),
        (lambda it: it.chat().rank_of("nobody"), UnknownName),
        (lambda it: it.chat().rank_of("a/../b?c#"), UnknownName),
        (lambda it: it.chat().rank_of(3), BadInput),
    ],
)
def test_what_is_refused_here_is_refused_there_as_the_same_error(
    library: Library, remote: RemoteLibrary, wrong: Callable[[Any], object], kind: type[ViewfinderError]
) -> None:
    for which in (library, remote):
        with pytest.raises(kind) as refused:
            wrong(which)
        assert type(refused.value) is kind
        assert "\n" not in str(refused.value)


def test_every_kind_of_problem_of_a_server_is_an_error_of_its_own() -> None:
    kinds = {kind: error for error, (_, kind) in KINDS.items()}
    assert kinds | {"not-found": UnknownName} == client.ERRORS


def test_a_session_has_all_that_one_says_from_the_same_place() -> None:
    assert issubclass(Session, TurnMethods) and issubclass(client.RemoteSession, TurnMethods)


def test_a_server_that_wants_a_token_says_how_to_give_it(library: Library) -> None:
    settings = ServerSettings(_env_file=None, tokens_always=True)
    database = Database.open(database_url(library.folder, settings))
    try:
        secret = Tokens(TokenRows(database), settings).create("somebody", ("read", "write")).secret
    finally:
        database.close()
    with served(library, tokens_always=True) as url:
        for token in (None, "vf_wrong"):
            with pytest.raises(BadInput, match=r"token.*viewfinder.connect\(url, token=...\)"):
                viewfinder.connect(url, token)
        with viewfinder.connect(url, token=secret) as connected:
            assert connected.chat().say("red")


def test_where_no_viewfinder_answers_that_is_said() -> None:
    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as other:
        threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_address[1]}"
        with pytest.raises(ServerFailed, match="answers as no server of viewfinder does"):
            viewfinder.connect(url)
        other.shutdown()
    with pytest.raises(ServerFailed, match=r"cannot be reached .* is `viewfinder serve` running there"):
        viewfinder.connect(url)


@pytest.mark.parametrize("url", ["localhost:8008", "", "ftp://x", 3, None, b"http://x", "http://[", "http://\0"])
def test_an_address_that_is_none_is_refused(url: Any) -> None:
    with pytest.raises((BadInput, ServerFailed)):
        viewfinder.connect(url)


def test_a_closed_connection_says_so(library: Library) -> None:
    with served(library) as url:
        with viewfinder.connect(url) as connected:
            chat = connected.chat()
        with pytest.raises(ServerFailed, match="connect again"):
            chat.say("red")


def test_a_busy_server_is_no_wrong_use(remote: RemoteLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(*args: object, **kwargs: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(ThreadPool, "run_stoppable", busy)
    with pytest.raises(ServerFailed, match="unforeseen"):
        remote.find("red")


def test_the_python_of_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    monkeypatch.setenv("HOME", str(tmp_path))
    tiny_pictures(tmp_path / "Pictures", 6)
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
    first, read, known, _, images, server, aio = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(first, "python.md", "exec"), names)
    assert names["table"].num_rows == names["everything"].num_rows == 6
    names["library"] = viewfinder.open("~/pictures.vf")
    exec(compile(read, "python.md", "exec"), names)
    assert [fact.kind for fact in names["hits"].reading.facts] == ["time"]
    exec(compile(known, "python.md", "exec"), names)
    exec(compile(images, "python.md", "exec"), names)
    with served(names["library"]) as url:
        exec(compile(server.replace("http://127.0.0.1:8008", url), "python.md", "exec"), names)
    names["chat"] = names["library"].chat()
    exec(compile(aio, "python.md", "exec"), names)
    assert len(names["names"]) == 5 and all(name.endswith(".png") for name in names["names"])
    assert "6 pictures" in capsys.readouterr().out
