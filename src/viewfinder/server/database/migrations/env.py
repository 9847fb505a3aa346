"""Run by alembic for every command: does the steps, in the transaction that the caller began."""

from __future__ import annotations

from alembic import context

from viewfinder.server.database.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
