"""Readers of captioned pictures (COCO, Flickr8k, Flickr30k, a table of the user's own), and of what COCO marks in them.

Sets are read as they are downloaded. A folder is one of these, the first that fits:

    dataset_coco.json, dataset_flickr8k.json, dataset_flickr30k.json, dataset.json    Karpathy and Fei-Fei (CVPR 2015):
                                         captions, the splits train, restval, val, test; also below karpathy/, ...
    captions.csv                         a row a caption: image,caption; beside images/
    Flickr8k.token.txt                   a line a caption: name#0, a tab, the caption; splits in
                                         Flickr_8k.trainImages.txt, .devImages.txt, .testImages.txt beside it
    results_20130124.token, results.csv  Flickr30k, of its authors; on Kaggle: image_name| comment_number| comment
    captions.txt                         Flickr8k and Flickr30k as on Kaggle: image,caption
    annotations/captions_<split>.json    COCO, with the pictures of a split in <split>/, images/<split>/ or images/

The pictures of the Flickr sets are looked for beside their table, in folders of any name. All of a set is read whose
pictures are here, and the report says what is missing. Pictures come in the order in which the file first names them,
captions likewise. `splits.split_reader` says what is for training, validation and testing.

COCO's instances (Lin et al., ECCV 2014) have a box and a category for every thing in a picture.

    annotations/instances_<split>.json    beside the pictures of a split, <split>/ or images/

A box is x, y, width and height in pixels of the picture; a crowd's box encloses many things at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.data.files import (
    KEY_COLUMNS,
    Dropped,
    ReadReport,
    Table,
    need_field,
    need_folder,
    read_json,
    read_json_records,
    read_table,
    read_text,
)
from viewfinder.errors import BadInput

CAPTION_COLUMNS = ("caption", "text")


@dataclass(frozen=True)
class CaptionedPicture:
    """A picture file and what people said about it; at least one caption, none empty.

    `split` is the one that the data set is published with ("train2017", "restval"), "" if there is none.
    """

    path: Path
    captions: tuple[str, ...]
    split: str = field(default="", compare=False)


@dataclass(frozen=True)
class CaptionedSet:
    """A captioned set as published, whether its pictures are here or not.

    Attributes:
        captions: by the names of pictures in the set's own files.
        parts: the published split of each of these names, "" for those in none.
        files: where those pictures are that are here.
        homes: where the pictures of each part belong, for messages.
        listed: whether the set lists the pictures of its splits; else a split is a file of its own.
        dropped: the records that are of no use.
    """

    captions: Mapping[str, list[str]]
    parts: Mapping[str, str]
    files: Mapping[str, Path]
    homes: Mapping[str, str]
    listed: bool = False
    dropped: tuple[Dropped, ...] = ()


def read_flickr8k(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """Captions in a table beside pictures: `captions.csv` beside `images/`, or Flickr8k and Flickr30k as published."""
    return _keep_on_disk(_read_table_set(need_folder(folder), _find_table(folder) or folder / "captions.csv"))


def read_coco(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """COCO captions: every `annotations/captions_<split>.json`, as far as its pictures are here."""
    return _keep_on_disk(_read_coco_set(folder))


def has_captions(folder: Path) -> bool:
    """Whether a folder holds captions in one of the published layouts."""
    return (
        _find_karpathy(folder) is not None
        or _find_table(folder) is not None
        or any(folder.glob("annotations/captions_*.json"))
    )


def has_captioned_pictures(folder: Path) -> bool:
    """Whether captions lie where their pictures should be; a `captions.csv` without `images/` is about others."""
    return has_captions(folder) and ((folder / "images").is_dir() or not (folder / "captions.csv").is_file())


def count_things(count: int, thing: str) -> str:
    """A number of things in words.

    >>> count_things(1, "picture"), count_things(118287, "picture")
    ('1 picture', '118,287 pictures')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def has_own_splits(folder: Path) -> bool:
    """Whether a set's captions themselves may say what is for training: Karpathy's do, and several files of COCO."""
    if _find_karpathy(folder) is not None:
        return True
    return _find_table(folder) is None and len([*folder.glob("annotations/captions_*.json")]) > 1


def find_captions(folder: Path) -> list[Path]:
    """The files that `read_captioned_set` reads, and the folders in which it finds their pictures."""
    table = _find_table(folder)
    files = [*folder.glob("annotations/captions_*.json"), *([] if table is None else [table])]
    files += [] if (karpathy := _find_karpathy(folder)) is None else [karpathy]
    lists = [folder / home / name for home in TABLE_HOMES for names in LISTS.values() for name in names]
    return [*files, *(one for one in lists if one.is_file()), *_list_folders(folder)]


