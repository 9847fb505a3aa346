#!/bin/sh
# Pillow 13 (libavif) writes the moment of encoding into an animated AVIF, as the time when the film was made.
#
# `mvhd`, `tkhd` and `mdhd` have a creation time (seconds since 1904, ISO/IEC 14496-12), and programs that look for a
# picture's date there (exiftool's CreateDate, photo libraries) show the day of the conversion as the day of taking. And
# the same pictures encoded twice give other bytes, so that caches and duplicates by hash miss. There is no argument
# that sets it. A still AVIF has no such boxes.
#
# Whoever reads dates should not take one from `mvhd` of a file whose brand is avis.
#
# Installs a pinned package in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet pillow==13.0.0
"$place/venv/bin/python" - <<'PYTHON'
import io
import struct
import time

import PIL
from PIL import Image, features

TO_1970 = 2_082_844_800  # seconds from 1904 on


def encode(frames):
    stream = io.BytesIO()
    frames[0].save(stream, "AVIF", save_all=len(frames) > 1, append_images=frames[1:])
    return stream.getvalue()


def creation_time(data):
    at = data.find(b"mvhd")
    if at < 0:
        return None
    wide = data[at + 4] == 1
    [moment] = struct.unpack_from(">Q" if wide else ">I", data, at + 8)
    return moment - TO_1970


print("Pillow", PIL.__version__, "libavif", features.version("avif"))
frames = [Image.new("RGB", (32, 32), colour) for colour in ("red", "green", "blue")]
before = int(time.time())
first = encode(frames)
moment = creation_time(first)
print("creation time of an animation:", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment)))
assert before <= moment <= time.time()
time.sleep(2)
second = encode(frames)
print(f"the same frames two seconds later: {'the same' if first == second else 'other'} bytes")
assert first != second and creation_time(second) > moment
assert creation_time(encode(frames[:1])) is None
print("as described")
PYTHON
