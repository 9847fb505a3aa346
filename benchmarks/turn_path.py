"""The path of one turn through the source: the files it passes, and how often it switches between them.

    python benchmarks/turn_path.py [--files]

Counts the calls of the package's functions and methods, thread by thread, in order; a switch is a call in a different
file from the call before. `chat` is one turn of a session until its question is chosen; `post` is one POST of a turn
until its answer is there and its question, which another thread chooses, is chosen too. Both count a second turn, so
that nothing that happens only once is counted. The pictures are drawn and have no catalogue.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import viewfinder
from viewfinder.library import Library

PICTURES = 60
QUIET_S = 0.2
"""When nothing has been called for so long, the question stands."""
TURNS = 5
WARM, COUNTED = "a tree next to a house", "a red car in the snow"
PACKAGE = str(Path(viewfinder.__file__).parent)


class Recorder:
    """The files of the calls that happen while it listens, by thread."""

    def __init__(self) -> None:
        self.calls: defaultdict[int, list[str]] = defaultdict(list)
        self.listens = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Records a call, for `sys.setprofile`; comprehensions and lambdas are parts of the function they stand in."""
        code = frame.f_code
        if self.listens and event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[0] != "<":
            self.calls[threading.get_ident()].append(code.co_filename)

    def figures(self) -> dict[str, Any]:
        """Files, switches between them, and calls by file, the busiest first."""
        threads = self.calls.values()
        switches = sum(one != other for files in threads for one, other in pairwise(files))
        names = Counter(str(Path(file).relative_to(PACKAGE)) for files in threads for file in files)
        return {"files": len(names), "switches": switches, "calls": names.total(), "by file": dict(names.most_common())}


@contextmanager
def record_calls() -> Iterator[Recorder]:
    """Has all threads that begin inside, and this one, call a recorder."""
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def count_chat(library: Library) -> dict[str, Any]:
    """One turn of `chat`, with results, reasons and the question."""
    library.chat().say(WARM)
    session = library.chat()
    with record_calls() as recorder:
        recorder.listens = True
        session.say(COUNTED)
        recorder.listens = False
    return recorder.figures()


def count_post(library: Library) -> dict[str, Any]:
    """One POST of a turn."""
    from fastapi.testclient import TestClient

    from viewfinder.server.app import create_app
    from viewfinder.server.settings import ServerSettings

    with record_calls() as recorder:
        app = create_app(library, ServerSettings())
        with TestClient(app, base_url="http://localhost:8008", client=("127.0.0.1", 50000)) as client:
            assert client.portal is not None
            client.portal.call(app.state.services.jobs.stop)  # it polls for jobs twice a second, whatever is asked
            take_turn(client, WARM, recorder)
            counted = [take_turn(client, COUNTED, recorder) for _ in range(TURNS)]
    return min(counted, key=lambda figures: int(figures["files"]))  # some also looked at the pictures again


def take_turn(client: Any, text: str, recorder: Recorder) -> dict[str, Any]:
    """A new session and its first turn, to which `recorder` listens until the question after it stands."""
    session = client.post("/api/v1/sessions", json={}).raise_for_status().json()["id"]
    recorder.calls.clear()
    recorder.listens = True
    client.post(f"/api/v1/sessions/{session}/turns", json={"say": text}).raise_for_status()
    known = -1
    while known != (known := sum(map(len, recorder.calls.values()))):  # the question is chosen meanwhile
        time.sleep(QUIET_S)
    recorder.listens = False
    return recorder.figures()


def main() -> None:
    """Draw a world, index it, count, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="tell the files, too")
    given = parser.parse_args()
    from viewfinder.worlds import write_scenes

    with tempfile.TemporaryDirectory() as folder:
        write_scenes(Path(folder) / "world", count=PICTURES, seed=1)
        library = viewfinder.open(Path(folder) / "library")
        library.add(Path(folder) / "world" / "images")
        counted = {"chat": count_chat(library), "post": count_post(library)}
    for figures in counted.values():
        if not given.files:
            del figures["by file"]
    print(json.dumps(counted, indent=1))


if __name__ == "__main__":
    main()
