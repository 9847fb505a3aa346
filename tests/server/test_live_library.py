from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewfinder
from tests.waiting import wait_until
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.search import index_files
from viewfinder.search.turn_scores import warm_scores
from viewfinder.server import live_library
from viewfinder.server.live_library import LiveLibrary
from viewfinder.testing import tiny_pictures

pytestmark = pytest.mark.slow  # the encoder in the box, in processes of their own


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return viewfinder.open(tmp_path / "library")


@pytest.fixture
def live(library: Library) -> Iterator[LiveLibrary]:
    served = LiveLibrary(library.folder, library.settings)
    yield served
    served.stop()


def test_pictures_that_come_in_are_served_soon_and_nobody_waits_for_them(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    tiny_pictures(tmp_path / "first", 3)
    tiny_pictures(tmp_path / "second", 8)
    library.add(tmp_path / "first")
    live.start()
    wait_until(lambda: len(live.gallery()) == 3)
    before = live.gallery()
    library.add(tmp_path / "second")
    assert live.gallery() is before or len(live.gallery()) == 8
    wait_until(lambda: len(live.gallery()) == 8)
    assert live.gallery().snapshot.generation == library.gallery().snapshot.generation


def test_a_snapshot_that_another_process_made_is_taken_over_while_no_other_would_be_made_here(
    library: Library, live: LiveLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_library, "MIN_PAUSE_S", 600.0)
    for number, name in enumerate(("first", "second", "third"), start=1):
        tiny_pictures(tmp_path / name, 3 * number)
    library.add(tmp_path / "first")
    live.start()
    wait_until(lambda: _count(live) == 3)
    library.add(tmp_path / "second")
    wait_until(lambda: _count(live) == 6)  # made here, so that the next is not made for 600 s
    library.add(tmp_path / "third")
    assert len(warm_scores(library.gallery())) == 9
    wait_until(lambda: _count(live) == 9)


def test_a_snapshot_that_is_missing_is_made_in_a_process_of_its_own(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    tiny_pictures(tmp_path / "pictures", 4)
    library.add(tmp_path / "pictures")
    mark = live._make_snapshot()
    assert mark == library.gallery().snapshot.generation


SERVER = """
import sys, threading
from pathlib import Path
from viewfinder.search import index_files
from viewfinder.library import Library
from viewfinder.server import live_library
from viewfinder.server import live_library
from viewfinder.server.live_library import LiveLibrary
live_library.COMMAND = (sys.executable, "-c", sys.argv[2])
library = Library.open(Path(sys.argv[1]))
live = LiveLibrary(library.folder, library.settings)
threading.Thread(target=live._make_snapshot).start()
while live._maker is None:
    pass
print(live._maker.pid, flush=True)
"""


SLOW_MAKER = """
import time
from viewfinder.server import live_library
live_library.Library.open = lambda *given, **more: time.sleep(120)
live_library.main()
"""


def test_a_snapshot_process_dies_with_its_server(library: Library) -> None:
    command = [sys.executable, "-c", SERVER, str(library.folder), SLOW_MAKER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        maker = int(server.stdout.readline())
        assert _runs(maker)
        server.kill()
    wait_until(lambda: not _runs(maker))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_library_without_pictures_says_so_until_some_come(
    library: Library, live: LiveLibrary, tmp_path: Path
) -> None:
    live.start()
    with pytest.raises(BadInput, match="holds no pictures yet"):
        live.gallery()
    tiny_pictures(tmp_path / "pictures", 2)
    library.add(tmp_path / "pictures")
    live.look_now()
    wait_until(lambda: _count(live) == 2)


def _count(live: LiveLibrary) -> int:
    try:
        return len(live.gallery())
    except BadInput:
        return 0


INDEXER = """
import sys
from viewfinder.search import index_files
from viewfinder.server.live_library import main
index_files.MIN_INDEXED = 2
main()
"""


def test_an_index_is_made_in_a_process_of_its_own_and_then_served(
    library: Library, live: LiveLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss", reason="the extra `scale` is not installed")
    monkeypatch.setattr(index_files, "MIN_INDEXED", 2)
    monkeypatch.setattr(live_library, "COMMAND", (sys.executable, "-c", INDEXER))
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures")
    assert live.gallery().indexed is None
    live.start()
    wait_until(lambda: live.gallery().indexed is not None)
    indexed = live.gallery().indexed
    assert indexed is not None
    assert len(indexed.index) == 6


def test_an_index_that_is_spoilt_while_it_is_served_is_made_anew(
    library: Library, live: LiveLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss", reason="the extra `scale` is not installed")
    monkeypatch.setattr(index_files, "MIN_INDEXED", 2)
    monkeypatch.setattr(live_library, "COMMAND", (sys.executable, "-c", INDEXER))
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures")
    live.gallery()
    file = index_files.index_file(library.folder, live.gallery().snapshot.space)
    for _ in range(2):
        live._refresh_index()
        process = live._indexer_process
        assert process is not None
        process.wait()
        live._refresh_index()
        assert live.gallery().indexed is not None
        file.unlink()
        file.write_bytes(b"")
        live._refresh_index()
        assert live.gallery().indexed is None


def test_an_index_that_another_process_makes_is_served_too(
    library: Library, live: LiveLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss", reason="the extra `scale` is not installed")
    monkeypatch.setattr(index_files, "MIN_INDEXED", 2)
    monkeypatch.setattr(live_library, "COMMAND", (sys.executable, "-c", "pass"))  # as if the lock were held elsewhere
    tiny_pictures(tmp_path / "pictures", 6)
    library.add(tmp_path / "pictures")
    live.gallery()
    for _ in range(2):
        live._refresh_index()
        if (process := live._indexer_process) is not None:
            process.wait()
    assert live.gallery().indexed is None
    assert library.build_index()
    live._refresh_index()
    indexed = live.gallery().indexed
    assert indexed is not None
    assert len(indexed.index) == 6


def test_a_server_goes_on_over_a_switch_to_another_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = Path(__file__).parents[1]
    monkeypatch.syspath_prepend(str(tests))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")]))
    tiny_pictures(tmp_path / "pictures", 6)
    writer = Library.open(tmp_path / "switched", encoder="shades:Warm")
    writer.add(tmp_path / "pictures", workers=1, without_starter=True)
    served = LiveLibrary(writer.folder, writer.settings)
    served.start()
    try:
        wait_until(lambda: _count(served) == 6)
        chat = served.chat(questioner=None, n=6)
        before = [hit.id for hit in chat.say("red")]
        writer.add(encoder="shades:Wide", workers=1)
        writer.forget_encoder("shades:Warm")
        assert [hit.id for hit in chat.back_to(1)] == before  # whichever it is served with now
        wait_until(lambda: served.gallery().snapshot.space == served.gallery().encoder.version == "Wide-3")
        assert [hit.id for hit in chat.back_to(1)] == before
        assert served.unseen == ""
    finally:
        served.stop()
        sys.modules.pop("shades", None)
