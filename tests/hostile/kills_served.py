"""kill -9 of jobs, and of the server under people: what each was told is so when it is back."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.hostile.attack import Client, Crowd, Outcome, Server, run_program
from viewfinder.testing import tiny_pictures

PICTURES = 288
FORM_TYPE = "multipart/form-data; boundary=x-x-x"
FORM = b'--x-x-x\r\nContent-Disposition: form-data; name="file"; filename="mine.png"\r\n\r\n%s\r\n--x-x-x--\r\n'


def kill_jobs(rounds: int, seed: int, home: Path) -> Outcome:
    """A job that adds a folder; its worker or server is killed until it is done, and it reports as if never killed."""
    outcome, chance = Outcome("kill -9 of jobs"), random.Random(seed)
    while outcome.rounds < rounds:
        outcome.count("jobs")
        root, place = (home / f"{kind}-{outcome.figures['jobs']}" for kind in ("root", "library"))
        tiny_pictures(root / "drawn", PICTURES)
        job: dict[str, Any] = {}
        while job.get("state") not in ("done", "failed", "cancelled"):
            with Server(place, "--create", "--root", root) as server:
                client = server.wait_until_ready().client()
                if not job:
                    job = client.ask("POST", "/collection/folders", {"root": 0, "folder": "drawn"}).json
                before = job
                until = time.monotonic() + chance.uniform(0.5, 6) if outcome.rounds < rounds else time.monotonic() + 120
                while time.monotonic() < until and job.get("state") not in ("done", "failed", "cancelled"):
                    job = client.ask("GET", f"/collection/jobs/{job['id']}").json
                    time.sleep(0.05)
                outcome.check(
                    job["done"] >= before["done"], f"{before['done']} were done, {job['done']} after the kill"
                )
                if job["state"] in ("queued", "running"):
                    outcome.rounds += 1
                    _kill_worker_or_server(server, chance)
        outcome.check(job["state"] == "done", f"the job is {job['state']}: {job.get('error')}")
        report = job.get("report") or {}
        outcome.check(
            report.get("added") == PICTURES, f"the report of a job says added {report.get('added')}: {report}"
        )
        code, said, complaints = run_program("status", "--library", place, "--json")
        outcome.check(code == 0 and f'"pictures": {PICTURES}' in said, f"status: {said or complaints}")
        code, said, complaints = run_program("verify", "--library", place)
        outcome.check(code == 0, f"verify after killed jobs: {said or complaints}")
    return outcome


def _kill_worker_or_server(server: Server, chance: random.Random) -> None:
    workers = [one for one in server._children() if "viewfinder.server.jobs.worker" in " ".join(one.cmdline())]
    if workers and chance.random() < 0.5:
        with suppress(psutil.Error):
            workers[0].kill()
        time.sleep(chance.uniform(0, 4))  # the server may start another
    server.process.kill()


def kill_server(rounds: int, seed: int, home: Path) -> Outcome:
    """The server under six people who talk, upload and rename: what each was told is so when it is back."""
    outcome, chance = Outcome("kill -9 of the server under six people"), random.Random(seed)
    tiny_pictures(home / "pictures", 24)
    run_program("add", home / "pictures", "--library", home / "library")
    told: dict[str, dict[str, Any]] = {}
    image = next((home / "pictures").glob("0000-*.png")).read_bytes()
    while True:
        with Server(home / "library") as server:
            server.wait_until_ready()
            _check_told(outcome, server.client(), told)
            if outcome.rounds >= rounds:
                outcome.figures["conversations"] = len(told)
                outcome.figures["turns"] = sum(len(it["said"]) for it in told.values())
                return outcome
            outcome.rounds += 1
            with Crowd(6, _Talker(server, told, image), seed + outcome.rounds):
                time.sleep(chance.uniform(0.2, 2.5))
                server.process.kill()
                server.process.wait()
            left = server.left_over()
            outcome.check(not left, f"processes outlive a killed server: {left}")


class _Talker:
    """Six people with a connection each; `told` has what was acknowledged to them, and what they asked for last."""

    def __init__(self, server: Server, told: dict[str, dict[str, Any]], image: bytes) -> None:
        self._clients = [server.client() for _ in range(6)]
        self._told, self._image = told, image

    def __call__(self, number: int, chance: random.Random) -> None:
        _live(self._clients[number], chance, self._told, self._image)


def _live(client: Client, chance: random.Random, told: dict[str, dict[str, Any]], image: bytes) -> None:
    """One conversation."""
    made = client.ask("POST", "/sessions", {"name": "first"})
    if made.status != 201:
        return
    id = made.json["id"]
    mine = told[id] = {"said": [], "asked": None, "name": {"first"}, "uploads": []}
    for _ in range(chance.randint(1, 8)):
        kind = chance.random()
        if kind < 0.7:
            mine["asked"] = text = f"red {chance.random()}"
            if client.ask("POST", f"/sessions/{id}/turns", {"say": text}).status == 201:
                mine["said"].append(text)
        elif kind < 0.85:
            name = f"name {chance.random()}"
            mine["name"].add(name)
            if client.ask("PATCH", f"/sessions/{id}", {"name": name}).status == 200:
                mine["name"] = {name}
        else:
            sent = client.ask("POST", "/uploads", raw=FORM % image, headers={"Content-Type": FORM_TYPE})
            if sent.status == 201:
                mine["uploads"].append(sent.json["id"])


def _check_told(outcome: Outcome, client: Client, told: Mapping[str, Mapping[str, Any]]) -> None:
    ids = [row["id"] for row in _pages(client)]
    outcome.check(len(ids) == len(set(ids)), "a conversation is there twice")
    for id, mine in told.items():
        found = client.ask("GET", f"/sessions/{id}/export")
        if not outcome.check(
            found.status == 200 and id in ids, f"a conversation is lost: {found.status} {found.text[:100]}"
        ):
            continue
        said = [turn.get("say") for turn in found.json["conversation"]["turns"]]
        more = said[len(mine["said"]) :]
        outcome.check(
            said[: len(mine["said"])] == mine["said"], f"turns were acknowledged and are lost: {said} {mine['said']}"
        )
        outcome.check(more in ([], [mine["asked"]]), f"turns that nobody took, or twice: {more}")
        outcome.check(found.json["name"] in mine["name"], f"{found.json['name']!r} is its name, not {mine['name']}")
        for upload in mine["uploads"]:
            there = client.ask("GET", f"/uploads/{upload}/thumbnail").status
            outcome.check(there == 200, f"an upload is lost: {there}")


def _pages(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = client.ask("GET", f"/sessions?n=200{cursor}").json
        found += page["sessions"]
        if not page.get("next"):
            return found
        cursor = f"&cursor={page['next']}"
