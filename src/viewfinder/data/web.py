"""Pictures of the web with the words beside them: Conceptual Captions 3M and mmc4.

Conceptual Captions 3M (Sharma et al. 2018): pictures of the web and their cleaned alt texts.

Published as `Train_GCC-training.tsv` and `Validation_GCC-1.1.0-Validation.tsv`: one line per picture, caption and URL
separated by a tab, no header, no quoting. Fetching the pictures leads to one of these layouts:

    <name>.tsv                          caption and the path of a file instead of the URL; a header may name the columns
    <folder>/00000/000000000.jpg        as img2dataset writes "files": .txt holds the caption
                   000000000.txt
    <folder>/00000.tar                  the same in shards ("webdataset"), to be unpacked into folders first

mmc4 (Zhu et al. 2023): web pages as lists of sentences, with pictures that belong to some of them.

Each line of `docs_no_face_shard_<n>_v3.jsonl` (published as .jsonl.zip) is one page:

    {"url": ..., "text_list": [sentence, ...],
     "image_info": [{"image_name": "b9040a0dbb22.jpg", "raw_url": ..., "matched_text_index": 2, "matched_sim": 0.277,
                     "face_detections": null}, ...],
     "similarity_matrix": [[0.244, 0.318, 0.277], ...], "could_have_url_duplicate": 0}

The reader takes the sentences, and the name of each picture with the sentence that it belongs to.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.files import (
    Dropped,
    ReadReport,
    need_field,
    need_texts,
    parse_json_lines,
    read_jsonl,
    read_text,
)
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "title", "text")
PICTURE_COLUMNS = ("url", "image", "file", "path", "filepath")
PICTURES = (".jpg", ".jpeg", ".png", ".webp")


def read_cc3m(place: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """The pictures of a TSV file, or of a folder written by img2dataset, in their order there.

    Left out and reported: empty captions, and pictures that have no file. Paths in a TSV are relative to its folder.
    """
    found: list[CaptionedPicture] = []
    dropped: list[Dropped] = []
    for record, caption, path, missing in _folder(place) if place.is_dir() else _tsv(place):
        if not caption:
            dropped.append(Dropped(record, "empty caption"))
        elif path is None:
            dropped.append(Dropped(record, missing))
        else:
            found.append(CaptionedPicture(path, (caption,)))
    return found, ReadReport(len(found) + len(dropped), len(found), tuple(dropped))


_Row = tuple[str, str, Path | None, str]
"""Its location, the caption, the file if there is one, and what to report if there is none."""


def _tsv(file: Path) -> Iterator[_Row]:
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
        is_url = where.startswith(("http://", "https://"))
        path = file.parent / where if where and not is_url and (file.parent / where).is_file() else None
        yield f"line {number}", caption, path, "only its URL is known" if is_url else "no such file"


def _folder(folder: Path) -> Iterator[_Row]:
    captions = sorted([*folder.glob("*.txt"), *folder.glob("*/*.txt")])
    if not captions:
        shards = "; unpack the .tar shards first (tar -xf)" if any(folder.glob("*.tar")) else ""
        raise BadInput(f"{folder}: no captions (.txt) with pictures here{shards}")
    for file in captions:
        path = next((found for ending in PICTURES if (found := file.with_suffix(ending)).is_file()), None)
        yield str(file.relative_to(folder)), read_text(file).strip(), path, "no such file"


@dataclass(frozen=True)
class PagePicture:
    """A picture of a page; `sentence` is the position of the one it belongs to."""

    name: str
    sentence: int


@dataclass(frozen=True)
class WebPage:
    """Sentences in order, and the pictures among them."""

    sentences: tuple[str, ...]
    pictures: tuple[PagePicture, ...]


def read_mmc4(shard: Path) -> tuple[list[WebPage], ReadReport]:
    """The pages of one shard: .jsonl, or packed as .jsonl.gz or .jsonl.zip.

    A page that names no picture is left out and reported; whether a picture has a file is not checked.
    """
    pages: list[WebPage] = []
    dropped: list[Dropped] = []
    for line, record in _lines(shard):
        where = f"{shard}, line {line}"
        sentences = need_texts(f"{where}, text_list", record.get("text_list"))
        images = need_field(where, record, "image_info", list)
        pictures = [_picture(item, len(sentences), f"{where}, image_info[{at}]") for at, item in enumerate(images)]
        if pictures:
            pages.append(WebPage(sentences, tuple(pictures)))
        else:
            dropped.append(Dropped(f"line {line}", "a page without pictures"))
    return pages, ReadReport(len(pages) + len(dropped), len(pages), tuple(dropped))


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


def _picture(item: Any, sentences: int, where: str) -> PagePicture:
    name, at = need_field(where, item, "image_name", str), need_field(where, item, "matched_text_index", int)
    if not 0 <= at < sentences:
        raise BadInput(f"{where}, matched_text_index: {at}, but text_list has {sentences} sentences")
    return PagePicture(name, at)
