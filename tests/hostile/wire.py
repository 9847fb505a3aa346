"""HTTP made by hand: what no library would send, byte by byte, and connections that are never finished."""

from __future__ import annotations

import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.hostile.attack import Outcome, Server

HOST = b"Host: localhost\r\n"
LIVE = b"GET /api/v1/health/live HTTP/1.1\r\n"
SEARCH = b"POST /api/v1/search HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
HIDDEN = b"GET /api/v1/tokens HTTP/1.1\r\n" + HOST + b"\r\n"
"""A second request, hidden in the body of the first: nobody may answer it."""

REFUSED: set[int | None] = {400, 403, 408, 411, 413, 414, 422, 431, 501, 505, None}
"""What may come of nonsense; None: the connection is closed without a word."""

FORWARDED = (
    *(
        b"Forwarded: for=203.0.113.7",
        b"Forwarded:",
        b"X-Real-IP: 203.0.113.7",
        b"Via: 1.1 proxy",
        b"X-Forwarded-For: x",
    ),
    *(b"X-Forwarded-For: 203.0.113.7", b"X-Forwarded-For: unknown, 127.0.0.1", b"X-Forwarded-For:"),
)
"""What proxies add: whoever asks through one is another machine, and needs a token."""

CASES: dict[str, bytes] = {
    **{f"from elsewhere: {it.decode()}": HIDDEN[:-2] + it + b"\r\n\r\n" for it in FORWARDED},
    "two hosts": LIVE + HOST + b"Host: evil.example\r\n\r\n",
    "two hosts alike": LIVE + HOST + HOST + b"\r\n",
    "two hosts, the other first": LIVE + b"Host: evil.example\r\n" + HOST + b"\r\n",
    "no host": LIVE + b"\r\n",
    "an empty host": LIVE + b"Host:\r\n\r\n",
    "a host with a path": LIVE + b"Host: localhost/../evil\r\n\r\n",
    "another host in the line": b"GET http://evil.example/api/v1/health/live HTTP/1.1\r\n" + HOST + b"\r\n",
    "two lengths": SEARCH + b"Content-Length: 5\r\nContent-Length: 60\r\n\r\n" + b"{}   " + HIDDEN,
    "a list of lengths": SEARCH + b"Content-Length: 2, 60\r\n\r\n{}" + HIDDEN,
    "a length and chunks": SEARCH + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and a length": SEARCH + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks of a strange kind": SEARCH + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks twice": SEARCH + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks after a space": SEARCH + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks after a tab": SEARCH + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a length with a sign": SEARCH + b"Content-Length: +2\r\n\r\n{}" + HIDDEN,
    "a negative length": SEARCH + b"Content-Length: -1\r\n\r\n" + HIDDEN,
    "a huge length": SEARCH + b"Content-Length: 99999999999999999999\r\n\r\n",
    "a length over the limit": SEARCH + b"Content-Length: 9999999999\r\n\r\n",
    "a size that is none": SEARCH + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + HIDDEN,
    "a huge size": SEARCH + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    "a negative size": SEARCH + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    "a chunk longer than it says": SEARCH + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}{}\r\n0\r\n\r\n" + HIDDEN,
    "an endless extension": SEARCH + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 300_000,
    "an endless trailer": SEARCH + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 300_000,
    "a folded header": LIVE + HOST + b"X-A: b\r\n c\r\n\r\n",
    "a header without a name": LIVE + HOST + b": b\r\n\r\n",
    "a header with a space": LIVE + HOST + b"X A: b\r\n\r\n",
    "NUL in a header": LIVE + HOST + b"X-A: b\0c\r\n\r\n",
    "a bare CR in a header": LIVE + HOST + b"X-A: b\rContent-Length: 5\r\n\r\n",
    "bare LF": LIVE[:-2] + b"\n" + HOST[:-2] + b"\n\n",
    "a huge header": LIVE + HOST + b"X-A: " + b"x" * 200_000 + b"\r\n\r\n",
    "fifty thousand headers": LIVE + HOST + b"X-A: b\r\n" * 50_000 + b"\r\n",
    "a huge address": b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "an address that is none": b"GET \\\\evil\\x HTTP/1.1\r\n" + HOST + b"\r\n",
    "NUL in the address": b"GET /api/v1/\0 HTTP/1.1\r\n" + HOST + b"\r\n",
    "dots in the address": b"GET /static/../../../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP 0.9": b"GET /api/v1/health/live\r\n\r\n",
    "HTTP 1.0": LIVE[:-3] + b"0\r\n\r\n",
    "HTTP 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP 9.9": LIVE[:-5] + b"9.9\r\n" + HOST + b"\r\n",
    "an upgrade": LIVE
    + HOST
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "a web socket": b"GET /api/v1/health/live HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method of nobody's": b"STEAL /api/v1/tokens HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x07" * 300,
    "nothing but lines": b"\r\n" * 5000,
    "a hundred at once": (LIVE + HOST + b"\r\n") * 99 + LIVE + HOST + b"Connection: close\r\n\r\n",
    "expecting a word": SEARCH + b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
}
"""What is sent."""

