"""viewfinder.pictures.sandbox and .worker: real processes, really hung, starved and killed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from tests.waiting import wait_until
from viewfinder.errors import PictureError, ViewfinderError
from viewfinder.pictures.decode import Limits, decode
from viewfinder.pictures.fits import AtMost, Stretch, picture_id
from viewfinder.pictures.outcomes import BadFile, DecodedFile, Outcome
from viewfinder.pictures.sandbox import MAX_FILES_HELD, Decoders, decode_one

pytestmark = pytest.mark.afresh

SMALL = Stretch(16)
SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def photos(folder: Path, count: int, side: int = 20) -> list[Path]:
    """Pictures whose red channel is their number."""
    places = [folder / f"{number:03d}.png" for number in range(count)]
    for number, place in enumerate(places):
        Image.new("RGB", (side, side), (number % 256, 7, 9)).save(place)
    return places


def workers() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_outcomes_are_what_decode_gives_in_the_process_with_id_and_times(tmp_path: Path) -> None:
    (place,) = photos(tmp_path, 1)
    os.utime(place, ns=(1, 987_654_321_123_456_789))
    with Decoders(1, fit=SMALL) as decoders:
        (outcome,) = decoders.decode([place])
    data = place.read_bytes()
    expected = decode(data, limits=Limits(), fit=SMALL)
    assert isinstance(outcome, DecodedFile)
    np.testing.assert_array_equal(outcome.pixels, expected.pixels)
    assert outcome.facts == expected.facts
    assert (outcome.path, outcome.id, outcome.size) == (place, picture_id(data), len(data))
    assert outcome.mtime_ns == 987_654_321_123_456_789


def test_order_is_that_of_the_paths_and_bad_files_keep_their_place(tmp_path: Path) -> None:
    places = photos(tmp_path, 60)
    Image.effect_noise((1500, 1500), 50).save(places[0])  # slow, and first
    places[7].write_bytes(b"")
    places[20].unlink()
    places[31].write_bytes(b"<html>")
    places[40].unlink()
    places[40].mkdir()
    with Decoders(2, fit=SMALL) as decoders:
        outcomes = list(decoders.decode(places))
    assert [outcome.path for outcome in outcomes] == places
    reasons = {places.index(item.path): item.reason for item in outcomes if isinstance(item, BadFile)}
    assert reasons == {
        7: "empty file",
        20: "no such file or directory",
        31: "not a picture (starts with '<html>')",
        40: "is a directory",
    }
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, DecodedFile) and number:
            assert outcome.pixels[0, 0].tolist() == [number, 7, 9]


def test_a_bad_file_has_its_size_and_time_so_that_a_change_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "a.jpg"
    place.write_bytes(b"no picture")
    with Decoders(1, fit=SMALL) as decoders:
        (outcome,) = decoders.decode([place])
    assert outcome == BadFile(place, 10, place.stat().st_mtime_ns, "not a picture (starts with 'no picture')")


def test_names_that_are_not_utf8_and_relative_ones_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = photos(tmp_path, 1)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \n.png"))
    place.rename(odd)
    monkeypatch.chdir(tmp_path)
    with Decoders(1, fit=SMALL) as decoders:
        outcomes = list(decoders.decode([odd, Path(odd.name)]))
    assert all(isinstance(outcome, DecodedFile) for outcome in outcomes)


def test_a_file_that_hangs_is_given_up_and_the_run_goes_on(tmp_path: Path) -> None:
    places = photos(tmp_path, 12)
    places[2].unlink()
    os.mkfifo(places[2])  # to open a pipe that nobody writes to blocks for ever
    with Decoders(2, fit=SMALL, limits=Limits(seconds=1.0)) as decoders:
        list(decoders.decode(places[:1]))
        start = time.monotonic()
        outcomes = list(decoders.decode(places))
    assert 1.0 <= time.monotonic() - start < 60.0
    assert [item.reason for item in outcomes if isinstance(item, BadFile)] == ["took longer than 1 s"]
    assert [item.path for item in outcomes] == places


def test_a_caller_who_dawdles_does_not_cost_a_file(tmp_path: Path) -> None:
    places = photos(tmp_path, 12)
    with Decoders(1, fit=SMALL, limits=Limits(seconds=0.5)) as decoders:
        outcomes: list[Outcome] = []
        for outcome in decoders.decode(places):
            if len(outcomes) in (0, 3):
                time.sleep(0.8)  # longer than any file may take
            outcomes.append(outcome)
    assert all(isinstance(outcome, DecodedFile) for outcome in outcomes)


@pytest.mark.parametrize(("number", "said"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "killed")])
def test_a_file_that_kills_its_worker_is_bad_and_the_files_beside_it_are_not(
    tmp_path: Path, number: signal.Signals, said: str
) -> None:
    places = photos(tmp_path, 10)
    places[3].unlink()
    os.mkfifo(places[3])
    before = workers()
    with Decoders(1, fit=SMALL) as decoders:
        stream = decoders.decode(places)
        outcomes = [next(stream) for _ in range(3)]
        killer = threading.Thread(target=kill_twice, args=(workers() - before, before, number))
        killer.start()
        outcomes += list(stream)
        killer.join()
    bad = [item for item in outcomes if isinstance(item, BadFile)]
    assert [item.path for item in bad] == [places[3]]
    assert said in bad[0].reason
    assert [item.path for item in outcomes] == places


def kill_twice(first: set[int], before: set[int], number: signal.Signals) -> None:
    """Kills the worker that hangs on the pipe, others waiting behind; then again, when it hangs alone."""
    time.sleep(0.3)
    for pid in first:
        os.kill(pid, number)
    wait_until(lambda: bool(workers() - before - first))
    (second,) = workers() - before - first
    wait_until(lambda: waits_for_a_pipe(second))
    os.kill(second, number)


def waits_for_a_pipe(pid: int) -> bool:
    """Whether a worker has started (it falls silent when it is ready) and sleeps in its first, lone file."""
    silent = Path(f"/proc/{pid}/fd/2").resolve() == Path("/dev/null")
    return silent and psutil.Process(pid).status() == psutil.STATUS_SLEEPING


def test_a_worker_that_died_idle_costs_nothing(tmp_path: Path) -> None:
    places = photos(tmp_path, 5)
    before = workers()
    with Decoders(2, fit=SMALL) as decoders:
        list(decoders.decode(places))
        for pid in workers() - before:
            os.kill(pid, signal.SIGKILL)
        assert all(isinstance(outcome, DecodedFile) for outcome in decoders.decode(places))


def test_a_picture_that_needs_too_much_memory_is_bad_and_its_worker_lives(tmp_path: Path) -> None:
    places = photos(tmp_path, 3)
    Image.new("RGB", (9000, 9000)).save(places[1], compress_level=1)
    before = workers()
    with Decoders(1, fit=SMALL, limits=Limits(memory_bytes=100_000_000)) as decoders:
        mine = workers() - before
        outcomes = list(decoders.decode(places))
        assert workers() - before == mine
    assert [type(item) for item in outcomes] == [DecodedFile, BadFile, DecodedFile]
    assert isinstance(outcomes[1], BadFile)
    assert outcomes[1].reason == "needs more memory than the limit of 0.1 GB"


def test_a_file_without_end_is_read_only_up_to_the_limit() -> None:
    with Decoders(1, fit=SMALL, limits=Limits(max_bytes=1_000_000)) as decoders:
        (outcome,) = decoders.decode([Path("/dev/zero")])
    assert isinstance(outcome, BadFile)
    assert outcome.reason.startswith("too large")


def test_paths_are_drawn_no_faster_than_outcomes_are_taken(tmp_path: Path) -> None:
    (place,) = photos(tmp_path, 1)
    drawn = 0

    def endless() -> Iterator[Path]:
        nonlocal drawn
        while True:
            drawn += 1
            yield place

    with Decoders(2, fit=SMALL) as decoders:
        stream = decoders.decode(endless())
        for taken in range(1, 30):
            next(stream)
            assert drawn <= taken + 2 * MAX_FILES_HELD
        del stream


@pytest.mark.long
@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path) -> None:
    (place,) = photos(tmp_path, 1, side=1000)
    before = workers()
    with Decoders(2, fit=AtMost(1000)) as decoders:

        def held() -> int:
            processes = [psutil.Process(), *map(psutil.Process, workers() - before)]
            return sum(process.memory_info().rss for process in processes)

        for _ in decoders.decode([place] * 30):
            pass
        start = held()
        for _ in decoders.decode([place] * 200):  # 600 MB of pixels
            pass
        assert held() - start < 60_000_000


def test_workers_go_on_while_the_caller_is_busy(tmp_path: Path) -> None:
    places = photos(tmp_path, MAX_FILES_HELD + 1, side=2000)
    before = workers()
    with Decoders(1, fit=Stretch(600)) as decoders:  # a megabyte each: more than a socket holds
        stream = decoders.decode(places)
        next(stream)
        (worker,) = map(psutil.Process, workers() - before)
        at_first = worker.cpu_times().user
        wait_until(lambda: rests(worker))
        while_we_slept = worker.cpu_times().user - at_first
        list(stream)
        afterwards = worker.cpu_times().user - at_first - while_we_slept
    assert while_we_slept > 1.5 * afterwards  # three of the other four were on their way


def rests(process: psutil.Process) -> bool:
    """Whether it waits for somebody; not for a processor, as on a busy machine."""

    def looks() -> Iterator[str]:
        for _ in range(4):
            time.sleep(0.1)
            yield process.status()

    return set(looks()) == {psutil.STATUS_SLEEPING}


def test_closing_leaves_no_process_behind_even_in_the_middle(tmp_path: Path) -> None:
    places = photos(tmp_path, 20)
    os.mkfifo(tmp_path / "pipe")
    before = workers()
    with pytest.raises(ZeroDivisionError), Decoders(2, fit=SMALL) as decoders:
        for _ in decoders.decode([*places[:10], tmp_path / "pipe", *places[10:]]):
            assert len(workers() - before) == 2
            raise ZeroDivisionError
    assert workers() == before  # children() lists zombies too
    decoders.close()


def test_an_iterator_that_is_given_up_does_not_disturb_the_next(tmp_path: Path) -> None:
    places = photos(tmp_path, 30)
    with Decoders(2, fit=SMALL) as decoders:
        for outcome in decoders.decode(places):
            assert outcome.path == places[0]
            break
        gc.collect()
        assert [outcome.path for outcome in decoders.decode(places[10:])] == places[10:]


def test_two_iterators_at_once_are_refused(tmp_path: Path) -> None:
    places = photos(tmp_path, 3)
    with Decoders(1, fit=SMALL) as decoders:
        stream = decoders.decode(places)
        next(stream)
        with pytest.raises(RuntimeError, match="decoding already"):
            next(decoders.decode(places))
        assert len(list(stream)) == 2


def test_ctrl_c_is_for_the_parent_to_decide_on(tmp_path: Path) -> None:
    places = photos(tmp_path, 8)
    before = workers()
    with Decoders(2, fit=SMALL) as decoders:
        list(decoders.decode(places))
        mine = workers() - before
        for pid in mine:
            os.kill(pid, signal.SIGINT)
        assert len(list(decoders.decode(places))) == 8
        assert workers() - before == mine
        assert all(os.getpgid(pid) != os.getpgid(0) for pid in mine)  # the terminal signals ours, not theirs


def test_a_worker_that_cannot_start_is_said_once_not_for_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        Decoders(1, fit=SMALL) as decoders,
        pytest.raises(ViewfinderError, match=r"/bin/false.*does not start"),
    ):
        list(decoders.decode(photos(tmp_path, 5)))


def test_no_worker_at_all_is_a_programmers_mistake() -> None:
    with pytest.raises(ValueError, match="workers=0"):
        Decoders(0, fit=SMALL)


SCRIPT = """
import sys, time
from pathlib import Path
from viewfinder.pictures.decode import Limits
from viewfinder.pictures.fits import Stretch
from viewfinder.pictures.sandbox import Decoders
print("script runs", flush=True)
decoders = Decoders(2, fit=Stretch(8), limits=Limits(seconds=1.0)).__enter__()
print(len(list(decoders.decode([Path(sys.argv[1])] * 9))), flush=True)
if len(sys.argv) > 2:
    stream = decoders.decode(map(Path, sys.argv[1:]))
    next(stream)
    print("waiting", flush=True)
    time.sleep(60)
