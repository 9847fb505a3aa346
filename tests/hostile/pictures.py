"""Pictures that were tampered with: the bad are quarantined with a reason, the good are kept."""

from __future__ import annotations

import os
import random
import struct
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import psutil
from PIL import Image

from tests.hostile.attack import VICTIM, Outcome, Victim, colours, peak_bytes
from viewfinder.library import Library

MOST_BYTES = 1 << 30
"""What the main process may come to, whatever it is given."""

JUDGED_PIXELS = 4_000_000
"""Larger ones are left to the program: the judge below has no limits of its own."""

Encode = Callable[[Image.Image, BytesIO], None]

ENCODINGS: dict[str, Encode] = {
    "jpg": lambda image, file: image.save(file, "JPEG", quality=85),
    "progressive.jpg": lambda image, file: image.save(file, "JPEG", quality=90, progressive=True, optimize=True),
    "grey.jpg": lambda image, file: image.convert("L").save(file, "JPEG"),
    "cmyk.jpg": lambda image, file: image.convert("CMYK").save(file, "JPEG"),
    "png": lambda image, file: image.save(file, "PNG"),
    "palette.png": lambda image, file: image.quantize(16).save(file, "PNG"),
    "alpha.png": lambda image, file: image.convert("RGBA").save(file, "PNG"),
    "gif": lambda image, file: image.quantize(32).save(file, "GIF"),
    "webp": lambda image, file: image.save(file, "WEBP", quality=70),
    "lossless.webp": lambda image, file: image.save(file, "WEBP", lossless=True),
    "bmp": lambda image, file: image.save(file, "BMP"),
    "tiff": lambda image, file: image.save(file, "TIFF"),
    "lzw.tiff": lambda image, file: image.save(file, "TIFF", compression="tiff_lzw"),
}


def draw(chance: random.Random) -> Image.Image:
    """A picture like no other: a few rectangles on noise."""
    size = chance.randint(24, 96), chance.randint(24, 96)
    image = Image.effect_noise(size, 40).convert("RGB")
    for _ in range(4):
        corner = chance.randint(0, size[0] - 9), chance.randint(0, size[1] - 9)
        colour = chance.randrange(256), chance.randrange(256), chance.randrange(256)
        image.paste(colour, (*corner, corner[0] + chance.randint(1, 40), corner[1] + chance.randint(1, 40)))
    return image


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 32, 256))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    block = bytes([chance.randrange(256)]) * chance.randint(1, 200) if chance.random() < 0.5 else chance.randbytes(64)
    return data[:at] + block + data[at + len(block) :]


def _tamper_with_head(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(min(len(data), 64))
    number = chance.choice((0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF))
    size: int = 4 if number > 0xFFFF else chance.choice((1, 2, 4))
    most: int = 256**size - 1
    return data[:at] + (number & most).to_bytes(size, chance.choice(("big", "little"))) + data[at + size :]


def _splice(data: bytes, chance: random.Random) -> bytes:
    first, second = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
    return chance.choice((data[:first] + data[second:], data[:second] + data[first:], data[second:] + data[:second]))


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data) - 1)]


