"""The language model is behind a real HTTP server on this machine; a real one in this process: test_smollm2.py."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Question, Say, Show
from viewfinder.errors import LanguageModelFailed
from viewfinder.language.endpoint import Endpoint
from viewfinder.questioners.base import Candidates, prepare_questioner
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.questioners.llm import FewShotQuestioner
from viewfinder.questioners.names import Fallback

ASKED = Question("Is it big?", ("yes", "no"), "llm")
COLOUR = (("red", "blue"), np.array([0, 1], np.int32))


def view(*, said: str = "a dog on a beach") -> Candidates:
    return Candidates(
        np.array([0.5, 0.5]),
        np.zeros((2, 3)),
        columns={"colour": COLOUR},
        said=(said, "no"),
        asked=(ASKED,),
        turns=(Say(said), Answer(ASKED, "no")),
    )


@dataclass
class Server:
    """A chatting model: what it is asked, what it says to the n-th request (None: it closes the connection)."""

    url: str = ""
    say: Callable[[int], str | None] = lambda n: "is it raining?"
    asked: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def questioner(self, **settings: Any) -> FewShotQuestioner:
        return FewShotQuestioner(Endpoint(f"{self.url}/v1", "tiny"), **({"seconds": 60.0} | settings))


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = made.say(len(made.asked) - 1)
            if said is None:
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [{"message": {"content": said}}]}).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()
    listening.shutdown()
    listening.server_close()
    thread.join()


def test_it_asks_what_the_model_asks_with_the_answers_that_are_open(server: Server) -> None:
    server.say = lambda n: "Question: is the dog wet or dry? Answer: wet"
    question = server.questioner().ask(view())
    assert question == Question(
        "Is the dog wet or dry?", ("wet", "dry", "don't know"), "llm", "tiny read the conversation; it sees no pictures"
    )
    prompt = server.asked[0]["messages"][0]["content"]
    assert prompt.endswith("Photograph: a dog on a beach\nQuestion: Is it big?\nAnswer: no\nQuestion:")


def test_where_nothing_was_said_in_words_it_has_nothing_to_ask(server: Server) -> None:
    pictured = Candidates(np.array([0.5, 0.5]), np.zeros((2, 3)), turns=(Show("my.jpg"),))
    assert server.questioner().ask(pictured) is None and server.asked == []


@pytest.mark.parametrize("first", ["is it big?", "Is there a dog?", "blah blah", "", None])
def test_what_will_not_do_is_tried_again_warmer_and_with_another_seed(server: Server, first: str | None) -> None:
    server.say = lambda n: first if n == 0 else "is it raining?"
    question = server.questioner().ask(view())
    assert question is not None and question.text == "Is it raining?"
    assert [(asked["temperature"], asked["seed"]) for asked in server.asked] == [(0.0, 3), (0.7, 4)]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("is it big?", "tiny asked what is known"),
        ("xqzt plmk brrr?", "tiny asked no question"),
        ("  ", "tiny said nothing"),
        (None, "tiny broke off (RemoteProtocolError)"),
    ],
)
def test_after_three_tries_another_asks_and_says_so(server: Server, said: str | None, wrong: str) -> None:
    server.say = lambda n: said
    question = Fallback(server.questioner(), InformationGain()).ask(view())
    assert question is not None
    assert (question.by, question.text) == ("information_gain", "What colour is it?")
    assert question.why.startswith(f"llm failed ({wrong}): asked by information_gain instead; ")
    assert len(server.asked) == 3


def test_a_model_that_hangs_stalls_no_dialogue(server: Server) -> None:
    server.say = lambda n: str(server.released.wait())
    question = Fallback(server.questioner(seconds=0.3), InformationGain()).ask(view())
    assert question is not None and "tiny took longer than 0." in question.why
    assert len(server.asked) == 1  # no time is left for another try


def test_all_tries_share_one_time(server: Server) -> None:
    """By a clock of its own, on which a try takes 4 s: 10 s are over in the third."""
    times = iter([0.0, 0.0, 4.0, 8.0, 12.0])
    server.say = lambda n: "no question"
    questioner = FewShotQuestioner(
        Endpoint(f"{server.url}/v1", "tiny"), temperatures=(0.0,) * 9, clock=lambda: next(times)
    )
    with pytest.raises(LanguageModelFailed, match="asked no question"):
        questioner.ask(view())
    assert len(server.asked) == 3


def test_a_model_behind_an_endpoint_needs_no_preparing(server: Server) -> None:
    prepare_questioner(server.questioner())
    assert server.asked == []
