"""A small hub: the addresses that huggingface-hub asks for, of repositories in memory; it can break and lie on demand.

Large files are redirected to another host name with their SHA-256 as the linked ETag, as the hub does; small ones
carry the hash that git gives them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = 10_000


@dataclass
class Hub:
    """What is served, what was asked, and what goes wrong."""

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The content of every file of a repository ("owner/model")."""
    commit: str = "1f" * 20
    licence: str | None = "mit"
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and Range of every request."""
    break_after: dict[str, int] = field(default_factory=dict)
    """How many bytes of a file are sent before the connection is cut; every time until it is taken out."""
    stall_after: dict[str, int] = field(default_factory=dict)
    """How many bytes of a file are sent before nothing more comes."""
    spoilt: set[str] = field(default_factory=set)
    """Files of which other bytes are sent than announced."""
    deaf_to_ranges: bool = False
    down: bool = False
    port: int = 0
    let_go: threading.Event = field(default_factory=threading.Event)
    """Set at the end, so that what stalls ends too."""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add_folder(self, repository: str, folder: Path) -> None:
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        self.files[repository] = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}

    def fetched(self, path: str) -> list[str | None]:
        """The ranges with which the content of a file was asked for."""
        return [given for method, asked, given in self.asked if method == "GET" and asked.endswith(path)]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers for `hub`, which the subclass of each server has."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *_: Any) -> None:
        return

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append((self.command, path, self.headers.get("Range")))
        parts = path.strip("/").split("/")
        if self.hub.down:
            self._send(503, {}, b"")
        elif parts[:2] == ["api", "models"] and len(parts) == 4:
            self._tell("/".join(parts[2:4]))
        elif parts[0] == "cdn":
            self._send_content("/".join(parts[1:3]), "/".join(parts[3:]))
        elif len(parts) > 4 and parts[2] == "resolve":
            self._resolve("/".join(parts[:2]), "/".join(parts[4:]))
        else:
            self._send(404, {}, b"")

    def _tell(self, repository: str) -> None:
        if repository not in self.hub.files:
            self._send(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}, b"{}")
            return
        siblings: list[dict[str, Any]] = []
        for path, content in self.hub.files[repository].items():
            large = {"lfs": {"sha256": sha256(content), "size": len(content), "pointerSize": 130}}
            siblings.append({"rfilename": path, "size": len(content), "blobId": git_hash(content)}
                            | (large if len(content) > LARGE else {}))  # fmt: skip
        card = {} if self.hub.licence is None else {"license": self.hub.licence}
        told = {"id": repository, "sha": self.hub.commit, "siblings": siblings, "cardData": card, "tags": []}
        self._send(200, {"Content-Type": "application/json"}, json.dumps(told).encode())

    def _resolve(self, repository: str, path: str) -> None:
        content = self.hub.files.get(repository, {}).get(path)
        common = {"X-Repo-Commit": self.hub.commit}
        if content is None:
            self._send(404, {**common, "X-Error-Code": "EntryNotFound"}, b"")
        elif len(content) > LARGE:
            linked = {"X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content))}
            place = f"http://localhost:{self.hub.port}/cdn/{repository}/{path}"
            self._send(302, {**common, **linked, "Location": place}, b"")
        elif self.command == "HEAD":
            self._send(200, {**common, "ETag": f'"{git_hash(content)}"'}, content)
        else:
            self._send_content(repository, path)

    def _send_content(self, repository: str, path: str) -> None:
        content = self.hub.files[repository][path]
        if path in self.hub.spoilt:
            content = bytes(len(content) - 1) + b"!"
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        begins = {} if self.hub.deaf_to_ranges or not start else {
            "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"
        }  # fmt: skip
        rest = content[start if begins else 0 :]
        most = self.hub.break_after.get(path, self.hub.stall_after.get(path))
        if most is not None:
            self.send_response(206 if begins else 200)
            self.send_header("Content-Length", str(len(rest)))
            for name, value in begins.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(rest[:most])
            self.wfile.flush()
            if path in self.hub.stall_after:
                self.hub.let_go.wait(120)
            self.connection.close()
            self.close_connection = True
            return
        self._send(206 if begins else 200, begins, rest)

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub that answers until the end of the block."""
    hub = Hub()
    handler = type("HandlerOfHub", (Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is gone is no news
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()
