"""A cluster of this machine alone: nobody else reaches it, nobody without its token uses it, and it ends with us."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from viewfinder.cluster.keeper import find_processes

pytestmark = [pytest.mark.slow, pytest.mark.afresh]


def listening(folder: Path) -> dict[str, str]:
    """Where this process and those of the cluster of that folder listen, by address; which process it is."""
    us = psutil.Process()
    found = {}
    for process in (us, *us.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            # Servers that other tests have begun are children, too.
            if process != us and not any(folder in Path(file.path).parents for file in process.open_files()):
                continue
            for held in process.net_connections():
                if held.status == psutil.CONN_LISTEN:
                    found[f"{held.laddr.ip} {held.laddr.port}"] = " ".join(process.cmdline())
    return found


def is_loopback(place: str) -> bool:
    address = ipaddress.ip_address(place.partition(" ")[0])
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def test_nothing_of_a_local_cluster_listens_beyond_this_machine(ray: Any) -> None:
    ray.get(ray.remote(num_cpus=0)(lambda: 1).remote())  # a worker listens, too
    found = listening(Path(ray.nodes()[0]["ObjectStoreSocketName"]).parents[2])
    assert len(found) > 4
    assert {place: name for place, name in found.items() if not is_loopback(place)} == {}


STRANGER = """
import sys
from ray._raylet import GcsClient
print(GcsClient(address=sys.argv[1]).internal_kv_keys(b"", None, 60))
"""


@pytest.mark.parametrize("given", [{}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": 64 * "0"}])
def test_who_has_not_its_token_runs_nothing_there(ray: Any, given: dict[str, str]) -> None:
    address = ray.get_runtime_context().gcs_address
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | given
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, address], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode != 0
    assert "AuthenticationError" in done.stderr.rpartition("Traceback")[2], done.stdout + done.stderr


BEGINS = """
import sys
from viewfinder.cluster import ray_session
with ray_session(cpus=1) as ray:
    print(ray.nodes()[0]["ObjectStoreSocketName"], flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, None])
def test_nothing_is_left_of_a_cluster_whose_program_has_ended(by: int | None) -> None:
    command, quiet = [sys.executable, "-c", BEGINS], subprocess.DEVNULL
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, text=True)
    assert program.stdin is not None
    assert program.stdout is not None
    folder = Path(program.stdout.readline().strip()).parents[2]
    assert folder.name.startswith("viewfinder-ray-")
    begun = psutil.Process(program.pid).children(recursive=True)
    assert len(find_processes(folder)) > 2, "the program, and Ray's agents"
    if by is None:
        program.communicate("")
    else:
        program.send_signal(by)
        program.wait()
    left, until = begun, time.monotonic() + 120
    while (left or folder.exists()) and time.monotonic() < until:
        _, left = psutil.wait_procs([it for it in left if it.is_running() and it.status() != "zombie"], timeout=0.1)
    assert left == []
    assert not folder.exists()
    if by is not None:
        program.communicate()