def read_captioned(folder: Path) -> tuple[list[CaptionedPicture], ReadReport]:
    """The captioned pictures of such a folder, in the order of its files.

    Raises:
        BadInput: no captions here, damaged ones, or none of their pictures (the message says what is here).
    """
    pictures, report = _keep_on_disk(read_captioned_set(folder))
    if not pictures and report.expected:
        why = "; ".join(f"{one.record}: {one.reason}" for one in report.dropped[:4])
        raise BadInput(f"{folder}: captions, but none of their pictures is here: {why}")
    return pictures, report


def read_captioned_set(folder: Path) -> CaptionedSet:
    """Everything that is captioned in a folder, with and without pictures.

    Raises:
        BadInput: no captions here, or damaged ones.
    """
    if (file := _find_karpathy(need_folder(folder))) is not None:
        return _read_karpathy_set(folder, file)
    if (file := _find_table(folder)) is not None:
        return _read_table_set(folder, file)
    return _read_coco_set(folder)


def _keep_on_disk(found: CaptionedSet) -> tuple[list[CaptionedPicture], ReadReport]:
    """The pictures that have a file and a caption; the others are reported, a part without any file as a whole."""
    pictures: dict[Path, CaptionedPicture] = {}
    left_out = list(found.dropped)
    here = {found.parts[name] for name in found.files}
    for part, home in found.homes.items():
        names = [] if part in here else [name for name, of in found.parts.items() if of == part]
        if names:
            said = sum(len(found.captions[name]) for name in names)
            of = f"{count_things(said, 'caption')} of {count_things(len(names), 'picture')}"
            left_out.append(Dropped(part or "all of it", f"{of} not here; the pictures belong in {home}"))
    for name, captions in found.captions.items():
        if name in found.files and captions:
            pictures[found.files[name]] = CaptionedPicture(found.files[name], tuple(captions), found.parts[name])
        elif name in found.files:
            left_out.append(Dropped(name.rpartition("/")[2], "no caption"))
        elif found.parts[name] in here:
            left_out.append(Dropped(name.rpartition("/")[2], "no such file"))
    return list(pictures.values()), ReadReport(len(found.captions), len(pictures), tuple(left_out))


# -- captions in tables: Flickr8k, Flickr30k, one's own

TABLES = ("captions.csv", "Flickr8k.token.txt", "results_20130124.token", "results.csv", "captions.txt")
TABLE_HOMES = (".", "Flickr8k_text", "flickr30k_images", "annotations")
"""Folders in which the archives and Kaggle have them."""

LISTS = {
    "train": ("Flickr_8k.trainImages.txt", "train.txt"),
    "dev": ("Flickr_8k.devImages.txt", "val.txt"),
    "test": ("Flickr_8k.testImages.txt", "test.txt"),
}
"""Lists of the pictures of each split: Flickr8k's; Flickr30k's of Flickr30k Entities, names without suffix."""

MAX_FOLDERS = 500
"""In how many folders pictures are looked for."""

_TOKEN_LINE = re.compile(r"(?P<name>[^\t#]+)#\d+\t(?P<caption>.*)")
_RUN_TOGETHER = re.compile(r"\d+\s+(?P<caption>\S.*)")


def _find_table(folder: Path) -> Path | None:
    places = [folder / home / name for name in TABLES for home in TABLE_HOMES if home == "." or name != TABLES[0]]
    return next((place for place in places if place.is_file() and _is_caption_table(place)), None)


def _is_caption_table(file: Path) -> bool:
    """Whether the first line is that of a table of captions; captions.txt and results.csv may be anything else."""
    if file.name == "captions.csv":
        return True
    first = _read_start(file, 4096).partition("\n")[0]
    return _is_token_line(first) or _name_kaggle_columns(first) is not None


def _read_start(file: Path, size: int) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(size).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    except OSError:
        return ""


def _is_token_line(line: str) -> bool:
    return _TOKEN_LINE.fullmatch(line.rstrip("\r\n")) is not None


def _name_kaggle_columns(header: str) -> tuple[str, int] | None:
    """The delimiter of a Kaggle table, and how many columns stand before the caption, the last."""
    for delimiter in ("|", ","):
        names = [name.strip().lower() for name in header.split(delimiter)]
        if names in (["image_name", "comment_number", "comment"], ["image", "caption"]):
            return delimiter, len(names) - 1
    return None


