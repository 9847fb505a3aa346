"""A library on a server (`viewfinder serve`), with the methods of a library here; `viewfinder.connect` makes one.

Results have the same classes, and errors too. A server does not reveal paths: `Hit.path` is the file name only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote

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
    check_type,
)
from viewfinder.index.ranking import Hit, Hits, PicturePath
from viewfinder.pictures import pack_image
from viewfinder.session import Answered, Picture, TurnMethods, id_of

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

    def status(self) -> dict[str, Any]:
        """What the server says about its library (`GET /collection`)."""
        return cast(dict[str, Any], self.ask("GET", "/collection"))

    def find(
        self,
        text: str = "",
        n: int = 10,
        *,
        like: OwnImage | None = None,
        where: Mapping[str, str] | None = None,
        without: str = "",
    ) -> Hits:
        """Like `Library.find`, with at most 500 results; an image is uploaded, and the server forgets it afterwards."""
        started = time.perf_counter()
        shown = None if like is None else self.upload(like)
        body = {"text": text, "show": shown, "without": without, "where": _filters(where), "n": n}
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
        with self._reached():
            answer = self._http.request(method, path, content=content, headers={"Content-Type": "application/json"})
            return self._read(answer)

    def upload(self, image: OwnImage) -> str:
        """Uploads the user's own image; returns its id. Raises BadInput: not an image, or no such file."""
        if isinstance(image, str | Path):
            if not os.path.isfile(image):  # noqa: PTH113 (False for anything that cannot be a file name)
                raise BadInput(f"no such image: {image}")
            try:
                content = Path(image).read_bytes()
            except OSError as error:
                raise BadInput(f"{image} cannot be read: {error.strerror}") from error
        else:
            content = pack_image(image)
        with self._reached():
            return str(self._read(self._http.post("/uploads", files={"file": ("image", content)}))["id"])

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
    return Hits(hits, results["verdict"], (time.perf_counter() - started) * 1000, results.get("missing", 0))