def _replace(data: bytes, chance: random.Random) -> bytes:
    """No picture at all, of which there is no doubt."""
    page, head = b"<!DOCTYPE html><html><body>404</body></html>", data[: chance.randint(1, 20)]
    return chance.choice(
        (b"", page, b"\0" * len(data), chance.randbytes(400), head, data[len(data) // 2 :], b"PK\3\4" + data)
    )


def bomb(width: int, height: int) -> bytes:
    """A PNG of few bytes that says it is so large."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer, packed = zlib.compressobj(9), b""
    for _ in range(min(height, 4000)):
        packed += packer.compress(b"\0" * (width + 1))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", packed + packer.flush()) + chunk(b"IEND", b"")


MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flipped": _flip,
    "overwritten": _overwrite,
    "head": _tamper_with_head,
    "spliced": _splice,
    "cut": _cut,
    "replaced": _replace,
}


def is_whole(data: bytes) -> bool | None:
    """Whether Pillow, by itself and strictly, reads a picture to its end; None where it is too large to be asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(BytesIO(data)) as image:
                if image.width * image.height > JUDGED_PIXELS:
                    return None
                image.load()
        except Exception:
            return False
    return True


def mutate_pictures(rounds: int, seed: int, home: Path, *, encoder: str = "colours") -> Outcome:
    """`rounds` tampered pictures beside an untouched one for every nine: the bad are quarantined, the good are kept."""
    outcome, chance = Outcome("mutated pictures", rounds), random.Random(seed)
    folder = home / "pictures"
    folder.mkdir()
    good, bad = set[str](), set[str]()
    kinds = Counter[str]()
    silenced = os.dup(2)  # libtiff complains to the terminal
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for number in range(rounds):
        name = chance.choice(list(ENCODINGS))
        file = BytesIO()
        ENCODINGS[name](draw(chance), file)
        if number % 9 == 0:
            good.add(_write(folder / f"{number:05}-good.{name}", file.getvalue()))
        kind = chance.choice(list(MUTATIONS))
        data = (
            bomb(chance.randint(20_000, 60_000), 20_000)
            if chance.random() < 0.001
            else MUTATIONS[kind](file.getvalue(), chance)
        )
        place = _write(folder / f"{number:05}-{kind}.{name}", data)
        whole = is_whole(data)
        kinds["whole" if whole else "damaged" if whole is not None else "huge"] += 1
        if whole is False:
            bad.add(place)
    os.dup2(silenced, 2)
    os.close(silenced)
    started = time.monotonic()
    with Victim([*VICTIM, "add", home / "library", folder, encoder]) as victim:
        peak = watch(victim, 60 + rounds)
        outcome.check(
            victim.process.returncode == 0, f"add ended with {victim.process.returncode}: {victim.complaints()[-300:]}"
        )
    outcome.figures |= {**kinds, "untouched": len(good), "seconds": round(time.monotonic() - started, 1)}
    outcome.figures["peak_mb"] = round(peak / 1e6)
    outcome.check(peak < MOST_BYTES, f"the main process came to {peak / 1e6:.0f} MB")
    library = Library.open(home / "library", create=False)
    with colours():
        kept = {file.path for row in library.store.rows() for file in row.files}
        failures = {failure.path: failure.reason for failure in library.failures()}
    files = {str(file) for file in folder.iterdir()}
    outcome.check(
        files == kept | set(failures), f"neither kept nor quarantined: {sorted(files - kept - set(failures))[:3]}"
    )
    outcome.check(not kept & set(failures), f"kept and quarantined: {sorted(kept & set(failures))[:3]}")
    outcome.check(
        good <= kept, f"good pictures are not kept: {[(it, failures.get(it)) for it in sorted(good - kept)[:3]]}"
    )
    for place in sorted(bad & kept):
        outcome.check(False, f"a damaged picture was kept: {_saved(Path(place))}")
    for place, reason in failures.items():
        outcome.check(is_reason(reason), f"no reason for people: {Path(place).name}: {reason!r}")
    outcome.figures |= {"kept": len(kept), "quarantined": len(failures), "reasons": len(set(failures.values()))}
    return outcome


def _write(place: Path, data: bytes) -> str:
    place.write_bytes(data)
    return str(place)


def _saved(place: Path) -> str:
    """The first bytes, so that it can be looked at when the folder is gone."""
    data = place.read_bytes()
    return f"{place.name} ({len(data)} bytes, {zlib.crc32(data):08x})"


def is_reason(reason: str) -> bool:
    return bool(reason.strip()) and "\n" not in reason and len(reason) < 300 and "Traceback" not in reason


def watch(victim: Victim, limit_s: float) -> int:
    """Waits for its end, which comes at the latest when it takes too long or twice too much; the most memory it had."""
    assert victim.process.stdout is not None
    os.set_blocking(victim.process.stdout.fileno(), False)
    until, peak = time.monotonic() + limit_s, 0
    while victim.process.poll() is None:
        with suppress(OSError, StopIteration, psutil.Error):
            peak = max(peak, peak_bytes(victim.process.pid))
        while victim.process.stdout.read(65_536):
            pass
        if time.monotonic() > until or peak > 2 * MOST_BYTES:
            victim.process.kill()
        time.sleep(0.02)
    return peak
