"""viewfinder.pictures.facts.xmp"""

from __future__ import annotations

import pytest

from tests.pictures.facts.tagged_pictures import RDF, SPACES, items, jpeg, segment, xmp_packet
from viewfinder.pictures.facts.embedded import read_embedded
from viewfinder.pictures.facts.model import Fact, merge_facts
from viewfinder.pictures.facts.xmp import MAX_DEPTH, MAX_ELEMENTS, read_coordinate, read_xmp


def values(packet: bytes, name: str) -> tuple[str, ...]:
    return tuple(value for fact in merge_facts(read_xmp(packet, "XMP")) if fact.name == name for value in fact.values)


def test_a_title_is_taken_in_the_default_language_whatever_comes_first() -> None:
    languages = '<rdf:li xml:lang="de">Hund</rdf:li><rdf:li xml:lang="x-default">Dog</rdf:li>'
    assert values(xmp_packet(f"<dc:title><rdf:Alt>{languages}</rdf:Alt></dc:title>"), "title") == ("Dog",)
    only_german = '<rdf:li xml:lang="de">Hund</rdf:li>'
    assert values(xmp_packet(f"<dc:title><rdf:Alt>{only_german}</rdf:Alt></dc:title>"), "title") == ("Hund",)


def test_sources_name_the_property_after_what_the_caller_says() -> None:
    assert read_xmp(xmp_packet(xmp__Label="Red"), "a.jpg.xmp") == [Fact("label", ("Red",), "a.jpg.xmp xmp:Label")]


def test_each_level_of_a_hierarchy_is_a_keyword_the_innermost_first() -> None:
    packet = xmp_packet(
        items("dc:subject", ["sun"])
        + items("lr:hierarchicalSubject", ["Places|Italy|Rome"])
        + items("digiKam:TagsList", ["Food/Cake"], "Seq")
        + items("MicrosoftPhoto:LastKeywordXMP", ["Animals/Dog"])
        + items("mediapro:CatalogSets", ["Trips|2019"])
    )
    assert values(packet, "keywords") == (
        *("sun", "Rome", "Italy", "Places", "Cake", "Food", "Dog", "Animals", "2019", "Trips"),
    )


def test_keywords_written_as_structures_or_as_text_in_a_text_are_found() -> None:
    child = '<rdf:li rdf:parseType="Resource"><mwg-kw:Keyword>Rome</mwg-kw:Keyword></rdf:li>'
    parent = (
        '<rdf:li rdf:parseType="Resource"><mwg-kw:Keyword>Italy</mwg-kw:Keyword>'
        f"<mwg-kw:Children><rdf:Bag>{child}</rdf:Bag></mwg-kw:Children></rdf:li>"
    )
    hierarchy = f"<mwg-kw:Hierarchy><rdf:Bag>{parent}</rdf:Bag></mwg-kw:Hierarchy>"
    structured = f'<mwg-kw:Keywords rdf:parseType="Resource">{hierarchy}</mwg-kw:Keywords>'
    acdsee = "&lt;Categories&gt;&lt;Category Assigned=&quot;1&quot;&gt;Beach&lt;/Category&gt;&lt;/Categories&gt;"
    packet = xmp_packet(structured, acdsee__categories=acdsee)
    assert values(packet, "keywords") == ("Beach", "Italy", "Rome")


def test_a_list_in_one_text_is_taken_apart() -> None:
    assert values(xmp_packet(items("dc:subject", ["beach; sea"])), "keywords") == ("beach", "sea")
    assert values(xmp_packet(items("dc:subject", ["beach, sea, sun"])), "keywords") == ("beach", "sea", "sun")
    assert values(xmp_packet(items("dc:subject", ["Paris, Texas"])), "keywords") == ("Paris, Texas",)


def test_persons_come_from_lists_and_from_faces_but_not_from_pets() -> None:
    regions = "".join(
        f'<rdf:li><rdf:Description mwg-rs:Name="{name}" mwg-rs:Type="{kind}">'
        '<mwg-rs:Area stArea:x="0.5" xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#"/></rdf:Description></rdf:li>'
        for name, kind in (("Ben", "Face"), ("Rex", "Pet"), ("", "Face"), ("Anna", "Face"))
    )
    mwg = (
        f'<mwg-rs:Regions rdf:parseType="Resource"><mwg-rs:RegionList><rdf:Bag>{regions}</rdf:Bag>'
        "</mwg-rs:RegionList></mwg-rs:Regions>"
    )
    microsoft = (
        "<MP:RegionInfo><rdf:Description><MPRI:Regions><rdf:Bag>"
        '<rdf:li><rdf:Description MPReg:Rectangle="0.1, 0.2, 0.3, 0.4" MPReg:PersonDisplayName="Cleo"/></rdf:li>'
        "</rdf:Bag></MPRI:Regions></rdf:Description></MP:RegionInfo>"
    )
    packet = xmp_packet(items("Iptc4xmpExt:PersonInImage", ["Anna"]) + mwg + microsoft)
    assert values(packet, "persons") == ("Anna", "Ben", "Cleo")


