"""What a machine does to a program: a full disk, one that cannot be written to, no descriptors, a database that
restarts, a clock that goes back, a library that is moved away."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.hostile.attack import (
    API,
    PROGRAM,
    VICTIM,
    Outcome,
    Server,
    Victim,
    colours,
    is_one_clear_line,
    limited,
    make_token,
    run_program,
)
from tests.hostile.kills import check_whole
from tests.hostile.postgres import Postgres
from viewfinder.library import Library
from viewfinder.testing import tiny_pictures

PICTURES = 96


@contextmanager
def small_disk(place: Path, kb: int) -> Iterator[Callable[[str], None] | None]:
    """A file system of so many kB at `place`; gives what mounts it again otherwise, None where none may be mounted."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kb}k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        yield None
        return

    def remount(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", place], check=True, capture_output=True)

    try:
        yield remount
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True, check=False)


def full_disk(rounds: int, seed: int, home: Path) -> Outcome:
    """`add` on a disk that fills up, at whatever write: one line, nothing acknowledged lost; with room it goes on."""
    outcome, chance = Outcome("a full disk"), random.Random(seed)
    tiny_pictures(home / "pictures", PICTURES)
    for number in range(rounds):
        kb = chance.randint(40, 700)
        outcome.rounds += 1
        with small_disk(home / f"disk-{number}", kb) as remount:
            place = home / f"disk-{number}" / "library"
            command = (*VICTIM, "add", place, home / "pictures")
            limits = remount is None or number % 4 == 3  # of a file's size: what was written is cut, as by a quota
            with Victim(limited(f"-f {kb // 60}", *command) if limits else command) as victim:
                said = [json.loads(line) for line in victim.lines_until_killed(60)]
                code, complaints = victim.process.returncode, victim.complaints()
            outcome.count("filled", code == 1)
            if code == 1:
                error = next((line["error"] for line in said if "error" in line), complaints[-300:])
                outcome.check(any("error" in line for line in said), f"{kb} kB: no clear line: {error}")
                outcome.check(
                    ("disk is full" in error or limits) and "unforeseen" not in error, f"{kb} kB: it says: {error}"
                )
            else:
                outcome.check(code == 0, f"{kb} kB: add ended with {code}: {complaints[-300:]}")
            acknowledged = max((line["done"] for line in said if "done" in line), default=0)
            if remount:
                remount("size=200m")
            _goes_on(outcome, place, home / "pictures", acknowledged, f"on a disk of {kb} kB")
    return outcome


def _goes_on(outcome: Outcome, place: Path, pictures: Path, acknowledged: int, when: str) -> None:
    """All that was acknowledged is there, and the same command adds the rest."""
    with colours():
        try:
            if (place / "library.json").exists():
                library = Library.open(place)
                there = len(library.store.ids())
                outcome.check(there >= acknowledged, f"{acknowledged} were acknowledged {when}, {there} are there")
                check_whole(outcome, library, f"after an add {when}")
            library = Library.open(place)
            library.add(pictures, workers=1)
            outcome.check(
                len(library.store.ids()) == PICTURES, f"{len(library.store.ids())} pictures {when}, then with room"
            )
            check_whole(outcome, library, f"{when}, then with room")
        except Exception as error:
            outcome.check(False, f"{when} it does not go on: {type(error).__name__}: {error}")


def full_disk_served(rounds: int, seed: int, home: Path) -> Outcome:
    """A server whose disk fills up: what would write is 507, what reads is answered; with room everything is."""
    outcome = Outcome("a full disk under the server")
    tiny_pictures(home / "pictures", 20)
    for number in range(rounds):
        with small_disk(home / f"served-{number}", 40_000) as remount:
            if remount is None:
                outcome.figures["skipped"] = "nothing may be mounted here"
                return outcome
            place = home / f"served-{number}" / "library"
            run_program("add", home / "pictures", "--library", place)
            with Server(place).wait_until_ready() as server:
                client, outcome.rounds = server.client(), outcome.rounds + 1
                id = client.ask("POST", "/sessions", {}).json["id"]
                filler = home / f"served-{number}" / "filler"
                with suppress(OSError), filler.open("wb", buffering=0) as file:
                    while True:
                        file.write(b"x" * 4096)
                said = [
                    client.ask("POST", f"/sessions/{id}/turns", {"say": f"red {turn}"}).status for turn in range(200)
                ]
                outcome.count("answers_507", said.count(507))
                outcome.check(set(said) <= {201, 507} and 507 in said, f"turns on a full disk: {sorted(set(said))}")
                read = client.ask("GET", f"/sessions/{id}")
                outcome.check(read.status == 200, f"reading on a full disk: {read.status} {read.text[:150]}")
                taken = len(read.json["tree"]) - 1 if read.status == 200 else 0
                outcome.check(taken == said.count(201), f"{said.count(201)} turns were acknowledged, {taken} are there")
                searched = client.ask("POST", "/search", {"text": "blue"})
                outcome.check(
                    searched.status == 200, f"searching on a full disk: {searched.status} {searched.text[:150]}"
                )
                filler.unlink()
                again = client.ask("POST", f"/sessions/{id}/turns", {"say": "with room"})
                outcome.check(again.status == 201, f"a turn with room again: {again.status} {again.text[:150]}")
                outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
                outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    outcome.figures["seed"] = seed
    return outcome


