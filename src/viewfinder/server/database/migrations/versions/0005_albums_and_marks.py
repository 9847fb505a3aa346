"""What people keep of pictures: albums, favourites and stars; and lists of pictures that are to be taken along."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables; nobody has marked anything yet."""
    op.create_table(
        "albums",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("updated", sa.Float, nullable=False),
        sa.UniqueConstraint("owner", "name"),
    )
    op.create_table(
        "album_pictures",
        sa.Column("album", sa.String(36), sa.ForeignKey("albums.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("picture", sa.String(36), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
    )
    op.create_index("album_pictures_by_picture", "album_pictures", ["picture"])
    op.create_table(
        "marks",
        sa.Column("owner", sa.String(36), primary_key=True),
        sa.Column("picture", sa.String(36), primary_key=True),
        sa.Column("favourite", sa.Boolean, nullable=False),
        sa.Column("stars", sa.Integer, nullable=False),
        sa.Column("updated", sa.Float, nullable=False),
    )
    op.create_table(
        "exports",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("owner", sa.String(36), nullable=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("fields", sa.JSON, nullable=True),
        sa.Column("pictures", sa.JSON, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
    )
    op.create_index("exports_by_time", "exports", ["created"])


def downgrade() -> None:
    """Drops all of it: albums, favourites and stars are forgotten, no picture is."""
    for table in ("exports", "marks", "album_pictures", "albums"):
        op.drop_table(table)
