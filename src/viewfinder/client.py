"""A library on a server (`viewfinder serve`), with the methods of a library here; `viewfinder.connect` makes one.

Results have the same classes, and errors too. A server does not reveal paths: `Hit.path` is the file name only.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast
from urllib.parse import urlencode

import httpx

from viewfinder.conversation import Conversation, Node, Question, Turn, turn_to_json
from viewfinder.errors import (
    BadInput,
    DatabaseError,
    DiskFull,
    EmptyQuery,
    LibraryBusy,
    LibraryError,
    MovedOn,
    PartFailed,
    PictureError,
    ServerFailed,
    UnknownName,
    ViewfinderError,
    check_names,
    check_path,
    check_type,
)
from viewfinder.pictures import is_file, pack_image
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.scan import scan
from viewfinder.pictures.walk_notes import WalkNotes
from viewfinder.search.hits import Hit, Hits, PicturePath
from viewfinder.session.session import Answered, Picture, TurnMethods, id_of, is_known
from viewfinder.store.reports import AddReport
from viewfinder.store.rows import Failure, FileRecord, PictureRow, describe_pictures, to_frame

if TYPE_CHECKING:
    from viewfinder.session.session import OwnImage
    from viewfinder.wording.reading import SaidReading

TIMEOUT = httpx.Timeout(120.0, connect=10.0)
"""In seconds; a first search may have to wait until a library is mapped."""

ERRORS: dict[str, type[ViewfinderError]] = {
    "unknown-name": UnknownName,
    "not-found": UnknownName,
    "empty-query": EmptyQuery,
    "bad-input": BadInput,
    "library-busy": LibraryBusy,
    "disk-full": DiskFull,
    "library-error": LibraryError,
    "database-error": DatabaseError,
    "not-a-picture": PictureError,
    "part-failed": PartFailed,
    "failed": ViewfinderError,
}
"""The kinds of problem documents that are errors of the engine; all others are told apart by their status."""

PAGE = 500
"""Pictures or failures in one request."""

MAX_CONVERSATIONS = 200
"""Conversations in one request."""

POLL_S = 0.2
"""Pause before asking again whether a job has ended."""

PAUSES_S = (0.1, 0.5, 2.0, 5.0)
"""Before a request is sent again whose connection was cut, or not made: time enough for a server to be restarted."""

MAX_TRIES = 20
"""How often a request is sent if the server asks to send it later."""

MAX_WAIT_S = 120.0
"""After this time a request is not sent again; a server that asks to wait longer is too busy."""

LATER = (429, 503)
"""Statuses that come with the time to send the request again (`Retry-After`)."""

BUSY = (408, 429)
"""Statuses below 500 that do not mean that the request is wrong."""

READS = ("/search", "/pictures/browse")
"""Operations that only read, though they use POST."""


@dataclass
class Patience:
    """How long one request is sent again and again.

    `repeatable`: sending it twice has the effect of sending it once. Any other request is sent again only if it cannot
    have reached the server, or was refused before it did anything.
    """

    repeatable: bool
    cuts_left: int = len(PAUSES_S)
    tries_left: int = MAX_TRIES - 1
    until: float = field(default_factory=lambda: time.monotonic() + MAX_WAIT_S)

    def after_cut(self, error: httpx.TransportError) -> float | None:
        """How many seconds to wait before the next try; None: give up."""
        unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if not (self.repeatable or unsent) or not self.cuts_left or time.monotonic() > self.until:
            return None
        self.cuts_left -= 1
        return PAUSES_S[len(PAUSES_S) - self.cuts_left - 1]

    def after_answer(self, answer: httpx.Response) -> float | None:
        """How many seconds to wait before the request is sent again; None: the answer stands."""
        status = answer.status_code
        if status not in LATER or not (self.repeatable or status == httpx.codes.TOO_MANY_REQUESTS):
            return None
        pause = _read_retry_after(answer.headers.get("Retry-After", ""))
        if pause is None or not self.tries_left or time.monotonic() + pause > self.until:
            return None
        self.tries_left -= 1
        return pause


def _read_retry_after(said: str) -> float | None:
    """The seconds in a `Retry-After`, which may also be a date; None if it is neither."""
    if said.isascii() and said.isdecimal():
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None


class _Event(NamedTuple):
    """A server-sent event; `id` is "" where it has none."""

    id: str
    name: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Album:
    """An album on a server; `missing` of its pictures have left the library, and are in it again if they come back."""

    id: str
    name: str
    pictures: int
    missing: int


@dataclass(frozen=True)
class Mark:
    """What you think of a picture: `stars` from 1 to 5, 0 for none; `albums` are the ids of yours that it is in."""

    favourite: bool
    stars: int
    albums: tuple[str, ...]


@dataclass(frozen=True)
class KeptConversation:
    """A conversation that a server keeps. `matches`: where what was sought was said, as numbers of turns and texts."""

    id: str
    name: str
    turns: int
    updated: datetime
    matches: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Ticket:
    """A token for the browser of a `visitor`, good until it `expires`."""

    token: str
    visitor: str
    expires: datetime


ExportKind = Literal["zip", "csv", "json", "xmp"]
OnConflict = Literal["refuse", "branch"]


class RemoteLibrary:
    """The library of a server. `with` or `close` closes its connections.

    Raises, like every method:
        ServerFailed: nothing answers at `url`, or it is not a viewfinder server, or the server is too busy.
        BadInput: the server asks for a token, or for another one.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        check_type("url", url, str)
        check_type("token", token, str, type(None))
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"url: {url[:60]!r} has no http:// or https:// before it, as in http://127.0.0.1:8008")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise BadInput("token: this is none, `viewfinder token add` makes plain letters")
        self.url = url.rstrip("/").removesuffix("/api/v1")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=TIMEOUT)
        except httpx.InvalidURL as error:
            raise BadInput(f"url: {url[:60]!r}: {error}") from error
        try:
            # A wrong address or token is reported now: nothing was there yet that may come back.
            self._read(self._send("GET", "/collection", patience=Patience(repeatable=True, cuts_left=0)))
        except UnknownName as error:
            self.close()
            raise ServerFailed(f"{self.url}: no server of viewfinder answers there: check the url") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; conversations stay on the server."""
        self._http.close()

    def __len__(self) -> int:
        """How many pictures there are now."""
        return int(self.status()["pictures"])

    def __bool__(self) -> bool:
        """Always true: a library without pictures is a library."""
        return True

    def __repr__(self) -> str:
        return f"<RemoteLibrary {self.url}>"  # without the token: a notebook keeps what it shows

    def __iter__(self) -> Iterator[PictureRow]:
        """The pictures, by id; a file is its last name only. A request for each: `find` is for looking for one."""
        for id in sorted(card["id"] for card in self._pages("POST", "/pictures/browse", "pictures")):
            try:
                known = self.ask("GET", f"/pictures/{id}")
            except UnknownName:  # forgotten since
                continue
            yield _read_row(known)

    def __getitem__(self, picture: Picture) -> PictureRow:
        """One picture, by its id (or a result). Raises UnknownName: there is none."""
        return _read_row(self.ask("GET", f"/pictures/{_check_id('picture', id_of(picture))}"))

    def __contains__(self, picture: object) -> bool:
        """Whether the server has a picture, by its id, its row or a result."""
        try:
            return isinstance(picture, Picture) and bool(self[picture])
        except UnknownName:
            return False

    def to_arrow(self) -> Any:
        """The pictures as an Arrow table, as `Library.to_arrow`, with names in place of paths."""
        return describe_pictures(list(self))

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
        return to_frame(self.to_arrow())

    def failures(self) -> list[Failure]:
        """The files in quarantine, by their last names, with the reasons; their sizes are not known."""
        return [
            Failure(it["name"], 0, 0, it["reason"]) for it in self._pages("GET", "/collection/failures", "failures")
        ]

    def add(self, *paths: str | Path) -> AddReport:
        """Sends picture files of this machine, and those in folders, and waits until the server has added them.

        The server keeps copies; searches find them a few seconds later. `unchanged` counts those that it had already,
        `quarantined` those that it refused: `report.failures` says why, and the server remembers nothing of them.

        Raises:
            BadInput: no such file or folder; or the server wants a token with the scope `admin`.
            ServerFailed: a job that adds them failed.
        """
        notes = WalkNotes()
        found = scan([check_path("a path to add", path) for path in paths], notes=notes)
        report = AddReport(found=len(found.files) + len(found.unreadable))
        report.take_notes(notes)
        report.failures += [Failure(str(entry.path), 0, 0, entry.reason) for entry in found.unreadable]
        jobs: dict[str, set[str]] = {}
        for file in found.files:
            try:
                sent = self._send_picture(file.path)
            except PictureError as error:
                report.failures.append(Failure(str(file.path), file.size, file.mtime_ns, str(error)))
                continue
            if sent["job"] is None:
                report.unchanged += 1
            elif any(sent["picture"] in pictures for pictures in jobs.values()):
                report.duplicates += 1
            else:
                jobs.setdefault(sent["job"], set()).add(sent["picture"])
        for job, pictures in jobs.items():
            if self._wait_for(job):
                report.added += len(pictures)
            else:
                report.stopped = True
        report.quarantined = len(report.failures)
        return report

    def remove(self, *pictures: Picture) -> None:
        """Removes pictures, given as such or by their ids; waits until the server has done it.

        Raises:
            UnknownName: the server has no such picture; those before it are removed.
            BadInput: the server wants a token with the scope `admin`.
            ServerFailed: a job that removes them failed.
        """
        jobs = dict.fromkeys(
            self.ask("DELETE", f"/pictures/{_check_id('picture', id_of(picture))}")["job"] for picture in pictures
        )
        for job in jobs:
            self._wait_for(job)

    def status(self) -> dict[str, Any]:
        """The server's library at a glance (`GET /collection`)."""
        return cast(dict[str, Any], self.ask("GET", "/collection"))

    def find(
        self,
        text: str = "",
        n: int = 10,
        *,
        like: Picture | OwnImage | None = None,
        where: Mapping[str, str] | None = None,
        without: str = "",
        fold: bool = True,
        fields: Sequence[str] = (),
        sort: str = "",
    ) -> Hits:
        """Searches as `Library.find`, with at most 500 results; an image is uploaded, and deleted afterwards."""
        started, names = time.perf_counter(), check_names("fields", fields)
        liked = shown = None
        if like is not None:
            if is_known(like, self):
                liked = id_of(like)
            else:
                shown = self.upload(like)
        body: dict[str, Any] = {
            "text": text,
            "like": liked,
            "show": shown,
            "without": without,
            "where": _check_filters(where),
            "n": n,
        }
        body |= {"fold": fold} | ({"fields": names} if names else {}) | ({"sort": sort} if sort else {})
        try:
            return _read_hits(self.ask("POST", "/search", body), started)
        finally:
            if shown is not None:
                self.ask("DELETE", f"/uploads/{shown}")

    def chat(
        self,
        retriever: str = "composer",
        questioner: str | None = "information_gain",
        *,
        n: int = 10,
        where: Mapping[str, str] | None = None,
        conversation: Conversation | None = None,
        picture_bias: float | None = None,
        fields: Sequence[str] = (),
        sort: str = "",
        on_conflict: OnConflict = "refuse",
    ) -> RemoteSession:
        """Begins a conversation as `Library.chat` does; the server keeps it until `forget`.

        `fields`, `sort`: what the results of its turns have with them, and their order, as in `find`. `on_conflict`: of
        a turn, if the conversation went on elsewhere meanwhile (see `RemoteSession`).
        """
        check_type("conversation", conversation, Conversation, type(None))
        if picture_bias is not None:
            speaks = {it["name"] for it in self.ask("GET", "/retrievers")["retrievers"] if it["leaning"] is not None}
            if retriever not in speaks:
                raise BadInput(f"{retriever} answers with pictures alone: leave the leaning out")
        settings = {
            "retriever": retriever,
            "questioner": questioner or "none",
            "where": _check_filters(where),
            "n": n,
            "leaning": picture_bias,
        }
        if conversation is None:
            id = self.ask("POST", "/sessions", settings, key=make_key())["id"]
            return RemoteSession(self, id, fields=fields, sort=sort, on_conflict=on_conflict)
        document = {"schema": "viewfinder/session", "conversation": conversation.to_json()}
        id = self.ask("POST", "/sessions/import", settings | document)["id"]
        pending, turn = conversation.pending, len(conversation)
        return RemoteSession(self, id, pending, turn=turn, fields=fields, sort=sort, on_conflict=on_conflict)

    def conversations(self, text: str = "") -> Iterator[KeptConversation]:
        """The conversations that the server keeps for you, the last used first; with the scope `admin` everybody's.

        With a `text`, those in whose name or turns all of its words, or words that begin so, are.
        """
        check_type("text", text, str)
        path = f"/sessions?{urlencode({'q': text})}" if text else "/sessions"
        for it in self._pages("GET", path, "sessions", MAX_CONVERSATIONS):
            matches = tuple((match["turn"], match["text"]) for match in it["matches"])
            updated = datetime.fromisoformat(it["updated"])
            yield KeptConversation(it["id"], it["name"], it["turns"], updated, matches)

    def resume(
        self,
        conversation: KeptConversation | str,
        *,
        fields: Sequence[str] = (),
        sort: str = "",
        on_conflict: OnConflict = "refuse",
    ) -> RemoteSession:
        """Goes on with a conversation that the server keeps, given as such or by its id, where it stands now.

        Raises:
            UnknownName: the server keeps no such conversation.
        """
        check_type("conversation", conversation, KeptConversation, str)
        id = _check_id("session", conversation if isinstance(conversation, str) else conversation.id)
        chat = RemoteSession(self, id, fields=fields, sort=sort, on_conflict=on_conflict)
        chat.catch_up()
        return chat

    # -- what one keeps, and takes along

    def albums(self) -> list[Album]:
        """Your albums, the last changed first; with the scope `admin` those of everybody."""
        return [_read_album(it) for it in self.ask("GET", "/albums")["albums"]]

    def make_album(self, name: str, pictures: Iterable[Picture] = ()) -> Album:
        """A new album with these pictures, given as such or by their ids.

        Raises:
            BadInput: there is one of this name.
        """
        made = _read_album(self.ask("POST", "/albums", {"name": name}))
        return self.change_album(made, add=pictures)

    def change_album(
        self,
        album: Album | str,
        *,
        name: str | None = None,
        add: Iterable[Picture] = (),
        remove: Iterable[Picture] = (),
    ) -> Album:
        """Takes pictures out of an album, puts others into it, and gives it another name; albums are given as such or
        by their ids. Pictures that the server does not have are left out.

        Raises:
            UnknownName: there is no such album.
        """
        path = f"/albums/{_check_id('album', _album_id(album))}"
        if name is not None:
            self.ask("PATCH", path, {"name": name})
        change = {"add": list(map(id_of, add)), "remove": list(map(id_of, remove))}
        return _read_album(self.ask("POST", f"{path}/pictures", change))

    def delete_album(self, album: Album | str) -> None:
        """Deletes an album; its pictures stay in the library. Raises UnknownName: there is none."""
        self.ask("DELETE", f"/albums/{_check_id('album', _album_id(album))}")

    def album_pictures(self, album: Album | str) -> list[str]:
        """The ids of an album's pictures, in the order in which they were added. Raises UnknownName: there is none."""
        return [it["id"] for it in self._pages("GET", f"/albums/{_check_id('album', _album_id(album))}", "results")]

    def mark(self, *pictures: Picture, favourite: bool | None = None, stars: int | None = None) -> None:
        """Makes pictures favourites, or not, and gives them stars, 0 for none; what is None stays as it is."""
        given = {"pictures": list(map(id_of, pictures)), "favourite": favourite, "stars": stars}
        self.ask("POST", "/marks", given)

    def marks(self, *pictures: Picture) -> dict[str, Mark]:
        """The marks of pictures, by their ids."""
        ids, found = list(map(id_of, pictures)), dict[str, Mark]()
        for start in range(0, len(ids), PAGE):
            asked = urlencode({"ids": ",".join(ids[start : start + PAGE])})
            for id, it in self.ask("GET", f"/marks?{asked}")["marks"].items():
                found[id] = Mark(it["favourite"], it["stars"], tuple(it["albums"]))
        return found

    def make_ticket(self, visitor: str | None = None, minutes: float = 15) -> Ticket:
        """A token that lasts minutes, for a page of yours to search with: give it to a visitor's browser.

        It may look, search and talk. With the same `visitor` the next ticket goes on with their conversations; None
        begins with a new one. Your own token needs the scope `tickets`.
        """
        made = self.ask("POST", "/tickets", {"visitor": visitor, "minutes": minutes})
        return Ticket(made["token"], made["visitor"], datetime.fromisoformat(made["expires"]))

    def download(self, picture: Picture, to: str | Path) -> Path:
        """Saves a picture's file as `to`, or in it under its own name, where that is a folder; returns its path.

        Raises:
            BadInput: that file is there already; or the token has not the scope `download`.
            UnknownName: there is no such picture.
            ServerFailed: its file is gone.
        """
        id, place = id_of(picture), check_path("to", to)
        if place.is_dir():
            place /= PurePath(self.ask("GET", f"/pictures/{_check_id('picture', id)}")["names"][0]).name
        return self._save(f"/pictures/{_check_id('picture', id)}/original?download=1", place)

    def export(
        self,
        to: str | Path,
        pictures: Iterable[Picture] | None = None,
        *,
        album: Album | str | None = None,
        kind: ExportKind = "zip",
        fields: Sequence[str] | None = None,
    ) -> Path:
        """Saves pictures, or an album, as `to`: their files in a ZIP, what is known of them as CSV or JSON (all of it,
        or some `fields`), or as XMP files in a ZIP. Returns the path.

        Raises:
            BadInput: that file is there already; or there is nothing to take along.
            UnknownName: there is no such album or field.
        """
        asked: dict[str, Any] = {"as": kind, "fields": None if fields is None else check_names("fields", fields)}
        asked |= {"pictures": None if pictures is None else list(map(id_of, pictures))}
        asked |= {"album": None if album is None else _album_id(album)}
        return self._save(
            str(self.ask("POST", "/exports", asked)["address"]).removeprefix("/api/v1"), check_path("to", to)
        )

    def _save(self, path: str, to: Path) -> Path:
        """Writes an answer to a file, which is there only once it is whole."""
        if to.exists():
            raise BadInput(f"{to} is there already: name another file")
        part = to.with_name(f".{to.name}.{make_key()}.part")
        try:
            with self._explain_failures(), self._http.stream("GET", path) as answer, part.open("xb") as file:
                if answer.is_error:
                    answer.read()
                    self._read(answer)
                for piece in answer.iter_bytes():
                    file.write(piece)
            part.replace(to)
        except OSError as error:
            raise BadInput(f"{to} cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
        return to

    # -- for sessions

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """The JSON with which the API answers a request; None if the answer is empty.

        With a `key` (`make_key`) the server does what is asked once, however often that has to be sent.
        """
        try:
            content = None if body is None else json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise BadInput(f"this cannot be sent: {error}") from error
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": f'"{key}"'})
        patience = Patience(repeatable=key is not None or method == "GET" or path in READS)
        return self._read(self._send(method, path, patience=patience, content=content, headers=headers))

    def upload(self, image: OwnImage) -> str:
        """Uploads the user's own image; returns its id. Raises BadInput: not an image, or no such file."""
        content = _read_image(image)
        return str(self._read(self._send("POST", "/uploads", files={"file": ("image", content)}))["id"])

    def events(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Server-sent events, name and data, up to the one called `done`; after a cut it goes on after the last one."""
        last, begun, patience = "", False, Patience(repeatable=True)
        with self._explain_failures():
            while True:
                try:
                    for event in self._stream(path, last, patience):
                        if event.id and event.id != last:
                            last, patience = event.id, Patience(repeatable=True)  # it goes on
                        begun = True
                        yield event.name, event.data
                        if event.name == "done":
                            return
                    raise httpx.RemoteProtocolError("it broke off in the middle of an answer")
                except httpx.TransportError as error:
                    resumable = last or not begun
                    pause = patience.after_cut(error) if resumable else None
                    if pause is None:
                        raise
                time.sleep(pause)

    def _stream(self, path: str, last: str, patience: Patience) -> Iterator[_Event]:
        """The events after the one with the id `last`, as long as the connection holds."""
        headers = {"Last-Event-ID": last} if last else {}
        while True:
            with self._http.stream("GET", path, headers=headers) as answer:
                if not answer.is_error:
                    yield from _read_events(answer.iter_lines())
                    return
                answer.read()
                pause = patience.after_answer(answer)
                if pause is None:
                    self._read(answer)
            time.sleep(pause or 0)

    def _pages(self, method: str, path: str, name: str, count: int | None = None) -> Iterator[dict[str, Any]]:
        """The items listed under `name`, page after page of `count`."""
        cursor: str | None = None
        joint = "&" if "?" in path else "?"
        while True:
            asked = {"n": count or PAGE} | ({} if cursor is None else {"cursor": cursor})
            query = f"{path}{joint}{urlencode(asked)}"
            page = self.ask(method, path, asked) if method == "POST" else self.ask(method, query)
            yield from page[name]
            if (cursor := page["next"]) is None:
                return

    def _send_picture(self, path: Path) -> dict[str, Any]:
        """The picture's id, and the job that adds it, None if it is there. Raises PictureError: it is not accepted."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PictureError(f"cannot be read: {error.strerror}") from error
        answer = self._send("POST", "/pictures", files={"file": ("image", content)})
        if answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
            raise PictureError("larger than the server accepts")
        return cast(dict[str, Any], self._read(answer))

    def _wait_for(self, job: str) -> bool:
        """Waits until a job has ended; False if it was paused or cancelled. Raises ServerFailed: it failed."""
        while True:
            now = self.ask("GET", f"/collection/jobs/{job}")
            if now["state"] == "failed":
                raise ServerFailed(f"{self.url} could not {now['kind']} the pictures: {now['error']}")
            if now["state"] not in ("queued", "running"):
                return bool(now["state"] == "done")
            time.sleep(POLL_S)

    def _send(self, method: str, path: str, *, patience: Patience | None = None, **given: Any) -> httpx.Response:
        """The answer to a request, which is sent again as `patience` allows."""
        patience = patience or Patience(repeatable=False)
        with self._explain_failures():
            while True:
                try:
                    answer = self._http.request(method, path, **given)
                except httpx.TransportError as error:
                    pause = patience.after_cut(error)
                    if pause is None:
                        raise
                else:
                    pause = patience.after_answer(answer)
                    if pause is None:
                        return answer
                time.sleep(pause)

    @contextmanager
    def _explain_failures(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise ServerFailed(
                f"{self.url} cannot be reached ({reason}): is `viewfinder serve` running there?"
            ) from error
        except RuntimeError as error:  # what httpx raises after `close`
            raise ServerFailed(f"{self.url}: {error}; connect again") from error

    def _read(self, answer: httpx.Response) -> Any:
        """The JSON of an answer; a problem document is raised as the error that it describes."""
        if answer.status_code == httpx.codes.NO_CONTENT:
            return None
        try:
            data = answer.json()
        except ValueError:
            data = None
        if not isinstance(data, dict) or (answer.is_error and not isinstance(data.get("detail"), str)):
            raise ServerFailed(
                f"{self.url} answers as no server of viewfinder does ({answer.status_code}): check the url"
            )
        if not answer.is_error:
            return data
        busy = answer.status_code >= 500 or answer.status_code in BUSY
        named = str(data.get("type")).rpartition(":")[2]
        if named == "moved-on":
            raise MovedOn(data["detail"], tuple(str(turn["told"]) for turn in data.get("since", ())))
        kind = ERRORS.get(named, ServerFailed if busy else BadInput)
        if answer.status_code in (401, 403):
            raise BadInput(f"{data['detail']}: viewfinder.connect(url, token=...)")
        raise kind(data["detail"])


class RemoteSession(TurnMethods):
    """A conversation on a server, for one thread at a time. `RemoteLibrary.chat` begins one, `resume` goes on with one.

    A page or another program may go on with the same conversation. A turn then never follows what this session has not
    seen: it is refused (`MovedOn`), or taken on a branch where this session stands.

    Attributes:
        id: the conversation's id on the server.
        turn: the newest turn that this session knows; the next one is meant to follow it.
        on_conflict: of a turn, if the conversation went on elsewhere meanwhile: "refuse" it, or take it on a "branch".
        adapters: the turns so far that the retriever could not take as given, and what was done instead.
        answered_with: whether the newest turn is answered with "pictures" or "words"; None: the retriever does not
            speak.
    """

    def __init__(
        self,
        library: RemoteLibrary,
        id: str,
        question: Question | None = None,
        *,
        turn: int = 0,
        fields: Sequence[str] = (),
        sort: str = "",
        on_conflict: OnConflict = "refuse",
    ) -> None:
        if on_conflict not in ("refuse", "branch"):
            raise BadInput(f"on_conflict: {on_conflict!r} is neither refuse nor branch")
        self.id = id
        self.turn = turn
        self.on_conflict: OnConflict = on_conflict
        wanted = [*(("fields", name) for name in check_names("fields", fields)), *([("sort", sort)] if sort else [])]
        self._wanted = f"?{urlencode(wanted)}" if wanted else ""
        self.adapters: tuple[str, ...] = ()
        self.answered_with: Answered | None = None
        self._library = library
        self._question = question
        self._unsure: _Unsure | None = None
        self._uploaded: tuple[str, str] | None = None  # a digest of the image that was uploaded last, and its id

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer, if any."""
        return self._question

    @property
    def conversation(self) -> Conversation:
        """The conversation so far, as the server has it: the user's own images are named by their uploads."""
        document = self._library.ask("GET", f"/sessions/{self.id}/export")
        return Conversation.from_json(document["conversation"])

    def _list_counting(self) -> Sequence[Node]:
        return self.conversation.path(self.turn)

    def take(self, turn: Turn) -> Hits:
        """One turn of any kind; a `Show` names what `RemoteLibrary.upload` returned. Raises as `Session.take`.

        It is taken once, however often the connection is cut. After `ServerFailed` it may or may not have been taken:
        taking the same turn again then completes that one, rather than taking another.

        Raises:
            MovedOn: the conversation went on elsewhere; `catch_up` follows it there.
        """
        started = time.perf_counter()
        try:
            said = turn_to_json(turn)
        except TypeError as error:
            raise BadInput(str(error)) from error
        if self._unsure is None or self._unsure.said != said:
            self._unsure = _Unsure(said, {"parent": self.turn, "on_conflict": self.on_conflict}, make_key())
        sent, key = self._unsure.said | self._unsure.placed, self._unsure.key
        try:
            results = self._library.ask("POST", f"/sessions/{self.id}/turns{self._wanted}", sent, key=key)
        except BadInput:  # refused, so not taken
            self._unsure = None
            raise
        hits = self._finish(results, started)
        # Only now: until all events are here, the same turn may have to be taken again, and answers the same question.
        self._unsure = None
        return hits

    def catch_up(self) -> Hits:
        """What is found where the conversation stands now; the next turn follows what was said elsewhere meanwhile."""
        started = time.perf_counter()
        newest = self._library.ask("GET", f"/sessions/{self.id}/turns?after={self.turn}")["newest"]
        hits = self._finish(self._library.ask("GET", f"/sessions/{self.id}/turns/{newest}{self._wanted}"), started)
        self._unsure = None
        return hits

    def said_since(self) -> list[str]:
        """What was said elsewhere since the newest turn that this session knows, in the order in which it was said."""
        return [it["told"] for it in self._library.ask("GET", f"/sessions/{self.id}/turns?after={self.turn}")["turns"]]

    def _finish(self, results: Mapping[str, Any], started: float) -> Hits:
        """The results of a turn at which this session stands now, once its question and its reasons have come."""
        self.turn = results["turn"]
        self.adapters = tuple(results["adapters"])
        self.answered_with = None if results["answer"] is None else results["answer"]["with"]
        why: dict[str, dict[str, Any]] = {}
        question = self._question
        for name, data in self._library.events(f"/sessions/{self.id}/turns/{self.turn}/events"):
            if name == "question":
                asked = data["question"]
                question = asked and Question(**asked | {many: tuple(asked[many]) for many in ("choices", "examples")})
            elif name == "why":
                why |= data["why"]
        self._question = question
        return _read_hits(results, started, why)

    def reply(self) -> Iterator[str]:
        """The words with which the newest turn is answered, piece by piece as they are written."""
        events = self._library.events(f"/sessions/{self.id}/turns/{self.turn}/reply/events")
        return (data["text"] for name, data in events if name == "words")

    def rank_of(self, picture: Picture) -> int:
        """The rank of a picture after the newest turn: 0-based, in the whole collection, pessimistic on ties."""
        path = f"/sessions/{self.id}/turns/{self.turn}/ranks/{_check_id('picture', id_of(picture))}"
        return int(self._library.ask("GET", path)["worst"])

    def forget(self) -> None:
        """Makes the server forget the conversation."""
        self._library.ask("DELETE", f"/sessions/{self.id}")

    def _name_image(self, image: OwnImage) -> str:
        content = _read_image(image)
        digest = hashlib.sha256(content).hexdigest()
        # While it is not known whether a turn was taken, the same image is the same upload: it may be that turn again.
        if self._unsure is None or self._uploaded is None or self._uploaded[0] != digest:
            self._uploaded = digest, self._library.upload(content)
        return self._uploaded[1]


class _Unsure(NamedTuple):
    """A turn that may have been taken: as it was said, where it was meant, and the key by which it is taken once."""

    said: dict[str, Any]
    placed: dict[str, Any]
    key: str


def _read_image(image: OwnImage) -> bytes:
    """The content of an image to upload. Raises BadInput: not an image, or no such file."""
    if not isinstance(image, str | Path):
        return image if isinstance(image, bytes) else pack_image(image)
    if not is_file(image):
        raise BadInput(f"no such image: {image or 'an empty text names none'}")
    try:
        return Path(image).read_bytes()
    except OSError as error:
        raise BadInput(f"{image} cannot be read: {error.strerror}") from error


def make_key() -> str:
    """A key by which the server tells a request from all others."""
    return str(uuid.uuid4())


def _read_events(lines: Iterator[str]) -> Iterator[_Event]:
    """Server-sent events; one that is cut off before its empty line does not count."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
            continue
        if "data" in fields:
            yield _Event(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"]))
        fields = {}


def _read_album(told: Mapping[str, Any]) -> Album:
    return Album(told["id"], told["name"], told["pictures"], told["missing"])


def _check_id(kind: str, id: str) -> str:
    """An id, as a part of an address. Raises UnknownName: it would be that of something else, and is nobody's id.

    >>> _check_id("picture", "1b-2c")
    '1b-2c'
    """
    if re.fullmatch(r"(?!\.)[\w.~-]{1,64}", id, re.ASCII) is None:
        raise UnknownName(f"there is no {kind} {id[:64]!r}")
    return id


def _album_id(album: Album | str) -> str:
    check_type("album", album, Album, str)
    return album.id if isinstance(album, Album) else album


def _read_row(known: Mapping[str, Any]) -> PictureRow:
    """A picture as the API describes it."""
    facts = known["facts"]
    told = tuple(Fact(it["name"], tuple(it["values"]), it["source"]) for it in known.get("known", ()))
    files = tuple(FileRecord(name, facts["bytes"], 0) for name in known["names"])
    return PictureRow(
        known["id"],
        (replace(files[0], facts=told), *files[1:]),
        **{name: facts[name] for name in ("width", "height", "format", "bytes", "captured", "camera")},
        captions=tuple(known["captions"]),
        attributes={name: tuple(values) for name, values in known["attributes"].items()},
    )


def _check_filters(where: Mapping[str, str] | None) -> dict[str, str]:
    check_type("where", where, Mapping, type(None))
    return dict(where or {})


def _read_hits(results: Mapping[str, Any], started: float, why: Mapping[str, dict[str, Any]] | None = None) -> Hits:
    """The results of the API, with the reasons in `why` if given, else with their own."""
    hits = [
        Hit(
            it["rank"],
            it["id"],
            PicturePath(it["name"]),
            it["score"],
            it["match"],
            (it["why"] if why is None else why.get(it["id"])) or {},
            tuple(it.get("others", ())),
            {name: tuple(values) for name, values in (it.get("fields") or {}).items()},
        )
        for it in results["results"]
    ]
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Hits(
        hits,
        results["verdict"],
        elapsed_ms,
        results.get("missing", 0),
        results.get("unheard", ()),
        _read_reading(results.get("reading")),
    )


def _read_reading(said: Mapping[str, Any] | None) -> SaidReading | None:
    if said is None:
        return None
    from viewfinder.wording.reading import SaidFact, SaidReading, SaidWord
    from viewfinder.wording.spelling import Correction

    corrections = tuple(Correction(one["typed"], one["read"]) for one in said["corrections"])
    facts = tuple(
        SaidFact(one["words"], one["kind"], one["pictures"], one["filter"], one["without"]) for one in said["facts"]
    )
    words = tuple(SaidWord(one["text"], one["without"]) for one in said["words"])
    as_typed = tuple(one["without"] for one in said["corrections"])
    return SaidReading(said["content"], corrections, facts, words, as_typed)