ALLOWED: dict[str, set[int | None]] = {
    **{f"from elsewhere: {it.decode()}": {401, 403} for it in FORWARDED},
    "two hosts": {400},
    "two hosts alike": {400},
    "two hosts, the other first": {400, 403},
    "no host": {400, 403},
    "an empty host": {400, 403},
    "a host with a path": {400, 403},
    "another host in the line": {200, *REFUSED},
    "a length over the limit": {413},
    "an endless extension": {200, *REFUSED},
    "a folded header": {200, *REFUSED},
    "bare LF": {200, *REFUSED},
    "an address that is none": {404, *REFUSED},
    "dots in the address": {404, 400, None},
    "HTTP 1.0": {200, *REFUSED},
    "an upgrade": {200, *REFUSED},
    "a web socket": {200, *REFUSED},
    "a tunnel": {404, 405, *REFUSED},
    "a method of nobody's": {404, 405, *REFUSED},
    "a hundred at once": {200},
    "expecting a word": {100, 422},
}
"""The first status that may come of it, where that is not one of `REFUSED`."""

MOST_ANSWERS = {"a hundred at once": 100, "expecting a word": 2}
"""Where it is not one."""

SILENCE_S = 1.5
"""After so long without a byte nothing more is waited for; the server's own patience is set to less."""


def exchange(port: int, sent: bytes) -> bytes:
    """All that comes back until the connection is closed, or silent."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        with suppress(OSError):
            connection.sendall(sent)
        connection.settimeout(SILENCE_S)
        with suppress(OSError):
            while more := connection.recv(65_536):
                said += more
    return said


def statuses(said: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.[01] (\d{3}) ", said)]


def _random_bytes(chance: random.Random) -> bytes:
    """One of the cases, or a good request, with a few bytes of it changed."""
    sent = bytearray(chance.choice([case[:2000] for case in CASES.values()]))
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(sent))
        sent[at : at + chance.randint(0, 3)] = chance.choice(
            (b"\r\n", b"\0", b":", b" ", bytes([chance.randrange(256)]))
        )
    return bytes(sent)


def raw_requests(rounds: int, seed: int, home: Path) -> Outcome:
    """All cases, then as many more with bytes changed; the server refuses, answers nobody twice, and goes on."""
    outcome, chance = Outcome("HTTP made by hand"), random.Random(seed)
    with Server(home / "library", "--create", env={"VIEWFINDER_IDLE_S": "1"}).wait_until_ready() as server:
        with ThreadPoolExecutor(24) as people:
            heard = list(people.map(partial(exchange, server.port), CASES.values()))
        for name, said in zip(CASES, heard, strict=True):
            outcome.rounds += 1
            allowed, most = ALLOWED.get(name, REFUSED), MOST_ANSWERS.get(name, 1)
            got = statuses(said)
            first = got[0] if got else None
            outcome.check(
                first in allowed, f"{name}: {first} instead of one of {sorted(map(str, allowed))}: {said[:150]!r}"
            )
            outcome.check(len(got) <= most, f"{name}: answered {len(got)} times: {got[:5]}")
            outcome.check(
                name == "a hundred at once" or b'"tokens"' not in said, f"{name}: a hidden request was answered"
            )
        for _ in range(rounds - len(CASES)):
            outcome.rounds += 1
            sent = _random_bytes(chance)
            wrong = [
                status
                for status in statuses(exchange_briefly(server.port, sent))
                if status >= 500 and status not in (501, 503, 505)
            ]
            outcome.check(not wrong, f"{wrong} for {sent[:300]!r}")
        healthy = server.client().ask("GET", "/health/live")
        outcome.check(
            healthy.status == 200 and healthy.seconds < 1, f"afterwards: {healthy.status} in {healthy.seconds:.1f} s"
        )
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
        outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    return outcome


def exchange_briefly(port: int, sent: bytes) -> bytes:
    """The first that comes back, of a sender who has no more to say."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, suppress(OSError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(65_536)
    return b""


def slow_connections(rounds: int, seed: int, home: Path) -> Outcome:
    """`rounds` connections at once that send a byte now and then: others are served, and these are ended."""
    outcome, chance = Outcome("slow and silent connections", rounds), random.Random(seed)
    beginnings = (
        *(b"", LIVE, LIVE + HOST + b"X-Slow: ", SEARCH + b"Content-Length: 1000\r\n\r\n{"),
        SEARCH + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    )
    with Server(
        home / "library", "--create", env={"VIEWFINDER_IDLE_S": "2", "VIEWFINDER_DEADLINE_S": "6"}
    ).wait_until_ready() as server:
        held = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(rounds)]
        for connection in held:
            connection.sendall(chance.choice(beginnings))
            connection.setblocking(False)
        started, client, ended = time.monotonic(), server.client(timeout=10), set[int]()
        while time.monotonic() - started < 14 and len(ended) < rounds:
            for number, connection in enumerate(held):
                if number not in ended and _is_ended(connection):
                    ended.add(number)
            answer = client.ask("GET", "/health/live")
            outcome.most("others_waited_s", round(answer.seconds, 2))
            outcome.check(answer.status == 200, f"others get {answer.status}")
            time.sleep(0.3)
        outcome.figures["ended_s"] = round(time.monotonic() - started, 1)
        outcome.check(
            len(ended) == rounds, f"{rounds - len(ended)} of {rounds} slow connections are still held after 14 s"
        )
        outcome.check(outcome.figures["others_waited_s"] < 1, f"others waited {outcome.figures['others_waited_s']} s")
        for connection in held:
            connection.close()
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
    return outcome


def _is_ended(connection: socket.socket) -> bool:
    """Sends one byte more; whether the other side has had enough."""
    try:
        connection.send(b"x")
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
