"""A vision-language model behind an endpoint: against a real HTTP server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.vision_server import Reply, complete, serve_vision
from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language.describer import (
    MAX_CAPTION,
    MAX_OBJECTS,
    MAX_WAIT_S,
    BadAnswer,
    Busy,
    Describer,
    Description,
    parse_describer,
    parse_description,
)
from viewfinder.language.endpoint import KEY_VARIABLE

GOOD: dict[str, Any] = {"caption": "A red bus.", "objects": ["Bus", "road", "bus"], "text": ["Route 9"]}
SAID = Description("A red bus.", ("bus", "road"), ("Route 9",), 700, 50)


def ask(reply: Callable[[bytes, int], Reply], *, seconds: float = 60.0, times: int = 1) -> list[Description]:
    with serve_vision(reply) as vision:
        describer = Describer(vision.url, "tiny", seconds=seconds)
        return [describer.describe(b"a picture") for _ in range(times)]


def test_a_picture_goes_as_jpeg_with_a_prompt_and_comes_back_as_caption_things_and_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    with serve_vision(lambda jpeg, number: GOOD) as vision:
        assert Describer(f"{vision.url}/", "tiny").describe(b"\xff\xd8 picture") == SAID
    [asked] = vision.asked
    assert (asked["path"], asked["model"]) == ("/v1/chat/completions", "tiny")
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["caption", "objects", "text"]
    assert vision.pictures == [b"\xff\xd8 picture"]
    assert vision.keys == ["Bearer secret"]


def test_what_is_meant_for_this_machine_goes_to_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask(lambda jpeg, number: GOOD) == [SAID]


@pytest.mark.parametrize("refused", ["json_schema is not supported", "unknown field", ""])
def test_a_server_without_schemas_is_asked_in_words_and_not_asked_for_them_again(refused: str) -> None:
    def reply(jpeg: bytes, number: int) -> Reply:
        asked = vision.asked[number]
        if "response_format" in asked:
            return 400, {}, json.dumps({"error": {"message": refused}}).encode()
        return f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\nAnything else?"

    with serve_vision(reply) as vision:
        describer = Describer(vision.url, "tiny")
        assert [describer.describe(b"x") for _ in range(2)] == [SAID, SAID]
    kinds = [asked.get("response_format", {}).get("type") for asked in vision.asked]
    assert kinds == ["json_schema", "json_object", None, None]


def test_parameters_that_newer_models_refuse_go_by_their_newer_names() -> None:
    def reply(jpeg: bytes, number: int) -> Reply:
        for name in ("max_tokens", "temperature"):
            if name in vision.asked[number]:
                return 400, {}, f"unsupported: {name}".encode()
        return GOOD

    with serve_vision(reply) as vision:
        assert Describer(vision.url, "tiny").describe(b"x") == SAID
    assert "max_completion_tokens" in vision.asked[-1]
    assert len(vision.asked) == 3


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('{"caption": "A red bus.", "objects": ["bus"', "no JSON object"),
        ("I think it is a bus.", "no JSON object"),
        ("", "said nothing"),
        ('<think>{"caption": "A draft."}', "no JSON object"),
        ('{"objects": ["bus"]}', "no JSON object"),
        ('{"caption": 7}', "no caption"),
        ('{"caption": "..."}', "no caption"),
        ('{"caption": "A bus.", "objects": {"bus": 1}}', "'objects' is no list of texts"),
        ('{"caption": "A bus.", "text": [1]}', "'text' is no list of texts"),
        (json.dumps({"caption": "a" * (MAX_CAPTION + 1)}), "a caption of more than"),
        ('{"caption": "I\'m sorry, I cannot help with that."}', "refused"),
        ('{"caption": "one sentence on who or what is there, what happens and where"}', "repeated"),
        ("[" * 100_000, "no JSON object"),
        ('{"a":' * 20_000, "no JSON object"),
    ],
)
def test_what_is_not_as_it_was_asked_for_is_refused_as_a_whole(said: str, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        parse_description(said)


@pytest.mark.parametrize(
    "said",
    [
        json.dumps(GOOD),
        f"<think>a bus {{or}} not</think>{json.dumps(GOOD)}",
        f"Sure! {json.dumps(GOOD)} Is that all?",
        json.dumps({"answer": GOOD}),
        json.dumps(GOOD, indent=3).replace('["Bus", "road", "bus"]', '["Bus", "road"]'),
    ],
)
def test_an_object_is_found_among_other_words(said: str) -> None:
    assert parse_description(said, 700, 50) == SAID


def test_lists_are_bounded_and_what_is_too_long_for_a_name_is_left_out() -> None:
    found = parse_description(json.dumps({"caption": "Things.", "objects": ["x" * 61, *(f"a{n}" for n in range(99))]}))
    assert found.objects == tuple(f"a{n}" for n in range(MAX_OBJECTS))
    assert found.text == ()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (complete(json.dumps(GOOD), finish="length"), "broke off"),
        (complete(json.dumps(GOOD))[:40], "something else than JSON"),
        (b"[]", "something else than a completion"),
        (b'{"choices": []}', "something else than a completion"),
        (b'{"choices": [{"message": {"content": [1]}}]}', "something else than text"),
        (b"x" * 1_000_001, "more than 1 MB"),
        ((500, {}, b"out of memory"), "HTTP 500"),
        (None, "connection broke"),
    ],
)
def test_a_broken_answer_is_said_to_be_one(reply: Reply, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        ask(lambda jpeg, number: reply)


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    released = threading.Event()

    def reply(jpeg: bytes, number: int) -> Reply:
        released.wait(60)
        return GOOD

    with serve_vision(reply) as vision:
        try:
            with pytest.raises(BadAnswer, match=r"took longer than 0\.2 s"):
                Describer(vision.url, "tiny", seconds=0.2).describe(b"x")
        finally:
            released.set()


def in_ten_seconds() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)


@pytest.mark.parametrize(
    ("status", "said", "least", "most"),
    [(429, "7", 7, 7), (503, "1.5", 1.5, 1.5), (429, "", 5, 5), (429, "soon", 5, 5), (503, "99999", 300, MAX_WAIT_S),
     (429, "0", 0.05, 0.05), (429, "a date", 8, 10)],
)  # fmt: skip
def test_a_busy_server_says_when_to_come_back(status: int, said: str, least: float, most: float) -> None:
    with pytest.raises(Busy) as caught:
        ask(lambda jpeg, number: (status, {"Retry-After": in_ten_seconds() if said == "a date" else said}, b"{}"))
    assert least <= caught.value.seconds <= most


@pytest.mark.parametrize(
    ("status", "body", "line"),
    [
        (401, b"{}", f"tiny refuses the key .HTTP 401.: set {KEY_VARIABLE}"),
        (404, b'{"error": {"message": "model \\"tiny\\" not found"}}', 'is not there .*: model "tiny" not found'),
        (400, b'{"error": "this model has no eyes"}', "answered HTTP 400: this model has no eyes"),
        (418, b"", "answered HTTP 418"),
    ],
)
def test_a_server_that_refuses_everything_ends_the_work(status: int, body: bytes, line: str) -> None:
    with pytest.raises(LanguageModelFailed, match=line):
        ask(lambda jpeg, number: (status, {}, body))


def test_an_endpoint_that_is_not_there_says_so() -> None:
    with pytest.raises(LanguageModelFailed, match="tiny cannot be reached"):
        Describer("http://127.0.0.1:9/v1", "tiny").describe(b"x")


@pytest.mark.parametrize(
    ("url", "is_here"),
    [("http://localhost:11434/v1", True), ("http://127.0.0.9/v1", True), ("http://[::1]:8080/v1", True),
     ("http://ollama.localhost/v1", True), ("http://192.168.0.7/v1", False), ("https://api.example.org/v1", False)],
)  # fmt: skip
def test_whether_pictures_leave_this_machine_is_told_by_the_address(url: str, is_here: bool) -> None:
    assert Describer(url, "m").is_here is is_here


@pytest.mark.parametrize(
    "source", ["localhost:11434/v1#m", "http:///v1#m", "http://h/v1", "ftp://h/v1#m", "http://[::1#m"]
)
def test_what_is_no_endpoint_with_a_model_is_refused(source: str) -> None:
    with pytest.raises(BadInput):
        parse_describer(source)
