"""A library on a server beside the same library here: what one says and gets is the same."""

from __future__ import annotations

import asyncio
import http.server
import re
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from PIL import Image

import viewfinder
import viewfinder.library
from viewfinder import aio, client
from viewfinder.client import RemoteLibrary
from viewfinder.conversation import Say
from viewfinder.errors import BadInput, EmptyQuery, MovedOn, ServerFailed, UnknownName, ViewfinderError
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
        yield told(chat.undo()), chat.question
        yield told(chat.undo()), chat.question  # back to the start
        yield told(chat.say("black")), chat.question

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


def test_a_turn_does_not_follow_what_its_speaker_has_not_seen(library: Library, remote: RemoteLibrary) -> None:
    one = remote.chat()
    one.say("red")
    other = remote.resume(one.id)
    assert (other.turn, other.question) == (1, one.question)
    other.say("over blue")
    assert one.said_since() == ['"over blue"']
    with pytest.raises(MovedOn, match="went on from elsewhere") as refused:
        one.say("white")
    assert refused.value.since == ('"over blue"',)
    assert len(one.conversation) == 2, "it was not taken"

    here = library.chat()
    here.say("red")
    assert told(one.catch_up()) == told(here.say("over blue"))
    assert (one.turn, one.said_since()) == (2, [])
    assert told(one.say("white")) == told(here.say("white"))
    other.on_conflict = "branch"
    here.back_to(2)
    assert told(other.say("black")) == told(here.say("black"))
    assert [node.parent for node in other.conversation.nodes] == [0, 0, 1, 2, 2, 4]
    with pytest.raises(BadInput, match="neither refuse nor branch"):
        remote.chat(on_conflict="follow")  # type: ignore[arg-type]


def test_what_a_conversation_on_a_server_does_is_awaited_too(remote: RemoteLibrary) -> None:
    async def talk() -> None:
        chat = await aio.run(remote.chat)
        hits = await aio.run(chat.say, "red")
        await aio.run(chat.say, "over blue")
        assert told(await aio.run(chat.undo)) == told(hits)
        kept = await aio.run(lambda: next(remote.conversations("over blue")))
        other = await aio.run(remote.resume, kept)
        await asyncio.gather(*(aio.run(other.say, text) for text in ("white", "black")))
        assert await aio.run(chat.said_since) == ['"white"', '"black"']
        with pytest.raises(MovedOn):
            await aio.run(chat.undo)
        await aio.run(chat.catch_up)
        await aio.run(chat.undo)
        assert [getattr(node.turn, "text", "") for node in chat.conversation.path()] == ["red", "white"]

    asyncio.run(talk())


