"""A library in a bucket: tables, settings, heads and originals at `s3://` or `gs://`, searched through a local folder.

    s3://bucket/prefix/library.json, tables/, heads/     what a library folder holds
                       originals/<id[:2]>/<id>           the files of the pictures
                       thumbnails/                       small copies, each written by the first machine that makes it
                       locks/writing.lance               the writer at present (see `Lease`)
    <user cache>/buckets/<name>-<hash of the URL>/       the local folder: `bucket.url`, snapshots, thumbnails, copies

LanceDB reads and writes the tables where they are. The local folder has only the *names* of their versions, as empty
files: these tell which tables there are and whether a snapshot is fresh. `Bucket.pull` fetches these names and the
small files; a process that searches does so at most every `MAX_AGE_S` seconds. A process that is given the local
folder, such as a server's, finds the bucket by the file `bucket.url` in it.

A `Lease` is a lock for writers on several machines, in the object store itself: one row of a Lance
table. A table is committed by a conditional put, and of two updates of one row the second is retried on the result of
the first: "set this where the number is still 17" succeeds for one writer only. Clocks of different machines are never
compared: the holder increments `beat`, and a waiting process takes over when it has not seen it change for
`LEASE_S` seconds by its own clock. The holder stops writing earlier: `check`, called before every commit, fails two
thirds of that time after the last beat known to have arrived. So a commit may take `LEASE_S` / 3 before another
writer can begin.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

from filelock import FileLock

from viewfinder.errors import LibraryBusy, LibraryError, NotALibrary
from viewfinder.pictures import picture_id
from viewfinder.store.lance import import_lancedb
from viewfinder.store.objects import PULLING, open_store, original_name, read_picture
from viewfinder.whole_files import keep_file

LEASE_S = 30.0
LEASE_POLL_S = 0.5
KEEP_BEATS = timedelta(minutes=10)
"""Versions of the table are kept this long, as others may be reading them."""


def _read_clock() -> float:
    """A clock that also runs while the machine sleeps, if there is one: other machines do not sleep with it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


NOT_YET = (-1, -1)
"""Number and beat of a lock whose table cannot be opened yet."""


class Lease:
    """One lock, by name, in a folder of tables (`connection`, as LanceDB has it)."""

    def __init__(self, connection: Any, name: str, *, lease_s: float = LEASE_S) -> None:
        self._connection, self._name, self._lease_s = connection, name, lease_s
        self._number = self._beat = 0
        self._good_until = 0.0
        self._overtaken = False
        self._ended = threading.Event()

    def acquire(self, timeout: float, busy: str) -> None:
        """Takes the lock and keeps it until `release`. Raises LibraryBusy after `timeout` s: `busy` says with what."""
        end = _read_clock() + timeout
        seen: tuple[int, int] | None = None
        since = _read_clock()
        while True:
            row = self._read_row()
            now = row["number"], row["beat"]
            if now != seen:
                seen, since = now, _read_clock()
            is_over = bool(row["free"]) or _read_clock() - since > self._lease_s
            if now != NOT_YET and is_over and self._try_to_take(*now):
                break
            if _read_clock() >= end:
                raise LibraryBusy(
                    f"another process ({row['holder']}) is {busy} and did not finish within {timeout:g} s: "
                    "wait for it, then try again"
                )
            self._ended.wait(min(LEASE_POLL_S, self._lease_s / 10))
        threading.Thread(target=self._keep_beating, daemon=True, name=f"lease of {self._name}").start()

    def release(self) -> None:
        """Lets others write."""
        self._ended.set()
        with suppress(OSError, RuntimeError, ValueError):  # then others wait a while longer
            self._change_row(f"number = {self._number}", {"free": True})
            self._connection.open_table(self._name).optimize(cleanup_older_than=KEEP_BEATS)

    def check(self) -> None:
        """Raises LibraryBusy: this process was cut off for so long that another has taken over, or may have."""
        if self._overtaken:
            raise LibraryBusy(
                f"another process has taken over the writing, as nothing was heard of this one for {self._lease_s:g} s "
                "(it stood still, or could not reach the store): nothing acknowledged is lost, try again"
            )
        if _read_clock() > self._good_until:
            raise LibraryBusy(
                "the store was out of reach for so long that another process may be writing by now: "
                "nothing acknowledged is lost, try again"
            )

    def _read_row(self) -> dict[str, Any]:
        import pyarrow as pa

        if self._name not in self._connection.list_tables().tables:
            row = {"number": 0, "beat": 0, "free": True, "holder": ""}
            with suppress(ValueError, RuntimeError, OSError):  # another process was first
                self._connection.create_table(self._name, data=pa.Table.from_pylist([row]))
        try:
            found: dict[str, Any] = self._connection.open_table(self._name).to_arrow().to_pylist()[0]
        except ValueError:  # no such table: that other process is still making it
            return {"number": NOT_YET[0], "beat": NOT_YET[1], "free": False, "holder": "which is making the lock"}
        return found

    def _try_to_take(self, number: int, beat: int) -> bool:
        began = _read_clock()
        holder = f"{os.getpid()} on {socket.gethostname()}"
        # No number twice: of two processes that make the table at once, the later overwrites what the first has taken.
        taken = number + 1 + secrets.randbelow(2**31)
        values = {"number": taken, "beat": beat + 1, "free": False, "holder": holder}
        try:
            if not self._change_row(f"number = {number} AND beat = {beat}", values):
                return False
        except RuntimeError as error:
            if "Incompatible transaction" not in str(error):
                raise
            return False  # several processes have just made the table at once: whose it is, the next look tells
        self._number, self._good_until = taken, began + self._lease_s * 2 / 3
        self._beat = beat + 1
        return True

    def _keep_beating(self) -> None:
        """Beats until released, or until another process has taken over."""
        while not self._ended.wait(self._lease_s / 5):
            began = _read_clock()
            with suppress(OSError, RuntimeError, ValueError):  # tried again; `check` knows how long that may go on
                if not self._change_row(f"number = {self._number}", {"beat": self._beat + 1}):
                    self._overtaken = True
                    return
                self._beat += 1
                self._good_until = began + self._lease_s * 2 / 3

    def _change_row(self, where: str, values: dict[str, Any]) -> bool:
        """Changes the row if it is as `where` says; returns whether it was."""
        return bool(self._connection.open_table(self._name).update(where=where, values=values).rows_updated)


