"""How much a conversation's retriever leans to pictures when it decides whether to answer in words."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Conversations that are there already keep to what their retriever does by itself."""
    op.add_column("sessions", sa.Column("leaning", sa.Float, nullable=True))


def downgrade() -> None:
    """Drops it."""
    op.drop_column("sessions", "leaning")