def test_the_conversations_that_a_server_keeps_are_searched_and_gone_on_with(
    remote: RemoteLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_CONVERSATIONS", 2)
    chats = [remote.chat() for _ in range(4)]
    for chat, words in zip(chats, ("a blue heron", "a heroic red", "green", "a blue hero"), strict=True):
        chat.say(words)
    kept = list(remote.conversations())
    assert [it.id for it in kept[:4]] == [chat.id for chat in reversed(chats)]
    assert (kept[0].name, kept[0].turns, kept[0].matches) == ("a blue hero", 1, ())
    assert (datetime.now(UTC) - kept[0].updated).total_seconds() < 3600
    chats[2].say("with a hero")
    found = list(remote.conversations("hero"))
    assert [it.id for it in found] == [chats[place].id for place in (2, 3, 1)] + [chats[0].id]
    assert found[0].matches == ((2, "with a hero"),)
    assert [it.id for it in remote.conversations("HERO blue")] == [chats[3].id, chats[0].id]
    assert list(remote.conversations("zeppelin & co?")) == []
    again = remote.resume(found[0])
    assert (again.turn, len(again.say("and white")), again.turn) == (2, 10, 3)
    again.forget()
    with pytest.raises(UnknownName, match="there is no session"):
        remote.resume(again.id)


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
        (lambda it: it.chat().undo(), BadInput),
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


def test_a_ticket_is_for_a_visitors_browser(library: Library) -> None:
    with served(library) as url, viewfinder.connect(url) as shop:
        made = shop.make_ticket(minutes=5)
        again = shop.make_ticket(made.visitor)
        assert (again.visitor, again.token != made.token, again.expires > made.expires) == (made.visitor, True, True)
        with viewfinder.connect(url, token=made.token) as visitor:
            assert visitor.find("red", 1)
            with pytest.raises(BadInput, match="tickets"):
                visitor.make_ticket()


def test_albums_marks_and_files_of_a_server(remote: RemoteLibrary, library: Library, tmp_path: Path) -> None:
    one, two, three = (hit.id for hit in library.find("red", 3))
    album = remote.make_album("Summer", [two, one])
    assert (album.pictures, album.missing, remote.album_pictures(album)) == (2, 0, [two, one])
    with pytest.raises(BadInput, match="Summer"):
        remote.make_album("Summer")
    album = remote.change_album(album.id, name="Winter", add=[three], remove=[two])
    assert (album.name, remote.album_pictures(album), remote.albums()) == ("Winter", [one, three], [album])
    remote.mark(one, three, favourite=True, stars=4)
    remote.mark(three, stars=0)
    assert remote.marks(one, two, three) == {
        one: client.Mark(True, 4, (album.id,)),
        two: client.Mark(False, 0, ()),
        three: client.Mark(True, 0, (album.id,)),
    }
    assert {hit.id for hit in remote.find("red", where={"stars": "4"})} == {one}

    file = library[one].path
    saved = remote.download(one, tmp_path)
    assert (saved.name, saved.read_bytes()) == (file.name, file.read_bytes())
    with pytest.raises(BadInput, match="there already"):
        remote.download(one, tmp_path)
    with zipfile.ZipFile(remote.export(tmp_path / "all.zip", album=album)) as archive:
        assert archive.namelist() == [file.name, library[three].path.name]
    table = remote.export(tmp_path / "all.csv", [one], kind="csv", fields=["name", "top"]).read_text("utf-8-sig")
    assert table.splitlines() == ["name,top", f"{file.name},{library[one].attributes['top'][0]}"]
    with pytest.raises(UnknownName):
        remote.export(tmp_path / "none.csv", [one], kind="csv", fields=["nonsense"])
    alone = remote.export(tmp_path / "alone.csv", [one], kind="csv", fields="top").read_text("utf-8-sig")
    assert alone.splitlines()[0] == "top"
    for wrong in (3, [3]):
        with pytest.raises(BadInput, match=": str"):
            remote.export(tmp_path / "none.csv", [one], kind="csv", fields=wrong)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match=": str"):
            remote.find("red", fields=wrong)  # type: ignore[arg-type]
    remote.delete_album(album)
    with pytest.raises(UnknownName):
        remote.album_pictures(album)
    assert remote.albums() == [] and {it.name for it in tmp_path.iterdir()} == {
        "all.csv",
        "alone.csv",
        "all.zip",
        file.name,
    }


def test_columns_and_an_order_are_asked_for_as_here(library: Library, remote: RemoteLibrary) -> None:
    asked: dict[str, Any] = {"text": "red", "fields": ["top"], "sort": "-top", "n": COUNT}
    there, here = remote.find(**asked), library.find(**asked)
    assert told(there) == told(here)
    assert [dict(hit.fields) for hit in there] == [dict(hit.fields) for hit in here]
    chat = remote.chat(questioner=None, n=3, fields="top", sort="top")
    tops = [hit.fields["top"][0] for hit in chat.say("red") if hit.match != "unlikely"]
    assert tops and tops == sorted(tops)
    with pytest.raises(UnknownName, match=r"sort: there is no column called 'prize'; there are: top"):
        remote.find("red", sort="prize")
    with pytest.raises(UnknownName, match="no column called 'prize'"):
        remote.find("red", fields="prize")


@pytest.mark.parametrize("id", ["", ".", "..", "../sessions", "a/b", "a?b=1", "%2e%2e", "\n", "x" * 65, "\ud800"])
def test_an_id_that_would_be_another_address_is_nobodys(remote: RemoteLibrary, id: str) -> None:
    chat = remote.chat()
    asked: list[Callable[[], object]] = [
        lambda: remote[id],
        lambda: remote.remove(id),
        lambda: remote.download(id, "picture.jpg"),
        lambda: remote.resume(id),
        lambda: remote.delete_album(id),
        lambda: remote.change_album(id, name="x"),
        lambda: chat.rank_of(id),
    ]
    for ask in asked:
        with pytest.raises(UnknownName, match=r"there is no (picture|session|album)"):
            ask()
    assert id not in remote


def test_the_address_of_the_api_is_that_of_its_server(remote: RemoteLibrary) -> None:
    with viewfinder.connect(f"{remote.url}/api/v1/") as again:
        assert again.url == remote.url and len(again) == len(remote)


def test_an_address_with_a_path_of_its_own_is_no_server(remote: RemoteLibrary) -> None:
    with pytest.raises(ServerFailed, match=f"{remote.url}/search: no server of viewfinder answers there"):
        viewfinder.connect(f"{remote.url}/search")


def test_a_library_of_a_server_says_where_it_is_and_not_by_which_token(remote: RemoteLibrary) -> None:
    assert repr(remote) == f"<RemoteLibrary {remote.url}>"
