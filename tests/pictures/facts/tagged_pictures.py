"""Pictures with metadata, made block by block, for tests of what is read of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from io import BytesIO

from PIL import Image
from PIL.ExifTags import GPS, IFD, Base
from PIL.PngImagePlugin import PngInfo

SPACES = " ".join(
    f'xmlns:{prefix}="{space}"'
    for prefix, space in {
        "dc": "http://purl.org/dc/elements/1.1/",
        "xmp": "http://ns.adobe.com/xap/1.0/",
        "photoshop": "http://ns.adobe.com/photoshop/1.0/",
        "exif": "http://ns.adobe.com/exif/1.0/",
        "aux": "http://ns.adobe.com/exif/1.0/aux/",
        "tiff": "http://ns.adobe.com/tiff/1.0/",
        "lr": "http://ns.adobe.com/lightroom/1.0/",
        "digiKam": "http://www.digikam.org/ns/1.0/",
        "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
        "MP": "http://ns.microsoft.com/photo/1.2/",
        "MPRI": "http://ns.microsoft.com/photo/1.2/t/RegionInfo#",
        "MPReg": "http://ns.microsoft.com/photo/1.2/t/Region#",
        "mediapro": "http://ns.iview-multimedia.com/mediapro/1.0/",
        "acdsee": "http://ns.acdsee.com/iptc/1.0/",
        "Iptc4xmpCore": "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/",
        "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
        "mwg-rs": "http://www.metadataworkinggroup.com/schemas/regions/",
        "mwg-kw": "http://www.metadataworkinggroup.com/schemas/keywords/",
        "mwg-coll": "http://www.metadataworkinggroup.com/schemas/collections/",
        "xmpNote": "http://ns.adobe.com/xmp/note/",
    }.items()
)
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
IN_DETAILS = ("DateTimeO", "DateTimeD", "Subsec", "Offset", "User", "Lens")


def exif_block(*, gps: dict[int, object] | None = None, **tags: object) -> bytes:
    """A block of EXIF as JPEG has it, with tags by their names in Pillow."""
    exif = Image.Exif()
    exif.endian = "<"
    for name, value in tags.items():
        place = exif.get_ifd(IFD.Exif) if name.startswith(IN_DETAILS) else exif
        place[Base[name]] = value
    if gps:
        exif.get_ifd(IFD.GPSInfo).update(gps)
    return exif.tobytes()


def position(latitude: float, longitude: float, altitude: float = 0.0) -> dict[int, object]:
    """The tags of a position, as a camera writes them."""
    return {
        GPS.GPSLatitudeRef: "N" if latitude >= 0 else "S",
        GPS.GPSLatitude: (abs(latitude), 0.0, 0.0),
        GPS.GPSLongitudeRef: "E" if longitude >= 0 else "W",
        GPS.GPSLongitude: (abs(longitude), 0.0, 0.0),
        GPS.GPSAltitudeRef: b"\0" if altitude >= 0 else b"\1",
        GPS.GPSAltitude: abs(altitude),
    }


def xmp_packet(elements: str = "", **attributes: str) -> bytes:
    """A packet with elements and with attributes by "prefix__name"."""
    said = " ".join(f'{name.replace("__", ":")}="{value}"' for name, value in attributes.items())
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="" {SPACES} {said}>{elements}</rdf:Description>'
        '</rdf:RDF></x:xmpmeta>   \n  <?xpacket end="w"?>'
    ).encode()


def items(name: str, texts: Iterable[str], kind: str = "Bag") -> str:
    """A property with a list."""
    inside = "".join(f"<rdf:li>{text}</rdf:li>" for text in texts)
    return f"<{name}><rdf:{kind}>{inside}</rdf:{kind}></{name}>"


def iptc_block(*records: tuple[int, bytes], is_utf8: bool = False) -> bytes:
    """A block of IPTC: numbers of its second record and their values."""
    head = b"\x1c\x01\x5a\x00\x03\x1b%G" if is_utf8 else b""
    return head + b"".join(b"\x1c\x02" + struct.pack(">BH", number, len(value)) + value for number, value in records)


def photoshop_resources(iptc: bytes) -> bytes:
    """Photoshop's resources, IPTC as the second of them."""
    first = b"8BIM" + struct.pack(">H", 0x03ED) + b"\x05hello" + struct.pack(">L", 3) + b"abc\0"
    return first + b"8BIM" + struct.pack(">HHL", 0x0404, 0, len(iptc)) + iptc + b"\0" * (len(iptc) % 2)


