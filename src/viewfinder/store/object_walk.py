"""Pictures below a prefix in object storage, one by one, as `pictures.scan.walk` finds them on a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from viewfinder.errors import LibraryError
from viewfinder.pictures import FoundFile, UnreadablePlace
from viewfinder.pictures.formats import EXTENSIONS
from viewfinder.pictures.left_out import explain_file, explain_folder
from viewfinder.pictures.walk_notes import HIDDEN, WalkNotes
from viewfinder.store.objects import check_url, open_store, parse_url


def walk_objects(
    url: str, *, include: Sequence[str] = (), notes: WalkNotes | None = None
) -> Iterator[FoundFile | UnreadablePlace]:
    """The picture files below a prefix, in no order, and those whose keys cannot be paths.

    What is left out, `include` and `notes` are as in `walk` there, by names alone: there are no ignore files, no
    `.nomedia` and no sidecars in object storage, and each object of a folder that is left out is counted.

    Raises:
        LibraryError: the store cannot be listed, or there is no such bucket.
        BadInput: as `check_url`.
    """
    from pyarrow import fs

    from viewfinder.pictures.ignoring import compile_patterns

    check_url(url)
    try:
        files, place = open_store(url)
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
