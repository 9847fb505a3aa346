"""XMP: a packet of RDF in a file or beside it, in which programs keep titles, keywords, people, places and ratings.

Read without a schema: whatever is a property becomes a text, a list or a structure (`Node`), as XMP's three kinds are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

from viewfinder.pictures.facts.captions import COMMENT, HEADLINE, settle_captions
from viewfinder.pictures.facts.dates import read_date
from viewfinder.pictures.facts.exif import (
    name_camera,
    name_lens,
    read_percent,
    read_stars,
    tell_position,
)
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.words import keep_names, keep_words, split_keywords

MAX_PACKET_BYTES = 4_000_000
"""Bytes of a packet, without pictures in it; a longer one is not read."""

MAX_ELEMENTS = 50_000
"""Elements of a packet; one with more is not read."""

EXTENDED = "xmpNote:HasExtendedXMP"
"""The property of a packet in JPEG that names the segments with the rest of it."""

MAX_DEPTH = 40
"""Levels of a packet; one with more is not read."""

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NAMES_OF_SPACES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://ns.adobe.com/xap/1.0/": "xmp",
    "http://ns.adobe.com/photoshop/1.0/": "photoshop",
    "http://ns.adobe.com/exif/1.0/": "exif",
    "http://ns.adobe.com/exif/1.0/aux/": "aux",
    "http://cipa.jp/exif/1.0/": "exifEX",
    "http://cipa.jp/exif/2.32/": "exifEX",
    "http://ns.adobe.com/tiff/1.0/": "tiff",
    "http://ns.adobe.com/lightroom/1.0/": "lr",
    "http://www.digikam.org/ns/1.0/": "digiKam",
    "http://ns.microsoft.com/photo/1.0": "MicrosoftPhoto",
    "http://ns.microsoft.com/photo/1.0/": "MicrosoftPhoto",
    "http://ns.microsoft.com/photo/1.2/": "MP",
    "http://ns.microsoft.com/photo/1.2/t/RegionInfo#": "MPRI",
    "http://ns.microsoft.com/photo/1.2/t/Region#": "MPReg",
    "http://ns.microsoft.com/expressionmedia/1.0/": "expressionmedia",
    "http://ns.iview-multimedia.com/mediapro/1.0/": "mediapro",
    "http://ns.acdsee.com/iptc/1.0/": "acdsee",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/": "Iptc4xmpCore",
    "http://iptc.org/std/Iptc4xmpExt/2008-02-29/": "Iptc4xmpExt",
    "http://www.metadataworkinggroup.com/schemas/regions/": "mwg-rs",
    "http://www.metadataworkinggroup.com/schemas/keywords/": "mwg-kw",
    "http://www.metadataworkinggroup.com/schemas/collections/": "mwg-coll",
    "http://ns.adobe.com/xmp/note/": "xmpNote",
}
"""Namespaces by which what is read is found, whatever prefix a packet gives them; properties of others are left out."""

_LONG_DATA = re.compile(rb"[A-Za-z0-9+/=]{20000,}")  # pictures within a packet, in base64
_OPENING = re.compile(r"<(?P<prefix>[\w.-]+:)?(?P<tag>xmpmeta|xapmeta|RDF)[\s>]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BAD_REFERENCES = re.compile(r"&#(?:x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2\d|3[01]));")
_CATEGORY = re.compile(r"<Category[^>]*>([^<>]+)")
_COORDINATE = re.compile(
    r"([+-]?\d+(?:\.\d+)?)(?:[,\s°]+(\d+(?:\.\d+)?))?(?:[,\s'′]+(\d+(?:\.\d+)?))?[\s\"″]*([NSEWnsew])?"
)

Node = str | list["Node"] | dict[str, "Node"]
"""A value of XMP: a text, a list, or a structure by "prefix:name"."""

Properties = dict[str, Node]


class TooMuch(ValueError):
    """A packet with more elements or levels than any program writes."""


class _BoundedBuilder(TreeBuilder):
    """Builds the tree of a packet, and gives up at `MAX_ELEMENTS` and `MAX_DEPTH`."""

    def __init__(self) -> None:
        super().__init__()
        self._count = self._depth = 0

    def start(self, tag: str, attrs: dict[Any, Any], /) -> Element:
        self._count, self._depth = self._count + 1, self._depth + 1
        if self._count > MAX_ELEMENTS or self._depth > MAX_DEPTH:
            raise TooMuch
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)


def read_xmp(packet: bytes, source_prefix: str) -> list[Fact]:
    """What a packet says, the most trusted first; nothing for one that is damaged.

    `source_prefix` begins each source: "XMP", or the name of the file beside the picture.
    """
    return settle_captions(list_xmp_facts(parse_packet(packet), source_prefix))


def parse_packet(packet: bytes) -> Properties:
    """The properties of a packet by "prefix:name"; none for one that is damaged or too large."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import XMLParser

    if len(packet) > MAX_PACKET_BYTES:
        packet = _LONG_DATA.sub(b"", packet)
    text = _CONTROLS.sub("", _decode_packet(packet[:MAX_PACKET_BYTES]))
    text = _BAD_REFERENCES.sub("", text) if "&#" in text else text
    parser = XMLParser(target=_BoundedBuilder())
    try:
        parser.feed(_cut_packet(text).encode())
        root = parser.close()
    except (SyntaxError, ValueError, DefusedXmlException, RecursionError, LookupError):
        return {}
    properties: Properties = {}
    for rdf in [root] if root.tag == f"{_RDF}RDF" else root.iter(f"{_RDF}RDF"):
        for description in rdf:
            _take_structure(description, properties)
    return properties


