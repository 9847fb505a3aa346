"""The keys of requests that take turns: one that comes twice, as its connection was cut, takes its turn once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Turns that are there already were said without a key; of these there may be any number."""
    op.add_column("nodes", sa.Column("key", sa.Text, nullable=True))
    op.add_column("nodes", sa.Column("request", sa.String(64), nullable=True))
    op.add_column("nodes", sa.Column("replay", sa.JSON, nullable=True))
    op.create_index("nodes_by_key", "nodes", ["session", "key"], unique=True)


def downgrade() -> None:
    """Drops all of it."""
    op.drop_index("nodes_by_key", table_name="nodes")
    for column in ("replay", "request", "key"):
        op.drop_column("nodes", column)
