"""A library on a server (`viewfinder serve`), with the methods of a library here; `viewfinder.connect` makes one.

Results have the same classes, and errors too. A server does not reveal paths: `Hit.path` is the file name only.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote, urlencode

import httpx

from viewfinder.conversation import Conversation, Question, Turn, turn_to_json
from viewfinder.errors import (
    BadInput,
    DatabaseError,
    DiskFull,
    EmptyQuery,
    LibraryBusy,
    LibraryError,
    PictureError,
    ServerFailed,
    UnknownName,
    ViewfinderError,
    check_path,
    check_type,
)
from viewfinder.index.ingest import AddReport
from viewfinder.index.ranking import Hit, Hits, PicturePath
from viewfinder.index.rows import Failure, FileRecord, PictureRow, describe_pictures, to_frame
from viewfinder.pictures import is_file, pack_image, scan
from viewfinder.session import Answered, Picture, TurnMethods, id_of, is_known

if TYPE_CHECKING:
    from viewfinder.session import OwnImage

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
    "failed": ViewfinderError,
}
"""The kinds of problem documents that are errors of the engine; all others are told apart by their status."""

PAGE = 500
"""Pictures or failures that are asked for at once."""

LOOK_S = 0.2
"""How often to look whether a job has ended."""

TRIES = 20
"""How often a request is sent that the server asks to send later."""

BUSY = (408, 429)
"""Statuses below 500 that do not mean that the request is wrong."""


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
        self.url = url.rstrip("/")
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            self._http = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=TIMEOUT)
        except httpx.InvalidURL as error:
            raise BadInput(f"url: {url[:60]!r}: {error}") from error
        try:
            self.status()  # report a wrong address or token now
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

    def __iter__(self) -> Iterator[PictureRow]:
        """The pictures, by id; a file is its last name only. A request for each: `find` is for looking for one."""
        for id in sorted(card["id"] for card in self._pages("POST", "/pictures/browse", "pictures")):
            try:
                known = self.ask("GET", f"/pictures/{id}")
            except UnknownName:  # forgotten since
                continue
            yield _row(known)

    def __getitem__(self, picture: Picture) -> PictureRow:
        """One picture, by its id (or a result). Raises UnknownName: there is none."""
        return _row(self.ask("GET", f"/pictures/{quote(id_of(picture), safe='')}"))

    def __contains__(self, picture: object) -> bool:
        """Whether the server has a picture, by its id, its row or a result."""
        try:
            return isinstance(picture, Picture) and bool(self[picture])
        except UnknownName:
            return False

    def to_arrow(self) -> Any:
        """Like `Library.to_arrow`, with names in place of paths."""
        return describe_pictures(list(self))

    def to_pandas(self) -> Any:
        """`to_arrow` as a pandas DataFrame. Raises ViewfinderError: pandas is not installed."""
        return to_frame(self.to_arrow())

    def failures(self) -> list[Failure]:
        """The files in quarantine, by their last names, with the reasons; what size they had is not told."""
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
        found = scan([check_path("a path to add", path) for path in paths])
        report = AddReport(found=len(found.files) + len(found.unreadable))
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
        """Like `Library.remove`, for pictures and their ids; waits until the server has done it.

        Raises:
            UnknownName: the server has no such picture; those before it go.
            BadInput: the server wants a token with the scope `admin`.
            ServerFailed: a job that removes them failed.
        """
        jobs = dict.fromkeys(
            self.ask("DELETE", f"/pictures/{quote(id_of(picture), safe='')}")["job"] for picture in pictures
        )
        for job in jobs:
            self._wait_for(job)

    def status(self) -> dict[str, Any]:
        """What the server says about its library (`GET /collection`)."""
        return cast(dict[str, Any], self.ask("GET", "/collection"))

    def find(
        self,
        text: str = "",
        n: int = 10,
        *,
        like: Picture | OwnImage | None = None,
        where: Mapping[str, str] | None = None,
        without: str = "",
    ) -> Hits:
        """Like `Library.find`, with at most 500 results; an image is uploaded, and the server forgets it afterwards."""
        started = time.perf_counter()
        liked = shown = None
        if like is not None:
            if is_known(like, self):
                liked = id_of(like)
            else:
                shown = self.upload(like)
        body = {"text": text, "like": liked, "show": shown, "without": without, "where": _filters(where), "n": n}
        try:
            return _hits(self.ask("POST", "/search", body), started)
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
    ) -> RemoteSession:
        """Like `Library.chat`: a conversation that the server keeps until `forget`."""
        check_type("conversation", conversation, Conversation, type(None))
        if picture_bias is not None:
            speaks = {it["name"] for it in self.ask("GET", "/retrievers")["retrievers"] if it["leaning"] is not None}
            if retriever not in speaks:
                raise BadInput(f"{retriever} answers with pictures alone: leave the leaning out")
        settings = {
            "retriever": retriever,
            "questioner": questioner or "none",
            "where": _filters(where),
            "n": n,
            "leaning": picture_bias,
        }
        if conversation is None:
            return RemoteSession(self, self.ask("POST", "/sessions", settings)["id"])
        document = {"schema": "viewfinder/session", "conversation": conversation.to_json()}
        return RemoteSession(
            self, self.ask("POST", "/sessions/import", settings | document)["id"], conversation.pending
        )

    # -- for sessions

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON with which the API answers a request; None if the answer is empty."""
        try:
            content = None if body is None else json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise BadInput(f"this cannot be sent: {error}") from error
        return self._read(self._send(method, path, content=content, headers={"Content-Type": "application/json"}))

    def upload(self, image: OwnImage) -> str:
        """Uploads the user's own image; returns its id. Raises BadInput: not an image, or no such file."""
        if isinstance(image, str | Path):
            if not is_file(image):
                raise BadInput(f"no such image: {image}")
            try:
                content = Path(image).read_bytes()
            except OSError as error:
                raise BadInput(f"{image} cannot be read: {error.strerror}") from error
        else:
            content = image if isinstance(image, bytes) else pack_image(image)
        return str(self._read(self._send("POST", "/uploads", files={"file": ("image", content)}))["id"])

    def events(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Server-sent events, name and data, up to the one called `done`."""
        with self._reached(), self._http.stream("GET", path) as answer:
            if answer.is_error:
                answer.read()
                self._read(answer)
            name = ""
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)
                    if name == "done":
                        return
        raise ServerFailed(f"{self.url} broke off in the middle of an answer: ask again")

    def _pages(self, method: str, path: str, name: str) -> Iterator[dict[str, Any]]:
        """What is listed under `name`, page after page."""
        cursor: str | None = None
        while True:
            asked = {"n": PAGE} if cursor is None else {"n": PAGE, "cursor": cursor}
            page = self.ask(method, path, asked) if method == "POST" else self.ask(method, f"{path}?{urlencode(asked)}")
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
        """Waits until a job has ended; False if somebody paused or cancelled it. Raises ServerFailed: it failed."""
        while True:
            now = self.ask("GET", f"/collection/jobs/{job}")
            if now["state"] == "failed":
                raise ServerFailed(f"{self.url} could not {now['kind']} the pictures: {now['error']}")
            if now["state"] not in ("queued", "running"):
                return bool(now["state"] == "done")
            time.sleep(LOOK_S)

    def _send(self, method: str, path: str, **given: Any) -> httpx.Response:
        """The answer to a request; it is sent again after the seconds that a server asks to wait for."""
        with self._reached():
            for _ in range(TRIES):
                answer = self._http.request(method, path, **given)
                pause = answer.headers.get("Retry-After", "")
                if answer.status_code != httpx.codes.TOO_MANY_REQUESTS or not pause.isdigit():
                    break
                time.sleep(int(pause))
            return answer

    @contextmanager
    def _reached(self) -> Iterator[None]:
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
        kind = ERRORS.get(str(data.get("type")).rpartition(":")[2], ServerFailed if busy else BadInput)
        if answer.status_code in (401, 403):
            raise BadInput(f"{data['detail']}: viewfinder.connect(url, token=...)")
        raise kind(data["detail"])


class RemoteSession(TurnMethods):
    """A conversation on a server, for one thread at a time. `RemoteLibrary.chat` begins one.

    Attributes:
        id: the conversation's id on the server.
        adapters: the turns so far that the retriever could not take as given, and what was done instead.
        answered_with: whether the newest turn is answered with "pictures" or "words"; None: the retriever does not
            speak.
    """

    def __init__(self, library: RemoteLibrary, id: str, question: Question | None = None) -> None:
        self.id = id
        self.adapters: tuple[str, ...] = ()
        self.answered_with: Answered | None = None
        self._library = library
        self._question = question
        self._turn = 0

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer, if any."""
        return self._question

    @property
    def conversation(self) -> Conversation:
        """The conversation so far, as the server has it: the user's own images are named by their uploads."""
        document = self._library.ask("GET", f"/sessions/{self.id}/export")
        return Conversation.from_json(document["conversation"])

    def take(self, turn: Turn) -> Hits:
        """One turn of any kind; a `Show` names what `RemoteLibrary.upload` returned. Raises as `Session.take`."""
        started = time.perf_counter()
        try:
            said = turn_to_json(turn)
        except TypeError as error:
            raise BadInput(str(error)) from error
        if said.get("answer") == "":
            said = {"skip": True, "question": said["question"]}
        results = self._library.ask("POST", f"/sessions/{self.id}/turns", said)
        self._turn = results["turn"]
        self.adapters = tuple(results["adapters"])
        self.answered_with = None if results["answer"] is None else results["answer"]["with"]
        why: dict[str, dict[str, Any]] = {}
        for name, data in self._library.events(f"/sessions/{self.id}/turns/{self._turn}/events"):
            if name == "question":
                asked = data["question"]
                self._question = asked and Question(
                    **asked | {many: tuple(asked[many]) for many in ("choices", "examples")}
                )
            elif name == "why":
                why |= data["why"]
        return _hits(results, started, why)

    def reply(self) -> Iterator[str]:
        """The words with which the newest turn is answered, piece by piece as they are written."""
        events = self._library.events(f"/sessions/{self.id}/turns/{self._turn}/reply/events")
        return (data["text"] for name, data in events if name == "words")

    def rank_of(self, picture: Picture) -> int:
        """Like `Session.rank_of`: 0-based, in the whole collection, pessimistic on ties."""
        path = f"/sessions/{self.id}/turns/{self._turn}/ranks/{quote(id_of(picture), safe='')}"
        return int(self._library.ask("GET", path)["worst"])

    def forget(self) -> None:
        """Makes the server forget the conversation."""
        self._library.ask("DELETE", f"/sessions/{self.id}")

    def _name_image(self, image: OwnImage) -> str:
        return self._library.upload(image)


def _row(known: Mapping[str, Any]) -> PictureRow:
    """A picture as the API describes it."""
    facts = known["facts"]
    return PictureRow(
        known["id"],
        tuple(FileRecord(name, facts["bytes"], 0) for name in known["names"]),
        **{name: facts[name] for name in ("width", "height", "format", "bytes", "captured", "camera")},
        captions=tuple(known["captions"]),
        attributes={name: tuple(values) for name, values in known["attributes"].items()},
    )


def _filters(where: Mapping[str, str] | None) -> dict[str, str]:
    check_type("where", where, Mapping, type(None))
    return dict(where or {})


def _hits(results: Mapping[str, Any], started: float, why: Mapping[str, dict[str, Any]] | None = None) -> Hits:
    """The results of the API, with the reasons in `why` if given, else with their own."""
    hits = [
        Hit(
            it["rank"],
            it["id"],
            PicturePath(it["name"]),
            it["score"],
            it["match"],
            (it["why"] if why is None else why.get(it["id"])) or {},
        )
        for it in results["results"]
    ]
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Hits(hits, results["verdict"], elapsed_ms, results.get("missing", 0), results.get("unheard", ()))
