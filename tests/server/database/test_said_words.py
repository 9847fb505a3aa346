"""Conversations are found by what was said in them, and by their names, in both databases."""

from __future__ import annotations

import itertools
import statistics
import time
import uuid
from collections.abc import Callable

import pytest
from alembic import command
from sqlalchemy import text

from viewfinder.conversation import Answer, Conversation, Like, Question, Say, Turn
from viewfinder.server.database import Database, SessionRow, SessionRows
from viewfinder.server.database.engine import alembic_config, upgrade_schema
from viewfinder.server.database.said_words import find_sought, find_words

NUMBERS = itertools.count(1)


@pytest.fixture
def sessions(database: Database) -> SessionRows:
    return SessionRows(database)


def begin(sessions: SessionRows, name: str, *turns: Turn, owner: str | None = None, hidden: bool = False) -> str:
    at = float(next(NUMBERS))
    id = str(uuid.uuid4())
    sessions.create(SessionRow(id, owner, name, "composer", "none", {}, 50, at, at, hidden))
    conversation = Conversation()
    for turn in turns:
        conversation = conversation.then(turn)
    sessions.append(id, *conversation.nodes[1:], elapsed_ms=1.0, at=at)
    return id


def found(sessions: SessionRows, said: str, *, owner: str | None = None, everyone: bool = True) -> list[str]:
    rows, _ = sessions.page(owner=owner, everyone=everyone, count=50, cursor=None, sought=find_sought(said))
    return [row.id for row in rows]


def test_words_are_found_in_turns_of_every_kind_and_in_names(sessions: SessionRows) -> None:
    asked = Question("What animal?", ("dog",))
    one = begin(sessions, "Holiday", Say("a dog in the snow"), Like("p", "but brown"))
    two = begin(sessions, "", Say("a beach"), Answer(asked, "a Horse"))
    assert found(sessions, "snow") == [one]
    assert found(sessions, "brown") == [one]
    assert found(sessions, "holiday") == [one]
    assert found(sessions, "horse") == [two]
    assert found(sessions, "animal") == []  # nobody said it
    assert found(sessions, "") == [two, one]


def test_all_words_must_be_there_wherever_they_are_and_as_far_as_they_are_typed(sessions: SessionRows) -> None:
    one = begin(sessions, "Holiday", Say("a dog"), Say("in the snow"))
    begin(sessions, "", Say("a dog on a beach"))
    assert found(sessions, "DOG sno holi") == [one]
    assert found(sessions, "dog now") == []  # the middle of a word is none of its beginnings


def test_case_accents_and_scripts_without_blanks_do_not_matter(sessions: SessionRows) -> None:
    one = begin(sessions, "", Say("Über den Zaun: ein HÜNDCHEN"))
    two = begin(sessions, "", Say("红色的狗在雪地里"))
    assert found(sessions, "uber hund") == [one]
    assert found(sessions, "ÜBER") == [one]
    for part in ("狗", "的狗", "红色的狗", "雪地里"):
        assert found(sessions, part) == [two]
    assert found(sessions, "猫") == []


@pytest.mark.parametrize("odd", ["%", "_", "'; --", "\\", "!?", "💡"])
def test_signs_are_no_words_and_do_no_harm(sessions: SessionRows, odd: str) -> None:
    one = begin(sessions, "", Say("plain"))
    assert found(sessions, odd) == [one]  # nothing is sought
    assert found(sessions, f"plain {odd}") == [one]


def test_ones_own_are_found_and_no_hidden_ones(sessions: SessionRows) -> None:
    mine, yours = (begin(sessions, "", Say("a dog"), owner=owner) for owner in ("me", "you"))
    begin(sessions, "", Say("a dog"), owner="me", hidden=True)
    assert found(sessions, "dog", owner="me", everyone=False) == [mine]
    assert found(sessions, "dog") == [yours, mine]


def test_a_new_name_is_found_and_the_old_one_is_not(sessions: SessionRows) -> None:
    one = begin(sessions, "Holiday", Say("a dog"))
    sessions.change(one, name="Birthday of the dog", at=99.0)
    assert (found(sessions, "holiday"), found(sessions, "birthday")) == ([], [one])
    sessions.change(one, name="", at=99.0)
    assert (found(sessions, "birthday"), found(sessions, "dog")) == ([], [one])  # it was said, too
    assert sessions.change(str(uuid.uuid4()), name="Nobody", at=99.0) is None


