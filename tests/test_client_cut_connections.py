"""A library on a server whose connections are cut: what one says is said once, and what one hears is heard whole."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, ClassVar

import pytest

import viewfinder
import viewfinder.library
import viewfinder.retrievers
from tests.hostile.cuts import Cut, CuttingProxy
from tests.test_client import served, told
from viewfinder import client
from viewfinder.client import PAUSES_S, RemoteLibrary
from viewfinder.errors import BadInput, ServerFailed
from viewfinder.library import Library
from viewfinder.testing import draw_halves, load_colour_encoder, tiny_pictures


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut is sent again without a pause: the server is still at work on it."""
    monkeypatch.setattr(client, "PAUSES_S", (0.0,) * len(PAUSES_S))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, talker: Callable[..., Any]) -> Iterator[Library]:
    """Pairs of colours; one retriever speaks."""
    home = tmp_path_factory.mktemp("cut")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        patch.setitem(viewfinder.retrievers.RETRIEVERS, "talker", lambda checkpoint: talker())
        here = Library.open(home / "library")
        tiny_pictures(home / "pictures", 20)
        here.add(home / "pictures", workers=1)
        yield here


@pytest.fixture(scope="module")
def port(library: Library) -> Iterator[int]:
    """Of a server over it."""
    with served(library) as url:
        yield int(url.rstrip("/").rpartition(":")[2])


class Cuts:
    """Cuts the next requests to an address whose end is named; then all get through."""

    def __init__(self) -> None:
        self.due: list[tuple[str, str, Cut]] = []

    def __call__(self, method: str, path: str) -> Cut | None:
        for at, (wanted, end, cut) in enumerate(self.due):
            if wanted == method and path.endswith(end):
                del self.due[at]
                return cut
        return None


@contextmanager
def behind_proxy(port: int, *, abruptly: bool = False) -> Iterator[tuple[RemoteLibrary, Cuts]]:
    cuts = Cuts()
    with CuttingProxy(port, cuts, abruptly=abruptly) as proxy, viewfinder.connect(proxy.url) as remote:
        yield remote, cuts


TURN = ("POST", "/turns")


