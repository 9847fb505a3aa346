"""Conceptual Captions 3M (Sharma et al. 2018): pictures of the web and their cleaned alt texts.

Published as `Train_GCC-training.tsv` and `Validation_GCC-1.1.0-Validation.tsv`: a line a picture, caption and URL with
a tab between, no header, no quoting. Whoever fetches the pictures ends up with one of these:

    <name>.tsv                          caption and the path of a file instead of the URL; a header may name the columns
    <folder>/00000/000000000.jpg        as img2dataset writes "files": .txt holds the caption, .json the URL
                   000000000.txt
                   000000000.json
    <folder>/00000.tar                  the same in shards ("webdataset"): `unpack_shards` makes a folder of them
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from viewfinder.data.files import need_folder, read_text
from viewfinder.data.records import read_mapping
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "title", "text")
PICTURE_COLUMNS = ("url", "image", "file", "path", "filepath")
PICTURES = (".jpg", ".jpeg", ".png", ".webp")

_NO_FILE = "no such file"


@dataclass(frozen=True)
class WebPicture:
    """A caption with its picture: the URL it came from ("" if that is not known), the file (None if there is none)."""

    caption: str
    url: str
    path: Path | None


def read_cc3m(
    place: Path, images: Path | None = None, *, need_images: bool = True
) -> tuple[list[WebPicture], ReadReport]:
    """The pictures of a TSV file, or of a folder as img2dataset writes it, in their order there.

    Left out and reported: empty captions, and pictures that have no file (without `need_images` these are kept, with
    `path` None). Paths in a TSV are relative to `images`, by default the folder of the TSV.

    Raises:
        BadInput: no such file or folder, nothing of the kind in it, or a damaged line or file (which is named).
    """
    rows = _folder(place) if place.is_dir() else _tsv(place, images or place.parent)
    found: list[WebPicture] = []
    dropped: list[Dropped] = []
    for record, picture in rows:
        if not picture.caption:
            dropped.append(Dropped(record, "empty caption"))
        elif need_images and picture.path is None:
            dropped.append(Dropped(record, "only its URL is known" if picture.url else _NO_FILE))
        else:
            found.append(picture)
    return found, ReadReport(len(found) + len(dropped), len(found), tuple(dropped))


def unpack_shards(folder: Path, out: Path) -> int:
    """Unpacks `<folder>/*.tar` into `<out>/<shard>/`, to be read by `read_cc3m`; gives the number of files written.

    Only plain files with plain names and the endings of pictures, .txt and .json are taken. Files that are there with
    the right size are not written again, so an interrupted call may be repeated.

    Raises:
        BadInput: no shards there, or a damaged one (which is named).
    """
    shards = sorted(need_folder(folder).glob("*.tar"))
    if not shards:
        raise BadInput(f"{folder}: no .tar shards here")
    return sum(_unpack(shard, out / shard.stem) for shard in shards)


def _unpack(shard: Path, out: Path) -> int:
    written = 0
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(shard, "r:") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or Path(name).suffix.lower() not in (*PICTURES, ".txt", ".json"):
                    continue
                file = out / name
                if file.is_file() and file.stat().st_size == member.size:
                    continue
                with file.open("wb") as stream:
                    shutil.copyfileobj(content, stream)
                written += 1
    except (tarfile.TarError, EOFError) as error:
        raise BadInput(f"{shard}: damaged shard ({error}); fetch it again") from error
    return written


def _tsv(file: Path, images: Path) -> Iterator[tuple[str, WebPicture]]:
    lines = read_text(file).removesuffix("\n").split("\n")
    columns = _header(lines[0].split("\t"))
    first, (caption_at, picture_at) = (0, (0, 1)) if columns is None else (1, columns)
    for number, line in enumerate(lines[first:], start=first + 1):
        cells = line.rstrip("\r").split("\t")
        if len(cells) <= max(caption_at, picture_at):
            raise BadInput(f"{file}, line {number}: caption and URL (or path) with a tab between are needed")
        caption, where = cells[caption_at].strip(), cells[picture_at].strip()
        if where.startswith(("http://", "https://")):
            yield f"line {number}", WebPicture(caption, where, None)
        else:
            path = images / where
            yield f"line {number}", WebPicture(caption, "", path if where and path.is_file() else None)


def _header(cells: Sequence[str]) -> tuple[int, int] | None:
    """Positions of caption and picture, if the first line is a header."""
    names = [cell.strip().lower() for cell in cells]
    captions = [at for at, name in enumerate(names) if name in CAPTION_COLUMNS]
    pictures = [at for at, name in enumerate(names) if name in PICTURE_COLUMNS]
    return (captions[0], pictures[0]) if captions and pictures else None


def _folder(folder: Path) -> Iterator[tuple[str, WebPicture]]:
    captions = sorted([*folder.glob("*.txt"), *folder.glob("*/*.txt")])
    if not captions:
        shards = "; unpack the .tar shards first (unpack_shards)" if any(folder.glob("*.tar")) else ""
        raise BadInput(f"{folder}: no captions (.txt) with pictures here{shards}")
    for file in captions:
        path = next((found for ending in PICTURES if (found := file.with_suffix(ending)).is_file()), None)
        yield str(file.relative_to(folder)), WebPicture(read_text(file).strip(), _url(file.with_suffix(".json")), path)


def _url(file: Path) -> str:
    url = read_mapping(file).get("url") if file.is_file() else None
    return url if isinstance(url, str) else ""
