"""Conversations: long ones, very many, people beside one who replays; and a server that is to end meanwhile."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from tests.hostile.attack import API, Answer, Client, Crowd, Outcome, Server, percentile, run_program
from viewfinder.testing import tiny_pictures

WORDS = ("red over blue", "something green", "a dog in the snow", "black and white", "an orange boat", "purple flowers")
NOBODY_WAITS_S = 1.0
SIGTERM_S = 10.0
MOST_GROWN_MB = 32


def library_of(home: Path, pictures: int) -> Path:
    """A library with so many drawn pictures."""
    tiny_pictures(home / "pictures", pictures)
    run_program("add", home / "pictures", "--library", home / "library", "--json")
    return home / "library"


def long_conversation(turns: int, chance: random.Random) -> dict[str, Any]:
    """As `GET /sessions/{id}/export` gives it: no two turns say the same."""
    said: list[dict[str, Any]] = [
        {"say": f"{chance.choice(WORDS)} {chance.random()}", "parent": at, "shown": [], "asked": None}
        for at in range(turns)
    ]
    conversation = {"schema": "viewfinder/conversation", "version": 1, "turns": said}
    return {"schema": "viewfinder/session", "name": "long", "conversation": conversation}


def replay(client: Client, turns: int, chance: random.Random) -> Iterator[Answer]:
    """Imports two long conversations, says something else in their first turn, and asks for the last of one."""
    ids = []
    for _ in range(2):
        made = client.ask("POST", "/sessions/import", long_conversation(turns, chance))
        yield made
        if made.status == 201:
            ids.append(made.json["id"])
    for id in ids:
        yield client.ask("PUT", f"/sessions/{id}/turns/1", {"say": "something else"})
    for id in ids[:1]:
        yield client.ask("GET", f"/sessions/{id}/turns/{turns}?retriever=chatir")
        yield client.ask("GET", f"/sessions/{id}")


def long_conversations(rounds: int, seed: int, home: Path, *, turns: int = 2000) -> Outcome:
    """Long conversations, replayed one after another: no search waits for them, health is told, SIGTERM ends it."""
    outcome, chance = Outcome("long conversations"), random.Random(seed)
    searches: list[Answer] = []
    with Server(library_of(home, 40)).wait_until_ready() as server:
        one, other = server.client(timeout=120), server.client()
        over = threading.Event()

        def search() -> None:
            while not over.is_set():
                for method, path, body in (("POST", "/search", {"text": "red"}), ("GET", "/health/ready", None)):
                    with suppress(OSError):
                        searches.append(other.ask(method, path, body))
                time.sleep(0.1)

        watching = threading.Thread(target=search, daemon=True)
        watching.start()
        for _ in range(rounds):
            outcome.rounds += 1
            for answer in replay(one, turns, chance):
                outcome.check(answer.status < 500 or answer.status == 503, f"{answer.status}: {answer.text[:150]}")
                outcome.count(f"answers_{answer.status}")
                outcome.most("replay_s_most", round(answer.seconds, 1))
        over.set()
        watching.join()
        late = percentile([answer.seconds for answer in searches], 95)
        refused = [answer.status for answer in searches if answer.status != 200]
        outcome.figures |= {"turns": turns, "searches": len(searches), "search_p95_s": round(late, 3)}
        outcome.check(late < NOBODY_WAITS_S, f"searches took {late:.1f} s at p95 beside long conversations")
        outcome.check(not refused, f"{len(refused)} of {len(searches)} searches were refused: {refused[:5]}")
        _ends(outcome, server, "long conversations")
    return outcome


def _ends(outcome: Outcome, server: Server, beside: str) -> None:
    seconds = server.end()
    outcome.most("sigterm_s_most", round(seconds, 1))
    outcome.check(seconds <= SIGTERM_S, f"SIGTERM took {seconds:.1f} s beside {beside}")
    outcome.check(
        server.process.returncode == 0, f"after SIGTERM beside {beside} it ended with {server.process.returncode}"
    )
    outcome.check(not server.left_over(), f"processes outlive a server that ended beside {beside}")


def many_conversations(rounds: int, seed: int, home: Path) -> Outcome:
    """So many conversations of a few turns each: what the server has to itself does not grow with their number."""
    outcome, chance = Outcome("many conversations", rounds), random.Random(seed)
    few = {"VIEWFINDER_SESSIONS_IN_MEMORY": "16", "VIEWFINDER_STATES_BYTES": str(1 << 20)}
    with Server(library_of(home, 40), env=few).wait_until_ready() as server:
        client, sizes = server.client(), []
        for number in range(rounds):
            made = client.ask("POST", "/sessions", {})
            if not outcome.check(made.status == 201, f"conversation {number}: {made.status} {made.text[:150]}"):
                continue
            id = made.json["id"]
            for turn in range(3):
                said = client.ask("POST", f"/sessions/{id}/turns", {"say": f"{chance.choice(WORDS)} {number} {turn}"})
                outcome.check(said.status == 201, f"turn {turn}: {said.status} {said.text[:150]}")
            if number % max(rounds // 20, 1) == 0:
                sizes.append(server.bytes() / 1e6)
        sizes.append(server.bytes() / 1e6)
        grown = sizes[-1] - sizes[len(sizes) // 2]
        outcome.figures |= {
            "turns": 3 * rounds,
            "mb_half_way": round(sizes[len(sizes) // 2]),
            "mb_at_the_end": round(sizes[-1]),
        }
        outcome.check(grown < MOST_GROWN_MB, f"the second half of {rounds} conversations took {grown:.0f} MB: {sizes}")
        _ends(outcome, server, "many conversations")
    return outcome


PEOPLE = 32


def crowd_beside_replay(rounds: int, seed: int, home: Path, *, turns: int = 2000) -> Outcome:
    """`rounds` seconds of 32 people who talk without a pause, beside one who replays: nobody waits over 1 s at p95."""
    outcome, times, wrong = Outcome("32 people beside one who replays", rounds), list[float](), list[str]()
    replayed = list[Answer]()
    with Server(library_of(home, 40)).wait_until_ready() as server, ExitStack() as stack:
        clients = [server.client(timeout=120) for _ in range(PEOPLE + 1)]

        def talk(number: int, chance: random.Random) -> None:
            if number == PEOPLE:
                replayed.extend(replay(clients[number], turns, chance))
                return
            client = clients[number]
            id = _asked(client, "/sessions", {}, times, wrong).get("id")
            for turn in range(10 if id else 0):
                _asked(
                    client,
                    f"/sessions/{id}/turns",
                    {"say": f"{chance.choice(WORDS)} {chance.random()} {turn}"},
                    times,
                    wrong,
                )

        crowd = stack.enter_context(Crowd(PEOPLE + 1, talk, seed))
        time.sleep(rounds)
        late = percentile(times, 95)
        outcome.figures |= {"requests": len(times), "p50_s": round(percentile(times, 50), 3), "p95_s": round(late, 3)}
        outcome.figures |= {"longest_s": round(max(times, default=0), 2), "replayed": len(replayed), "turns": turns}
        outcome.check(len(times) > rounds, f"only {len(times)} answers in {rounds} s")
        outcome.check(late < NOBODY_WAITS_S, f"people waited {late:.2f} s at p95")
        outcome.check(not wrong, f"{len(wrong)} of {len(times)} were refused: {wrong[:3]}")
        strange = [answer.status for answer in replayed if answer.status >= 500 and answer.status != 503]
        outcome.check(not strange, f"replaying gave {strange[:5]}")
        outcome.check(not crowd.errors, f"connections were lost: {crowd.errors[:3]}")
        _ends(outcome, server, "33 people")
    return outcome


def _asked(client: Client, path: str, body: object, times: list[float], wrong: list[str]) -> dict[str, Any]:
    answer = client.ask("POST", path, body)
    times.append(answer.seconds)
    if answer.status != 201:
        wrong.append(f"{answer.status}: {answer.text[:150]}")
        return {}
    found: dict[str, Any] = answer.json
    return found


# -- SIGTERM


def _talking(server: Server, stack: ExitStack, seed: int) -> None:
    clients = [server.client() for _ in range(6)]

    def talk(number: int, chance: random.Random) -> None:
        made = clients[number].ask("POST", "/sessions", {})
        for _ in range(5):
            clients[number].ask("POST", f"/sessions/{made.json['id']}/turns", {"say": f"red {chance.random()}"})

    stack.enter_context(Crowd(6, talk, seed))


def _replaying(server: Server, stack: ExitStack, seed: int) -> None:
    clients = [server.client() for _ in range(3)]
    stack.enter_context(Crowd(3, lambda number, chance: _take_all(replay(clients[number], 1000, chance)), seed))


def _take_all(answers: Iterator[Answer]) -> None:
    """For the sake of what is asked."""
    deque(answers, 0)


def _dawdling(server: Server, stack: ExitStack, seed: int) -> None:
    """Bodies that never end, heads that never end, and an answer that nobody reads."""
    for beginning in (
        f"POST {API}/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{{",
        "GET / HTTP/1.1\r\nX-Slow: ",
        "",
        f"GET {API}/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 30,
    ):
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
        connection.sendall(beginning.encode())
    del seed


def _adding(server: Server, stack: ExitStack, seed: int) -> None:
    """A job that adds pictures, and somebody who watches it."""
    client = server.client()
    job = client.ask("POST", "/collection/folders", {"root": 0, "folder": ""}).json
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
    connection.sendall(f"GET {API}/collection/jobs/{job['id']}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    time.sleep(random.Random(seed).uniform(0, 4))


LOADS: tuple[Callable[[Server, ExitStack, int], None], ...] = (_talking, _dawdling, _adding, _replaying)


def end_by_sigterm(rounds: int, seed: int, home: Path) -> Outcome:
    """SIGTERM beside people, replays, slow clients, jobs: the server ends in 10 s, with 0, and leaves nothing."""
    outcome, chance = Outcome("SIGTERM"), random.Random(seed)
    library = library_of(home, 40)
    tiny_pictures(home / "root", 400)
    for number in range(rounds):
        load = LOADS[number % len(LOADS)]
        outcome.rounds += 1
        with Server(library, "--root", home / "root").wait_until_ready() as server, ExitStack() as stack:
            load(server, stack, seed + number)
            time.sleep(chance.uniform(0.1, 2))
            seconds = server.end(signal.SIGTERM)
            beside = load.__name__.strip("_")
            outcome.most(f"{beside}_s_most", round(seconds, 1))
            outcome.check(seconds <= SIGTERM_S, f"SIGTERM took {seconds:.1f} s beside {beside}")
            outcome.check(server.process.returncode == 0, f"{beside}: it ended with {server.process.returncode}")
            left = server.left_over()
            outcome.check(not left, f"processes outlive a server that ended beside {beside}: {left}")
            outcome.check(not server.traceback(), f"{beside}: the server logged: {server.traceback()}")
    return outcome
