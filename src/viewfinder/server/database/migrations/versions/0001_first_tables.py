"""The first tables: conversations, uploads, jobs, tokens, feedback, studies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("retriever", sa.Text, nullable=False),
        sa.Column("questioner", sa.Text, nullable=False),
        sa.Column("where", sa.JSON, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("updated", sa.Float, nullable=False),
        sa.Column("hidden", sa.Boolean, nullable=False),
    )
    op.create_index("sessions_by_time", "sessions", ["updated", "id"])
    op.create_table(
        "nodes",
        sa.Column("session", sa.String(36), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("parent", sa.Integer, nullable=False),
        sa.Column("turn", sa.JSON, nullable=False),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("asked", sa.JSON, nullable=True),
        sa.Column("elapsed_ms", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=True),
        sa.Column("picture", sa.String(36), nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("width", sa.Integer, nullable=False),
        sa.Column("height", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "feedback",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=True),
        sa.Column("session", sa.String(36), nullable=False),
        sa.Column("node", sa.Integer, nullable=False),
        sa.Column("picture", sa.String(36), nullable=False),
        sa.Column("rank", sa.Integer, nullable=True),
        sa.Column("retriever", sa.Text, nullable=False),
        sa.Column("conversation", sa.JSON, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("what", sa.JSON, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=True),
        sa.Column("report", sa.JSON, nullable=True),
        sa.Column("error", sa.Text, nullable=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("started", sa.Float, nullable=True),
        sa.Column("ended", sa.Float, nullable=True),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=True),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("open", sa.Boolean, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("study", sa.String(36), sa.ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("consent", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.UniqueConstraint("study", "number"),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("participant", sa.String(36), sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("target", sa.String(36), nullable=False),
        sa.Column("session", sa.String(36), nullable=True),
        sa.Column("outcome", sa.Text, nullable=True),
        sa.Column("chosen", sa.String(36), nullable=True),
        sa.Column("started", sa.Float, nullable=True),
        sa.Column("ended", sa.Float, nullable=True),
        sa.Column("ranks", sa.JSON, nullable=False),
        sa.UniqueConstraint("participant", "number"),
    )


def downgrade() -> None:
    """Drops them, those that refer to others first."""
    op.drop_index("sessions_by_time", table_name="sessions")
    for table in ("trials", "participants", "studies", "feedback", "tokens", "jobs", "uploads", "nodes", "sessions"):
        op.drop_table(table)
