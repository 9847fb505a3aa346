"""Notes that running servers leave: where each keeps its tokens, so that no token goes where no server looks.

A server may be started with another `VIEWFINDER_DATABASE_URL`, or over another library, than the shell has in which a
token is made. So it leaves a note, as long as it runs, in two folders: that of its library, for whoever makes a token
for this library, and one of its user, for whoever names another library. No note holds credentials.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from sqlalchemy import make_url

from viewfinder.whole_files import write_file

FOLDER = "serving"

MAX_NOTE_BYTES = 10_000
MAX_NOTES = 100

SAME_START_S = 2.0
"""By how much two readings of when a process began may differ; another process of that number began at another time."""


@dataclass(frozen=True)
class ServingNote:
    """One running server: the process, where it answers, what it serves, and where its tokens are."""

    host: str
    process: int
    began: float
    address: str
    library: str
    database: str

    @property
    def is_of_this_machine(self) -> bool:
        """Whether it can be known if the server still runs."""
        return self.host == socket.gethostname()

    @property
    def runs(self) -> bool:
        """Whether the server still runs, as far as that is known here."""
        if not self.is_of_this_machine:
            return True
        try:
            return bool(abs(psutil.Process(self.process).create_time() - self.began) < SAME_START_S)
        except (psutil.Error, ValueError, OverflowError):
            return False


def name_database(url: str) -> str:
    """A database's URL as one name, the same however it was written, without who logs in and how.

    >>> name_database("postgresql+psycopg://ada:secret@127.0.0.1/talks"), name_database("sqlite:////srv/a/../b.sqlite3")
    ('postgresql://localhost:5432/talks', 'sqlite:////srv/b.sqlite3')
    """
    made = make_url(url)
    kind = made.get_backend_name()
    if kind == "sqlite":
        return f"sqlite:///{Path(made.database or '').resolve()}"
    query = {name: value for name, value in made.query.items() if name in ("host", "port")}
    host = made.host or query.get("host") or "localhost"
    port = made.port or query.get("port") or 5432
    named = "localhost" if host in ("127.0.0.1", "::1") else host
    return f"{kind}://{named}:{port}/{made.database or made.username or ''}"


def note_folders(library: Path) -> tuple[Path, Path]:
    """Where servers over this library, and servers of this user, leave their notes."""
    from platformdirs import user_state_path

    return library / "server" / FOLDER, user_state_path("viewfinder", appauthor=False) / FOLDER


@contextmanager
def noted(library: Path, address: str, database_url: str) -> Iterator[None]:
    """Leaves this process' notes as long as it is entered; a folder that cannot be written has none."""
    process = psutil.Process()
    note = ServingNote(
        socket.gethostname(), process.pid, process.create_time(), address, str(library.resolve()),
        name_database(database_url),
    )  # fmt: skip
    left = []
    for folder in note_folders(library):
        with suppress(OSError):
            read_notes([folder])  # takes away those that dead servers left
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{note.host[:100].replace(os.sep, '_')}-{note.process}.json"
            write_file(file, json.dumps(asdict(note)))  # half of one would be taken for a dead server's
            left.append(file)
    try:
        yield
    finally:
        for file in left:
            with suppress(OSError):
                file.unlink()


def read_notes(folders: Iterable[Path]) -> list[ServingNote]:
    """The notes of servers that run, each once; a note of one that does not is removed, if we may."""
    found: dict[tuple[str, int], ServingNote] = {}
    for folder in folders:
        files: list[Path] = []
        with suppress(OSError):
            files = sorted(folder.glob("*.json"))[:MAX_NOTES]
        for file in files:
            note = _read_note(file)
            if note is not None and note.runs:
                found[note.host, note.process] = note
            else:
                with suppress(OSError):
                    file.unlink()
    return list(found.values())


def _read_note(file: Path) -> ServingNote | None:
    """The note in a file; None: it is none."""
    try:
        with file.open("rb") as stream:
            told = json.loads(stream.read(MAX_NOTE_BYTES))
        kinds = {"host": str, "process": int, "began": float, "address": str, "library": str, "database": str}
        return ServingNote(**{name: kind(told[name]) for name, kind in kinds.items()})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def explain_other_database(library: Path, database_url: str) -> str | None:
    """One line, if servers run and none of them keeps its tokens in this database; None: all is well, or none runs."""
    here, folder = name_database(database_url), str(library.resolve())
    notes = read_notes(note_folders(library))
    if not notes or any(note.database == here for note in notes):
        return None
    of_library = [note for note in notes if note.library == folder]
    note = (of_library or notes)[0]
    where = "" if note.is_of_this_machine else f" of {note.host}"
    others = f" (and {len(notes) - 1} more run)" if len(notes) > 1 else ""
    if note in of_library:
        mend = f"to reach that server, set VIEWFINDER_DATABASE_URL as it was started with ({note.database})"
    elif note.database.startswith("sqlite:"):
        mend = f"to reach that server, give `--library {note.library}`"
    else:
        mend = f"to reach that server, give `--library {note.library}` and its VIEWFINDER_DATABASE_URL"
    return (
        f"this is the database {here}, but the server{where} that runs at {note.address} keeps its tokens in "
        f"{note.database}{others}: {mend}"
    )
