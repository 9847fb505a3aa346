"""A PostgreSQL server of our own on a socket in a temporary folder, which may be restarted under its clients."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg


def _programs() -> Path | None:
    """Where PostgreSQL's programs are: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


def _run(*command: str | Path) -> None:
    """As the user postgres where we are root, whom PostgreSQL refuses to serve under."""
    user = "postgres" if os.geteuid() == 0 else None
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        user=user,
        group=user,
        extra_groups=[] if user else None,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout.decode())


class Postgres:
    """Started when it is made; `close` ends it. Raises RuntimeError, with the reason, where there is none to be had."""

    def __init__(self) -> None:
        programs = _programs()
        if programs is None:
            raise RuntimeError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="viewfinder-postgres-"))
        try:
            if os.geteuid() == 0:
                shutil.chown(self.folder, "postgres", "postgres")
            _run(
                programs / "initdb",
                "-D",
                self.folder / "data",
                "-U",
                "postgres",
                "-E",
                "UTF8",
                "--auth=trust",
                "--no-sync",
            )
            self.start()
        except (RuntimeError, LookupError, OSError) as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise RuntimeError(f"PostgreSQL does not start here: {error}") from error

    @property
    def connection(self) -> str:
        """How psycopg reaches it."""
        return f"host={self.folder} user=postgres"

    def make_database(self, name: str) -> str:
        """The URL of a new, empty database."""
        with psycopg.connect(self.connection, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def start(self) -> None:
        options = f"-c listen_addresses= -k {self.folder} -c fsync=off -c max_connections=200"
        _run(
            self._programs / "pg_ctl",
            "-D",
            self.folder / "data",
            "-l",
            self.folder / "log",
            "-o",
            options,
            "-w",
            "start",
        )

    def stop(self) -> None:
        """At once, as if it had crashed."""
        _run(self._programs / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
