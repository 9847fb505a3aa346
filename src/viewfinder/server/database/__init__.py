"""What the server must not forget, in SQLite or PostgreSQL.

tables      the columns
engine      `Database`: opening, transactions, errors
migrating   the schema, step by step (`migrations/`)
rows        rows as frozen dataclasses
sessions, jobs, tokens, uploads, feedback, studies   one store each
"""

from viewfinder.server.database.engine import Database
from viewfinder.server.database.feedback import FeedbackRow, FeedbackRows
from viewfinder.server.database.jobs import JobRow, JobRows
from viewfinder.server.database.sessions import SessionRow, SessionRows, TurnTaken
from viewfinder.server.database.studies import ParticipantRow, StudyRow, StudyRows, TrialRow
from viewfinder.server.database.tokens import TokenRow, TokenRows
from viewfinder.server.database.uploads import UploadRow, UploadRows

__all__ = [
    "Database",
    "FeedbackRow",
    "FeedbackRows",
    "JobRow",
    "JobRows",
    "ParticipantRow",
    "SessionRow",
    "SessionRows",
    "StudyRow",
    "StudyRows",
    "TokenRow",
    "TokenRows",
    "TrialRow",
    "TurnTaken",
    "UploadRow",
    "UploadRows",
]
