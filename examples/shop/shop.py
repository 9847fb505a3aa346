"""The program of a shop: it sends the shop's page, and hands each visitor's browser a ticket for the search.

    VIEWFINDER_TOKEN=vf_... python shop.py http://127.0.0.1:8008        # where viewfinder is; the shop is on port 8009

The token never leaves this program. A ticket is good for 15 minutes and may only look, search and talk. The visitor is
kept in a cookie that no script reads, so that a conversation goes on when the next ticket is due.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import time
from collections import Counter
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import ClassVar
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

MAX_TICKETS_A_MINUTE = 30
"""For one address, so that nobody takes all that the server answers."""

PAGE = Path(__file__).with_name("index.html")
COOKIE = "visitor"


def make_ticket(server: str, token: str, visitor: str) -> str:
    """A ticket for a visitor. Raises URLError: the server is away, or gives none."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    asked = Request(f"{server}/api/v1/tickets", json.dumps({"visitor": visitor}).encode(), headers)
    with urlopen(asked, timeout=10) as answer:
        return str(json.load(answer)["token"])


class Shop(BaseHTTPRequestHandler):
    """Answers one request."""

    viewfinder = token = ""
    handed_out: ClassVar[Counter[tuple[str, int]]] = Counter()

    def do_GET(self) -> None:
        """The page."""
        if self.path.partition("?")[0] != "/":
            self.answer(404, "text/plain", "There is only one page.")
            return
        page = Template(PAGE.read_text(encoding="utf-8")).safe_substitute(SERVER=self.viewfinder)
        self.answer(200, "text/html", page)

    def do_POST(self) -> None:
        """A ticket. The browser's other pages cannot read it, and do not send the cookie."""
        now = self.client_address[0], int(time.time() // 60)
        self.handed_out[now] += 1
        if self.path != "/ticket" or self.handed_out[now] > MAX_TICKETS_A_MINUTE:
            self.answer(404 if self.path != "/ticket" else 429, "text/plain", "No ticket.")
            return
        for old in [key for key in self.handed_out if key[1] != now[1]]:
            self.handed_out.pop(old, None)
        sent = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        visitor = sent.value if sent is not None and len(sent.value) > 20 else secrets.token_urlsafe(24)
        try:
            ticket = make_ticket(self.viewfinder, self.token, visitor)
        except HTTPError as error:
            self.answer(502, "text/plain", f"Viewfinder gives no ticket: {error}")
        except URLError as error:
            self.answer(503, "text/plain", f"Viewfinder is away: {error.reason}")
        else:
            self.answer(200, "text/plain", ticket, f"{COOKIE}={visitor}; HttpOnly; SameSite=Strict; Path=/ticket")

    def answer(self, status: int, kind: str, text: str, cookie: str = "") -> None:
        """Sends a text, which nothing keeps."""
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a ticket is nobody's business."""


def main() -> None:
    """Serves until it is interrupted."""
    parser = argparse.ArgumentParser(description="A shop with a search by viewfinder.")
    parser.add_argument("server", help="where viewfinder is, as browsers reach it")
    parser.add_argument("--port", type=int, default=8009)
    given = parser.parse_args()
    Shop.viewfinder, Shop.token = given.server.rstrip("/"), os.environ.get("VIEWFINDER_TOKEN", "")
    with ThreadingHTTPServer(("127.0.0.1", given.port), Shop) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
