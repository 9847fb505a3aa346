"""The key by which addresses are signed, made at random."""

from __future__ import annotations

import secrets
import time

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table with one key."""
    table = op.create_table(
        "signing_keys",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("made", sa.Float, nullable=False),
    )
    op.bulk_insert(table, [{"name": "addresses", "secret": secrets.token_hex(32), "made": time.time()}])


def downgrade() -> None:
    """Drops it: all addresses end."""
    op.drop_table("signing_keys")
