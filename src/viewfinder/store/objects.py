"""Pictures in object storage: named by `s3://` or `gs://` URLs, listed below a prefix, read by anyone with access.

As a path (`FileRecord.path`, `Hit.path`) such a URL has one slash after its colon; either way names the same object.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from viewfinder.errors import BadInput, LibraryError
from viewfinder.pictures import FoundFile, UnreadablePlace
from viewfinder.pictures.formats import EXTENSIONS
from viewfinder.pictures.left_out import explain_file, explain_folder
from viewfinder.pictures.walk_notes import HIDDEN, WalkNotes

_URL = re.compile(r"(s3|gs):/{1,2}([^/]+)/?(.*?)/*")


def parse_url(place: str | Path) -> str | None:
    """The URL of a library, object or prefix in a bucket, without a final slash; None: it is not a URL.

    >>> parse_url("s3://photos/mine/"), parse_url(Path("s3://photos/mine")), parse_url("photos")
    ('s3://photos/mine', 's3://photos/mine', None)
    """
    found = _URL.fullmatch(str(place))  # as a path it has lost one of its slashes
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


def walk_objects(
    url: str, *, include: Sequence[str] = (), notes: WalkNotes | None = None
) -> Iterator[FoundFile | UnreadablePlace]:
    """The picture files below a prefix, in no order, and those whose keys cannot be paths.

    What is left out, `include` and `notes` are as in `pictures.walk`, by names alone: there are no ignore files, no
    `.nomedia` and no sidecars in object storage, and each object of a folder that is left out is counted.

    Raises:
        LibraryError: the store cannot be listed, or there is no such bucket.
        BadInput: as `check_url`.
    """
    from pyarrow import fs

    from viewfinder.pictures.ignoring import compile_patterns

    check_url(url)
    try:
        files, place = _open_store(url)
        listed = files.get_file_info(fs.FileSelector(place, recursive=True))
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise LibraryError(
            f"{url} cannot be listed ({said}): check the URL, the network and the credentials"
        ) from error
    notes, included = WalkNotes() if notes is None else notes, compile_patterns(include)
    for entry in listed:
        if entry.type != fs.FileType.File:
            continue
        key = PurePosixPath(entry.path)
        below = entry.path[len(place.rstrip("/")) + 1 :] or key.name
        reason = _explain_left_out(entry.path)
        if reason is not None and not included.check_file(below).include:
            notes.leave_out(reason, below, folder=False)
            continue
        if (ending := key.suffix[1:].lower()) not in EXTENSIONS:
            notes.pass_over(ending)
            continue
        notes.included += reason is not None
        name = f"{url.partition(':')[0]}://{entry.path}"
        if parse_url(Path(name)) == name:
            yield FoundFile(Path(name), entry.size, entry.mtime_ns or 0)
        else:
            yield UnreadablePlace(Path(name), "the object's key has an empty part, or one of dots: rename it")


def _explain_left_out(key: str) -> str | None:
    """Why an object is left out, a bucket's name before its key; None: it is not."""
    folder, _, name = key.rpartition("/")
    return _explain_left_out_folder(folder) or explain_file(name) or (HIDDEN if name.startswith(".") else None)


@lru_cache(maxsize=1024)
def _explain_left_out_folder(folder: str) -> str | None:
    """The same for a folder, for one of those above it as well; the bucket itself is never left out."""
    above, slash, name = folder.rpartition("/")
    if not slash:
        return None
    said = explain_folder(above, name, is_folder=lambda place: False)
    return _explain_left_out_folder(above) or said or (HIDDEN if name.startswith(".") else None)


def read_picture(path: str | Path) -> bytes:
    """The bytes of a picture's file, on disk or in object storage. Raises OSError."""
    url = parse_url(path)
    if url is None:
        return Path(path).read_bytes()
    files, place = _open_store(url)
    with files.open_input_stream(place) as stream:
        return bytes(stream.read())


def _open_store(url: str) -> tuple[Any, str]:
    """The reader of a bucket, and the path in it: keys may contain what a URL may not, for example blanks."""
    from pyarrow import fs

    scheme, _, place = url.partition("://")
    return fs.FileSystem.from_uri(f"{scheme}://{place.partition('/')[0]}")[0], place
