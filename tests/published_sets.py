"""Small data sets of our own pictures and sentences, written in the layouts in which research sets are downloaded.

Every picture is of two colours, top and bottom, and has five captions that say so: `COLOURS` x `COLOURS` pictures.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from viewfinder.testing import COLOURS, draw_halves

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]


def describe(number: int) -> list[str]:
    """The five captions of a picture."""
    top, bottom = LOOKS[number % len(LOOKS)]
    return [
        f"{top} over {bottom}",
        f"a picture, {top} above and {bottom} below",
        f'two halves: "{top}", and {bottom}',
        f"{bottom} under {top} .",
        f"{top} and {bottom}",
    ]


def draw(file: Path, number: int) -> None:
    """The picture of a number."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(draw_halves(*LOOKS[number % len(LOOKS)])).save(file)


def draw_all(folder: Path, names: Mapping[str, int]) -> None:
    for name, number in names.items():
        draw(folder / name, number)


def write_json(file: Path, data: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))


def coco_names(numbers: Iterable[int], year: int = 2017, split: str = "train") -> dict[str, int]:
    """Names as COCO has them: of 2017 numbers alone, of 2014 with a prefix."""
    prefix = f"COCO_{split}2014_" if year == 2014 else ""
    return {f"{prefix}{number:012d}.jpg": number for number in numbers}


def write_coco(folder: Path, split: str, numbers: Sequence[int], *, pictures: bool) -> None:
    """annotations/captions_<split>.json as COCO has it, and the pictures in <split>/ if that archive is unpacked."""
    names = coco_names(numbers, int(split[-4:]), split[:-4])
    data = {
        "info": {"description": "ours", "year": int(split[-4:])},
        "licenses": [],
        "images": [
            {"license": 1, "file_name": name, "height": 8, "width": 8, "id": one} for name, one in names.items()
        ],
        "annotations": [
            {"image_id": one, "id": 10 * one + at, "caption": said}
            for one in numbers
            for at, said in enumerate(describe(one))
        ],
    }
    write_json(folder / "annotations" / f"captions_{split}.json", data)
    if pictures:
        draw_all(folder / split, names)


def write_karpathy(file: Path, splits: Mapping[str, Sequence[int]], *, homes: Mapping[str, str] | None = None) -> None:
    """dataset_<name>.json: `homes` has the folder of each split's pictures (COCO's), which name them by number."""
    images = []
    for split, numbers in splits.items():
        home = (homes or {}).get(split)
        for at, number in enumerate(numbers):
            name = f"{number}.jpg" if home is None else f"COCO_{home}_{number:012d}.jpg"
            sentences = [
                {"tokens": said.split(), "raw": said, "imgid": at, "sentid": k}
                for k, said in enumerate(describe(number))
            ]
            record = {"sentids": [0], "imgid": at, "sentences": sentences, "split": split, "filename": name}
            images.append(record if home is None else {"filepath": home, **record, "cocoid": number})
    write_json(file, {"images": images, "dataset": file.stem.removeprefix("dataset_")})


def write_tokens(file: Path, names: Mapping[str, int]) -> None:
    """Flickr8k.token.txt and results_20130124.token: name#0, a tab, the caption."""
    lines = [f"{name}#{at}\t{said}\n" for name, number in names.items() for at, said in enumerate(describe(number))]
    file.write_text("".join(lines))


def write_kaggle_captions(file: Path, names: Mapping[str, int]) -> None:
    """captions.txt as on Kaggle."""
    with file.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["image", "caption"])
        rows.writerows([name, said] for name, number in names.items() for said in describe(number))


def write_kaggle_results(file: Path, names: Mapping[str, int], broken: str = "") -> None:
    """Flickr30k's results.csv as on Kaggle; the last line of `broken` lacks the delimiter before its caption."""
    lines = ["image_name| comment_number| comment"]
    for name, number in names.items():
        for at, said in enumerate(describe(number)):
            lines.append(f"{name}| {at}   {said}" if (name, at) == (broken, 4) else f"{name}| {at}| {said}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")


def write_region_descriptions(folder: Path, numbers: Sequence[int], phrases: int = 12) -> None:
    """Visual Genome's region_descriptions.json, and its pictures in the folders of its two archives."""
    records = []
    for at, number in enumerate(numbers):
        top, bottom = LOOKS[number % len(LOOKS)]
        said = [f"{(top, bottom)[k % 2]} part {k} " for k in range(phrases)]
        regions = [
            {"region_id": 100 * number + k, "width": 4, "height": 3, "image_id": number, "phrase": one, "y": k, "x": 1}
            for k, one in enumerate(said)
        ]  # fmt: skip
        records.append({"regions": regions, "id": number})
        draw(folder / ("VG_100K" if at % 2 else "VG_100K_2") / f"{number}.jpg", number)
    write_json(folder / "region_descriptions.json", records)


def write_circo(folder: Path, queries: Sequence[Mapping[str, Any]], gallery: Sequence[int]) -> None:
    """CIRCO's annotations, test without its right pictures, and COCO's unlabelled pictures where its page puts them."""
    secret = ("target_img_id", "gt_img_ids", "semantic_aspects")
    write_json(folder / "annotations" / "val.json", queries)
    write_json(
        folder / "annotations" / "test.json", [{k: v for k, v in one.items() if k not in secret} for one in queries]
    )
    home = folder / "COCO2017_unlabeled"
    names = coco_names(gallery)
    images = [{"id": number, "file_name": name} for name, number in names.items()]
    write_json(home / "annotations" / "image_info_unlabeled2017.json", {"info": {}, "images": images})
    draw_all(home / "unlabeled2017", names)
