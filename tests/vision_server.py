"""A vision-language model that tests share: an HTTP server of our own that says of a picture what it is told to say."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any] | str | bytes | tuple[int, dict[str, str], bytes] | None
"""What the model says as an object or a text, a whole body in bytes, or a status with it; None: it hangs up."""


@dataclass
class Vision:
    """What was asked, and what is answered: a function of the JPEG and of how many were asked before."""

    reply: Callable[[bytes, int], Reply]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    pictures: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def complete(said: str, *, finish: str = "stop") -> bytes:
    """The body of a completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 700, "completion_tokens": 50}}).encode()


def _make_handler(vision: Vision) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            parts = {part["type"]: part for part in asked["messages"][0]["content"]}
            jpeg = base64.b64decode(parts["image_url"]["image_url"]["url"].partition(",")[2])
            with vision.lock:
                number = len(vision.asked)
                vision.asked.append(asked | {"path": self.path})
                vision.keys.append(self.headers.get("Authorization"))
                vision.pictures.append(jpeg)
            reply = vision.reply(jpeg, number)
            if reply is None:
                self.close_connection = True
                return
            status, headers, body = 200, dict[str, str](), b""
            if isinstance(reply, tuple):
                status, headers, body = reply
            elif isinstance(reply, bytes):
                body = reply
            else:
                body = complete(reply if isinstance(reply, str) else json.dumps(reply))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@contextmanager
def serve_vision(reply: Callable[[bytes, int], Reply]) -> Iterator[Vision]:
    """Serves such a model until the end of the block."""
    vision = Vision(reply)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(vision))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    vision.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield vision
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
