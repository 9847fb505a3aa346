"""viewfinder.pictures.facts.iptc"""

from __future__ import annotations

import pytest

from tests.pictures.facts.tagged_pictures import iptc_block, jpeg, photoshop_resources, png, segment
from viewfinder.pictures.facts.embedded import read_embedded
from viewfinder.pictures.facts.iptc import MAX_RECORDS, find_iptc, read_iptc


def told(block: bytes) -> dict[str, tuple[str, ...]]:
    return {fact.name: fact.values for fact in read_iptc(block)}


def test_every_field_is_found_by_its_number() -> None:
    block = iptc_block(
        *((5, b"A name"), (120, b"A caption"), (25, b"beach"), (25, b"sea"), (80, b"Jane Doe"), (80, b"John Roe")),
        *((90, b"Chur"), (92, b"Old town"), (95, b"Grisons"), (101, b"Switzerland")),
        *((55, b"20190714"), (60, b"100300+0200")),
    )
    assert told(block) == {
        "captured": ("2019-07-14T10:03:00+02:00",),
        "title": ("A name",),
        "description": ("A caption",),
        "creator": ("Jane Doe", "John Roe"),
        "place": ("Old town",),
        "city": ("Chur",),
        "region": ("Grisons",),
        "country": ("Switzerland",),
        "keywords": ("beach", "sea"),
    }


@pytest.mark.parametrize("is_utf8", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_the_bytes_tell_the_alphabet_whatever_is_announced(encoding: str, is_utf8: bool) -> None:
    assert told(iptc_block((90, "Zürich".encode(encoding)), is_utf8=is_utf8)) == {"city": ("Zürich",)}


def test_an_announced_latin_alphabet_is_believed() -> None:
    block = b"\x1c\x01\x5a\x00\x03\x1b.A" + iptc_block((90, b"Ma\xc3\xb1ana"))
    assert told(block) == {"city": ("MaÃ±ana",)}


def test_a_long_caption_has_a_longer_length() -> None:
    caption = b"word " * 10_000
    block = b"\x1c\x02\x78\x80\x04" + len(caption).to_bytes(4, "big") + caption + iptc_block((90, b"Chur"))
    assert told(block) == {"description": (caption.decode().strip(),), "city": ("Chur",)}


@pytest.mark.parametrize(
    ("day", "time", "said"),
    [
        (b"20190714", b"", "2019-07-14"),
        (b"20190700", b"", "2019-07"),
        (b"20190000", b"", "2019"),
        (b"00000000", b"", None),
        (b"20191341", b"", None),
        (b"20190714", b"996000+0200", "2019-07-14"),
        (b"20190714", b"100300", "2019-07-14T10:03:00"),
        (b"2019-07-14", b"", None),
    ],
)
def test_a_day_is_as_exact_as_it_is_written(day: bytes, time: bytes, said: str | None) -> None:
    block = iptc_block((55, day), *([(60, time)] if time else []))
    assert told(block) == ({} if said is None else {"captured": (said,)})


def test_the_block_is_found_among_photoshops_resources_over_several_segments() -> None:
    resources = photoshop_resources(iptc_block((90, b"Chur")))
    assert find_iptc(resources) == iptc_block((90, b"Chur"))
    halves = (resources[:30], resources[30:])
    more = b"".join(segment(0xED, b"Photoshop 3.0\0" + half) for half in halves)
    assert [fact.values for fact in read_embedded(jpeg(more=more), "JPEG")] == [("Chur",)]


def test_the_block_is_found_in_a_text_of_png() -> None:
    for name, block in (("iptc", photoshop_resources(iptc_block((90, b"Chur")))), ("iptc", iptc_block((90, b"Chur")))):
        text = f"\n{name}\n{len(block):8}\n{block.hex()}\n"
        facts = read_embedded(png(texts={f"Raw profile type {name}": text}), "PNG")
        assert [fact.values for fact in facts] == [("Chur",)]


@pytest.mark.parametrize(
    "block", [b"", b"\x1c", b"\x1c\x02", b"\x1c\x02\x5a\xff\xff", b"\x1c\x02\x5a\x80\x09" + b"\xff" * 9]
)
def test_a_damaged_block_says_nothing(block: bytes) -> None:
    assert read_iptc(block) == []


def test_a_value_that_is_cut_off_is_left_out() -> None:
    assert told(iptc_block((90, b"Chur"), (101, b"Switzerland"))[:-3]) == {"city": ("Chur",)}


def test_more_records_than_anybody_writes_are_left_out() -> None:
    keywords = told(iptc_block(*((25, str(number).encode()) for number in range(MAX_RECORDS + 10))))["keywords"]
    assert len(keywords) == MAX_RECORDS