MAX_AGE_S = 5.0
"""The greatest age of the known state of the bucket while people search."""

SMALL_FILES = ("library.json", "tables/library.json", "tables/regions.filled")
MAX_REQUESTS_AT_ONCE = 8
"""Concurrent requests."""


class Bucket:
    """One library at a URL, and its local folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self._leases: dict[str, Lease] = {}
        self._pulled = -MAX_AGE_S

    # -- tables

    def connect(self, name: str) -> Any:
        """LanceDB's handle of the tables in one folder of the bucket."""
        return import_lancedb().connect(f"{self.url}/{name}", storage_options=self._storage_options())

    def _storage_options(self) -> dict[str, str]:
        """Options that LanceDB, unlike pyarrow, does not read from the environment."""
        if not self.url.startswith("s3"):
            return {}
        is_plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        return {"region": self._files.region, **({"allow_http": "true"} if is_plain else {})}

    # -- the local copy

    def refresh(self) -> None:
        """Pulls, unless that was just done."""
        if monotonic() - self._pulled > MAX_AGE_S:
            self.pull()

    def pull(self) -> None:
        """Makes the local folder show the bucket as it is now. Raises LibraryError; NotALibrary: there is no bucket."""
        with self.translating_errors(), FileLock(self.folder / PULLING):
            began = monotonic()
            names = self._list_names("tables", directories=True)
            if not names:
                self._check_bucket()
            tables = [name for name in names if name.endswith(".lance")]
            with ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE) as pool:
                versions = pool.map(self._list_names, [f"tables/{name}/_versions" for name in tables])
                contents = pool.map(self._read_object, SMALL_FILES)
                heads = [f"heads/{name}" for name in self._list_names("heads")]
                self._show_tables(dict(zip(tables, versions, strict=True)))
                for name, content in zip(SMALL_FILES, contents, strict=True):
                    self._show_file(name, content)
                for head in heads:
                    if not (self.folder / head).exists():  # heads are never changed
                        self._show_file(head, self._read_object(head))
            self._pulled = began

    def _show_tables(self, versions: Mapping[str, Iterable[str]]) -> None:
        home = self.folder / "tables"
        for table in [] if not home.is_dir() else home.glob("*.lance"):
            if table.name not in versions:
                shutil.rmtree(table, ignore_errors=True)
        for table_name, names in versions.items():
            shown = home / table_name / "_versions"
            shown.mkdir(parents=True, exist_ok=True)
            (home / table_name / "data").mkdir(exist_ok=True)
            wanted, there = set(names), {entry.name for entry in os.scandir(shown)}
            for name in wanted - there:
                (shown / name).touch()
            for name in there - wanted:
                (shown / name).unlink(missing_ok=True)

    def _show_file(self, name: str, content: bytes | None) -> None:
        place = self.folder / name
        if content is None:
            place.unlink(missing_ok=True)
            return
        with suppress(OSError):
            if place.read_bytes() == content:
                return
        keep_file(place, content)

    def push(self, *names: str) -> None:
        """Uploads small files of the local folder, for other machines to read."""
        with self.translating_errors():
            for name in names:
                self._write_object(name, (self.folder / name).read_bytes())

    def fetch(self, name: str) -> bool:
        """Fetches a file that is never changed, unless it is here; returns whether it is here now."""
        place = self.folder / name
        if not place.exists():
            with self.translating_errors():
                content = self._read_object(name)
            if content is None:
                return False
            keep_file(place, content)
        return True

    # -- originals

    def keep_originals(self, files: Mapping[str, Path]) -> None:
        """Uploads the files of pictures, by id; a file that is another picture by now is left out."""

        def keep(picture: str, file: Path) -> None:
            content = read_picture(file)
            if picture_id(content) == picture:
                self._write_object(original_name(picture), content)

        with self.translating_errors(), ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE) as pool:
            list(pool.map(keep, files.keys(), files.values()))

    def fetch_original(self, picture: str) -> Path | None:
        """The file of a picture, fetched if it is not in the local folder yet; None if the bucket has none."""
        return self.folder / original_name(picture) if self.fetch(original_name(picture)) else None

    def delete_files(self, names: Sequence[str]) -> None:
        """Deletes files of the bucket, and their copies here; those that are not there do no harm."""

        def delete(name: str) -> None:
            with suppress(FileNotFoundError):
                self._files.delete_file(self._locate(name))
            (self.folder / name).unlink(missing_ok=True)

        with self.translating_errors(), ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE) as pool:
            list(pool.map(delete, names))

    # -- who writes

    @contextmanager
    def writing(self, name: str, timeout: float, busy: str) -> Iterator[None]:
        """Holds the lock between machines; a caller that holds the local one may nest it. Raises LibraryBusy."""
        lease = self._leases.get(name)
        if lease is not None:
            yield
            return
        with self.translating_errors():
            lease = Lease(self.connect("locks"), name)
            lease.acquire(timeout, busy)
        self._leases[name] = lease
        try:
            self.pull()
            yield
        finally:
            del self._leases[name]
            lease.release()

    def check_writer(self) -> None:
        """Raises LibraryBusy if a lock that is held here may have passed to another writer meanwhile."""
        for lease in list(self._leases.values()):
            lease.check()

    # -- objects

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turns the store's errors into one line."""
        try:
            yield
        except LibraryError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            raise self.translate_error(error) from error

    def translate_error(self, error: BaseException) -> LibraryError:
        """The user's error for one of the object store."""
        text = " ".join(str(error).split())
        names = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
        hint = names if self.url.startswith("s3") else "GOOGLE_APPLICATION_CREDENTIALS"
        return LibraryError(f"{self.url} cannot be read or written ({text[:300]}): check the network, and {hint}")

    @cached_property
    def _files(self) -> Any:
        return open_store(self.url)[0]

    def _locate(self, name: str) -> str:
        return f"{self.url.partition('://')[2]}/{name}"

    def _list_names(self, name: str, *, directories: bool = False) -> list[str]:
        """Names in a folder of the bucket; none if there is no such folder."""
        from pyarrow import fs

        wanted = fs.FileType.Directory if directories else fs.FileType.File
        found = self._files.get_file_info(fs.FileSelector(self._locate(name), allow_not_found=True))
        return [entry.base_name for entry in found if entry.type == wanted]

    def _check_bucket(self) -> None:
        """Raises NotALibrary: there is no bucket of this name (listing one finds nothing, without an error)."""
        from pyarrow import fs

        bucket = self.url.split("/")[2]
        if self._files.get_file_info(bucket).type == fs.FileType.NotFound:
            raise NotALibrary(f"{self.url}: there is no bucket called {bucket}: make it first, or check the URL")

    def _read_object(self, name: str) -> bytes | None:
        try:
            with self._files.open_input_stream(self._locate(name)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def _write_object(self, name: str, content: bytes) -> None:
        with self._files.open_output_stream(self._locate(name)) as stream:
            stream.write(content)
