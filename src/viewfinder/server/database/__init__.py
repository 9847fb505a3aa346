"""The server's persistent state, in SQLite or PostgreSQL.

tables    the columns, and rows as frozen dataclasses
engine    `Database`: opening, transactions, errors; the schema, step by step (`migrations/`)
sessions, records   the stores (records: jobs, tokens, uploads, studies)
"""

from viewfinder.server.database.engine import Database
from viewfinder.server.database.records import (
    OF_VISITORS,
    JobRow,
    JobRows,
    StudyRow,
    StudyRows,
    TokenRow,
    TokenRows,
    TrialRow,
    UploadRow,
    UploadRows,
)
from viewfinder.server.database.sessions import (
    AlreadySaid,
    FeedbackRow,
    FeedbackRows,
    RequestKey,
    Said,
    SessionRow,
    SessionRows,
    TurnQuestion,
    TurnTaken,
)

__all__ = [
    "OF_VISITORS",
    "AlreadySaid",
    "Database",
    "FeedbackRow",
    "FeedbackRows",
    "JobRow",
    "JobRows",
    "RequestKey",
    "Said",
    "SessionRow",
    "SessionRows",
    "StudyRow",
    "StudyRows",
    "TokenRow",
    "TokenRows",
    "TrialRow",
    "TurnQuestion",
    "TurnTaken",
    "UploadRow",
    "UploadRows",
]
