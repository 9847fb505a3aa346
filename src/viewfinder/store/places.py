"""Where a library lies, and the files of its pictures: in folders of this machine, or in a bucket."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from viewfinder.pictures import picture_id
from viewfinder.store.objects import URL_FILE, check_url, original_name, parse_url, read_picture
from viewfinder.whole_files import keep_file

if TYPE_CHECKING:
    from viewfinder.store.bucket import Bucket

DEMO = "demo"
"""The folder of a library in which the pictures of the demo are drawn."""

SENT = "pictures"
"""The folder inside a library in which pictures lie that a server was sent, each under its id."""


def local_folder(place: str | Path) -> Path:
    """The folder of a library, made in the user's cache if it lies in a bucket.

    Raises LibraryError, NotALibrary; BadInput: as `check_url`.
    """
    if (url := parse_url(place)) is None:
        return Path(place).expanduser()
    check_url(url)
    from platformdirs import user_cache_path

    endpoint = os.environ.get("AWS_ENDPOINT_URL", "") if url.startswith("s3") else ""
    named = hashlib.blake2b(f"{endpoint} {url}".encode(), digest_size=8).hexdigest()
    folder = user_cache_path("viewfinder", appauthor=False) / "buckets" / f"{url.rpartition('/')[2]}-{named}"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    keep_file(folder / URL_FILE, url.encode())
    _get_bucket(folder, url).pull()
    return folder


def find_bucket(folder: Path) -> Bucket | None:
    """The bucket that a local folder belongs to, None for a library that is a folder; 5 us."""
    try:
        return _get_bucket(folder, (folder / URL_FILE).read_text(encoding="utf-8"))
    except OSError:
        return None


def place_name(folder: Path) -> str:
    """A library's name for its user: its folder, or its URL."""
    bucket = find_bucket(folder)
    return str(folder) if bucket is None else bucket.url


def find_files(folder: Path, picture: str, paths: Iterable[str | Path]) -> Iterator[Path]:
    """The files of a picture that are here, then, if the caller wants more, the one in a bucket, fetched now.

    That may be the library's bucket, or that of a picture added from object storage.
    """
    paths = list(paths)
    yield from (path for path in map(Path, paths) if path.is_file())
    if (bucket := find_bucket(folder)) is not None and (fetched := bucket.fetch_original(picture)) is not None:
        yield fetched
        return
    for url in filter(None, map(parse_url, paths)):
        with suppress(OSError):
            if (place := folder / original_name(picture)).exists():
                yield place
                return
            if picture_id(content := read_picture(url)) == picture:  # else the file is another picture by now
                keep_file(place, content)
                yield place
                return


@cache
def _get_bucket(folder: Path, url: str) -> Bucket:
    from viewfinder.store.bucket import Bucket

    return Bucket(folder, url)
