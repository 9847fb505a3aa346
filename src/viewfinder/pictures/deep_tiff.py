"""TIFF pages of more than 8 bits a sample: 10 to 16, 32, 64, floating point; grey, RGB, CMYK, Lab, each with alpha.

Pillow takes the upper 8 of 16 bits of some of these, takes none of others, and forgets which end of grey is white. It
does uncompress all of them: `_uncompress` hands it the strips as if they were bytes of a grey picture. What they mean
is read here, from TIFF 6.0, its supplements 1 (predictors) and 3 (floating point), and the tag descriptions of libtiff.

What becomes white, since few writers say it:

- whole numbers: SMaxSampleValue if the file has it; else the highest value that the depth can hold, which is that of
  the tag, or less where 16 bits are filled only in part: the lowest of 8, 10, 12, 14 bits that holds all values. A
  sensor's 12 bits stored in 16 are then as bright as they were seen, not a sixteenth of it.
- floating point, signed numbers, 32 and 64 bits: the brightest value of the page; zero and below are black.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from viewfinder.pictures.tiff_tags import Directory, UnreadableTiff, iterate_directories, read_orientation

_Samples = NDArray[Any]

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC, _FILL_ORDER = 256, 257, 258, 259, 262, 266
_STRIPS, _SAMPLES, _ROWS_PER_STRIP, _STRIP_LENGTHS, _PLANES, _PREDICTOR = 273, 277, 278, 279, 284, 317
_TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_LENGTHS, _EXTRA, _FORMAT = 322, 323, 324, 325, 338, 339
_SMAX, _PROFILE = 341, 34675

_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _CMYK, _CIE_LAB, _ICC_LAB = 0, 1, 2, 5, 8, 9
_CHANNELS = {_WHITE_IS_ZERO: 1, _BLACK_IS_ZERO: 1, _RGB: 3, _CMYK: 4, _CIE_LAB: 3, _ICC_LAB: 3}
_MODES = {_WHITE_IS_ZERO: "L", _BLACK_IS_ZERO: "L", _RGB: "RGB", _CMYK: "CMYK", _CIE_LAB: "LAB", _ICC_LAB: "LAB"}

# none, LZW, Adobe's and the old Deflate, PackBits, LZMA, Zstandard: what gives back bytes, not pixels
_BYTE_COMPRESSIONS = frozenset({1, 5, 8, 32946, 32773, 34925, 50000})
_UNSIGNED, _SIGNED, _FLOAT = 1, 2, 3
_NUMBERS = {
    **{(_UNSIGNED, bits): f"u{bits // 8}" for bits in (16, 32, 64)},
    **{(_SIGNED, bits): f"i{bits // 8}" for bits in (16, 32, 64)},
    **{(_FLOAT, bits): f"f{bits // 8}" for bits in (16, 32, 64)},
}
_PACKED = (10, 12, 14)  # bits that do not begin on bytes

_MAX_SIDE = 1_000_000
_MAX_CHANNELS = 16


@dataclass(frozen=True)
class DeepTiff:
    """The first page of a TIFF file; width and height are those of the stored pixels."""

    width: int
    height: int
    orientation: int
    _page: _Page

    def read(self) -> Image.Image:
        """The page in mode L, LA, RGB, RGBA, CMYK or LAB, as stored: not turned. Raises what Pillow raises."""
        image = _make_image(self._page, _read_samples(self._page))
        if (profile := self._page.directory.tags.get(_PROFILE)) is not None:
            image.info["icc_profile"] = bytes(profile.value)
        return image


@dataclass(frozen=True)
class _Page:
    data: memoryview
    directory: Directory
    width: int
    height: int
    bits: int
    channels: int
    kind: int
    photometric: int

    @property
    def tile(self) -> tuple[int, int] | None:
        """Width and height of tiles; None where the page is in strips."""
        if _TILES not in self.directory.tags:
            return None
        return self.directory.read_integer(_TILE_WIDTH), self.directory.read_integer(_TILE_HEIGHT)

    @property
    def is_planar(self) -> bool:
        """Whether each channel lies by itself."""
        return self.channels > 1 and self.directory.read_integer(_PLANES, 1) == 2


def open_deep_tiff(data: bytes) -> DeepTiff | None:
    """The first page if it is a deep one that is read here; None: it is Pillow's, or nobody's."""
    try:
        directory = next(iterate_directories(data), None)
    except UnreadableTiff:
        return None
    if directory is None:
        return None
    bits = set(directory.read_integers(_BITS, most=_MAX_CHANNELS).tolist())
    kinds = set(directory.read_integers(_FORMAT, most=_MAX_CHANNELS).tolist()) or {_UNSIGNED}
    if len(bits) != 1 or len(kinds) != 1:
        return None
    page = _Page(
        memoryview(data),
        directory,
        width=directory.read_integer(_WIDTH),
        height=directory.read_integer(_HEIGHT),
        bits=bits.pop(),
        channels=directory.read_integer(_SAMPLES, 1),
        kind=kinds.pop(),
        photometric=directory.read_integer(_PHOTOMETRIC, -1),
    )
    return DeepTiff(page.width, page.height, read_orientation(directory), page) if _is_readable(page) else None


def _is_readable(page: _Page) -> bool:
    is_lab = page.photometric in (_CIE_LAB, _ICC_LAB)
    is_depth_known = (page.kind, page.bits) in _NUMBERS or (page.kind == _UNSIGNED and page.bits in _PACKED)
    predictor = page.directory.read_integer(_PREDICTOR, 1)
    return (
        is_depth_known
        and 0 < page.width <= _MAX_SIDE
        and 0 < page.height <= _MAX_SIDE
        and (not is_lab or (page.bits == 16 and page.kind in (_UNSIGNED, _SIGNED)))
        and _CHANNELS.get(page.photometric, _MAX_CHANNELS) <= page.channels <= _MAX_CHANNELS
        and page.directory.read_integer(_COMPRESSION, 1) in _BYTE_COMPRESSIONS
        and (predictor == 1 or (predictor == 2 and page.bits % 16 == 0) or (predictor == 3 and page.kind == _FLOAT))
        and (page.tile is None or all(side > 0 and side % 16 == 0 for side in page.tile))
    )


# From the file to numbers


def _read_samples(page: _Page) -> _Samples:
    """The numbers of a page, (height, width, channels)."""
    if not page.is_planar:
        return _read_plane(page, 0, page.channels)
    needed = _CHANNELS[page.photometric] + _has_alpha(page)
    return np.concatenate([_read_plane(page, plane, 1) for plane in range(needed)], axis=2)


def _read_plane(page: _Page, plane: int, channels: int) -> _Samples:
    bytes_hw = _uncompress(page, plane, channels)
    if page.bits in _PACKED:
        return _unpack_bits(bytes_hw, page, channels)
    predictor = page.directory.read_integer(_PREDICTOR, 1)
    number = np.dtype(page.directory.order + _NUMBERS[page.kind, page.bits])
    step = page.width if page.tile is None else page.tile[0]
    if predictor == 1:
        samples_hw = bytes_hw.view(number)
    else:
        undo = _undo_differences if predictor == 2 else _undo_float_differences
        width = step * channels * number.itemsize  # each tile begins anew
        parts = [undo(bytes_hw[:, at : at + width], number, channels) for at in range(0, bytes_hw.shape[1], width)]
        samples_hw = np.concatenate(parts, axis=1)
    samples_hwc = samples_hw.reshape(page.height, -1, channels)[:, : page.width]
    return samples_hwc.astype(number.newbyteorder("="), copy=False)


def _undo_differences(bytes_hw: NDArray[np.uint8], number: np.dtype[Any], channels: int) -> _Samples:
    """Predictor 2: each number is the difference to the one before it, of the same channel."""
    unsigned = np.dtype(f"{number.byteorder}u{number.itemsize}")
    differences_hwc = np.ascontiguousarray(bytes_hw).view(unsigned).reshape(len(bytes_hw), -1, channels)
    native = unsigned.newbyteorder("=")
    sums_hwc = np.cumsum(differences_hwc.astype(native, copy=False), axis=1, dtype=native)
    return sums_hwc.reshape(len(bytes_hw), -1).view(number.newbyteorder("="))


def _undo_float_differences(bytes_hw: NDArray[np.uint8], number: np.dtype[Any], channels: int) -> _Samples:
    """Predictor 3: the highest bytes of a row, then the next ones, and of all these the differences."""
    height, width = bytes_hw.shape
    sums_hw = np.cumsum(bytes_hw.reshape(height, -1, channels), axis=1, dtype=np.uint8).reshape(height, width)
    highest_first = sums_hw.reshape(height, number.itemsize, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(highest_first).view(number.newbyteorder(">"))[:, :, 0]


def _unpack_bits(bytes_hw: NDArray[np.uint8], page: _Page, channels: int) -> _Samples:
    """Numbers of 10, 12, 14 bits, the highest bit first; each row begins on a byte."""
    step = page.width if page.tile is None else page.tile[0]
    weights = (1 << np.arange(page.bits - 1, -1, -1)).astype(np.uint16)
    rows = []
    for row in bytes_hw:  # bits as bytes take eight times the memory: one row at a time
        bits = np.unpackbits(row)
        whole = bits[: len(bits) // page.bits * page.bits] if page.tile is None else bits
        rows.append((whole.reshape(-1, page.bits) * weights).sum(axis=1, dtype=np.uint16))
    return np.stack(rows)[:, : max(step, page.width) * channels].reshape(page.height, -1, channels)[:, : page.width]


def _uncompress(page: _Page, plane: int, channels: int) -> NDArray[np.uint8]:
    """The bytes of a page or of one of its planes: rows of them, those of tiles side by side."""
    row = -(-page.width * channels * page.bits // 8)
    tags = {_COMPRESSION: page.directory.read_integer(_COMPRESSION, 1), _HEIGHT: page.height}
    if page.directory.read_integer(_FILL_ORDER, 1) == 2:
        tags[_FILL_ORDER] = 2
    if page.tile is None:
        rows_per_strip = max(1, min(page.directory.read_integer(_ROWS_PER_STRIP, page.height), page.height))
        tags |= {_WIDTH: row, _ROWS_PER_STRIP: rows_per_strip}
        places, lengths, count = _STRIPS, _STRIP_LENGTHS, -(-page.height // rows_per_strip)
    else:
        tile_row = page.tile[0] * channels * page.bits // 8
        across, down = -(-page.width // page.tile[0]), -(-page.height // page.tile[1])
        tags |= {_WIDTH: across * tile_row, _TILE_WIDTH: tile_row, _TILE_HEIGHT: page.tile[1]}
        places, lengths, count = _TILES, _TILE_LENGTHS, across * down
    first = plane * count
    starts = page.directory.read_integers(places, most=first + count)[first:].tolist()
    sizes = page.directory.read_integers(lengths, most=first + count)[first:].tolist()
    if len(starts) != count or len(sizes) != count or min(starts) < 0 or min(sizes) < 0:
        raise ValueError("strips or tiles are missing")
    pieces = [page.data[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    if sum(map(len, pieces)) > len(page.data):
        raise ValueError("strips or tiles overlap")
    with Image.open(BytesIO(_write_grey_tiff(tags, places, lengths, pieces)), formats=("TIFF",)) as image:
        image.load()
        return np.frombuffer(image.tobytes(), np.uint8).reshape(page.height, -1)


def _write_grey_tiff(tags: dict[int, int], places: int, lengths: int, pieces: list[memoryview]) -> bytes:
    """A TIFF file of one grey page of 8 bits whose compressed data are `pieces`."""
    everything = {**tags, _BITS: 8, _PHOTOMETRIC: _BLACK_IS_ZERO, _SAMPLES: 1, places: 0, lengths: 0}
    count = len(pieces)
    after = 8 + 2 + 12 * len(everything) + 4
    sizes = [len(piece) for piece in pieces]
    starts = np.cumsum([after + 8 * count, *sizes[:-1]]).tolist()
    if count == 1:
        everything |= {places: starts[0], lengths: sizes[0]}
    else:
        everything |= {places: after, lengths: after + 4 * count}
    entries = (
        struct.pack("<HHII", number, 4, count if number in (places, lengths) else 1, value)
        for number, value in sorted(everything.items())
    )
    head = struct.pack("<2sHIH", b"II", 42, 8, len(everything)) + b"".join(entries) + bytes(4)
    return b"".join([head, struct.pack(f"<{2 * count}I", *starts, *sizes), *pieces])


# From numbers to a picture


def _make_image(page: _Page, samples_hwc: _Samples) -> Image.Image:
    channels = _CHANNELS[page.photometric]
    colour_hwc = samples_hwc[:, :, :channels]
    if page.photometric in (_CIE_LAB, _ICC_LAB):
        eight_hwc = _shrink_lab(colour_hwc, page.photometric)
    else:
        eight_hwc = _to_eight_bits(colour_hwc, page)
    if page.photometric == _WHITE_IS_ZERO:
        eight_hwc = 255 - eight_hwc
    mode = _MODES[page.photometric]
    if not _has_alpha(page) or mode in ("CMYK", "LAB"):
        bands = [Image.fromarray(np.ascontiguousarray(eight_hwc[:, :, at])) for at in range(channels)]
        return bands[0] if channels == 1 else Image.merge(mode, bands)
    alpha_hw1 = _to_eight_bits(samples_hwc[:, :, channels : channels + 1], page)
    if page.directory.read_integer(_EXTRA) == 1:  # colours are multiplied by it already
        whole_hwc = eight_hwc.astype(np.uint16) * 255 // np.maximum(alpha_hw1, 1)
        eight_hwc = np.minimum(whole_hwc, 255).astype(np.uint8)
    both_hwc = np.concatenate([eight_hwc, alpha_hw1], axis=2)
    bands = [Image.fromarray(np.ascontiguousarray(both_hwc[:, :, at])) for at in range(channels + 1)]
    return Image.merge(mode + "A", bands)


def _has_alpha(page: _Page) -> bool:
    extra = page.directory.read_integer(_EXTRA) in (1, 2)
    return extra and page.channels > _CHANNELS[page.photometric]


def _to_eight_bits(samples_hwc: _Samples, page: _Page) -> NDArray[np.uint8]:
    """The upper 8 of the bits that are in use, so that full 16 bits come out as Pillow has them."""
    if page.kind != _UNSIGNED or page.bits > 16:
        return _scale_to_brightest(samples_hwc)
    most = int(samples_hwc.max())
    declared = page.directory.read_integer(_SMAX)
    if most <= declared < (1 << page.bits) - 1:
        return (samples_hwc.astype(np.float32) * (255.0 / declared) + 0.5).astype(np.uint8)
    depths = (8, 10, 12, 14) if page.bits == 16 else ()
    depth = next((bits for bits in depths if most < 1 << bits), page.bits)
    return np.asarray(samples_hwc >> (depth - 8)).astype(np.uint8)


def _scale_to_brightest(samples_hwc: _Samples) -> NDArray[np.uint8]:
    values_hwc = np.nan_to_num(samples_hwc.astype(np.float32), posinf=0.0, neginf=0.0)
    top = float(values_hwc.max()) or 1.0
    eight_hwc: NDArray[np.uint8] = (np.clip(values_hwc / abs(top), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
    return eight_hwc


def _shrink_lab(samples_hwc: _Samples, photometric: int) -> NDArray[np.uint8]:
    """Lightness is 0 to 65535 for 0 to 100; a and b are 256ths, signed (CIE) or from 32768 on (ICC)."""
    eight_hwc = np.empty(samples_hwc.shape, np.uint8)
    whole_hwc = samples_hwc.view(np.uint16)
    eight_hwc[:, :, 0] = whole_hwc[:, :, 0] >> 8
    ab_hw2 = whole_hwc[:, :, 1:]
    signed_hw2 = ab_hw2.view(np.int16) if photometric == _CIE_LAB else ab_hw2.astype(np.int32) - 32768
    eight_hwc[:, :, 1:] = np.clip((signed_hw2.astype(np.int32) + 128 >> 8) + 128, 0, 255)
    return eight_hwc
