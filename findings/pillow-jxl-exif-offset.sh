#!/bin/sh
# pillow-jxl-plugin 1.3.8 writes the box `Exif` of JPEG XL without the four bytes of offset that the format asks for.
#
# ISO/IEC 18181-2 begins the content of that box with four bytes, big endian: how far after them the TIFF header lies, 0
# as a rule. The plugin begins with the header itself. A reader by the standard takes its "MM\0*" for the offset
# 1296891946, far beyond the end of the box, and finds no EXIF: no date, no camera, no position. The plugin reads what
# it wrote, so a round trip through Pillow shows nothing.
#
# A reader that wants to be safe looks for "II*\0" or "MM\0*" at the place that the offset names, then at the beginning
# of the box.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet pillow==13.0.0 pillow-jxl-plugin==1.3.8
"$place/venv/bin/python" - <<'PYTHON'
import io
import struct
from importlib.metadata import version

import pillow_jxl  # registers itself
from PIL import Image
from PIL.ExifTags import Base


def list_boxes(data):
    start = 0
    while start < len(data):
        size, kind = struct.unpack(">I4s", data[start : start + 8])
        yield kind, data[start + 8 : start + size if size else len(data)]
        start = start + size if size else len(data)


print("pillow", version("pillow"), "pillow-jxl-plugin", version("pillow-jxl-plugin"))
exif = Image.Exif()
exif[Base.Make] = "Canon"
stream = io.BytesIO()
Image.new("RGB", (16, 16), "red").save(stream, "JXL", exif=exif.tobytes())
[box] = [content for kind, content in list_boxes(stream.getvalue()) if kind == b"Exif"]
offset = int.from_bytes(box[:4], "big")
print(f"the box Exif has {len(box)} bytes and begins with {box[:12]!r}; as an offset: {offset}")
assert box[:4] != bytes(4) and 4 + offset >= len(box)
header = box.find(b"MM\0*")
print(f"the TIFF header lies at byte {header} of the box")
assert header == 0
print("as described")
PYTHON