decoders.close()
"""


def script(tmp_path: Path, *arguments: Path) -> list[str]:
    (tmp_path / "script.py").write_text(SCRIPT)
    return [sys.executable, str(tmp_path / "script.py"), *map(str, arguments)]


def test_a_script_without_a_main_guard_is_not_run_again_by_the_workers(tmp_path: Path) -> None:
    command = script(tmp_path, *photos(tmp_path, 1))
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.stdout.split("\n") == ["script runs", "9", ""]
    assert done.stderr == ""


@pytest.mark.slow
def test_workers_even_a_hung_one_end_by_themselves_when_their_parent_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    command = script(tmp_path, *photos(tmp_path, 1), tmp_path / "pipe")
    env = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as parent:
        assert parent.stdout is not None
        for line in parent.stdout:
            if line == "waiting\n":
                break
        orphans = psutil.Process(parent.pid).children()
        parent.kill()
    assert len(orphans) == 2
    wait_until(lambda: not any(lives(orphan) for orphan in orphans))


def lives(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)  # where nobody reaps orphans
    except psutil.NoSuchProcess:
        return False


def test_one_picture_comes_back_or_says_why_not(tmp_path: Path) -> None:
    (place,) = photos(tmp_path, 1)
    picture = decode_one(place, AtMost(10))
    assert (picture.path, picture.pixels.shape) == (place, (10, 10, 3))
    (tmp_path / "bad.jpg").write_bytes(b"")
    with pytest.raises(PictureError, match=r"^empty file$"):
        decode_one(tmp_path / "bad.jpg", SMALL)
    assert decode_one(place, SMALL).pixels.shape == (16, 16, 3)


def test_one_picture_that_hangs_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(PictureError, match=r"took longer than 0\.5 s"):
        decode_one(tmp_path / "pipe.jpg", SMALL, Limits(seconds=0.5))


def end_of(pipe: Path) -> None:
    """Lets whoever waits to read the pipe find it empty."""
    for _ in range(3000):
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return
        except OSError:  # nobody reads yet
            time.sleep(0.01)


def test_one_picture_that_hangs_keeps_no_other_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    (place,) = photos(tmp_path, 1)
    with ThreadPoolExecutor(2) as threads:
        hanging = threads.submit(decode_one, tmp_path / "pipe.jpg", SMALL, Limits(seconds=60.0))
        assert threads.submit(decode_one, place, SMALL).result(timeout=120).pixels.shape == (16, 16, 3)
        assert not hanging.done()
        end_of(tmp_path / "pipe.jpg")
        with pytest.raises(PictureError, match=r"^empty file$"):
            hanging.result(timeout=60)


PRICE = """
import sys, time
from pathlib import Path
import psutil
from viewfinder.pictures import Decoders, Limits, Stretch
from viewfinder.pictures.decode import decode
if __name__ == "__main__":
    places, fit = sorted(Path(sys.argv[1]).glob("*.png")) * 60, Stretch(224)
    prices = []
    with Decoders(1, fit=fit) as decoders:
        list(decoders.decode(places[:20]))
        children = psutil.Process().children(recursive=True)
        def spent():
            # Of all processors, parent and workers together: the clock would measure who else is here.
            return time.process_time() + sum(sum(child.cpu_times()[:2]) for child in children)
        for _ in range(3):
            before = spent()
            for place in places:
                decode(place.read_bytes(), limits=Limits(), fit=fit)
            inside = spent()
            list(decoders.decode(places))
            prices.append((spent() - inside) - (inside - before))
    print(min(prices) / len(places))
"""


@pytest.mark.long
@pytest.mark.slow
def test_the_price_of_the_sandbox_is_under_a_millisecond_a_picture(tmp_path: Path) -> None:
    # In a process of its own, because the type checks of the test run would be part of what is measured; the least
    # of three, because a neighbour on the machine makes every process dearer.
    photos(tmp_path, 10)
    (tmp_path / "price.py").write_text(PRICE)
    command = [sys.executable, str(tmp_path / "price.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.001