def segment(marker: int, content: bytes) -> bytes:
    """A segment of JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def plain(format_name: str = "JPEG", **options: object) -> bytes:
    """A small picture."""
    out = BytesIO()
    Image.new("RGB", (16, 8), (200, 120, 40)).save(out, format_name, **options)
    return out.getvalue()


def jpeg(*, exif: bytes = b"", xmp: bytes = b"", iptc: bytes = b"", comment: bytes = b"", more: bytes = b"") -> bytes:
    """A JPEG with blocks in the segments of their kinds."""
    data = plain()
    segments = segment(0xE1, exif) if exif else b""
    segments += segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp) if xmp else b""
    segments += more
    segments += segment(0xED, b"Photoshop 3.0\0" + photoshop_resources(iptc)) if iptc else b""
    segments += segment(0xFE, comment) if comment else b""
    return data[:2] + segments + data[2:]


def png(*, exif: bytes = b"", xmp: bytes = b"", texts: dict[str, str] | None = None, pack: bool = False) -> bytes:
    """A PNG with blocks and texts in chunks."""
    info = PngInfo()
    if xmp:
        info.add_itxt("XML:com.adobe.xmp", xmp.decode())
    for keyword, text in (texts or {}).items():
        info.add_text(keyword, text, zip=pack)
    return plain("PNG", pnginfo=info, **({"exif": exif} if exif else {}))


def tiff(*, tags: dict[int, bytes] | None = None, exif: bytes = b"") -> bytes:
    """A TIFF with blocks in tags of type BYTE, or with a directory of EXIF."""
    from PIL.TiffImagePlugin import ImageFileDirectory_v2

    if exif:
        notes = Image.Exif()
        notes.load(exif)
        return plain("TIFF", exif=notes)
    directory = ImageFileDirectory_v2()
    for tag, value in (tags or {}).items():
        directory.tagtype[tag] = 1
        directory[tag] = value
    return plain("TIFF", tiffinfo=directory)


def gif(*, xmp: bytes = b"", comment: bytes = b"") -> bytes:
    """A GIF with a comment, and with XMP in the extension that Adobe describes."""
    data = plain("GIF", **({"comment": comment} if comment else {}))
    if not xmp:
        return data
    trailer = bytes([1, *range(255, -1, -1), 0])
    start = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    return data[:start] + b"!\xff\x0bXMP DataXMP" + xmp + trailer + data[start:]


def box(kind: bytes, content: bytes) -> bytes:
    """A box of ISO's; a kind of 16 bytes makes one of a program's own."""
    kind = b"uuid" + kind if len(kind) == 16 else kind
    return struct.pack(">L", 4 + len(kind) + len(content)) + kind + content


def tiff_block(*, magic: bytes = b"", gps: dict[int, object] | None = None, **tags: object) -> bytes:
    """A block of EXIF without "Exif", perhaps with a camera's own head."""
    block = exif_block(gps=gps, **tags).removeprefix(b"Exif\0\0")
    return magic + block[len(magic) :]


def lone_directory(tags: dict[int, object]) -> bytes:
    """A block of EXIF with these tags in its main directory, as CR3 keeps details and positions."""
    exif = Image.Exif()
    exif.endian = "<"
    exif.update(tags)
    return exif.tobytes().removeprefix(b"Exif\0\0")


def cr3(*, main: dict[int, object], details: dict[int, object], gps: dict[int, object], xmp: bytes = b"") -> bytes:
    """The boxes of a Canon CR3, without its picture."""
    parts = ((b"CMT1", main), (b"CMT2", details), (b"CMT4", gps))
    inner = box(b"CNCV", b"CanonCR3_001/00.09.00/00.00.00") + b"".join(
        box(it, lone_directory(tags)) for it, tags in parts
    )
    head = box(b"ftyp", b"crx \0\0\0\1crx isom")
    movie = box(b"moov", box(bytes.fromhex("85c0b687820f11e08111f4ce462b6a48"), inner))
    return head + movie + (box(bytes.fromhex("be7acfcb97a942e89c71999491e3afac"), xmp) if xmp else b"")


def raf(preview: bytes) -> bytes:
    """The head of a Fujifilm RAF and its preview."""
    head = b"FUJIFILMCCD-RAW 0201FF389501X-T3".ljust(84, b"\0")
    return (head + struct.pack(">LL", 160, len(preview))).ljust(160, b"\0") + preview


def jxl(*boxes: bytes) -> bytes:
    """The boxes of a JPEG XL, without its picture."""
    return b"\0\0\0\x0cJXL \r\n\x87\n" + box(b"ftyp", b"jxl \0\0\0\0jxl ") + b"".join(boxes)


def mrw(block: bytes) -> bytes:
    """The blocks at the beginning of a Minolta MRW."""
    inner = b"".join(
        kind + struct.pack(">L", len(content)) + content for kind, content in ((b"\0PRD", bytes(24)), (b"\0TTW", block))
    )
    return b"\0MRM" + struct.pack(">L", len(inner)) + inner


def _ciff_block(entries: list[tuple[int, bytes]]) -> bytes:
    content, table = b"", struct.pack("<H", len(entries))
    for tag, value in entries:
        table += struct.pack("<HLL", tag, len(value), len(content))
        content += value
    return content + table + struct.pack("<L", len(content))


def crw(name: bytes, seconds: int) -> bytes:
    """The directories of a Canon CRW with the camera's name and its clock."""
    camera = _ciff_block([(0x080A, name)])
    properties = _ciff_block([(0x2807, camera), (0x180E, struct.pack("<LLL", seconds, 0, 0))])
    return b"II\x1a\0\0\0HEAPCCDR\2\0\1\0".ljust(26, b"\0") + _ciff_block([(0x300A, properties)])