def test_what_was_deleted_is_not_found(sessions: SessionRows, database: Database) -> None:
    sessions.delete(begin(sessions, "Holiday", Say("a dog")))
    assert found(sessions, "dog") == []
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM said_words")) == 0


def test_a_search_is_read_in_pages(sessions: SessionRows) -> None:
    ids = [begin(sessions, "", Say("a dog" if at % 2 else "a cat")) for at in range(10)]
    seen: list[str] = []
    cursor = None
    while True:
        rows, cursor = sessions.page(owner=None, everyone=True, count=2, cursor=cursor, sought=["dog"])
        seen += [row.id for row in rows]
        if cursor is None:
            break
    assert seen == ids[1::2][::-1]


def test_it_is_told_where_words_were_said_first(sessions: SessionRows) -> None:
    one = begin(sessions, "dog", Say("a dog"), Say("in the snow"), Say("a dog in snow"))
    two = begin(sessions, "only the name says dog", Say("a cat"))
    assert sessions.matches([one, two], ["dog", "sno"]) == {one: [(1, "a dog"), (2, "in the snow")], two: []}


def test_a_word_that_is_said_often_is_kept_once(sessions: SessionRows, database: Database) -> None:
    begin(sessions, "", *[Say("the same words")] * 30)
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM said_words")) == 3


def test_conversations_of_before_are_found_after_the_step(sessions: SessionRows, database: Database) -> None:
    one = begin(sessions, "Holiday", Say("a dog"), Say("a dog in the snow"))
    with database.writing() as connection:
        kept = connection.execute(text("SELECT word, session, turn FROM said_words ORDER BY 1, 2, 3")).all()
        command.downgrade(alembic_config(connection), "0006")
        upgrade_schema(connection)
        assert connection.execute(text("SELECT word, session, turn FROM said_words ORDER BY 1, 2, 3")).all() == kept
    assert found(sessions, "holiday snow") == [one]


def test_what_is_sought_is_the_beginning_of_what_is_kept() -> None:
    for said in ("A dog’s life, 2019!", "naïve façade", "红色的狗", "สวัสดี", "x" * 300):
        kept = find_words(said)
        assert all(any(word.startswith(part) for word in kept) for part in find_sought(said))


def _median_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def fill(database: Database, conversations: int) -> None:
    """So many conversations of three turns, of which every thousandth says "zebra"."""
    from viewfinder.server.database.tables import NODES, SAID_WORDS, SESSIONS

    rows: dict[str, list[dict[str, object]]] = {"sessions": [], "nodes": [], "words": []}
    for at in range(conversations):
        id = str(uuid.uuid4())
        rows["sessions"].append({
            "id": id, "owner": None, "name": f"talk {at}", "retriever": "composer", "questioner": "none", "where": {},
            "n": 50, "created": float(at), "updated": float(at), "hidden": False,
        })  # fmt: skip
        for number in range(1, 4):
            said = f"dog w{at % 97} w{at * 7 % 1013} turn{number}" + (" zebra" if at % 1000 == 0 else "")
            rows["nodes"].append({
                "session": id, "number": number, "parent": number - 1, "turn": {"say": said}, "shown": [],
                "elapsed_ms": 1.0, "at": float(at),
            })  # fmt: skip
            new = find_words(said) if number == 1 else [f"turn{number}"]
            rows["words"] += [{"word": word, "session": id, "turn": number} for word in new]
    with database.writing() as connection:
        for table, name in ((SESSIONS, "sessions"), (NODES, "nodes"), (SAID_WORDS, "words")):
            connection.execute(table.insert(), rows[name])
        if connection.dialect.name == "postgresql":
            connection.execute(text("ANALYZE"))


@pytest.mark.slow
@pytest.mark.long
def test_a_search_among_ten_thousand_costs_some_times_what_a_page_of_the_list_costs(
    database: Database, sessions: SessionRows
) -> None:
    fill(database, 10_000)
    listed = _median_s(lambda: found(sessions, ""))
    ratios = {
        said: _median_s(lambda said=said: found(sessions, said)) / listed  # type: ignore[misc]
        for said in ("zebra", "dog", "d", "dog zeb w5", "nowhere")
    }
    print({said: round(ratio, 1) for said, ratio in ratios.items()}, round(listed * 1000, 2), "ms")
    assert [len(found(sessions, said)) for said in ("zebra", "dog", "nowhere")] == [10, 50, 0]
    assert max(ratios.values()) < 80, ratios
