"""Pictures whose file says in its own way when they were taken, and what is read of them, with the source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pictures.facts.tagged_pictures import (
    box,
    cr3,
    exif_block,
    gif,
    iptc_block,
    jpeg,
    jxl,
    lone_directory,
    plain,
    png,
    raf,
    segment,
    tiff,
    tiff_block,
    xmp_packet,
)
from tests.pictures.test_formats_optional import dng
from viewfinder.pictures.facts.embedded import read_container, read_embedded
from viewfinder.pictures.facts.model import Fact, merge_facts

TAKEN, DIGITIZED, EDITED = "2019:07:14 10:03:00", "2020:01:02 03:04:05", "2024:12:31 23:59:59"

BLOCK = exif_block(DateTimeOriginal=TAKEN)


def heic(**blocks: bytes) -> bytes:
    pytest.importorskip("pillow_heif").register_heif_opener()
    return plain("HEIF", **blocks)


def film(seconds: int) -> bytes:
    mvhd = bytes(4) + seconds.to_bytes(4, "big") + bytes(92)
    return box(b"ftyp", b"hevc\0\0\0\0msf1hevc") + box(b"moov", box(b"mvhd", mvhd))


CASES: dict[str, tuple[Callable[[], bytes], str, str | None, str]] = {
    "a camera's JPEG that was edited": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal=TAKEN, DateTimeDigitized=DIGITIZED, DateTime=EDITED)),
        "JPEG",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a phone's, with subseconds and offset": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal=TAKEN, SubsecTimeOriginal="123", OffsetTimeOriginal="+02:00")),
        "JPEG",
        "2019-07-14T10:03:00.123+02:00",
        "EXIF DateTimeOriginal",
    ),
    "a scan, which was digitized and edited": (
        lambda: jpeg(exif=exif_block(DateTimeDigitized=DIGITIZED, OffsetTimeDigitized="-03:30", DateTime=EDITED)),
        "JPEG",
        "2020-01-02T03:04:05-03:30",
        "EXIF DateTimeDigitized",
    ),
    "one of which only the edit is known": (lambda: jpeg(exif=exif_block(DateTime=EDITED)), "JPEG", None, ""),
    "one from a camera whose clock was never set": (
        lambda: jpeg(
            exif=exif_block(DateTimeOriginal="0000:00:00 00:00:00"), xmp=xmp_packet(xmp__CreateDate="2011-03")
        ),
        "JPEG",
        "2011-03",
        "XMP xmp:CreateDate",
    ),
    "one whose date is blank": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal="    :  :     :  :  ", DateTimeDigitized=DIGITIZED)),
        "JPEG",
        "2020-01-02T03:04:05",
        "EXIF DateTimeDigitized",
    ),
    "an old photograph of which the month is known": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal="1934:05:00 00:00:00")),
        "JPEG",
        "1934-05",
        "EXIF DateTimeOriginal",
    ),
    "an old photograph of which the year is known": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal="1934")),
        "JPEG",
        "1934",
        "EXIF DateTimeOriginal",
    ),
    "a camera that was reset": (
        lambda: jpeg(exif=exif_block(DateTimeOriginal="1970:01:01 00:00:00")),
        "JPEG",
        "1970-01-01T00:00:00",
        "EXIF DateTimeOriginal",
    ),
    "an export with XMP alone": (
        lambda: jpeg(
            xmp=xmp_packet(exif__DateTimeOriginal="2018-02-03T04:05:06.70+01:00", xmp__ModifyDate="2024-01-01")
        ),
        "JPEG",
        "2018-02-03T04:05:06.70+01:00",
        "XMP exif:DateTimeOriginal",
    ),
    "an agency's, created before it was exported": (
        lambda: jpeg(xmp=xmp_packet(photoshop__DateCreated="2017-05-06", xmp__CreateDate="2020-01-01T10:00:00Z")),
        "JPEG",
        "2017-05-06",
        "XMP photoshop:DateCreated",
    ),
    "an agency's of before XMP": (
        lambda: jpeg(iptc=iptc_block((55, b"20010911"), (60, b"084600-0400"))),
        "JPEG",
        "2001-09-11T08:46:00-04:00",
        "IPTC DateCreated",
    ),
    "an archive's, whose day is not known": (
        lambda: jpeg(iptc=iptc_block((55, b"19230700"))),
        "JPEG",
        "1923-07",
        "IPTC DateCreated",
    ),
    "IPTC comes before XMP's CreateDate, which may be an export": (
        lambda: jpeg(iptc=iptc_block((55, b"19990102")), xmp=xmp_packet(xmp__CreateDate="2020-01-01T10:00:00Z")),
        "JPEG",
        "1999-01-02",
        "IPTC DateCreated",
    ),
    "XMP of which only the edit is known": (
        lambda: jpeg(xmp=xmp_packet(xmp__ModifyDate="2024-01-01T00:00:00", xmp__MetadataDate="2024-01-02")),
        "JPEG",
        None,
        "",
    ),
    "a PNG with EXIF": (
        lambda: png(exif=exif_block(DateTimeOriginal=TAKEN)),
        "PNG",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a PNG with XMP": (
        lambda: png(xmp=xmp_packet(photoshop__DateCreated="2016-08")),
        "PNG",
        "2016-08",
        "XMP photoshop:DateCreated",
    ),
    "a PNG whose text is a mail's date": (
        lambda: png(texts={"Creation Time": "Sun, 14 Jul 2019 10:03:00 +0200", "date:create": "2024-01-01T00:00:00"}),
        "PNG",
        "2019-07-14T10:03:00+02:00",
        "PNG Creation Time",
    ),
    "a PNG of a program that writes dates as EXIF does": (
        lambda: png(texts={"Creation Time": TAKEN}, pack=True),
        "PNG",
        "2019-07-14T10:03:00",
        "PNG Creation Time",
    ),
    "a PNG of ImageMagick, which tells times of files": (
        lambda: png(texts={"date:create": "2024-01-01T00:00:00", "date:modify": "2024-01-01T00:00:00"}),
        "PNG",
        None,
        "",
    ),
    "a PNG with its EXIF in hex, as ImageMagick writes it": (
        lambda: png(
            texts={"Raw profile type exif": f"\nexif\n{len(BLOCK):8}\n{BLOCK.hex()}\n"},
            pack=True,
        ),
        "PNG",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a WebP": (
        lambda: plain("WEBP", exif=exif_block(DateTimeOriginal=TAKEN)),
        "WEBP",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a WebP with XMP": (
        lambda: plain("WEBP", xmp=xmp_packet(exif__DateTimeDigitized="2016-08-09T10:11")),
        "WEBP",
        "2016-08-09T10:11",
        "XMP exif:DateTimeDigitized",
    ),
    "a GIF": (
        lambda: gif(xmp=xmp_packet(xmp__CreateDate="2015-01-02T03:04:05")),
        "GIF",
        "2015-01-02T03:04:05",
        "XMP xmp:CreateDate",
    ),
    "a TIFF with EXIF": (
        lambda: tiff(exif=exif_block(DateTimeOriginal=TAKEN, DateTime=EDITED)),
        "TIFF",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a TIFF with IPTC": (
        lambda: tiff(tags={33723: iptc_block((55, b"19970102"))}),
        "TIFF",
        "1997-01-02",
        "IPTC DateCreated",
    ),
    "an AVIF": (
        lambda: plain("AVIF", exif=exif_block(DateTimeOriginal=TAKEN)),
        "AVIF",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a HEIC": (
        lambda: heic(exif=exif_block(DateTimeOriginal=TAKEN, OffsetTimeOriginal="+09:00")),
        "HEIF",
        "2019-07-14T10:03:00+09:00",
        "EXIF DateTimeOriginal",
    ),
    "a HEIC with XMP": (
        lambda: heic(xmp=xmp_packet(photoshop__DateCreated="2016-08-09")),
        "HEIF",
        "2016-08-09",
        "XMP photoshop:DateCreated",
    ),
    "a series of pictures in a film's container": (
        lambda: film(3_645_943_380),
        "HEIF",
        "2019-07-14T10:03:00+00:00",
        "QuickTime CreateDate",
    ),
    "a JPEG XL": (
        lambda: jxl(box(b"Exif", bytes(4) + tiff_block(DateTimeOriginal=TAKEN))),
        "JXL",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a DNG, by TIFF/EP": (dng, "RAW", "2020-02-29T12:30:00", "EXIF DateTimeOriginal"),
    "a Canon CR3": (
        lambda: cr3(main={271: "Canon"}, details={36867: TAKEN, 37521: "45", 36881: "+01:00"}, gps={}),
        "RAW",
        "2019-07-14T10:03:00.45+01:00",
        "EXIF DateTimeOriginal",
    ),
    "a Fujifilm RAF": (
        lambda: raf(jpeg(exif=exif_block(DateTimeOriginal=TAKEN, Make="FUJIFILM", Model="X-T3"))),
        "RAW",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a Panasonic RW2": (
        lambda: tiff_block(magic=b"IIU\0", DateTimeOriginal=TAKEN),
        "RAW",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a Panasonic RW2 whose EXIF is in its preview": (
        lambda: b"IIU\0" + lone_directory({0x2E: jpeg(exif=exif_block(DateTimeOriginal=TAKEN))})[4:],
        "RAW",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "an Olympus ORF": (
        lambda: tiff_block(magic=b"IIRO", DateTimeOriginal=TAKEN),
        "RAW",
        "2019-07-14T10:03:00",
        "EXIF DateTimeOriginal",
    ),
    "a caption that did not fit, and a date in the rest": (
        lambda: jpeg(xmp=xmp_packet(xmpNote__HasExtendedXMP="A" * 32), more=extended(b"A" * 32)),
        "JPEG",
        "2013-04-05",
        "XMP photoshop:DateCreated",
    ),
}


def extended(guid: bytes) -> bytes:
    """The rest of a packet in two segments, the second first."""
    rest = xmp_packet(photoshop__DateCreated="2013-04-05")
    head = b"http://ns.adobe.com/xmp/extension/\0" + guid + len(rest).to_bytes(4, "big")
    pieces = [(offset, rest[offset : offset + 700]) for offset in range(0, len(rest), 700)]
    return b"".join(segment(0xE1, head + offset.to_bytes(4, "big") + piece) for offset, piece in reversed(pieces))


@pytest.mark.parametrize("case", CASES)
def test_the_day_of_a_picture_is_found_with_its_source(case: str) -> None:
    make, announced, day, source = CASES[case]
    data = make()
    told = merge_facts([*read_embedded(data, announced), *read_container(data, announced)])
    dates = [fact for fact in told if fact.name == "captured"]
    assert dates == ([] if day is None else [Fact("captured", (day,), source)])