def _read_table_set(folder: Path, file: Path) -> CaptionedSet:
    captions, dropped = _read_caption_rows(file)
    files = _find_beside(file, captions)
    if not files and file.parent != folder:
        files = _find_beside(folder / file.name, captions)
    home = "images/" if file.name == "captions.csv" else f"a folder beside {file.name}"
    split_of = read_lists(folder)
    parts = {name: split_of.get(name.rpartition("/")[2], "") for name in captions}
    homes = dict.fromkeys([split for split in (*LISTS, "") if split in parts.values()], home)
    return CaptionedSet(captions, parts, files, homes, listed=bool(split_of), dropped=tuple(dropped))


def _find_beside(table: Path, names: Iterable[str]) -> dict[str, Path]:
    """Where the pictures of a table are: in `images/` (captions.csv), or in any folder beside it."""
    homes = [table.with_name("images")] if table.name == "captions.csv" else list(_list_folders(table.parent))
    here = [(home, {entry.name for entry in _list_entries(home)}) for home in homes]
    found: dict[str, Path] = {}
    for name in names:
        for home, there in here:
            if name in there or ("/" in name and (home / name).is_file()):
                found[name] = home / name
                break
    return found


def _list_folders(folder: Path) -> Iterator[Path]:
    """A folder, those in it and those in these, without hidden ones."""
    count, level = 0, [folder]
    for _ in range(3):
        yield from level
        count += len(level)
        below = (one for place in level for one in _list_entries(place) if one.is_dir())
        level = [one for one in below if not one.name.startswith(".")][: max(MAX_FOLDERS - count, 0)]


def read_lists(folder: Path) -> dict[str, str]:
    """The published split of every picture that a folder's lists name (train, dev, test), by the names there.

    Flickr8k's lists count wherever captions are in a table, those of Flickr30k Entities only beside Flickr30k's.
    """
    table = _find_table(folder)
    homes = [place for home in TABLE_HOMES if (place := folder / home).is_dir()]
    found: dict[str, str] = {}
    for split, (ours, of_entities) in LISTS.items():
        names = [ours] if table is None or not table.name.startswith("results") else [ours, of_entities]
        file = next((place for home in homes for name in names if (place := home / name).is_file()), None)
        if file is not None:
            suffix = ".jpg" if file.name == of_entities else ""
            found |= {f"{name}{suffix}": split for name in read_text(file).split()}
    return found


def _read_caption_rows(file: Path) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by picture, of any table."""
    start = _read_start(file, 4096).partition("\n")[0]
    if _is_token_line(start):
        return _group_rows(_read_token_lines(file))
    kaggle = _name_kaggle_columns(start)
    if kaggle is not None and (kaggle[0] == "|" or file.suffix == ".txt"):
        return _group_rows(_read_kaggle_rows(file, *kaggle))
    return _group_captions(read_table(file))


def _read_token_lines(file: Path) -> Iterator[tuple[int, str, str]]:
    """Line, picture and caption of the authors' files."""
    for number, line in enumerate(read_text(file).split("\n"), start=1):
        if line.strip():
            match = _TOKEN_LINE.fullmatch(line.rstrip("\r"))
            if match is None:
                raise BadInput(f"{file}, line {number}: a name, # and a number, a tab and a caption are needed")
            yield number, match["name"].strip(), match["caption"].strip()


def _read_kaggle_rows(file: Path, delimiter: str, before: int) -> Iterator[tuple[int, str, str]]:
    """Line, picture and caption; a caption may hold the delimiter.

    In Flickr30k's results.csv one line lacks the delimiter before its caption ("2199200615.jpg| 4   A dog ..."): the
    caption is what follows the number.
    """
    text = read_text(file)
    rows: Iterable[list[str]]
    if delimiter == ",":
        rows = csv.reader(io.StringIO(text, newline=""))
    else:  # no quotes there: one that opens a caption is a part of it
        rows = (line.split(delimiter, before) for line in text.split("\n"))
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if number == 1 or not any(cells):
            continue
        if len(cells) <= before:
            together = _RUN_TOGETHER.fullmatch(cells[-1]) if len(cells) == before > 1 else None
            caption = together["caption"] if together else ""
        else:
            caption = delimiter.join(row[before:]).strip()
        yield number, cells[0], caption


