"""Pictures in object storage: named by `s3://` or `gs://` URLs, read by anyone with access (`object_walk` lists them).

As a path (`FileRecord.path`, `Hit.path`) such a URL has one slash after its colon; either way names the same object.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput

URL_FILE = "bucket.url"
"""The file that says where a local folder's tables are."""

PULLING = "pull.lock"
"""Held while a process updates a local folder from the bucket: else an older state could be written last."""

PATIENCE_S = 60
"""How long a bucket that is out of reach is asked again."""

_NAMELESS = re.compile(r"(s3|gs):(?:/*|/{3,}.*)")
_URL = re.compile(r"(s3|gs):/{1,2}([^/]+)/?(.*?)/*")


def parse_url(place: str | Path) -> str | None:
    """The URL of a library, object or prefix in a bucket, without a final slash; None: it is not a URL.

    Raises BadInput: it is one, but names no bucket, and would be a folder called `s3:`.

    >>> parse_url("s3://photos/mine/"), parse_url(Path("s3://photos/mine")), parse_url("photos")
    ('s3://photos/mine', 's3://photos/mine', None)
    """
    found = _URL.fullmatch(str(place))  # as a path it has lost one of its slashes
    if found is None and (nameless := _NAMELESS.fullmatch(str(place))) is not None:
        raise BadInput(f"{nameless[1]}:// names no bucket: write {nameless[1]}://BUCKET/NAME")
    return None if found is None else f"{found[1]}://{found[2]}/{found[3]}".rstrip("/")


_ADDRESS = re.compile(r"(https?|ftp|s3|gs):/{1,2}(.+)", re.IGNORECASE)


def parse_address(place: str | Path) -> str | None:
    """An address of the web or of a bucket as it was typed; None: it is none.

    >>> parse_address(Path("https://example.com/a.jpg")), parse_address("a.jpg")
    ('https://example.com/a.jpg', None)
    """
    found = _ADDRESS.fullmatch(str(place))
    return None if found is None else f"{found[1]}://{found[2]}"


def check_url(url: str) -> None:
    """Raises BadInput: it holds credentials, which belong in the environment, where nothing prints or keeps them."""
    if re.search(r"[:@]", url.split("/")[2]):  # no bucket has such a name
        raise BadInput(
            f"{url}: no credentials in a URL: name the bucket alone, and set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY (or GOOGLE_APPLICATION_CREDENTIALS)"
        )


def is_gone(path: str | Path) -> bool:
    """Whether a picture's file no longer exists; objects are not checked, they are assumed to stay."""
    return parse_url(path) is None and not os.path.lexists(path)


def read_picture(path: str | Path) -> bytes:
    """The bytes of a picture's file, on disk or in object storage. Raises OSError."""
    url = parse_url(path)
    if url is None:
        return Path(path).read_bytes()
    files, place = open_store(url)
    with files.open_input_stream(place) as stream:
        return bytes(stream.read())


def open_store(url: str) -> tuple[Any, str]:
    """The reader of a bucket, and the path in it: keys may contain what a URL may not, for example blanks."""
    from pyarrow import fs

    scheme, _, place = url.partition("://")
    patience = f"?retry_limit_seconds={PATIENCE_S}" if scheme == "gs" else ""  # else it tries for a quarter of an hour
    return fs.FileSystem.from_uri(f"{scheme}://{place.partition('/')[0]}{patience}")[0], place


def original_name(picture: str) -> str:
    """The place of a picture's file in a bucket."""
    return f"originals/{picture[:2]}/{picture}"