def _decode_packet(packet: bytes) -> str:
    """The text of a packet, which says its alphabet by its zero bytes; bytes of another one become marks."""
    start = packet[:4]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start:
        encoding = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}.get(start[:2]) or (
            "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        )
        return packet.decode(encoding, errors="replace")
    try:
        return packet.decode("utf-8")
    except UnicodeDecodeError:
        return packet.decode(
            "cp1252" if b"\xef\xbf\xbd" not in packet and not _has_utf8(packet) else "utf-8", "replace"
        )


def _has_utf8(packet: bytes) -> bool:
    return re.search(rb"[\xc3-\xf4][\x80-\xbf]", packet) is not None


def _cut_packet(text: str) -> str:
    """The XML alone, without what stands around it: instructions, padding, zeros."""
    found = _OPENING.search(text)
    if found is None:
        return text
    closing = f"</{found['prefix'] or ''}{found['tag']}"
    end = text.rfind(closing)
    return text[found.start() : text.find(">", end) + 1] if end >= 0 else text[found.start() :]


@lru_cache(maxsize=1000)
def _name(tag: str) -> str | None:
    """The name of a property as "prefix:name"; None for one of a namespace that is not read."""
    space, _, name = tag[1:].rpartition("}")
    prefix = _NAMES_OF_SPACES.get(space)
    return f"{prefix}:{name}" if prefix else None


def _take_structure(element: Element, into: Properties) -> None:
    """The properties of a description: its attributes, then its elements; the first of a name counts."""
    for tag, value in element.attrib.items():
        if (name := _name(tag)) is not None:
            into.setdefault(name, value)
    for child in element:
        _take_property(child, into)


def _take_property(element: Element, into: Properties) -> None:
    name = _name(element.tag)
    if name is not None and (node := _read_node(element)):
        into.setdefault(name, node)


def _read_node(element: Element) -> Node:
    """The value of a property: the items of a list, the fields of a structure, or a text."""
    children = list(element)
    if not children and not element.attrib:
        return (element.text or "").strip()
    if element.get(f"{_RDF}parseType") == "Resource":
        return _read_structure([element])
    if children and children[0].tag in (f"{_RDF}Bag", f"{_RDF}Seq", f"{_RDF}Alt"):
        items = [item for item in children[0] if item.tag == f"{_RDF}li"]
        if children[0].tag == f"{_RDF}Alt":  # one text in several languages: the default one, then the others
            items.sort(key=lambda item: item.get(_LANGUAGE, "x-default").lower() != "x-default")
        return [node for item in items if (node := _read_node(item))]
    if children:
        return _read_structure(children)
    if text := (element.text or "").strip() or element.get(f"{_RDF}resource"):
        return text
    structure: Properties = {}
    _take_structure(element, structure)
    return structure


def _read_structure(elements: Iterable[Element]) -> Node:
    structure: Properties = {}
    for element in elements:
        if element.tag == f"{_RDF}value":  # a value with qualifiers
            return _read_node(element)
        if element.tag == f"{_RDF}Description" or element.get(f"{_RDF}parseType") == "Resource":
            value = element.find(f"{_RDF}value")
            if value is not None:
                return _read_node(value)
            _take_structure(element, structure)
        else:
            _take_property(element, structure)
    return structure


def _list_texts(node: Node | None) -> list[str]:
    """The texts of a value, however it is written: alone or in a list."""
    if isinstance(node, str):
        return [node]
    return [text for text in node if isinstance(text, str)] if isinstance(node, list) else []


def _list_structures(node: Node | None) -> list[Properties]:
    if isinstance(node, dict):
        return [node]
    return [it for it in node if isinstance(it, dict)] if isinstance(node, list) else []


def _first(properties: Properties, name: str) -> str:
    return next((text.strip() for text in _list_texts(properties.get(name)) if text.strip()), "")


_DATES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "exif:DateTimeDigitized", "xmp:CreateDate")
_SINGLE = (
    ("title", "dc:title"),
    (HEADLINE, "photoshop:Headline"),
    ("title", "acdsee:caption"),
    ("description", "dc:description"),
    ("description", "tiff:ImageDescription"),
    ("description", "acdsee:notes"),
    (COMMENT, "exif:UserComment"),
    (COMMENT, "Iptc4xmpCore:AltTextAccessibility"),
    (COMMENT, "Iptc4xmpCore:ExtDescrAccessibility"),
    ("label", "xmp:Label"),
    ("place", "Iptc4xmpCore:Location"),
    ("city", "photoshop:City"),
    ("region", "photoshop:State"),
    ("country", "photoshop:Country"),
)
_KEYWORDS = (
    ("dc:subject", "|"),
    ("lr:hierarchicalSubject", "|"),
    ("digiKam:TagsList", "/"),
    ("MicrosoftPhoto:LastKeywordXMP", "/"),
    ("mediapro:CatalogSets", "|"),
    ("expressionmedia:CatalogSets", "|"),
    ("acdsee:keywords", "|"),
    ("photoshop:SupplementalCategories", "|"),
)
"""Lists of keywords, each with what separates the levels of a hierarchy in it."""