def _group_rows(rows: Iterable[tuple[int, str, str]]) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by picture, from lines."""
    captions: dict[str, list[str]] = {}
    dropped: list[Dropped] = []
    for line, name, caption in rows:
        if not name:
            dropped.append(Dropped(f"line {line}", "names no picture"))
            continue
        said = captions.setdefault(name, [])
        if caption:
            said.append(caption)
        else:
            dropped.append(Dropped(f"line {line}", "empty caption"))
    return captions, dropped


def _group_captions(table: Table) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by picture, from a table with one row per caption."""
    key, caption = table.need(KEY_COLUMNS), table.need(CAPTION_COLUMNS)
    return _group_rows((line, row[key], row[caption]) for line, row in zip(table.lines, table.rows, strict=True))


def read_captions_csv(source: Path | Table) -> tuple[list[CaptionedPicture], ReadReport]:
    """A CSV, or a table of one's own, with a column image, file, path or id and one named caption or text.

    A picture may have several rows. Pictures are looked for beside the CSV. The path of one that is not there stays as
    it is in the file, to be matched with the pictures of a library (`match_keys`).

    Raises:
        BadInput: a missing column, or damage (the line is named).
    """
    table = source if isinstance(source, Table) else read_table(source)
    return _name_pictures(table.path.parent, *_group_captions(table))


def _name_pictures(
    folder: Path, captions: Mapping[str, list[str]], dropped: list[Dropped]
) -> tuple[list[CaptionedPicture], ReadReport]:
    pictures = [
        CaptionedPicture(beside if (beside := folder / name).is_file() else Path(name), tuple(said))
        for name, said in captions.items()
        if said
    ]
    dropped = dropped + [Dropped(name, "no caption") for name, said in captions.items() if not said]
    return pictures, ReadReport(len(captions), len(pictures), tuple(dropped))


def is_published_source(source: Path) -> bool:
    """Whether captions lie here in a published form that is no CSV with a header: a file, or the folder of a set."""
    return has_captions(source) if source.is_dir() else _is_published_file(source)


def _is_published_file(file: Path) -> bool:
    if file.suffix.lower() == ".json":
        start = _read_start(file, 1 << 16)
        return _is_karpathy(start) or _is_coco(start) or _is_region_list(start)
    return file.is_file() and file.name != "captions.csv" and _is_caption_table(file)


def read_captions(source: Path | Table) -> tuple[list[CaptionedPicture], ReadReport]:
    """What `read_captions_csv` reads, or a published file: of COCO, Karpathy's splits, Flickr8k, Flickr30k, or Visual
    Genome's region_descriptions.json, whose regions are the captions; or the folder of a captioned set.

    Paths stay as `read_captions_csv` leaves them.
    """
    if isinstance(source, Path) and source.is_dir():
        found = read_captioned_set(source)
        said = {str(found.files.get(name, Path(name))): captions for name, captions in found.captions.items()}
        return _name_pictures(source, said, list(found.dropped))
    if isinstance(source, Table) or not _is_published_file(source):
        return read_captions_csv(source)
    dropped: list[Dropped] = []
    if source.suffix.lower() != ".json":
        captions, dropped = _read_caption_rows(source)
    elif _is_karpathy(start := _read_start(source, 1 << 16)):
        captions, _, dropped = _read_karpathy_records(source)
    elif _is_region_list(start):
        captions = dict(_read_phrases(source))
    else:
        captions, dropped = _coco_captions(source)
    return _name_pictures(source.parent, captions, dropped)


def _coco_files(folder: Path, kind: str, complaint: str) -> list[tuple[Path, Path]]:
    """Every `annotations/<kind>_<split>.json`, and the folder of its pictures."""
    files = sorted(need_folder(folder).glob(f"annotations/{kind}_*.json"))
    if not files:
        raise BadInput(f"{folder}: no annotations/{kind}_*.json here, {complaint}")
    return [(file, _find_coco_home(folder, file.stem.removeprefix(f"{kind}_"))) for file in files]


def _find_coco_home(folder: Path, split: str) -> Path:
    """Where the pictures of a split are: in its folder, else in `images/` with those of all."""
    homes = (folder / split, folder / "images" / split)
    return next((home for home in homes if home.is_dir()), folder / "images")


def _read_phrases(file: Path) -> Iterator[tuple[str, list[str]]]:
    """The picture and the phrases of every record of region_descriptions.json."""
    for where, record in read_json_records(file):
        regions = enumerate(need_field(where, record, "regions", list))
        said = [need_field(f"{where}.regions[{at}]", region, "phrase", str).strip() for at, region in regions]
        yield f"{need_field(where, record, 'id', int)}.jpg", list(dict.fromkeys(filter(None, said)))