def test_who_is_tagged_as_a_person_in_digikam_is_one() -> None:
    packet = xmp_packet(items("digiKam:TagsList", ["People/Family/Anna", "Food/Cake", "People"], "Seq"))
    assert values(packet, "persons") == ("Anna",)
    assert values(packet, "keywords") == ("Anna", "Family", "People", "Cake", "Food")


@pytest.mark.parametrize(
    ("attributes", "stars"),
    [
        ({"xmp__Rating": "4"}, ("4",)),
        ({"xmp__Rating": "-1"}, ("-1",)),
        ({"xmp__Rating": "0"}, ("0",)),
        ({"xmp__Rating": "3.0"}, ("3",)),
        ({"xmp__Rating": "99"}, ()),
        ({"xmp__Rating": "four"}, ()),
        ({"MicrosoftPhoto__Rating": "75"}, ("4",)),
        ({"MicrosoftPhoto__Rating": "99"}, ("5",)),
        ({"MicrosoftPhoto__Rating": "1"}, ("1",)),
        ({"xmp__Rating": "2", "MicrosoftPhoto__Rating": "99"}, ("2",)),
    ],
)
def test_stars_are_those_of_people_or_of_windows(attributes: dict[str, str], stars: tuple[str, ...]) -> None:
    assert values(xmp_packet(**attributes), "rating") == stars


def test_the_place_shown_stands_in_where_the_plain_fields_are_empty() -> None:
    shown = (
        '<Iptc4xmpExt:LocationShown><rdf:Bag><rdf:li rdf:parseType="Resource"><Iptc4xmpExt:City>Chur</Iptc4xmpExt:City>'
        "<Iptc4xmpExt:CountryName>Schweiz</Iptc4xmpExt:CountryName></rdf:li></rdf:Bag></Iptc4xmpExt:LocationShown>"
    )
    packet = xmp_packet(shown, photoshop__Country="Switzerland", Iptc4xmpCore__Location="Old town")
    assert [values(packet, name) for name in ("place", "city", "country")] == [
        ("Old town",),
        ("Chur",),
        ("Switzerland",),
    ]


def test_coordinates_are_read_in_every_form_and_only_in_pairs() -> None:
    packet = xmp_packet(exif__GPSLatitude="33,51.408S", exif__GPSLongitude="70,38,54W", exif__GPSAltitude="5705/10")
    assert values(packet, "latitude") + values(packet, "longitude") == ("-33.8568", "-70.648333")
    assert values(packet, "altitude") == ("570.5",)
    assert values(xmp_packet(exif__GPSLatitude="33,51.408S"), "latitude") == ()
    assert values(xmp_packet(exif__GPSLatitude="0,0N", exif__GPSLongitude="0,0E"), "latitude") == ()
    assert values(xmp_packet(exif__GPSLatitude="91,0N", exif__GPSLongitude="8,0E"), "latitude") == ()


@pytest.mark.parametrize(
    ("text", "letters", "degrees"),
    [("52.52", "NS", 52.52), ("-9.53", "EW", -9.53), ("9,31.8E", "NS", None), ("", "NS", None), ("north", "NS", None)],
)
def test_a_coordinate_is_read_or_none(text: str, letters: str, degrees: float | None) -> None:
    assert read_coordinate(text, letters) == degrees


def test_a_camera_and_its_lens_are_named_by_xmp_where_exif_is_gone() -> None:
    packet = xmp_packet(tiff__Make="NIKON CORPORATION", tiff__Model="NIKON D90", aux__Lens="50mm f/1.8")
    assert values(packet, "camera") + values(packet, "lens") == ("NIKON CORPORATION NIKON D90", "50mm f/1.8")
    assert values(xmp_packet(aux__Lens="0.0 mm f/0.0"), "lens") == ()


def test_albums_creators_headlines_and_alternative_texts_are_read() -> None:
    albums = (
        '<mwg-coll:Collections><rdf:Bag><rdf:li mwg-coll:CollectionName="Summer" mwg-coll:CollectionURI="x"/>'
        "</rdf:Bag></mwg-coll:Collections>"
    )
    alt = '<Iptc4xmpCore:AltTextAccessibility><rdf:Alt><rdf:li xml:lang="en">A dog in the snow</rdf:li></rdf:Alt>'
    packet = xmp_packet(
        albums + items("dc:creator", ["Jane Doe", "John Roe"], "Seq") + alt + "</Iptc4xmpCore:AltTextAccessibility>",
        photoshop__Headline="Snow at last",
    )
    assert values(packet, "album") == ("Summer",)
    assert values(packet, "creator") == ("Jane Doe", "John Roe")
    assert values(packet, "title") == ("Snow at last",)
    assert values(packet, "description") == ("A dog in the snow",)


