"""The processors that this process may use: what its affinity and the quota of its container leave of the machine's."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module
from math import ceil
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar

from viewfinder.errors import BadInput

Task = TypeVar("Task")

MAX_PER_PROCESSOR = 8
"""Processes that may be asked for: each takes a hundred megabytes, and more than one a processor gain little."""

_OWN_GROUPS = Path("/proc/self/cgroup")
_MOUNTED = Path("/sys/fs/cgroup")
_FOLDERS_V1 = ("cpu", "cpu,cpuacct", "cpuacct,cpu")


def count_processors(own_groups: Path = _OWN_GROUPS, mounted: Path = _MOUNTED) -> int:
    """How many processes or threads that only compute can run at once; at least 1.

    A container of 2 processors on a host of 64 sees all 64 (`os.cpu_count`), and more workers than it has
    processors cost memory and time. The quota is that of Linux control groups, version 1 or 2, or none elsewhere.

    Args:
        own_groups: the file that lists the control groups of this process.
        mounted: where the trees of control groups are mounted.
    """
    allowed = _count_allowed()
    quota = min(_list_quotas(own_groups, mounted), default=float(allowed))
    # Half a processor more than a whole number is one worker more, which then waits half of its time.
    return max(1, min(allowed, ceil(quota)))


def check_processes(name: str, asked: int) -> None:
    """Raises BadInput: more processes are asked for than this machine can bear."""
    cores = count_processors()
    if asked > cores * MAX_PER_PROCESSOR:
        raise BadInput(
            f"{name}: {asked:,} processes are too many for the {cores} cores here: give as many as there are cores, "
            f"and {cores * MAX_PER_PROCESSOR} at most"
        )


def share_out(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
    """Runs the tasks in as many threads as a product would: numpy and ONNX Runtime release the lock.

    The thread that asks does whatever others do not come to, so that nobody waits for them. Beside other turns (who is
    in `use_one_blas_thread`) it does all: handing work over costs a crowd more than it gains. Raises as `work`.
    """
    left = deque(tasks)
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    threads = int(told) if told.isdecimal() else _count_once()
    if _UnderWay.threads > 1:
        threads = 1

    def do_some() -> None:
        while left:
            try:
                task = left.popleft()
            except IndexError:  # another thread has just taken the last
                return
            work(task)

    helpers = [_open_pool(os.getpid(), threads - 1).submit(do_some) for _ in range(min(len(left), threads) - 1)]
    try:
        do_some()
    finally:
        left.clear()
        if begun := [helper for helper in helpers if not helper.cancel()]:
            wait(begun)
    for helper in begun:
        helper.result()


@cache
def _count_once() -> int:
    """`count_processors` of when work was first shared: a turn shares out a dozen times, and counting reads files."""
    return count_processors()


@lru_cache(maxsize=1)
def _open_pool(process: int, threads: int) -> ThreadPoolExecutor:
    """The threads that share work, begun when they are first needed; a fork of this process has none of them."""
    del process
    return ThreadPoolExecutor(threads, "share")


class _UnderWay:
    """The threads in `use_one_blas_thread`: how many, and what takes the limit away after the last of them."""

    lock = Lock()
    threads = 0
    limiter: Any = None
    of_thread = local()


@contextmanager
def use_one_blas_thread() -> Iterator[None]:
    """While anybody is in here, each product of this process runs in the thread that asks for it; also a decorator.

    OpenBLAS divides a product of a quarter million multiplications among all processors, and its threads then wait for
    the next one by spinning, for milliseconds. A turn has dozens of small ones, and most of what the threads take is
    that waiting, most of all beside other programs. What is large enough is divided by `share_out`.
    """
    if getattr(_UnderWay.of_thread, "is_in", False):
        yield
        return
    blas = _find_blas()
    _UnderWay.of_thread.is_in = True
    with _UnderWay.lock:
        _UnderWay.threads += 1
        if _UnderWay.threads == 1:
            _UnderWay.limiter = blas.limit(limits=1)
    try:
        yield
    finally:
        _UnderWay.of_thread.is_in = False
        with _UnderWay.lock:
            _UnderWay.threads -= 1
            if not _UnderWay.threads:
                _UnderWay.limiter.restore_original_limits()


@cache
def _find_blas() -> Any:
    """The libraries by which numpy multiplies; none on a Mac, whose own one does not wait so."""
    from threadpoolctl import ThreadpoolController

    import_module("numpy")  # which loads them
    return ThreadpoolController().select(user_api="blas")


def _count_allowed() -> int:
    """The machine's processors, as many as this process is not kept off (as a container may be)."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS and Windows have no such call
        return os.cpu_count() or 1


def _list_quotas(own_groups: Path, mounted: Path) -> Iterator[float]:
    """The quotas, in processors, of this process's groups and of all groups above them: each of them holds."""
    try:
        lines = own_groups.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if not controllers:
            for folder in _climb(mounted, group):
                yield from _read_quota(folder, "cpu.max")
        elif "cpu" in controllers.split(","):
            for name in _FOLDERS_V1:
                for folder in _climb(mounted / name, group):
                    yield from _read_quota(folder, "cpu.cfs_quota_us", "cpu.cfs_period_us")


def _climb(root: Path, group: str) -> Iterator[Path]:
    """A group's folder and those above it; in a container, whose root is the group itself, only the last is there."""
    parts = [part for part in group.split("/") if part not in ("", ".", "..")]
    for count in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:count])


def _read_quota(folder: Path, *names: str) -> Iterator[float]:
    """Microseconds of processors a period over that period; none for a group without a quota ("max", -1)."""
    with suppress(OSError, ValueError):
        quota, period = map(int, " ".join((folder / name).read_text() for name in names).split())
        if quota > 0 and period > 0:
            yield quota / period