# -- Karpathy's splits

KARPATHY_HOMES = (".", "annotations", "karpathy", "caption_datasets", "karpathy_splits")
_FILE_NAME = re.compile(r'"filename"\s*:\s*"([^"]+)"')
_COCO_NUMBER = re.compile(r"COCO_\w+_(\d{12}\.jpg)")


def _is_karpathy(start: str) -> bool:
    return start.lstrip().startswith("{") and '"images"' in start and ('"sentences"' in start or '"sentids"' in start)


def _is_coco(start: str) -> bool:
    return start.lstrip().startswith("{") and '"images"' in start and ('"file_name"' in start or '"info"' in start)


def _is_region_list(start: str) -> bool:
    return start.lstrip().startswith("[") and '"regions"' in start and '"phrase"' in start


def _find_karpathy(folder: Path) -> Path | None:
    """The file of Karpathy's splits that belongs to the pictures here: all three come in one archive."""
    places = (file for home in KARPATHY_HOMES for file in sorted((folder / home).glob("dataset*.json")))
    files = {file: start for file in places if _is_karpathy(start := _read_start(file, 1 << 16))}
    if len(files) < 2:
        return next(iter(files), None)
    folders = list(_list_folders(folder))

    def count_here(file: Path) -> int:
        names = _FILE_NAME.findall(files[file])[:20]
        return sum(
            any((home / other).is_file() for home in folders for other in _names_in_coco(name)) for name in names
        )

    return max(files, key=count_here)


def _names_in_coco(name: str) -> list[str]:
    """A picture's name, and that of the same picture in COCO 2017 if it is one of COCO 2014.

    >>> _names_in_coco("COCO_val2014_000000391895.jpg")
    ['COCO_val2014_000000391895.jpg', '000000391895.jpg']
    """
    return [name, *_COCO_NUMBER.findall(name)]


def _read_karpathy_set(folder: Path, file: Path) -> CaptionedSet:
    captions, parts, dropped = _read_karpathy_records(file)
    folders = list(_list_folders(folder))
    there = {name: home for home in reversed(folders) for name in _list_names(home)}
    files: dict[str, Path] = {}
    homes: dict[str, set[str]] = {split: set() for split in KARPATHY_SPLITS}
    for key in captions:
        home, _, name = key.rpartition("/")
        homes[parts[key]].add(f"{home}/" if home else f"a folder beside {file.name}")
        for known in ([folder / key] if home else []) + [
            there[one] / one for one in _names_in_coco(name) if one in there
        ]:
            if known.is_file():
                files[key] = known
                break
    where = {split: ", ".join(sorted(some)) for split, some in homes.items() if some}
    return CaptionedSet(captions, parts, files, where, listed=True, dropped=tuple(dropped))


KARPATHY_SPLITS = ("train", "restval", "val", "test")


def _list_names(folder: Path) -> list[str]:
    return [entry.name for entry in _list_entries(folder)]


