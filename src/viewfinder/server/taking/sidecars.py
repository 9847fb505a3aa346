"""What is known of pictures as XMP files in a ZIP: unpacked beside the pictures, other programs read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from viewfinder.pictures.facts.model import MACHINE_NAMES

_SPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "mwg-coll": "http://www.metadataworkinggroup.com/schemas/collections/",
}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML can hold, not even as a reference."""


def write_sidecar(
    *,
    keywords: Sequence[str] = (),
    rating: int | None = None,
    title: str = "",
    description: str = "",
    persons: Sequence[str] = (),
    albums: Sequence[str] = (),
) -> bytes:
    """An XMP packet as a file of its own; whatever the texts hold, it is valid XML."""
    meta = Element("x:xmpmeta", {"xmlns:x": "adobe:ns:meta/", "x:xmptk": "Viewfinder"})
    rdf = SubElement(meta, "rdf:RDF", {f"xmlns:{prefix}": space for prefix, space in _SPACES.items()})
    told = SubElement(rdf, "rdf:Description", {"rdf:about": ""})
    if rating is not None:
        told.set("xmp:Rating", str(rating))
    for name, text in (("dc:title", title), ("dc:description", description)):
        if clean := _clean(text):
            alternative = SubElement(SubElement(told, name), "rdf:Alt")
            SubElement(alternative, "rdf:li", {"xml:lang": "x-default"}).text = clean
    for name, texts in (("dc:subject", keywords), ("Iptc4xmpExt:PersonInImage", persons)):
        if cleaned := list(dict.fromkeys(filter(None, map(_clean, texts)))):
            bag = SubElement(SubElement(told, name), "rdf:Bag")
            for text in cleaned:
                SubElement(bag, "rdf:li").text = text
    if cleaned := list(filter(None, map(_clean, albums))):
        bag = SubElement(SubElement(told, "mwg-coll:Collections"), "rdf:Bag")
        for text in cleaned:
            item = SubElement(bag, "rdf:li", {"rdf:parseType": "Resource"})
            SubElement(item, "mwg-coll:CollectionName").text = text
    written: bytes = tostring(meta, encoding="utf-8", xml_declaration=True)
    return written


def _clean(text: str) -> str:
    return _NO_XML.sub("", text).strip()


def stream_sidecars(named: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """A ZIP of files that are small, made one after another."""
    from zipstream import ZIP_DEFLATED, ZipStream

    archive = ZipStream(compress_type=ZIP_DEFLATED)
    for name, content in named:
        archive.add(content, name)
        yield from archive.all_files()
    yield from archive.finalize()


FROM_PEOPLE = frozenset({"title", "description", "keywords", "persons", "rating"}) - MACHINE_NAMES
"""Facts that go into a sidecar again."""
