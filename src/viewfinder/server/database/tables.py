"""The tables of a server. Times are seconds since 1970, UTC."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql

METADATA = MetaData()

_ID = String(36)
_DOCUMENT = JSON(none_as_null=True)  # nothing is NULL, not the JSON text "null"

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("owner", _ID, nullable=True),  # the token that made it; null: this machine
    Column("name", Text, nullable=False),
    Column("retriever", Text, nullable=False),
    Column("questioner", Text, nullable=False),
    Column("where", _DOCUMENT, nullable=False),
    Column("n", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("hidden", Boolean, nullable=False),  # of a study: not listed, and its retriever is not told
    Column("leaning", Float, nullable=True),  # to pictures, of a retriever that speaks; null: as it does by itself
    Column("revision", Integer, nullable=False, server_default="0"),  # how often it, or a turn of it, was changed
    Index("sessions_by_time", "updated", "id"),
)

NODES = Table(
    "nodes",
    METADATA,
    Column("session", _ID, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),  # from 1; the root is not stored
    Column("parent", Integer, nullable=False),
    Column("turn", _DOCUMENT, nullable=False),
    Column("shown", _DOCUMENT, nullable=False),
    Column("asked", _DOCUMENT, nullable=True),
    Column("elapsed_ms", Float, nullable=False),
    Column("at", Float, nullable=False),
    Column("choosing", Float, nullable=True),  # until when a process chooses the question after it; null: none does
    Column("key", Text, nullable=True),  # of the request that said it, where that had one: sent again, it says nothing
    Column("request", String(64), nullable=True),  # a digest of what that request asked
    Column("replay", _DOCUMENT, nullable=True),  # what else it was answered, where it said earlier turns again
    Index("nodes_by_key", "session", "key", unique=True),
)

SAID_WORDS = Table(  # by which conversations are found (`said_words`)
    "said_words",
    METADATA,
    # Sorted by code point in both databases, so that words with the same beginning lie side by side.
    Column("word", Text().with_variant(postgresql.TEXT(collation="C"), "postgresql"), primary_key=True),
    Column("session", _ID, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("turn", Integer, primary_key=True, autoincrement=False),  # the first that says it; 0: the name does
    Index("said_words_of", "session"),
    sqlite_with_rowid=False,
)

UPLOADS = Table(
    "uploads",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("owner", _ID, nullable=True),
    Column("picture", _ID, nullable=False),  # the hash of the content: two uploads of one file share it
    Column("bytes", Integer, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("created", Float, nullable=False),
)

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("kind", Text, nullable=False),  # add, prepare
    Column("what", _DOCUMENT, nullable=False),  # {"root": 0, "folder": "2019/summer"}, {"retriever": "drilldown"} ...
    Column("state", Text, nullable=False),  # queued, running, paused, done, failed, cancelled
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=True),
    Column("report", _DOCUMENT, nullable=True),
    Column("error", Text, nullable=True),
    Column("created", Float, nullable=False),
    Column("started", Float, nullable=True),
    Column("ended", Float, nullable=True),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("scopes", _DOCUMENT, nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=True),
    Column("revoked", Boolean, nullable=False),
)

SIGNING_KEYS = Table(
    "signing_keys",
    METADATA,
    Column("name", Text, primary_key=True),  # what it signs: addresses
    Column("secret", String(64), nullable=False),  # 32 random bytes in hexadecimal
    Column("made", Float, nullable=False),
)

FEEDBACK = Table(
    "feedback",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("owner", _ID, nullable=True),
    Column("session", _ID, nullable=False),  # may be deleted later: the conversation is kept here as it was
    Column("node", Integer, nullable=False),
    Column("picture", _ID, nullable=False),
    Column("rank", Integer, nullable=True),
    Column("retriever", Text, nullable=False),
    Column("conversation", _DOCUMENT, nullable=False),
    Column("at", Float, nullable=False),
)

STUDIES = Table(
    "studies",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False),
    Column("plan", _DOCUMENT, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("created", Float, nullable=False),
)

PARTICIPANTS = Table(
    "participants",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("study", _ID, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # 1, 2, 3 ... : decides the order of arms and targets
    Column("consent", Text, nullable=False),  # the text that was agreed to
    Column("at", Float, nullable=False),
    UniqueConstraint("study", "number"),
)

TRIALS = Table(
    "trials",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("participant", _ID, ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("arm", Integer, nullable=False),  # which of the plan's retrievers
    Column("target", _ID, nullable=False),
    Column("session", _ID, nullable=True),
    Column("outcome", Text, nullable=True),  # found, given up, rounds over ...; null: not ended
    Column("chosen", _ID, nullable=True),  # the picture that was taken for the target
    Column("started", Float, nullable=True),
    Column("ended", Float, nullable=True),
    Column("ranks", _DOCUMENT, nullable=False),  # one [best, worst] a round
    UniqueConstraint("participant", "number"),
)

ALBUMS = Table(
    "albums",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("owner", _ID, nullable=False),  # a token; "": the library itself, as this machine and admins see it
    Column("name", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    UniqueConstraint("owner", "name"),
)

ALBUM_PICTURES = Table(
    "album_pictures",
    METADATA,
    Column("album", _ID, ForeignKey("albums.id", ondelete="CASCADE"), primary_key=True),
    Column("picture", _ID, primary_key=True),  # may have left the library: it is in the album again if it comes back
    Column("position", Integer, nullable=False),  # in the order in which they were added
    Index("album_pictures_by_picture", "picture"),
)

MARKS = Table(
    "marks",
    METADATA,
    Column("owner", _ID, primary_key=True),  # as of albums
    Column("picture", _ID, primary_key=True),
    Column("favourite", Boolean, nullable=False),
    Column("stars", Integer, nullable=False),  # 0: none
    Column("updated", Float, nullable=False),
)

EXPORTS = Table(
    "exports",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("owner", _ID, nullable=True),
    Column("kind", Text, nullable=False),  # zip, csv, json, xmp
    Column("name", Text, nullable=False),
    Column("fields", _DOCUMENT, nullable=True),
    Column("pictures", _DOCUMENT, nullable=False),  # [id, score, match], in their order
    Column("created", Float, nullable=False),
    Index("exports_by_time", "created"),
)