@pytest.mark.parametrize("abruptly", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("cut", Cut)
def test_a_turn_whose_connection_is_cut_is_taken_once_and_answered(
    library: Library, port: int, cut: Cut, abruptly: bool
) -> None:
    here = library.chat()
    with behind_proxy(port, abruptly=abruptly) as (remote, cuts):
        chat = remote.chat()
        for text in ("red", "red", "over blue"):
            cuts.due = [(*TURN, cut), (*TURN, cut)]
            assert told(chat.say(text)) == told(here.say(text))
            assert cuts.due == []
            assert chat.question == here.question
        assert chat.question is not None
        cuts.due = [(*TURN, cut)]
        assert told(chat.answer("red")) == told(here.answer("red"))
        assert len(chat.conversation) == len(here.conversation) == 4


@pytest.mark.parametrize("lost", [TURN, ("GET", "/events")], ids=["the turn", "the events"])
def test_who_gives_up_and_says_it_again_has_said_it_once(port: int, lost: tuple[str, str]) -> None:
    with behind_proxy(port) as (remote, cuts):
        chat = remote.chat()
        chat.say("green")
        cuts.due = [(*lost, Cut.UNHEARD)] * (len(PAUSES_S) + 1)
        with pytest.raises(ServerFailed, match="cannot be reached"):
            chat.say("red")
        assert cuts.due == []
        hits = chat.say("red")
        assert (chat.turn, len(chat.conversation)) == (2, 2)
        chat.say("red")  # and what is meant twice is said twice
        assert len(chat.conversation) == 3
        cuts.due = [(*lost, Cut.UNHEARD)] * (len(PAUSES_S) + 1)
        image = draw_halves("red", "blue")
        with pytest.raises(ServerFailed):
            chat.show(image, "darker")
        chat.show(image, "darker")
        assert len(chat.conversation) == 4
        assert hits


def test_an_answer_that_is_given_again_answers_the_question_that_it_was_given_to(port: int) -> None:
    with behind_proxy(port) as (remote, cuts):
        chat = remote.chat()
        chat.say("something")
        asked = chat.question
        assert asked is not None
        cuts.due = [("GET", "/events", Cut.HALF_HEARD)] * (len(PAUSES_S) + 20)
        with pytest.raises(ServerFailed):
            chat.answer("red")
        cuts.due = []
        assert chat.question == asked
        chat.answer("red")
        assert len(chat.conversation) == 2
        assert chat.question != asked


def test_a_turn_that_is_refused_after_a_cut_is_refused_and_the_next_is_taken(port: int) -> None:
    with behind_proxy(port) as (remote, cuts):
        chat = remote.chat()
        cuts.due = [(*TURN, Cut.UNHEARD)]
        with pytest.raises(BadInput, match="nobody"):
            chat.like("nobody")
        assert cuts.due == []
        chat.say("red")
        assert len(chat.conversation) == 1


def test_events_go_on_after_the_last_one_heard(library: Library, port: int) -> None:
    here = library.chat(n=20)
    with behind_proxy(port) as (remote, cuts):
        chat = remote.chat(n=20)
        cuts.due = [("GET", "/events", cut) for cut in (Cut.HALF_HEARD, Cut.UNHEARD, Cut.HALF_HEARD)]
        assert told(chat.say("red")) == told(here.say("red"))  # with all reasons
        assert cuts.due == []
        assert chat.question == here.question


def test_words_whose_connection_is_cut_come_whole_and_once(port: int) -> None:
    with behind_proxy(port) as (remote, cuts):
        chat = remote.chat("talker", None, n=3)
        for text in ("red", "blue?"):
            chat.say(text)
        whole = "".join(chat.reply())
        assert whole == "I have heard 'red' 'blue?'."
        cuts.due = [("GET", "/reply/events", cut) for cut in (Cut.HALF_HEARD, Cut.HALF_HEARD, Cut.UNHEARD)]
        assert "".join(chat.reply()) == whole
        assert cuts.due == []


def test_a_conversation_whose_beginning_is_cut_is_begun_once(port: int) -> None:
    with behind_proxy(port) as (remote, cuts):
        before = len(remote.ask("GET", "/sessions?n=200")["sessions"])
        cuts.due = [("POST", "/sessions", Cut.UNHEARD), ("POST", "/sessions", Cut.UNDER_WAY)]
        remote.chat().say("red")
        remote.chat().say("red")
        assert len(remote.ask("GET", "/sessions?n=200")["sessions"]) == before + 2


def test_reading_is_done_again_and_what_would_be_done_twice_is_not(port: int, tmp_path: Path) -> None:
    with behind_proxy(port) as (remote, cuts):
        cuts.due = [("GET", "/collection", Cut.HALF_HEARD), ("POST", "/search", Cut.UNHEARD)]
        assert len(remote) == 20
        assert remote.find("red")
        assert cuts.due == []
        cuts.due = [("POST", "/uploads", Cut.UNHEARD)]
        with pytest.raises(ServerFailed, match="cannot be reached"):
            remote.find(like=draw_halves("red", "blue"))


class Busy(http.server.BaseHTTPRequestHandler):
    """Has no time for the first requests; what it asks for is in `says`."""

    says: ClassVar[list[tuple[int, str]]]
    heard = 0

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def _answer(self) -> None:
        type(self).heard += 1
        status, after = self.says.pop(0) if self.says else (200, "")
        body = json.dumps({"id": "s", "pictures": 3} if status == 200 else {"detail": "busy", "type": "x"}).encode()
        self.send_response(status)
        if after:
            self.send_header("Retry-After", after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def busy() -> Iterator[tuple[type[Busy], RemoteLibrary]]:
    """A server that may be told to be busy, and somebody who is connected to it."""

    class Told(Busy):
        says: ClassVar = []

    kind = Told
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        with viewfinder.connect(f"http://127.0.0.1:{server.server_address[1]}") as remote:
            kind.heard = 0
            yield kind, remote
        server.shutdown()


def test_a_busy_server_is_asked_again_when_it_says(busy: tuple[type[Busy], RemoteLibrary]) -> None:
    server, remote = busy
    server.says = [(503, "0"), (429, "0"), (503, formatdate(0, usegmt=True))]
    assert len(remote) == 3
    assert server.heard == 4
    server.says = [(503, "0")]
    assert remote.chat().id == "s"


def test_a_server_that_stays_busy_is_not_waited_for_for_ever(
    busy: tuple[type[Busy], RemoteLibrary], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, remote = busy
    for says in ("9999", "soon", "", formatdate(4e9, usegmt=True)):
        server.says, server.heard = [(503, says)] * 3, 0
        with pytest.raises(ServerFailed, match="busy"):
            len(remote)
        assert server.heard == 1
    server.says, server.heard = [(503, "0")] * 100, 0
    with pytest.raises(ServerFailed, match="busy"):
        len(remote)
    assert server.heard == client.MAX_TRIES
    server.says, server.heard = [(503, "0")], 0
    with pytest.raises(ServerFailed, match="busy"):
        remote.upload(b"a picture")  # it may have been done
    assert server.heard == 1
