"""Replies in words over HTTP are recorded as the turns that they are, and the tree says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings

SESSIONS = "/api/v1/sessions"


@pytest.fixture(scope="module")
def client(colours: Library) -> Iterator[TestClient]:
    with TestClient(
        create_app(colours, ServerSettings(_env_file=None)),
        base_url="http://127.0.0.1:8008",
        client=("127.0.0.1", 50000),
    ) as client:
        yield client


class Talk:
    """A conversation over HTTP."""

    def __init__(self, client: TestClient, **settings: Any) -> None:
        self.client = client
        made = client.post(SESSIONS, json={"n": 5, "questioner": "none", **settings}).json()
        self.address = f"{SESSIONS}/{made['id']}"

    def say(self, text: str) -> dict[str, Any]:
        answer = self.client.post(f"{self.address}/turns", json={"say": text})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def tree(self) -> list[dict[str, Any]]:
        """The turns in their order, without the start."""
        return [node for node in self.client.get(self.address).json()["tree"] if node["number"]]


def shown(results: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in results["results"]]


def test_the_second_one_picks_it(client: TestClient) -> None:
    talk = Talk(client)
    second = shown(talk.say("red over blue"))[1]
    talk.say("the second one but green")
    last = talk.tree()[-1]
    assert (last["turn"]["like"], last["turn"]["but"]) == (second, "green")
    assert last["told"] == 'like result 2 but "green"'


def test_wrong_rejects_what_is_shown(client: TestClient) -> None:
    talk = Talk(client)
    before = shown(talk.say("red over blue"))
    after = shown(talk.say("wrong"))
    assert not set(before) & set(after)
    assert talk.tree()[-1]["told"] == "none of these"


def test_not_the_first_rejects_one(client: TestClient) -> None:
    talk = Talk(client)
    before = shown(talk.say("red over blue"))
    after = shown(talk.say("not the first one"))
    assert before[0] not in after
    assert after[:4] == before[1:]
    assert talk.tree()[-1]["told"] == "not result 1"


def test_undo_goes_back_a_turn(client: TestClient) -> None:
    talk = Talk(client)
    first = shown(talk.say("red over blue"))
    assert shown(talk.say("green")) != first
    assert shown(talk.say("undo")) == first
    assert talk.tree()[-1]["told"] == "back to 1"


def test_a_choice_in_other_words_answers_the_question(client: TestClient) -> None:
    talk = Talk(client, questioner="information_gain")
    talk.say("something")
    client.get(f"{talk.address}/turns/1/events")  # the question is chosen after the results
    asked = talk.tree()[0]["asked"]
    choice = asked["choices"][0]
    talk.say(f"It's {choice}.")
    last = talk.tree()[-1]
    assert last["turn"]["answer"] == choice
    assert last["told"].startswith(f'answer "{choice}" to: ')


def test_a_place_that_is_not_shown_is_named_and_nothing_is_recorded(client: TestClient) -> None:
    talk = Talk(client)
    talk.say("red over blue")
    answer = client.post(f"{talk.address}/turns", json={"say": "number 9"})
    assert answer.status_code == 422
    assert "there is no result 9: 5 are shown now" in answer.text
    assert len(talk.tree()) == 1


def test_a_description_is_recorded_as_it_was_said(client: TestClient) -> None:
    talk = Talk(client)
    talk.say("do you have a photo of red over blue?")
    assert talk.tree()[-1]["turn"] == {"say": "do you have a photo of red over blue?"}


def test_two_turns_in_a_sentence_are_two_and_answered_once(client: TestClient) -> None:
    talk = Talk(client)
    talk.say("red over blue")
    results = talk.say("start over, green over red")
    assert results["turn"] == 3
    assert shown(results) == shown(Talk(client).say("green over red"))
    assert [(node["number"], node["parent"]) for node in talk.tree()] == [(1, 0), (2, 0), (3, 2)]
    assert shown(client.get(f"{talk.address}/turns/3").json()) == shown(results)
