"""Users for locust: each starts a talk, says ten things one after another without a pause, and starts the next talk.

`serving.py` starts it; the results go into the file that TURNS_OUT names.
"""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

from locust import FastHttpUser, constant, events, task
from speed import phrases

TEXTS = phrases(80)
NUMBERS = count()
TURN = "a turn"


class Person(FastHttpUser):
    """One who talks."""

    wait_time = constant(0)

    @task
    def talk(self) -> None:
        """A talk of ten turns; no two turns of the run say the same."""
        with self.client.post("/api/v1/sessions", json={"n": 50}, name="a talk") as answer:
            made = answer.json()
        for turn in range(10):
            number = next(NUMBERS)
            text = f"{TEXTS[number % 80]} {number} {turn}"
            self.client.post(f"/api/v1/sessions/{made['id']}/turns", json={"say": text}, name=TURN)


def write(environment: Any, **_: Any) -> None:
    """The figures of the run."""
    turns = environment.stats.get(TURN, "POST")
    figures = {
        "turns": turns.num_requests,
        "errors": environment.stats.total.num_failures,
        "p95_ms": turns.get_response_time_percentile(0.95),
    }
    Path(os.environ["TURNS_OUT"]).write_text(json.dumps(figures))


events.quitting.add_listener(write)  # type: ignore[no-untyped-call]
