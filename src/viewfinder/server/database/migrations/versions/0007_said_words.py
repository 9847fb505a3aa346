"""Conversations are found by what was said in them, and by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from viewfinder.server.database.said_words import NAME, find_words, list_said

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

BATCH = 2000
WORD = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """The words of conversations that are there already are found, too."""
    table = op.create_table(
        "said_words",
        sa.Column("word", WORD, primary_key=True),
        sa.Column("session", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("turn", sa.Integer, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.create_index("said_words_of", "said_words", ["session"])
    rows: list[dict[str, Any]] = []
    for row in _list_words(op.get_bind()):
        rows.append(row)
        if len(rows) >= BATCH:
            op.bulk_insert(table, rows)
            rows = []
    if rows:
        op.bulk_insert(table, rows)


def _list_words(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    for id, name in connection.execute(sa.text("SELECT id, name FROM sessions")).all():
        for word in find_words(name):
            yield {"word": word, "session": id, "turn": NAME}
        known: set[str] = set()
        said = sa.text("SELECT number, turn FROM nodes WHERE session = :id ORDER BY number")
        for number, turn in connection.execute(said, {"id": id}).all():
            # SQLite gives JSON as text, PostgreSQL as what it says.
            for word in find_words(list_said(json.loads(turn) if isinstance(turn, str) else turn)):
                if word not in known:
                    yield {"word": word, "session": id, "turn": number}
                known.add(word)


def downgrade() -> None:
    """Drops it."""
    op.drop_table("said_words")
