"""Bodies: refused ones by the thousand, of strangers and of people with a token; large ones beside others who wait."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

from tests.hostile.attack import Client, Outcome, Server
from tests.hostile.conversations import library_of, long_conversation

LARGE = 900_000
MEDIUM = 60_000
"""Less than any route takes: such a body is read and looked at."""

MOST_GROWN_MB = 100
NOBODY_WAITS_S = 1.0


def _fields(size: int) -> bytes:
    return json.dumps({"token": "vf_x", **{f"k{number}": number for number in range(size // 18)}}).encode()


SPOILT: dict[str, Callable[[int], bytes]] = {
    "too many fields": _fields,
    "a list of objects": lambda size: b"[" + b",".join([b"{}"] * (size // 3)) + b"]",
    "a text that is too long": lambda size: json.dumps({"token": "x" * size, "say": "x" * size}).encode(),
    "no JSON": lambda size: b'{"token": ' + b"x" * size,
    "brackets": lambda size: b"[" * 500 + b"0," * (size // 2),
    "numbers in place of ids": lambda size: b'{"reject": [' + b"0," * (size // 2 - 20) + b"0]}",
}
STRANGER = ("/login", "/sessions", "/sessions/import", "/search", "/studies", "/nowhere")
KNOWN = ("/login", "/sessions", "/sessions/{id}/turns", "/sessions/import", "/search", "/pictures/browse")


def refused_bodies(rounds: int, seed: int, home: Path) -> Outcome:
    """So many bodies that are wrong, large and medium ones: each is refused, and the memory stays as it was."""
    outcome, chance = Outcome("refused bodies", rounds), random.Random(seed)
    bodies = {(name, size): make(size) for name, make in SPOILT.items() for size in (LARGE, MEDIUM)}
    with Server(library_of(home, 20), tokens=True).wait_until_ready() as server:
        stranger, known = Client(server.port), server.client()
        id = known.ask("POST", "/sessions", {}).json["id"]
        for path in ("/search", f"/sessions/{id}/turns"):  # what is loaded once is no growth
            known.ask("POST", path, {"text": "red"} if path == "/search" else {"say": "red"})

        def refuse(name: str, size: int) -> None:
            client, paths = (stranger, STRANGER) if chance.random() < 0.7 else (known, KNOWN)
            path = chance.choice(paths)
            raw = bodies[name, size]
            try:
                answer = client.ask("POST", path.format(id=id), raw=raw)
            except (OSError, HTTPException):  # it was told before it had sent all, and the connection is closed
                outcome.count("broken_off")
                return
            outcome.count(f"answers_{answer.status}")
            told = f"{path} answers {answer.status} to {name} of {len(raw):,} bytes: {answer.text[:150]}"
            outcome.check(400 <= answer.status < 500, told)
            outcome.check(len(answer.body) < 20_000, f"the refusal has {len(answer.body):,} bytes: {told}")

        for name, size in bodies:
            for _ in range(2):
                refuse(name, size)
        before = server.bytes()
        for number in range(rounds):
            refuse(*chance.choice(list(bodies)))
            if number % max(rounds // 20, 1) == 0:
                outcome.most("grown_mb", round((server.bytes() - before) / 1e6))
        outcome.most("grown_mb", round((server.bytes() - before) / 1e6))
        grown = outcome.figures["grown_mb"]
        outcome.check(grown <= MOST_GROWN_MB, f"{rounds} refused bodies made the server {grown} MB larger")
        healthy = server.client().ask("GET", "/health/ready")
        outcome.check(healthy.status == 200 and healthy.seconds < NOBODY_WAITS_S, f"afterwards: {healthy.status}")
        stranger.close()
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
        outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    return outcome


def large_bodies(rounds: int, seed: int, home: Path, *, shown: int = 200, spoilt: int = 14_000_000) -> Outcome:
    """Imports of many megabytes, good ones and wrong ones, four at a time: nobody else waits for them."""
    outcome, chance = Outcome("large bodies"), random.Random(seed)
    good = long_conversation(2000, chance)
    for turn in good["conversation"]["turns"]:
        turn["shown"] = [f"{chance.getrandbits(128):032x}" for _ in range(shown)]
    wrong = (
        b'{"conversation": {"turns": [' + b"[]," * (spoilt // 3) + b"0]}}",
        b'{"conversation": {"turns": [' + b"0," * (spoilt // 2) + b"0]}}",
        b'{"conversation": {"turns": {' + b",".join(b'"%d":0' % number for number in range(spoilt // 11)) + b"}}}",
        b'{"conversation": ["' + b"x" * spoilt + b'"]}',
        b'{"conversation": [' + b",".join([b"[" + b"{}," * 9000 + b"0]"] * (spoilt // 27_000)) + b"]}",
    )
    sent = [json.dumps(good).encode(), *wrong]
    with Server(library_of(home, 20)).wait_until_ready() as server:
        other, over = server.client(), threading.Event()

        def look() -> None:
            while not over.is_set():
                for method, path, body in (("GET", "/health/live", None), ("POST", "/search", {"text": "red"})):
                    with suppress(OSError, HTTPException):
                        answer = other.ask(method, path, body)
                        outcome.most("others_waited_s", round(answer.seconds, 2))
                        outcome.check(answer.status == 200, f"others get {answer.status} for {path}")
                time.sleep(0.02)

        def send(raw: bytes, allowed: tuple[int, ...]) -> None:
            answer = server.client(timeout=120).ask("POST", "/sessions/import", raw=raw)
            outcome.count(f"answers_{answer.status}")
            outcome.check(answer.status in allowed, f"{answer.status} for {len(raw):,} bytes: {answer.text[:150]}")

        look_thread = threading.Thread(target=look, daemon=True)
        look_thread.start()
        for _ in range(rounds):
            outcome.rounds += 1
            chance.shuffle(sent)
            senders = [
                threading.Thread(target=send, args=(raw, (201, 503) if raw[2:8] == b"schema" else (422, 503)))
                for raw in sent
            ]
            for begun in (senders[:4], senders[4:]):
                for sender in begun:
                    sender.start()
                for sender in begun:
                    sender.join()
        over.set()
        look_thread.join()
        outcome.figures["megabytes"] = round(max(map(len, sent)) / 1e6, 1)
        waited = outcome.figures["others_waited_s"]
        outcome.check(waited < NOBODY_WAITS_S, f"others waited {waited} s for large bodies")
        outcome.figures["mb_at_the_end"] = round(server.bytes() / 1e6)
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
    return outcome
