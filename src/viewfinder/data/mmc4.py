"""mmc4 (Zhu et al. 2023): web pages as lists of sentences, with pictures that belong to some of them.

A line of `docs_no_face_shard_<n>_v3.jsonl` (published as .jsonl.zip) is one page:

    {"url": ..., "text_list": [sentence, ...], "could_have_url_duplicate": 0,
     "image_info": [{"image_name": "b9040a0dbb22.jpg", "raw_url": ..., "matched_text_index": 2, "matched_sim": 0.277,
                     "face_detections": null}, ...],
     "similarity_matrix": [[0.244, 0.318, 0.277], ...]}

`similarity_matrix[i][s]` is the CLIP ViT-L/14 similarity of picture i and sentence s.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from viewfinder.data.files import need_folder
from viewfinder.data.jsonl import parse_json_lines, read_jsonl
from viewfinder.data.records import need_field, need_texts
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput


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


@dataclass(frozen=True, eq=False)
class WebPage:
    """Sentences in order, the pictures among them, and the similarity of each picture with each sentence."""

    url: str
    sentences: tuple[str, ...]
    pictures: tuple[PagePicture, ...]
    similarities_is: Float32[np.ndarray, "i s"] | None
    maybe_twice: bool


def read_mmc4(shard: Path, images: Path | None = None, *, need_images: bool = True) -> tuple[list[WebPage], ReadReport]:
    """The pages of one shard: .jsonl, or packed as .jsonl.gz or .jsonl.zip.

    A picture that is not in `images` (by default `images/` beside the shard) is left out, and so is a page that has
    none; both are reported. Without `need_images` all are kept, with path None.

    Raises:
        BadInput: no such file or folder, or a damaged page (line and field are named).
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
    matrix_is = _matrix(record.get("similarity_matrix"), len(pictures), len(sentences), where)
    url, maybe_twice = str(record.get("url", "")), bool(record.get("could_have_url_duplicate", 0))
    return WebPage(url, sentences, pictures, matrix_is, maybe_twice)


def _picture(item: Any, sentences: int, where: str) -> PagePicture:
    name, at = need_field(where, item, "image_name", str), need_field(where, item, "matched_text_index", int)
    if not 0 <= at < sentences:
        raise BadInput(f"{where}, matched_text_index: {at}, but text_list has {sentences} sentences")
    similarity = item.get("matched_sim")
    if not isinstance(similarity, int | float):
        raise BadInput(f"{where}, matched_sim: a number is needed, not {similarity!r:.60}")
    return PagePicture(name, str(item.get("raw_url", "")), at, float(similarity))


def _matrix(rows: Any, pictures: int, sentences: int, where: str) -> Float32[np.ndarray, "i s"] | None:
    """The similarities, None where a shard was published without them."""
    if rows is None:
        return None
    try:
        matrix_is = np.array(rows, np.float32).reshape(len(rows), -1) if rows else np.zeros((0, sentences), np.float32)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{where}, similarity_matrix: rows of numbers are needed ({error})") from error
    if matrix_is.shape != (pictures, sentences):
        raise BadInput(f"{where}, similarity_matrix: {matrix_is.shape}, but {(pictures, sentences)} is needed")
    return matrix_is


def _on_disk(page: WebPage, folder: Path) -> tuple[WebPage, list[str]]:
    """The page with the pictures that have a file, and the names of the others."""
    kept = [at for at, picture in enumerate(page.pictures) if (folder / picture.name).is_file()]
    missing = [picture.name for at, picture in enumerate(page.pictures) if at not in kept]
    pictures = tuple(replace(page.pictures[at], path=folder / page.pictures[at].name) for at in kept)
    matrix_is = None if page.similarities_is is None else page.similarities_is[kept]
    return replace(page, pictures=pictures, similarities_is=matrix_is), missing
