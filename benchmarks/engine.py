"""The engine alone, for `serving.py`: python benchmarks/engine.py LIBRARY PROCESSES; prints what it did as JSON.

PROCESSES of these run at the same time and share the cores.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from speed import phrases
from threadpoolctl import threadpool_limits

import viewfinder
from viewfinder.conversation import Say

SECONDS = 20.0
SHOWN = 50


def main() -> None:
    """Talks of ten turns, one after another, on each thread."""
    library = viewfinder.open(Path(sys.argv[1]))
    threads = max(1, (os.cpu_count() or 1) // int(sys.argv[2]))
    library.chat(n=SHOWN).say("something to warm up")
    started, counts, spent = time.monotonic(), [0] * threads, time.process_time()

    def talk(number: int) -> None:
        texts, at = phrases(80), 0
        while time.monotonic() - started < SECONDS:
            chat = library.chat(n=SHOWN)
            for turn in range(10):
                chat.search(Say(f"{texts[at % 80]} {os.getpid()} {number} {at} {turn}"))
                chat.follow_up()
                at += 1
                counts[number] += 1

    with threadpool_limits(1, user_api="blas"):  # as the server does; it is faster this way
        running = [threading.Thread(target=talk, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    seconds, spent = time.monotonic() - started, time.process_time() - spent
    print(json.dumps({"turns": sum(counts), "seconds": seconds, "cpu_s": spent}))


if __name__ == "__main__":
    main()
