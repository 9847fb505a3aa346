r"""Pictures among texts: Conceptual Captions 3M and mmc4 of the web, dialogues of LLaVA, changes of InstructPix2Pix.

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

LLaVA-Instruct-150k (Liu et al. 2023, "Visual Instruction Tuning") and the 665k mixture: dialogues about one picture.

A JSON list; `<image>` in a turn marks where the picture is shown:

    [{"id": "000000033471", "image": "000000033471.jpg", "conversations": [
        {"from": "human", "value": "<image>\nWhat are the colors of the bus?"},
        {"from": "gpt", "value": "White and red."}]}]

The pictures are COCO's train2017; 665k writes them with their folder ("coco/train2017/000000033471.jpg"). An id names
the picture, so several samples may share one.

InstructPix2Pix (Brooks et al. 2023): pairs of pictures and the instruction that leads from one to the other.

    clip-filtered-dataset/seeds.json           [["0000000", ["1716482101", ...]], ...]
                          0000000/prompt.json     {"input": caption, "edit": instruction, "output": caption, ...}
                                  1716482101_0.jpg, 1716482101_1.jpg
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.chatsearch import ChatTurn, ImageItem, Role, TextItem
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
"""A picture: its location in the source, its caption, its file if it has one, and else the reason to report."""


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


PLACEHOLDER = "<image>"
ROLES: Mapping[str, Role] = {"human": "user", "gpt": "assistant"}


@dataclass(frozen=True)
class LlavaSample:
    """A dialogue, user and assistant in alternation; `image` is "" if it is about no picture."""

    id: str
    image: str
    turns: tuple[ChatTurn, ...]


def read_llava(file: Path) -> tuple[list[LlavaSample], ReadReport]:
    """The samples of a file, including those about no picture; whether a picture has a file is not checked.

    Left out and reported: samples that name a picture without showing it or the reverse, or in which the two sides do
    not alternate, user first.
    """
    records = read_json(file, list)
    samples: list[LlavaSample] = []
    dropped: list[Dropped] = []
    for position, record in enumerate(records):
        where = f"{file}, [{position}]"
        said = need_field(where, record, "conversations", list)
        image = need_field(where, record, "image", str) if "image" in record else ""
        turns = tuple(_parse_turn(turn, image, f"{where}.conversations[{at}]") for at, turn in enumerate(said))
        name = str(record["id"]) if isinstance(record.get("id"), int) else need_field(where, record, "id", str)
        sample = LlavaSample(name, image, turns)
        reason = _find_flaw(sample)
        if reason:
            dropped.append(Dropped(f"[{position}] {sample.id}", reason))
        else:
            samples.append(sample)
    return samples, ReadReport(len(records), len(samples), tuple(dropped))


def _parse_turn(turn: Any, image: str, where: str) -> ChatTurn:
    speaker = need_field(where, turn, "from", str)
    if speaker not in ROLES:
        raise BadInput(f"{where}.from: one of {', '.join(ROLES)} is needed, not {speaker!r:.60}")
    return ChatTurn(ROLES[speaker], _split_items(need_field(where, turn, "value", str), image))


def _split_items(text: str, image: str) -> tuple[TextItem | ImageItem, ...]:
    """A turn's words and pictures in order.

    >>> _split_items("<image>\\nWhat is this?", "1.jpg")
    (ImageItem(image='1.jpg'), TextItem(text='What is this?'))
    """
    first, *rest = (piece.strip() for piece in text.split(PLACEHOLDER))
    items: list[TextItem | ImageItem] = [TextItem(first)] if first else []
    for piece in rest:
        items.append(ImageItem(image))
        items += [TextItem(piece)] if piece else []
    return tuple(items)


def _find_flaw(sample: LlavaSample) -> str:
    """Why a sample cannot be used; "" if it can."""
    shown = sum(isinstance(item, ImageItem) for turn in sample.turns for item in turn.content)
    if not sample.turns:
        return "no turns"
    if any(turn.role != ("user", "assistant")[at % 2] for at, turn in enumerate(sample.turns)):
        return "user and assistant do not alternate"
    if any(not turn.content for turn in sample.turns):
        return "an empty turn"
    if bool(sample.image) != bool(shown):
        return f"names a picture, but no turn has {PLACEHOLDER}" if sample.image else f"{PLACEHOLDER}, but no picture"
    return ""


@dataclass(frozen=True)
class EditPair:
    """Two pictures (files) and the instruction that leads from one to the other; `prompt` and `seed` name them."""

    prompt: str
    seed: str
    instruction: str
    source: Path
    target: Path


def read_instruct_pix2pix(folder: Path) -> tuple[list[EditPair], ReadReport]:
    """All pairs of a data set, by prompt and seed; without a seeds.json, those in its folders.

    Pairs with a missing picture are left out and reported.
    """
    pairs: list[EditPair] = []
    dropped: list[Dropped] = []
    for prompt, seeds in _list_seeds(need_folder(folder)):
        place = folder / prompt / "prompt.json"
        if not place.is_file():
            dropped += [Dropped(f"{prompt}/{seed}", "no prompt.json") for seed in seeds]
            continue
        instruction = need_field(str(place), read_json(place, dict), "edit", str).strip()
        for seed in seeds:
            files = [place.with_name(f"{seed}_{which}.jpg") for which in (0, 1)]
            missing = [file.name for file in files if not file.is_file()]
            if missing:
                dropped.append(Dropped(f"{prompt}/{seed}", f"no such file: {missing[0]}"))
            else:
                pairs.append(EditPair(prompt, seed, instruction, *files))
    return pairs, ReadReport(len(pairs) + len(dropped), len(pairs), tuple(dropped))


def _list_seeds(folder: Path) -> list[tuple[str, list[str]]]:
    """Prompts and the seeds of their pairs, in order of name."""
    file = folder / "seeds.json"
    if not file.is_file():
        prompts = sorted(file.parent for file in folder.glob("*/prompt.json"))
        if not prompts:
            missing = "neither seeds.json nor <prompt>/prompt.json here"
            raise BadInput(f"{folder}: {missing}; this is not InstructPix2Pix data")
        return [(place.name, sorted(file.name[:-6] for file in place.glob("*_0.jpg"))) for place in prompts]
    listed = []
    for position, entry in enumerate(read_json(file, list)):
        match entry:
            case [str(prompt), [*seeds]] if all(isinstance(seed, str | int) for seed in seeds):
                listed.append((prompt, sorted(map(str, seeds))))
            case _:
                raise BadInput(f"{file}, [{position}]: [prompt, [seed, ...]] is needed, not {entry!r:.60}")
    return sorted(listed)