_ROOTS_OF_PEOPLE = frozenset(
    {"People", "Personen", "Personnes", "Persone", "Personas", "Pessoas", "Personer", "Osoby", "Люди", "人物"}
)
"""What digiKam calls the tag under which it keeps persons, in its languages."""

_PLACES = (
    ("place", "Iptc4xmpExt:LocationName"),
    ("place", "Iptc4xmpExt:Sublocation"),
    ("city", "Iptc4xmpExt:City"),
    ("region", "Iptc4xmpExt:ProvinceState"),
    ("country", "Iptc4xmpExt:CountryName"),
)


def list_xmp_facts(properties: Properties, source_prefix: str) -> list[Fact]:
    """What the properties of a packet say, with comments and headlines by themselves."""
    if not properties:
        return []
    facts = [
        *_read_dates(properties),
        *_read_single(properties),
        *_read_keywords(properties),
        *_read_persons(properties),
        *_read_creators(properties),
        *_read_albums(properties),
        *_read_rating(properties),
        *_read_places(properties),
        *_read_position(properties),
        *_read_equipment(properties),
    ]
    return [Fact(fact.name, fact.values, f"{source_prefix} {fact.source}") for fact in facts if fact.values]


def _read_dates(properties: Properties) -> Iterator[Fact]:
    """When the picture was taken or made; never xmp:ModifyDate and xmp:MetadataDate, which are edits.

    xmp:CreateDate comes last: of a photograph it is the moment of digitizing, of a montage that of the montage.
    """
    for name in _DATES:
        if said := read_date(_first(properties, name)):
            yield Fact("captured", (said,), name)


def _read_single(properties: Properties) -> Iterator[Fact]:
    for name, source in _SINGLE:
        if source in properties:
            yield Fact(name, keep_words(_list_texts(properties[source])[:1]), source)


def _read_keywords(properties: Properties) -> Iterator[Fact]:
    for name, separators in _KEYWORDS:
        if name in properties:
            yield Fact("keywords", split_keywords(_list_texts(properties[name]), separators), name)
    if "acdsee:categories" in properties:
        categories = _CATEGORY.findall(_first(properties, "acdsee:categories")[:20_000])
        yield Fact("keywords", split_keywords(categories), "acdsee:categories")
    if "mwg-kw:Keywords" in properties:
        keywords = _list_structures(properties["mwg-kw:Keywords"])
        yield Fact("keywords", split_keywords(_walk_keywords(keywords)), "mwg-kw:Keywords")


def _walk_keywords(structures: Iterable[Properties]) -> Iterator[str]:
    """The keywords of a hierarchy that is written as structures in one another (`MAX_DEPTH` bounds it)."""
    for structure in structures:
        yield from _list_texts(structure.get("mwg-kw:Keyword"))
        for name in ("mwg-kw:Hierarchy", "mwg-kw:Children"):
            yield from _walk_keywords(_list_structures(structure.get(name)))


