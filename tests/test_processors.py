"""The processors that a process may use, from files as Linux keeps them of control groups."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from viewfinder import processors
from viewfinder.processors import count_processors

V2 = "0::/{group}\n"
V1 = "12:memory:/{group}\n4:cpu,cpuacct:/{group}\n1:name=systemd:/\n"


@pytest.fixture(autouse=True)
def machine_of_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)


def count_with(folder: Path, groups: str, files: Mapping[str, str]) -> int:
    """The processors of a process in these groups, among files of control groups."""
    (folder / "cgroup").write_text(groups)
    for name, content in files.items():
        place = folder / "mounted" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return count_processors(folder / "cgroup", folder / "mounted")


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        (V2.format(group=""), {"cpu.max": "200000 100000\n"}, 2),
        (V2.format(group=""), {"cpu.max": "max 100000\n"}, 64),
        (V2.format(group=""), {"cpu.max": "250000 100000\n"}, 3),
        (V2.format(group=""), {"cpu.max": "5000 100000\n"}, 1),
        (V2.format(group=""), {"cpu.max": "9900000 100000\n"}, 64),
        (V2.format(group="a/b"), {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        (V2.format(group="a/b"), {"a/b/cpu.max": "200000 100000\n", "a/cpu.max": "300000 100000\n"}, 2),
        # The host's name of the group, where the container sees its own group as the root.
        (V2.format(group="docker/0a1b"), {"cpu.max": "400000 100000\n"}, 4),
        (V2.format(group="../../other"), {"cpu.max": "400000 100000\n"}, 4),
        (
            V1.format(group=""),
            {"cpu,cpuacct/cpu.cfs_quota_us": "150000\n", "cpu,cpuacct/cpu.cfs_period_us": "50000"},
            3,
        ),
        (V1.format(group="x"), {"cpu/x/cpu.cfs_quota_us": "200000", "cpu/x/cpu.cfs_period_us": "100000"}, 2),
        (V1.format(group="x"), {"cpu/cpu.cfs_quota_us": "500000", "cpu/cpu.cfs_period_us": "100000"}, 5),
        (V1.format(group=""), {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        (V1.format(group=""), {"cpu/cpu.cfs_quota_us": "200000\n"}, 64),
        (V1.format(group="") + V2.format(group=""), {"cpu.max": "700000 100000"}, 7),
        ("nonsense\n::\n", {"cpu.max": "damaged", "cpu/cpu.cfs_quota_us": ""}, 64),
        (V2.format(group=""), {}, 64),
    ],
)
def test_the_least_quota_of_the_groups_counts(
    tmp_path: Path, groups: str, files: Mapping[str, str], expected: int
) -> None:
    assert count_with(tmp_path, groups, files) == expected


def test_affinity_counts_where_it_is_less_than_the_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 6}, raising=False)
    assert count_with(tmp_path, V2.format(group=""), {"cpu.max": "800000 100000"}) == 3


def test_a_system_without_groups_or_affinity_has_all_its_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert count_processors(tmp_path / "none", tmp_path / "none") == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_processors(tmp_path / "none", tmp_path / "none") == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_process_that_is_kept_on_one_processor_counts_one() -> None:
    code = (
        "import os; from viewfinder.processors import count_processors\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(count_processors())"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["1"]


SOURCES = Path(processors.__file__).parent
MAY_NAME_THE_MACHINE = {"processors.py", "evaluation/results.py"}


def test_nothing_else_asks_the_machine_how_many_processors_it_has() -> None:
    asking = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if "cpu_count(" in (text := file.read_text(encoding="utf-8")) or "sched_getaffinity(" in text
    }
    assert asking == MAY_NAME_THE_MACHINE
