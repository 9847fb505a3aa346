"""Whatever is said to the service, it is what an in-process session has that was told the same."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from pydantic import TypeAdapter

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import BackTo, Conversation, turn_from_json
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.server.access.tokens import LOCAL
from viewfinder.server.conversations.conversations import Conversations
from viewfinder.server.conversations.schemas import SessionIn, TurnIn
from viewfinder.server.database import Database, FeedbackRows, SessionRows, UploadRows
from viewfinder.server.pictures.uploads import Uploads
from viewfinder.server.problems import Problem
from viewfinder.server.settings import ServerSettings
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS

WORDS = st.sampled_from([*COLOURS, "red over blue", "green without white", "don't know"])
TURN: TypeAdapter[Any] = TypeAdapter(TurnIn)
N = 6


class OneConversation(RuleBasedStateMachine):
    """A conversation over the service, and the session that hears the same; `library` is set by the test."""

    library: Library

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.database = Database.open(f"sqlite:///{self.home.name}/server.db")
        self.reload()
        self.id = self.conversations.create(LOCAL, SessionIn(n=N)).id
        self.model = Session(
            self.library, Composer(), "information_gain", n=N, memo=ByteCache(), image_file=self.no_image
        )

    def no_image(self, name: str) -> Path:
        raise AssertionError(f"nobody shows {name}")

    def teardown(self) -> None:
        self.database.close()
        self.home.cleanup()

    @rule()
    def reload(self) -> None:
        """Another process, or the next start."""
        given = ServerSettings(_env_file=None)
        uploads = Uploads(Path(self.home.name) / "uploads", UploadRows(self.database), given)
        self.conversations = Conversations(
            self.library, SessionRows(self.database), FeedbackRows(self.database), uploads, given
        )

    @rule(text=WORDS)
    def say(self, text: str) -> None:
        self.take({"say": text})

    @rule(text=WORDS)
    def answer(self, text: str) -> None:
        self.take({"answer": text})

    @rule(at=st.integers(0, N - 1), but=st.one_of(st.just(""), WORDS), turn=st.none() | st.integers(0, 8))
    def like(self, at: int, but: str, turn: int | None) -> None:
        shown = self.model.conversation.here.shown or ("p007",) * N
        said: dict[str, Any] = {"like": shown[at % len(shown)], "but": but}
        self.take(said if turn is None else said | {"turn": turn % len(self.model.conversation.nodes)})

    @rule(count=st.integers(0, 2), text=st.sampled_from(["", "blue"]))
    def reject(self, count: int, text: str) -> None:
        self.take({"reject": list(self.model.conversation.here.shown[:count]), "text": text})

    @rule(turn=st.integers(0, 8))
    def keep(self, turn: int) -> None:
        self.take({"keep": "bottom", "turn": turn % len(self.model.conversation.nodes)})

    @rule(turn=st.integers(0, 8))
    def back(self, turn: int) -> None:
        self.take({"back_to": turn % len(self.model.conversation.nodes)})

    @rule(number=st.integers(0, 8), text=st.none() | WORDS)
    @precondition(lambda self: len(self.model.conversation) > 0)
    def edit(self, number: int, text: str | None) -> None:
        """What the service says again, the model is told; both must come to the same."""
        nodes = self.model.conversation.nodes
        number %= len(nodes) + 1
        turn = None if text is None else TURN.validate_python({"say": text})
        if not 0 < number < len(nodes) or isinstance(nodes[number].turn, BackTo):
            with pytest.raises((BadInput, Problem), match="turn"):
                self.conversations.edit(LOCAL, self.id, number, turn)
            return
        results = self.conversations.edit(LOCAL, self.id, number, turn).results
        for follower in Conversation.from_json(self.exported()).nodes[len(nodes) :]:
            assert follower.turn is not None
            self.model.search(follower.turn)
            here = self.model.conversation.here
            assert (here.shown, here.parent) == (follower.shown, follower.parent)
            if follower.asked is not None and here.asked is None:  # an answer follows, which is said again
                self.model.conversation = self.model.conversation.recorded(shown=here.shown, asked=follower.asked)
        self.model.follow_up()
        self.conversations.question(self.id, results.turn)
        assert tuple(hit.id for hit in results.results) == self.model.conversation.here.shown

    @invariant()
    def both_stand_at_the_same_point(self) -> None:
        assert self.exported() == json.loads(json.dumps(self.model.conversation.to_json()))
        here = self.model.conversation.here.number
        view, results = self.model.ranking(), self.conversations.results(LOCAL, self.id, here)
        assert [(hit.id, hit.score) for hit in results.results] == [(hit.id, hit.score) for hit in view.hits(N)]
        assert (results.verdict, results.total) == (view.verdict, view.total)
        assert self.conversations.rank_bounds(self.id, "p011") == self.model.rank_bounds("p011")

    def exported(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.conversations.export(LOCAL, self.id).model_dump_json())
        return dict(document["conversation"])

    def take(self, said: dict[str, Any]) -> None:
        """One turn in both; either takes it or neither."""
        try:
            if "answer" in said and self.model.question is None:
                raise BadInput("nothing to answer")
            hits = self.model.search(turn_from_json(said, pending=self.model.question))
        except BadInput:
            with pytest.raises(BadInput):
                self.conversations.take(LOCAL, self.id, TURN.validate_python(said))
            return
        self.model.follow_up()
        results = self.conversations.take(LOCAL, self.id, TURN.validate_python(said))
        assert [(hit.id, hit.score, hit.rank) for hit in results.results] == [(h.id, h.score, h.rank) for h in hits]
        assert results.verdict == hits.verdict
        assert results.adapters == list(self.model.adapters)
        assert self.conversations.question(self.id, results.turn) == self.model.question


def test_a_conversation_over_the_service_is_a_session_that_was_told_the_same(colours: Library) -> None:
    machine = type("OneTalkOverColours", (OneConversation,), {"library": colours})
    run_state_machine_as_test(machine, settings=settings(max_examples=8, stateful_step_count=12, deadline=None))