def _read_persons(properties: Properties) -> Iterator[Fact]:
    for name in ("Iptc4xmpExt:PersonInImage", "mediapro:People", "expressionmedia:People"):
        yield Fact("persons", keep_names(_list_texts(properties.get(name))), name)
    detailed = _list_structures(properties.get("Iptc4xmpExt:PersonInImageWDetails"))
    names = [name for person in detailed for name in _list_texts(person.get("Iptc4xmpExt:PersonName"))[:1]]
    yield Fact("persons", keep_words(names), "Iptc4xmpExt:PersonInImageWDetails")
    regions = [
        region
        for info in _list_structures(properties.get("mwg-rs:Regions"))
        for region in _list_structures(info.get("mwg-rs:RegionList"))
        if _first(region, "mwg-rs:Type").lower() in ("face", "")  # there are pets, foci and bar codes too
    ]
    yield Fact("persons", keep_words(_first(region, "mwg-rs:Name") for region in regions), "mwg-rs:RegionList")
    tags = [text.split("/") for text in _list_texts(properties.get("digiKam:TagsList"))]
    names = [levels[-1] for levels in tags if len(levels) > 1 and levels[0] in _ROOTS_OF_PEOPLE]
    yield Fact("persons", keep_names(names), "digiKam:TagsList")
    names = [
        _first(region, "MPReg:PersonDisplayName")
        for info in _list_structures(properties.get("MP:RegionInfo"))
        for region in _list_structures(info.get("MPRI:Regions"))
    ]
    yield Fact("persons", keep_words(names), "MP:RegionInfo")


def _read_creators(properties: Properties) -> Iterator[Fact]:
    for name in ("dc:creator", "tiff:Artist"):
        yield Fact("creator", keep_names(_list_texts(properties.get(name))), name)


def _read_albums(properties: Properties) -> Iterator[Fact]:
    collections = _list_structures(properties.get("mwg-coll:Collections"))
    names = [_first(collection, "mwg-coll:CollectionName") for collection in collections]
    yield Fact("album", keep_words(names), "mwg-coll:Collections")


def _read_rating(properties: Properties) -> Iterator[Fact]:
    for name, read in (
        ("xmp:Rating", read_stars),
        ("MicrosoftPhoto:Rating", read_percent),
        ("acdsee:rating", read_stars),
    ):
        if (stars := read(_first(properties, name))) is not None:
            yield Fact("rating", (stars,), name)


def _read_places(properties: Properties) -> Iterator[Fact]:
    """The place that is shown, then that of the camera; of several, the first."""
    for source in ("Iptc4xmpExt:LocationShown", "Iptc4xmpExt:LocationCreated"):
        for location in _list_structures(properties.get(source))[:1]:
            for name, field in _PLACES:
                yield Fact(name, keep_words(_list_texts(location.get(field))[:1]), source)


def _read_position(properties: Properties) -> Iterator[Fact]:
    latitude = read_coordinate(_first(properties, "exif:GPSLatitude"), "NS")
    longitude = read_coordinate(_first(properties, "exif:GPSLongitude"), "EW")
    metres = _read_ratio(_first(properties, "exif:GPSAltitude"))
    if metres is not None and _first(properties, "exif:GPSAltitudeRef") in ("1", "3"):
        metres = -metres
    yield from tell_position(latitude, longitude, metres, "exif:GPS")


def read_coordinate(text: str, letters: str) -> float | None:
    """A coordinate of XMP in degrees; without a letter its sign counts.

    >>> read_coordinate("52,31.2N", "NS"), read_coordinate("13,24,36W", "EW"), read_coordinate("N/A", "NS")
    (52.52, -13.41, None)
    """
    found = _COORDINATE.fullmatch(text) if len(text) <= 64 else None
    letter = (found[4] or letters[0]).upper() if found else ""
    if found is None or letter not in letters:
        return None
    degrees = float(found[1]) + float(found[2] or 0) / 60 + float(found[3] or 0) / 3600
    return round(-degrees if letter == letters[1] else degrees, 9)


def _read_ratio(text: str) -> float | None:
    """A number, or a fraction as XMP writes it: "350/10"."""
    above, _, below = text.partition("/")
    try:
        return float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _read_equipment(properties: Properties) -> Iterator[Fact]:
    if camera := name_camera(_first(properties, "tiff:Make"), _first(properties, "tiff:Model")):
        yield Fact("camera", (camera,), "tiff:Make, tiff:Model")
    for name in ("exifEX:LensModel", "aux:Lens"):
        if lens := name_lens(_first(properties, name)):
            yield Fact("lens", (lens,), name)
