"""The step that gives conversations a leaning: those that are there already stay, and have none."""

from __future__ import annotations

from sqlalchemy import inspect

from viewfinder.conversation import Conversation, Say
from viewfinder.server.database import Database, SessionRow, SessionRows
from viewfinder.server.database.engine import alembic_config, upgrade_schema


def test_conversations_of_before_keep_to_their_retriever(database: Database) -> None:
    from alembic import command

    sessions = SessionRows(database)
    sessions.create(SessionRow("a", None, "old", "composer", "none", {}, 50, 0.5, 1.0, False, leaning=2.0))
    conversation = Conversation().then(Say("red"))
    sessions.append("a", conversation.here, elapsed_ms=1.0, at=2.0)
    with database.writing() as connection:
        command.downgrade(alembic_config(connection), "0001")
        assert "leaning" not in {column["name"] for column in inspect(connection).get_columns("sessions")}
        upgrade_schema(connection)
    kept = sessions.get("a")
    assert kept is not None
    assert (kept.name, kept.leaning, kept.turns, sessions.conversation("a")) == ("old", None, 1, conversation)


def test_a_leaning_is_changed_alone_and_stays(database: Database) -> None:
    sessions = SessionRows(database)
    sessions.create(SessionRow("a", None, "", "talker", "none", {"kind": "dog"}, 50, 0.5, 1.0, False))
    changed = sessions.change("a", leaning=-1.5, at=3.0)
    assert changed == SessionRow("a", None, "", "talker", "none", {"kind": "dog"}, 50, 0.5, 3.0, False, leaning=-1.5)
    renamed = sessions.change("a", name="mine", at=4.0)
    assert renamed is not None and renamed.leaning == -1.5
    zero = sessions.change("a", leaning=0.0, at=5.0)
    assert zero is not None and zero.leaning == 0.0