def read_only(rounds: int, seed: int, home: Path) -> Outcome:
    """A library that cannot be written to is searched; what would write says so in one line."""
    outcome = Outcome("a library that is read-only")
    tiny_pictures(home / "pictures", 20)
    with small_disk(home / "disk", 60_000) as remount:
        place = home / "disk" / "library"
        run_program("add", home / "pictures", "--library", place)
        if remount is None and os.geteuid() == 0:
            outcome.figures["skipped"] = "nothing may be mounted here, and root may write everywhere"
            return outcome
        for number in range(rounds):
            outcome.rounds += 1
            if number == 1:  # without snapshots, which cannot be made then
                subprocess.run(["rm", "-r", place / "snapshots"], check=True)
            remount("ro") if remount else subprocess.run(["chmod", "-R", "a-w", place], check=True)
            for verb in (("find", "red"), ("status",), ("failures",), ("verify",)):
                code, said, complaints = run_program(*verb, "--library", place)
                outcome.check(code == 0 and bool(said), f"{verb[0]}: {code} {complaints[-300:]}")
            tiny_pictures(home / "more", 30)
            for verb in (("add", str(home / "more")), ("prune",), ("tune", "--undo")):
                code, _, complaints = run_program(*verb, "--library", place)
                good = code in (1, 2) and is_one_clear_line(complaints)
                outcome.check(good or (code == 0 and verb[0] == "prune"), f"{verb[0]}: {code} {complaints[-300:]}")
            _searched_served(outcome, place, home / "elsewhere.sqlite3")
            remount("rw") if remount else subprocess.run(["chmod", "-R", "u+w", place], check=True)
    outcome.figures["seed"] = seed
    return outcome


def _searched_served(outcome: Outcome, place: Path, database: Path) -> None:
    """A server over a library that cannot be written to, with a database that can."""
    try:
        with Server(place, env={"VIEWFINDER_DATABASE_URL": f"sqlite:///{database}"}).wait_until_ready() as server:
            found = server.client().ask("POST", "/search", {"text": "red"})
            outcome.check(found.status == 200, f"a search over a read-only library: {found.status} {found.text[:150]}")
    except RuntimeError as error:
        outcome.check(False, f"a read-only library is not served: {error}")


