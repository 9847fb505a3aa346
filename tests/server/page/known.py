"""Photographs that say when, where and by which camera they were taken, in folders; and a shop with its catalogue."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

EXIF, GPS = 0x8769, 0x8825
MAKE, MODEL, TAKEN = 0x010F, 0x0110, 0x9003
CAMERAS = (("Canon", "Canon EOS 5D"), ("NIKON CORPORATION", "NIKON D80"))
PLACES = ((38.72, -9.14), (52.52, 13.40), (48.86, 2.35))
"""Lisbon, Berlin, Paris."""

FOLDERS = ("2007/Italy", "2008/Skiing", "2008/Garden", "2009")
KNOWN = 60


def write_known(files: Sequence[Path], folder: Path) -> None:
    """Copies pictures into folders of years: picture i is of year 2007 + i % 3, of month 1 + i % 12; every fifth has no
    date, two thirds have a place."""
    for number, file in enumerate(files[:KNOWN]):
        target = folder / FOLDERS[number % len(FOLDERS)] / f"IMG_{number:04}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        exif[MAKE], exif[MODEL] = CAMERAS[number % 2]
        if number % 5:
            exif.get_ifd(EXIF)[TAKEN] = (
                f"{2007 + number % 3}:{1 + number % 12:02}:{1 + number % 28:02} 10:00:{number:02}"
            )
        if number % 3:
            latitude, longitude = PLACES[number % len(PLACES)]
            gps = exif.get_ifd(GPS)
            gps[1], gps[2] = "NS"[latitude < 0], _degrees(latitude + number / 1000)
            gps[3], gps[4] = "EW"[longitude < 0], _degrees(longitude - number / 1000)
        with Image.open(file) as picture:
            picture.convert("RGB").save(target, quality=85, exif=exif)


def _degrees(value: float) -> tuple[float, float, float]:
    whole = abs(value)
    return (float(int(whole)), float(int(whole * 60) % 60), round(whole * 3600 % 60, 2))


def write_shop(files: Sequence[Path], folder: Path, catalogue: Path) -> None:
    """Twelve products of two pictures each, with a name, a price and a link."""
    folder.mkdir(parents=True)
    with catalogue.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["image", "product id", "name", "price", "link", "gender"])
        for number, picture in enumerate(files[:24]):
            (folder / picture.name).write_bytes(picture.read_bytes())
            product = number // 2
            link = "javascript:alert(1)" if product == 3 else f"https://shop.example/{product}"
            rows.writerow(
                [
                    picture.name,
                    f"p{product}",
                    f"Shirt no. {product}",
                    f"{10 + product}.50 EUR",
                    link,
                    ("Men", "Women")[product % 2],
                ]
            )


def write_bursts(files: Sequence[Path], folder: Path, count: int = 4) -> None:
    """Each picture `count` times, seconds apart, as by a hand that moves a little."""
    folder.mkdir(parents=True)
    for number, file in enumerate(files):
        with Image.open(file) as opened:
            picture = opened.convert("RGB")
        for shot in range(count):
            exif = Image.Exif()
            exif.get_ifd(EXIF)[TAKEN] = f"2012:05:{number + 1:02} 12:00:{2 * shot:02}"
            box = (3 * shot, 2 * shot, picture.width - 15 + 3 * shot, picture.height - 10 + 2 * shot)
            picture.crop(box).save(folder / f"{number}-{shot}.jpg", quality=85, exif=exif)
