"""Tells other processes that a conversation has changed, and that a question is being chosen."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Conversations that exist already count as unchanged, and no question is being chosen for them."""
    op.add_column("sessions", sa.Column("revision", sa.Integer, nullable=False, server_default="0"))
    op.add_column("nodes", sa.Column("choosing", sa.Float, nullable=True))


def downgrade() -> None:
    """Drops both."""
    op.drop_column("nodes", "choosing")
    op.drop_column("sessions", "revision")