def no_descriptors(rounds: int, seed: int, home: Path) -> Outcome:
    """More connections than a server may have descriptors: it goes on, and serves again when they are gone."""
    outcome, chance = Outcome("no descriptors"), random.Random(seed)
    tiny_pictures(home / "pictures", 20)
    run_program("add", home / "pictures", "--library", home / "library")
    with Server(home / "library", command=limited("-n 200", *PROGRAM)).wait_until_ready() as server:
        for _ in range(rounds):
            outcome.rounds += 1
            held = []
            for _ in range(chance.randint(220, 400)):
                with suppress(OSError):
                    held.append(socket.create_connection(("127.0.0.1", server.port), timeout=5))
            for connection in chance.sample(held, min(60, len(held))):
                with suppress(OSError):
                    connection.sendall(f"GET {API}/collection HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(1)
            for connection in held:
                connection.close()
            until, status = time.monotonic() + 20, 0
            while status != 201 and time.monotonic() < until:
                with suppress(OSError, http.client.HTTPException):
                    status = server.client(timeout=5).ask("POST", "/sessions", {}).status
            outcome.check(status == 201, f"20 s after the crowd has gone: {status}")
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
    for most in (12, 20, 40):
        done = subprocess.run(
            limited(f"-n {most}", *PROGRAM, "add", home / "pictures", "--library", home / f"few-{most}"),
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        good = done.returncode == 0 or is_one_clear_line(done.stderr)
        outcome.check(good, f"add with {most} descriptors: {done.returncode} {done.stderr[-300:]}")
    return outcome


def restarted_database(rounds: int, seed: int, home: Path) -> Outcome:
    """PostgreSQL is restarted under a server: meanwhile 503, afterwards everything; nothing acknowledged is lost."""
    outcome, chance = Outcome("PostgreSQL restarted"), random.Random(seed)
    try:
        postgres = Postgres()
    except RuntimeError as error:
        outcome.figures["skipped"] = str(error)
        return outcome
    tiny_pictures(home / "pictures", 20)
    run_program("add", home / "pictures", "--library", home / "library")
    try:
        url = {"VIEWFINDER_DATABASE_URL": postgres.make_database("attacked")}
        with Server(home / "library", env=url).wait_until_ready() as server:
            client, said = server.client(), 0
            id = client.ask("POST", "/sessions", {"questioner": "none"}).json["id"]
            for _ in range(rounds):
                outcome.rounds += 1
                for _ in range(chance.randint(1, 5)):
                    said += client.ask("POST", f"/sessions/{id}/turns", {"say": f"red {said}"}).status == 201
                postgres.stop()
                meanwhile = [client.ask("POST", f"/sessions/{id}/turns", {"say": "lost"}) for _ in range(2)]
                meanwhile.append(client.ask("GET", "/health/ready"))
                outcome.check({it.status for it in meanwhile} <= {503}, f"meanwhile: {[it.status for it in meanwhile]}")
                outcome.most("meanwhile_s_most", round(max(it.seconds for it in meanwhile), 1))
                live = client.ask("GET", "/health/live").status
                outcome.check(live == 200, f"it is not alive meanwhile: {live}")
                postgres.start()
                until, status = time.monotonic() + 20, 0
                while status != 201 and time.monotonic() < until:
                    status = client.ask("POST", f"/sessions/{id}/turns", {"say": f"red {said}"}).status
                said += status == 201
                outcome.check(status == 201, f"20 s after the restart: {status}")
                turns = client.ask("GET", f"/sessions/{id}/export").json["conversation"]["turns"]
                there = [turn["say"] for turn in turns]
                right = [f"red {number}" for number in range(said)]
                outcome.check(there == right, f"{said} turns were acknowledged, there are {there[-5:]}")
            outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
    finally:
        postgres.close()
    return outcome


FORGOTTEN_S = 12.0
"""After so long a token that was revoked elsewhere must not be good any more."""


def clock_back(rounds: int, seed: int, home: Path) -> Outcome:
    """The clock is set back by a day: a token that is revoked or has expired stays so, and conversations go on."""
    outcome = Outcome("the clock set back")
    tiny_pictures(home / "pictures", 6)
    for number in range(rounds):
        outcome.rounds += 1
        library = home / f"library-{number}"
        run_program("add", home / "pictures", "--library", library)
        with Server(library, tokens=True, command=VICTIM).wait_until_ready() as server:
            gone = server.client(token=make_token(library, "gone", "read", "write"))
            outcome.check(gone.ask("GET", "/sessions").status == 200, "a new token is not good")
            server.process.send_signal(signal.SIGUSR1)
            if number % 2:
                server.client().ask("DELETE", "/tokens/gone")
            else:
                run_program("token", "revoke", "gone", "--library", library)
            until, status = time.monotonic() + FORGOTTEN_S, 200
            while status == 200 and time.monotonic() < until:
                status = gone.ask("GET", "/sessions").status
                time.sleep(0.2)
            outcome.most("revoked_after_s", round(FORGOTTEN_S - (until - time.monotonic()), 1))
            outcome.check(
                status == 401, f"{FORGOTTEN_S:.0f} s after a token was revoked, with the clock set back: {status}"
            )
            made = server.client().ask("POST", "/sessions", {})
            outcome.check(
                made.status == 201, f"a conversation with the clock set back: {made.status} {made.text[:150]}"
            )
            outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
            outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    outcome.figures["seed"] = seed
    return outcome


def moved_away(rounds: int, seed: int, home: Path) -> Outcome:
    """The library's folder is moved away under a server: documented answers meanwhile, everything when it is back."""
    outcome, chance = Outcome("the library moved away"), random.Random(seed)
    tiny_pictures(home / "pictures", 20)
    run_program("add", home / "pictures", "--library", home / "library")
    database = {"VIEWFINDER_DATABASE_URL": f"sqlite:///{home / 'elsewhere.sqlite3'}"}
    with Server(home / "library", env=database).wait_until_ready() as server:
        client = server.client()
        for _ in range(rounds):
            outcome.rounds += 1
            id = client.ask("POST", "/sessions", {}).json["id"]
            hits = client.ask("POST", f"/sessions/{id}/turns", {"say": "red"}).json["results"]
            (home / "library").rename(home / "elsewhere")
            asked = [
                ("POST", "/search", {"text": f"blue {chance.random()}"}),
                ("POST", f"/sessions/{id}/turns", {"say": "bluer"}),
                ("GET", "/collection", None), ("GET", "/collection/failures", None), ("GET", "/health/ready", None),
                ("GET", f"/pictures/{hits[0]['id']}/thumbnail?size=160", None), ("GET", f"/sessions/{id}", None),
                ("POST", "/collection/prepare", {"retriever": "drilldown"}),
            ]  # fmt: skip
            time.sleep(chance.uniform(0, 3))
            for method, path, body in asked:
                answer = client.ask(method, path, body)
                good = answer.status < 500 or answer.status in (503, 507)
                outcome.check(
                    good and str(home) not in answer.text, f"{method} {path}: {answer.status} {answer.text[:150]}"
                )
            if (home / "library").exists():  # it must not make an empty one in its place
                outcome.check(
                    not (home / "library" / "library.json").exists(), "an empty library was made in its place"
                )
                subprocess.run(["rm", "-rf", home / "library"], check=True)
            (home / "elsewhere").rename(home / "library")
            until, status = time.monotonic() + 20, 0
            while status != 201 and time.monotonic() < until:
                status = client.ask("POST", f"/sessions/{id}/turns", {"say": "and back"}).status
            outcome.check(status == 201, f"20 s after it is back: {status}")
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
        outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    return outcome
