"""Measures a turn of a system that talks and retrieves, at 50,000 pictures; `chatsearcher.py speed` runs it.

Raw vectors of real pictures are repeated up to the size with a little noise, as in `asking.py`. Every talk says one
sentence ten times, so that turns are equally long; no other talk uses it, since states are kept. The script measures
`Session.search`: a turn up to its first results; and, with pictures forbidden, a turn up to its last word.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from asking import grow_gallery
from chat_tests import Place
from machine import describe_host
from measuring import time_call

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import BackTo, Say
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import force_pictures, with_picture_bias
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session

SIZE, TURNS, TALKS, WARM = 50_000, 10, 12, 2
SENTENCE = "a man with a {word} bag in front of a white house"
WORDS = (
    *("red", "blue", "green", "black", "brown", "white", "grey"),
    *("pink", "small", "large", "old", "new", "bright", "dark"),
)


def talking_speed(weights: Path, place: Place) -> dict[str, Any]:
    """Milliseconds of turns, first results and answers."""
    system = load_system("chatsearcher", checkpoint=weights)
    pictures = grow_gallery(place.folders["scenes"], place.features / "scenes", SIZE)
    _, first_ms = time_call(session_of(pictures, force_pictures(system)).search, Say("a bag"))
    rows = [talk(pictures, force_pictures(system), SENTENCE.format(word=word)) for word in WORDS[: WARM + TALKS]][WARM:]
    turn_ts = np.array([turns for turns, _ in rows])
    least_t = turn_ts.min(axis=0)
    answers = [time_answer(pictures, with_picture_bias(system, -math.inf), word) for word in WORDS[: WARM + 5]][WARM:]
    return {
        "pictures": SIZE,
        "turn_ms": [round(float(ms), 1) for ms in np.median(turn_ts, axis=0)],
        "turn 10 over turn 2": round(float(least_t[9] / least_t[1]), 2),
        "first results, p50 ms": round(float(np.median(turn_ts[:, 0])), 1),
        "first results, p95 ms": round(float(np.quantile(turn_ts[:, 0], 0.95)), 1),
        "going back, p50 ms": round(float(np.median([back for _, back in rows])), 1),
        "a turn answered in words, p50 ms": round(float(np.median(answers)), 1),
        "all pictures made ready, s": round(first_ms / 1000, 1),
        "machine": describe_host(),
    }


def session_of(pictures: Gallery, system: Any) -> Session:
    """A talk whose states are kept."""
    return Session(pictures, system, None, n=10, memo=ByteCache())


def talk(pictures: Gallery, system: Any, sentence: str) -> tuple[list[float], float]:
    """Milliseconds of each turn, and of going back to the fifth."""
    session = session_of(pictures, system)
    times = [time_call(session.search, Say(sentence))[1] for _ in range(TURNS)]
    return times, time_call(session.search, BackTo(5))[1]


def time_answer(pictures: Gallery, system: Any, word: str) -> float:
    """Milliseconds of a turn that is answered in words, up to the last of them."""
    session = session_of(pictures, system)
    return time_call(lambda: (session.search(Say(SENTENCE.format(word=word))), *session.reply()))[1]


if __name__ == "__main__":
    raise SystemExit("run it as: python benchmarks/chatsearcher.py speed DATA")