def _list_entries(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _read_karpathy_records(file: Path) -> tuple[dict[str, list[str]], dict[str, str], list[Dropped]]:
    """Captions and splits by picture (COCO's with their folder), and what is of no use."""
    captions: dict[str, list[str]] = {}
    splits: dict[str, str] = {}
    dropped: list[Dropped] = []
    for at, record in enumerate(need_field(str(file), read_json(file, dict), "images", list)):
        where = f"{file}: images[{at}]"
        name, split = need_field(where, record, "filename", str), need_field(where, record, "split", str)
        if split not in KARPATHY_SPLITS:
            raise BadInput(f"{where}, field 'split': one of {', '.join(KARPATHY_SPLITS)} is needed, not {split!r:.40}")
        home = record.get("filepath")
        key = f"{home}/{name}" if isinstance(home, str) and home else name
        sentences = enumerate(need_field(where, record, "sentences", list))
        said = [need_field(f"{where}.sentences[{k}]", one, "raw", str).strip() for k, one in sentences]
        dropped += [
            Dropped(f"{file.name}: images[{at}].sentences[{k}]", "empty caption")
            for k, one in enumerate(said)
            if not one
        ]
        captions.setdefault(key, []).extend(filter(None, said))
        splits[key] = split
    return captions, splits, dropped


# -- COCO


def _read_coco_set(folder: Path) -> CaptionedSet:
    """Keys are the split and the name, as a picture may be in several files."""
    captions: dict[str, list[str]] = {}
    parts: dict[str, str] = {}
    files: dict[str, Path] = {}
    homes: dict[str, str] = {}
    dropped: list[Dropped] = []
    for file, home in _coco_files(folder, "captions", "so this is not a COCO folder"):
        split = file.stem.removeprefix("captions_")
        of_file, left_out = _coco_captions(file)
        dropped += left_out
        there = set(_list_names(home))
        for name, said in of_file.items():
            key = f"{split}/{name}"
            captions[key], parts[key] = said, split
            if name in there or ("/" in name and (home / name).is_file()):
                files[key] = home / name
        homes[split] = f"{split}/ or images/"
    return CaptionedSet(captions, parts, files, homes, dropped=tuple(dropped))


def _coco_captions(file: Path) -> tuple[dict[str, list[str]], list[Dropped]]:
    """Captions by file name; annotations without a picture or a text are left out."""
    data = read_json(file, dict)
    names = _coco_names(file, data, "images", "file_name")
    captions: dict[str, list[str]] = {name: [] for name in names.values()}
    dropped: list[Dropped] = []
    for i, item in enumerate(need_field(str(file), data, "annotations", list)):
        where = f"{file}: annotations[{i}]"
        picture, caption = need_field(where, item, "image_id", int), need_field(where, item, "caption", str).strip()
        if picture not in names:
            dropped.append(Dropped(f"{file.name}: annotations[{i}]", f"image_id {picture} is not among the images"))
        elif not caption:
            dropped.append(Dropped(f"{file.name}: annotations[{i}]", "empty caption"))
        else:
            captions[names[picture]].append(caption)
    return captions, dropped


def _coco_names(file: Path, data: Mapping[str, Any], key: str, field: str) -> dict[int, str]:
    """`field` of the records `data[key]`, by their ids."""
    records = enumerate(need_field(str(file), data, key, list))
    return {
        need_field(f"{file}: {key}[{at}]", one, "id", int): need_field(f"{file}: {key}[{at}]", one, field, str)
        for at, one in records
    }


@dataclass(frozen=True)
class Instance:
    """A thing, or a crowd of them."""

    category: str
    box: tuple[float, float, float, float]
    crowd: bool = False


@dataclass(frozen=True)
class InstancePicture:
    """A picture file, and everything marked in it, of the categories that are marked at all."""

    path: Path
    instances: tuple[Instance, ...]
    categories: frozenset[str]


def read_instances(folder: Path) -> tuple[list[InstancePicture], ReadReport]:
    """The pictures of all `annotations/instances_*.json` of a folder. The report counts pictures."""
    found: dict[Path, InstancePicture] = {}
    for file, home in _coco_files(folder, "instances", "so nothing is marked in its pictures"):
        found |= {one.path: one for one in _coco_instances(file, home)}
    pictures = [one for path, one in found.items() if path.is_file()]
    dropped = tuple(Dropped(path.name, "no such file") for path in found if not path.is_file())
    return pictures, ReadReport(len(found), len(pictures), dropped)


def _coco_instances(file: Path, home: Path) -> list[InstancePicture]:
    data = read_json(file, dict)
    names = _coco_names(file, data, "images", "file_name")
    categories = _coco_names(file, data, "categories", "name")
    things: dict[str, list[Instance]] = {name: [] for name in names.values()}
    for at, record in enumerate(need_field(str(file), data, "annotations", list)):
        where = f"{file}: annotations[{at}]"
        picture, category = (
            _need_listed(where, record, field, known)
            for field, known in (("image_id", names), ("category_id", categories))
        )
        box = need_field(where, record, "bbox", list)
        if len(box) != 4 or not all(isinstance(number, int | float) for number in box):
            raise BadInput(f"{where}, field 'bbox': four numbers are needed, not {box!r:.60}; fetch the file again")
        x, y, width, height = map(float, box)
        things[picture].append(Instance(category, (x, y, width, height), bool(record.get("iscrowd"))))
    known = frozenset(categories.values())
    return [InstancePicture(home / name, tuple(some), known) for name, some in things.items()]


def _need_listed(where: str, record: Any, field: str, names: Mapping[int, str]) -> str:
    number = need_field(where, record, field, int)
    if number not in names:
        raise BadInput(f"{where}, field {field!r}: {number} is not listed in the file; fetch the file again")
    return names[number]