def test_what_windows_writes_twice_is_a_title_and_what_it_calls_comments_the_description() -> None:
    text = '<rdf:Alt><rdf:li xml:lang="x-default">{}</rdf:li></rdf:Alt>'
    packet = xmp_packet(
        f"<dc:title>{text.format('Oslo')}</dc:title><dc:description>{text.format('Oslo')}</dc:description>"
        f"<exif:UserComment>{text.format('Rain all day')}</exif:UserComment>"
    )
    facts = read_xmp(packet, "XMP")
    assert facts[0] == Fact("title", ("Oslo",), "XMP dc:title")
    assert facts[1:] == [Fact("description", ("Rain all day",), "XMP exif:UserComment")]


def test_a_long_caption_goes_on_in_further_segments() -> None:
    caption = "word " * 20_000 + "end"
    text = f"<dc:description><rdf:Alt><rdf:li>{caption}</rdf:li></rdf:Alt></dc:description>"
    rest, guid = xmp_packet(text), b"0123456789ABCDEF" * 2
    head = b"http://ns.adobe.com/xmp/extension/\0" + guid + len(rest).to_bytes(4, "big")
    pieces = [
        segment(0xE1, head + offset.to_bytes(4, "big") + rest[offset : offset + 60_000])
        for offset in range(0, len(rest), 60_000)
    ]
    main = xmp_packet(xmp__Label="Red", xmpNote__HasExtendedXMP=guid.decode())
    told = {fact.name: fact.values[0] for fact in read_embedded(jpeg(xmp=main, more=b"".join(pieces)), "JPEG")}
    assert told == {"label": "Red", "description": caption}
    foreign = jpeg(xmp=xmp_packet(xmp__Label="Red", xmpNote__HasExtendedXMP="F" * 32), more=b"".join(pieces))
    assert [fact.name for fact in read_embedded(foreign, "JPEG")] == ["label"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_packet_is_read_in_every_alphabet(encoding: str) -> None:
    packet = xmp_packet(items("dc:subject", ["Zürich", "海"])).decode()
    if encoding != "utf-8":
        packet = packet[packet.index("<x:xmpmeta") :]
    assert values(packet.encode(encoding), "keywords") == ("Zürich", "海")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda packet: packet + b"\0" * 500,
        lambda packet: b"\xef\xbb\xbf\n" + packet,
        lambda packet: packet.replace(b"beach", b"beach\x0b"),
        lambda packet: packet.replace(b"beach", b"beach&#x0;"),
        lambda packet: packet.replace(b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>', b""),
        lambda packet: packet[packet.index(b"<rdf:RDF") : packet.index(b"</x:xmpmeta>")],
        lambda packet: packet.replace(b"rdf:", b"r:").replace(b"xmlns:rdf", b"xmlns:r"),
    ],
)
def test_padding_and_oddities_of_programs_do_not_matter(spoil: object) -> None:
    packet = xmp_packet(items("dc:subject", ["beach"]))
    assert values(spoil(packet), "keywords") == ("beach",)  # type: ignore[operator]


def test_latin_letters_of_an_old_program_are_read() -> None:
    packet = xmp_packet(items("dc:subject", ["Zürich"])).replace("ü".encode(), b"\xfc").replace(b"\xef\xbb\xbf", b"")
    assert values(packet, "keywords") == ("Zürich",)


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"no xml at all",
        b"<x:xmpmeta",
        xmp_packet(xmp__Label="Red")[:-120],
        b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + xmp_packet("<dc:title>&b;</dc:title>"),
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + xmp_packet("<dc:title>&a;</dc:title>"),
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description {SPACES} xmp:Label="Red">'.encode()
        + b"<dc:subject>" * MAX_DEPTH
        + b"</dc:subject>" * MAX_DEPTH
        + b"</rdf:Description></rdf:RDF>",
        xmp_packet("<dc:title/>" * MAX_ELEMENTS, xmp__Label="Red"),
    ],
    ids=["empty", "text", "cut off", "cut off later", "entities", "outside entities", "deep", "many"],
)
def test_a_damaged_or_hostile_packet_says_nothing(packet: bytes) -> None:
    assert read_xmp(packet, "XMP") == []


def test_pictures_within_a_packet_do_not_keep_its_words_from_being_read() -> None:
    packet = xmp_packet(f"<dc:format>{'QUJD' * 1_500_000}</dc:format>", xmp__Label="Red")
    assert values(packet, "label") == ("Red",)
