"""The processors that this process may use: what its affinity and the quota of its container leave of the machine's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TypeVar

Task = TypeVar("Task")

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


def share_out(work: Callable[[Task], None], tasks: Iterable[Task]) -> None:
    """Runs the tasks in as many threads as a product would: numpy and ONNX Runtime release the lock."""
    listed = list(tasks)
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    threads = min(len(listed), int(told) if told.isdecimal() else count_processors())
    if threads <= 1:
        for task in listed:
            work(task)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, listed):
            pass


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
