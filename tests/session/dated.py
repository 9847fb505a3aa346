"""Draws photographs that have dates, cameras, places, persons, stars and folders in their files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

GPS, EXIF = 0x8825, 0x8769
MAKE, MODEL, TAKEN, RATING = 0x010F, 0x0110, 0x9003, 0x4746
NIKON, CANON, IPHONE = ("NIKON CORPORATION", "NIKON D80"), ("Canon", "Canon EOS 5D"), ("Apple", "iPhone 8")
LISBON = ((38.0, 43.0, 20.0), (9.0, 8.0, 22.0))


@dataclass(frozen=True)
class Photo:
    """What is written into a file; "" for nothing."""

    name: str
    colour: tuple[int, int, int]
    taken: str = ""
    camera: tuple[str, str] = ("", "")
    person: str = ""
    stars: int = 0
    in_lisbon: bool = False
    size: tuple[int, int] = (240, 160)


PHOTOS = (
    Photo("2007-07 Italy/IMG_0001.jpg", (200, 30, 30), "2007:07:03 10:00:00", NIKON, "Anna Weber"),
    Photo("2007-07 Italy/IMG_0002.jpg", (30, 200, 30), "2007:07:14 11:00:00", NIKON),
    Photo("2007-07 Italy/IMG_0003.jpg", (30, 30, 200), "2007:07:31 23:59:59", CANON, size=(160, 240)),
    Photo("2019 Skiing/IMG_0004.jpg", (240, 240, 250), "2019:01:05 09:00:00", CANON, "Anna Weber", 5),
    Photo("2019 Skiing/IMG_0005.jpg", (220, 230, 240), "2019:02:06 09:30:00", IPHONE, "Ben Okafor", 3, True),
    Photo("Old/scan 1.jpg", (120, 110, 90)),
    Photo("Old/scan 2.jpg", (100, 90, 80)),
    Photo("Old/scan 3.jpg", (80, 70, 60), stars=4),
)  # fmt: skip


def draw_photos(folder: Path) -> None:
    """Writes them below a folder."""
    for photo in PHOTOS:
        path = folder / photo.name
        path.parent.mkdir(parents=True, exist_ok=True)
        exif = Image.Exif()
        if photo.camera[0]:
            exif[MAKE], exif[MODEL] = photo.camera
        if photo.stars:
            exif[RATING] = photo.stars
        if photo.taken:
            exif.get_ifd(EXIF)[TAKEN] = photo.taken
        if photo.in_lisbon:
            gps = exif.get_ifd(GPS)
            gps[1], gps[2], gps[3], gps[4] = "N", LISBON[0], "W", LISBON[1]
        picture = Image.new("RGB", photo.size, photo.colour)
        picture.paste((255, 255, 0), (20, 20, 60 + 7 * PHOTOS.index(photo), 60))
        more: dict[str, Any] = {"xmp": _write_person(photo.person)} if photo.person else {}
        picture.save(path, exif=exif, quality=90, **more)


def _write_person(name: str) -> bytes:
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><e:PersonInImage><rdf:Bag>'
        f"<rdf:li>{name}</rdf:li></rdf:Bag></e:PersonInImage></rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode()
