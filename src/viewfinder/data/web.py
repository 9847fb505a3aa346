"""Pictures of the web with the words beside them: Conceptual Captions 3M and mmc4.

Conceptual Captions 3M (Sharma et al. 2018): pictures of the web and their cleaned alt texts.

Published as `Train_GCC-training.tsv` and `Validation_GCC-1.1.0-Validation.tsv`: a line a picture, caption and URL with
a tab between, no header, no quoting. Whoever fetches the pictures ends up with one of these:

    <name>.tsv                          caption and the path of a file instead of the URL; a header may name the columns
    <folder>/00000/000000000.jpg        as img2dataset writes "files": .txt holds the caption, .json the URL
                   000000000.txt
                   000000000.json
    <folder>/00000.tar                  the same in shards ("webdataset"): `unpack_shards` makes a folder of them

mmc4 (Zhu et al. 2023): web pages as lists of sentences, with pictures that belong to some of them.

A line of `docs_no_face_shard_<n>_v3.jsonl` (published as .jsonl.zip) is one page:

    {"url": ..., "text_list": [sentence, ...],
     "image_info": [{"image_name": "b9040a0dbb22.jpg", "raw_url": ..., "matched_text_index": 2, "matched_sim": 0.277,
                     "face_detections": null}, ...],
     "similarity_matrix": [[0.244, 0.318, 0.277], ...], "could_have_url_duplicate": 0}

`similarity_matrix[i][s]` is the CLIP ViT-L/14 similarity of picture i and sentence s, which is not read.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from viewfinder.data.files import (
    Dropped,
    ReadReport,
    need_field,
    need_folder,
    need_texts,
    parse_json_lines,
    read_json,
    read_jsonl,
    read_text,
)
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "title", "text")
PICTURE_COLUMNS = ("url", "image", "file", "path", "filepath")
PICTURES = (".jpg", ".jpeg", ".png", ".webp")


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
    """
    rows = _folder(place) if place.is_dir() else _tsv(place, images or place.parent)
    found: list[WebPicture] = []
    dropped: list[Dropped] = []
    for record, picture in rows:
        if not picture.caption:
            dropped.append(Dropped(record, "empty caption"))
        elif need_images and picture.path is None:
            dropped.append(Dropped(record, "only its URL is known" if picture.url else "no such file"))
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
    names = [cell.strip().lower() for cell in lines[0].split("\t")]
    captions = [at for at, name in enumerate(names) if name in CAPTION_COLUMNS]
    pictures = [at for at, name in enumerate(names) if name in PICTURE_COLUMNS]
    first, caption_at, picture_at = (1, captions[0], pictures[0]) if captions and pictures else (0, 0, 1)  # a header?
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


def _folder(folder: Path) -> Iterator[tuple[str, WebPicture]]:
    captions = sorted([*folder.glob("*.txt"), *folder.glob("*/*.txt")])
    if not captions:
        shards = "; unpack the .tar shards first (unpack_shards)" if any(folder.glob("*.tar")) else ""
        raise BadInput(f"{folder}: no captions (.txt) with pictures here{shards}")
    for file in captions:
        facts = file.with_suffix(".json")
        url = read_json(facts, dict).get("url") if facts.is_file() else None
        path = next((found for ending in PICTURES if (found := file.with_suffix(ending)).is_file()), None)
        picture = WebPicture(read_text(file).strip(), url if isinstance(url, str) else "", path)
        yield str(file.relative_to(folder)), picture


@dataclass(frozen=True)
class PagePicture:
    """A picture of a page; `sentence` is the position of the one it belongs to, `similarity` CLIP's.

    `path` is None where pictures were not looked for.
    """

    name: str
    url: str
    sentence: int
    similarity: float
    path: Path | None = None


@dataclass(frozen=True)
class WebPage:
    """Sentences in order, and the pictures among them."""

    url: str
    sentences: tuple[str, ...]
    pictures: tuple[PagePicture, ...]


def read_mmc4(shard: Path, images: Path | None = None, *, need_images: bool = True) -> tuple[list[WebPage], ReadReport]:
    """The pages of one shard: .jsonl, or packed as .jsonl.gz or .jsonl.zip.

    A picture that is not in `images` (by default `images/` beside the shard) is left out, and so is a page that has
    none; both are reported. Without `need_images` all are kept, with path None.
    """
    folder = need_folder(images or shard.parent / "images") if need_images else None
    pages: list[WebPage] = []
    dropped: list[Dropped] = []
    expected = 0
    for line, record in _lines(shard):
        expected += 1
        page = _page(record, f"{shard}, line {line}")
        if folder is not None:
            page, missing = _on_disk(page, folder)
            dropped += [Dropped(f"line {line}: {name}", "no such file") for name in missing]
        if page.pictures:
            pages.append(page)
        else:
            dropped.append(Dropped(f"line {line}", "a page without pictures"))
    return pages, ReadReport(expected, len(pages), tuple(dropped))


def _lines(shard: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if shard.suffix != ".zip":
        yield from read_jsonl(shard)
        return
    try:
        with zipfile.ZipFile(shard) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".jsonl"))
            with archive.open(name) as stream:
                yield from parse_json_lines(stream, where=str(shard))
    except FileNotFoundError:
        raise BadInput(f"{shard}: no such file") from None
    except StopIteration:
        raise BadInput(f"{shard}: there is no .jsonl in this archive") from None
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(f"{shard}: damaged ({error}); fetch the shard again") from error


def _page(record: Mapping[str, Any], where: str) -> WebPage:
    sentences = need_texts(f"{where}, text_list", record.get("text_list"))
    images: list[Any] = need_field(where, record, "image_info", list)
    pictures = tuple(_picture(item, len(sentences), f"{where}, image_info[{at}]") for at, item in enumerate(images))
    return WebPage(str(record.get("url", "")), sentences, pictures)


def _picture(item: Any, sentences: int, where: str) -> PagePicture:
    name, at = need_field(where, item, "image_name", str), need_field(where, item, "matched_text_index", int)
    if not 0 <= at < sentences:
        raise BadInput(f"{where}, matched_text_index: {at}, but text_list has {sentences} sentences")
    similarity = item.get("matched_sim")
    if not isinstance(similarity, int | float):
        raise BadInput(f"{where}, matched_sim: a number is needed, not {similarity!r:.60}")
    return PagePicture(name, str(item.get("raw_url", "")), at, float(similarity))


def _on_disk(page: WebPage, folder: Path) -> tuple[WebPage, list[str]]:
    """The page with the pictures that have a file, and the names of the others."""
    kept = [at for at, picture in enumerate(page.pictures) if (folder / picture.name).is_file()]
    missing = [picture.name for at, picture in enumerate(page.pictures) if at not in kept]
    pictures = tuple(replace(page.pictures[at], path=folder / page.pictures[at].name) for at in kept)
    return replace(page, pictures=pictures), missing
