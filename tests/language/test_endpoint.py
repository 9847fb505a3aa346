"""Against a real HTTP server on this machine."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language.endpoint import KEY_VARIABLE, Endpoint, parse_endpoint

LONG = 60.0
"""Seconds that no request here takes."""


@dataclass
class Served:
    """What was asked of the server, and what it answers: a body, or (status, body), or something that it does."""

    url: str = ""
    reply: Callable[[str, dict[str, Any]], Any] = lambda path, asked: chat("Is it big?")
    asked: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def model(self) -> Endpoint:
        return Endpoint(f"{self.url}/v1", "tiny")


def chat(text: str | None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}


def handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((self.path, asked, self.headers.get("Authorization")))
            reply = served.reply(self.path, asked)
            status, body = reply if isinstance(reply, tuple) else (200, reply)
            if body is None:
                return  # closes the connection
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def served() -> Iterator[Served]:
    answers = Served()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(answers))
    answers.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield answers
    answers.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


def failure(model: Endpoint, seconds: float = LONG) -> str:
    with pytest.raises(LanguageModelFailed) as caught:
        model.complete("A dog.\nQuestion:", seconds=seconds)
    said = str(caught.value)
    assert said.startswith("tiny ") and "\n" not in said and "127.0.0.1" not in said
    return said


def test_the_prompt_is_a_message_and_the_answer_is_cut_at_the_stop(served: Served) -> None:
    served.reply = lambda path, asked: chat("\n Is it big?\nAnswer: no")
    said = served.model().complete("A dog.\nQuestion:", most_tokens=9, temperature=0.5, seed=3, seconds=LONG)
    assert said == "Is it big?"
    path, asked, key = served.asked[0]
    assert (path, key) == ("/v1/chat/completions", None)
    assert asked["model"] == "tiny" and asked["messages"] == [{"role": "user", "content": "A dog.\nQuestion:"}]
    assert (asked["max_tokens"], asked["temperature"], asked["seed"]) == (9, 0.5, 3)


def test_a_server_without_chat_is_asked_to_complete_and_asked_so_from_then_on(served: Served) -> None:
    served.reply = lambda path, asked: (
        (404, b"no such path") if "chat" in path else {"choices": [{"text": f" {asked['prompt']} too"}]}
    )
    model = served.model()
    assert [model.complete("A dog", seconds=LONG) for _ in range(2)] == ["A dog too", "A dog too"]
    assert [path for path, *_ in served.asked] == ["/v1/chat/completions", "/v1/completions", "/v1/completions"]


def test_the_key_is_sent_and_never_shown(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "s3cret")
    served.reply = lambda path, asked: (401, {"error": "s3cret is unknown"})
    with caplog.at_level(logging.DEBUG):
        said = failure(served.model())
    assert served.asked[0][2] == "Bearer s3cret"
    assert said == f"tiny refuses the key (HTTP 401): set {KEY_VARIABLE}"
    assert "s3cret" not in caplog.text


def test_a_key_that_is_no_header_is_not_quoted_either(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "s3cret\nand more")
    assert "s3cret" not in failure(served.model())


def test_a_parameter_that_the_model_refuses_is_renamed_or_left_out(served: Served) -> None:
    def reply(path: str, asked: dict[str, Any]) -> Any:
        for name in ("max_tokens", "seed"):
            if name in asked:
                return 400, {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}
        return chat("Is it big?")

    served.reply = reply
    model = served.model()
    model.complete("A dog", most_tokens=9, seconds=LONG)
    assert served.asked[-1][1]["max_completion_tokens"] == 9 and "seed" not in served.asked[-1][1]
    model.complete("A dog", seconds=LONG)
    assert len(served.asked) == 4  # both refusals are remembered


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((500, b"oh"), "answered HTTP 500"),
        ((429, b"slower"), "was asked too often (HTTP 429)"),
        ((404, b"what?"), "is not there (HTTP 404): check the endpoint's address and the model's name"),
        ((302, b""), "answered HTTP 302"),
        (b"<html>", "answered something else than a completion"),
        (b"\xff\xfe", "answered something else than a completion"),
        ({"choices": []}, "answered something else than a completion"),
        ({"choices": "yes"}, "answered something else than a completion"),
        ([1, 2], "answered something else than a completion"),
        ({"choices": [{"message": {"content": {"text": "hm"}}}]}, "answered something else than text"),
        (chat(None), "said nothing"),
        (chat("  \n "), "said nothing"),
        (None, "broke off (RemoteProtocolError)"),
        (b"x" * 1_000_001, "broke off (ValueError)"),
    ],
)
def test_whatever_is_no_completion_is_said_in_one_line(served: Served, reply: Any, said: str) -> None:
    served.reply = lambda path, asked: reply
    assert failure(served.model()) == f"tiny {said}"


def test_a_server_that_hangs_is_not_waited_for(served: Served) -> None:
    served.reply = lambda path, asked: (served.released.wait(), chat("late"))[1]
    begun = time.monotonic()
    assert failure(served.model(), seconds=0.2) == "tiny took longer than 0.2 s"
    assert time.monotonic() - begun < LONG / 2


def test_a_server_that_sends_a_little_at_a_time_is_not_waited_for_either() -> None:
    """Each piece is in time, so that no time-out of a single read would end it."""
    listening, released = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def drip() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not released.wait(0.02):
                connection.sendall(b"x-more: yes\r\n")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        model = Endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "tiny")
        assert failure(model, seconds=0.3) == "tiny took longer than 0.3 s"
    finally:
        released.set()
        thread.join()
        listening.close()


def test_an_address_where_nobody_listens_is_said(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = failure(Endpoint(f"http://127.0.0.1:{port}/v1", "tiny"))
    assert said == "tiny cannot be reached: check the endpoint's address"


@pytest.mark.parametrize(
    "source", ["http://localhost:8080/v1", "http://#tiny", "https://localhost/v1#  ", "http://[#a"]
)
def test_an_address_without_host_or_model_is_refused(source: str) -> None:
    with pytest.raises(BadInput, match="needs a host and, after '#', the model"):
        parse_endpoint(source)


def test_the_model_is_what_stands_after_the_hash() -> None:
    assert parse_endpoint("http://localhost:8080/v1/#org/tiny-2").name == "org/tiny-2"
