"""HDR pictures (PQ and HLG, as phones and cameras write them into HEIC, AVIF and PNG) as sRGB of ordinary brightness.

Pillow and libheif hand over the coded values. Taken for sRGB they are pale and dark: a white that sRGB has as 240 is
stored as 144 of 255. ITU-R BT.2100-2 says what light a value means; BT.2408-7 that white paper has 203 candela per
square metre. That white is sRGB's white here, and what is brighter is pressed together below it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from viewfinder.pictures.iso_boxes import Items, UnreadableBoxes, read_items

PQ, HLG = 16, 18
"""Transfer characteristics of ITU-T H.273 whose values are no sRGB."""

_BT709, _BT2020, _P3 = 1, 9, 12
_TO_SRGB: dict[int, NDArray[np.float64]] = {
    _BT709: np.eye(3),
    _BT2020: np.array(
        [[1.660491, -0.587641, -0.072850], [-0.124550, 1.132900, -0.008349], [-0.018151, -0.100579, 1.118730]]
    ),
    _P3: np.array([[1.224940, -0.224940, 0.0], [-0.042057, 1.042057, 0.0], [-0.019638, -0.078636, 1.098274]]),
}
_LUMINANCE = np.array([0.2627, 0.6780, 0.0593])  # of BT.2020

_WHITE = 203.0  # candela per square metre
_HLG_PEAK, _HLG_GAMMA = 1000.0, 1.2  # of the display for which BT.2100 defines HLG
_KNEE = 0.8
"""The share of white up to which light is kept as it is; what is above makes room for what is brighter than white."""


@dataclass(frozen=True)
class HdrCoding:
    """How the values of a picture are to be read, as ITU-T H.273 numbers it."""

    primaries: int
    transfer: int


def find_hdr_coding(data: bytes, announced: str, info: Mapping[Any, Any]) -> HdrCoding | None:
    """The coding of an HDR picture, from its boxes or chunks or its colour profile; None for all others.

    `info` is that of Pillow's image.
    """
    said: tuple[int, int] | None = None
    if announced in ("HEIF", "AVIF"):
        said = _read_nclx(data)
    elif announced == "PNG":
        said = _read_cicp_chunk(data)
    profile, stream = info.get("icc_profile"), info.get("nclx_profile")
    if not _is_hdr(said) and isinstance(profile, bytes):
        said = _read_cicp_tag(profile)
    if said is None and profile is None and isinstance(stream, dict):  # of the video stream within, by libheif
        said = int(stream.get("color_primaries", 0)), int(stream.get("transfer_characteristics", 0))
    return HdrCoding(*said) if said is not None and _is_hdr(said) else None


def _is_hdr(said: tuple[int, int] | None) -> bool:
    return said is not None and said[1] in (PQ, HLG)


def _read_nclx(data: bytes) -> tuple[int, int] | None:
    """Primaries and transfer of the colr box of a picture; of one made of tiles, else that of its first tile."""
    try:
        items = read_items(data)
    except UnreadableBoxes:
        return None
    tiles = next((to for kind, of, to in items.references if kind == b"dimg" and of == items.primary), ())
    return _find_nclx(items, items.primary) or (_find_nclx(items, tiles[0]) if tiles else None)


def _find_nclx(items: Items, number: int) -> tuple[int, int] | None:
    for box in items.by_number[number].properties if number in items.by_number else ():
        if box.kind == b"colr" and bytes(box.payload[:4]) == b"nclx" and len(box.payload) >= 8:
            primaries, transfer = struct.unpack_from(">HH", box.payload, 4)
            return primaries, transfer
    return None


def _read_cicp_chunk(data: bytes) -> tuple[int, int] | None:
    """The chunk cICP of a PNG; it must come before the pixels and the palette."""
    at = 8
    for _ in range(100):
        kind = data[at + 4 : at + 8]
        if len(kind) < 4 or kind == b"IDAT":
            return None
        if kind == b"cICP" and len(data) > at + 9:
            return data[at + 8], data[at + 9]
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return None


def _read_cicp_tag(profile: bytes) -> tuple[int, int] | None:
    """The tag cicp of a colour profile (ICC.1:2022)."""
    count = int.from_bytes(profile[128:132], "big")
    for at in range(132, 132 + 12 * min(count, 100), 12):
        if profile[at : at + 4] == b"cicp":
            start = int.from_bytes(profile[at + 4 : at + 8], "big")
            tag = profile[start : start + 12]
            return (tag[8], tag[9]) if len(tag) == 12 and tag[:4] == b"cicp" else None
    return None


def to_ordinary_brightness(image: Image.Image, coding: HdrCoding) -> Image.Image:
    """An HDR picture of 8 coded bits (any of Pillow's modes) in sRGB; an alpha channel stays."""
    has_alpha = image.mode in ("LA", "RGBA")
    coded_hwc = np.asarray(image.convert("RGBA" if has_alpha else "RGB"))
    light_hw3 = _read_light(coding.transfer)[coded_hwc[:, :, :3]]
    if coding.transfer == HLG:  # what the scene sent out becomes what a display sends out
        luminance_hw1 = (light_hw3 @ _LUMINANCE)[:, :, None]
        light_hw3 = light_hw3 * np.maximum(luminance_hw1, 1e-6) ** (_HLG_GAMMA - 1.0) * (_HLG_PEAK / _WHITE)
    light_hw3 = np.maximum(light_hw3 @ _TO_SRGB.get(coding.primaries, _TO_SRGB[_BT2020]).T, 0.0)
    coded_hw3 = _encode_srgb(_press_below_white(light_hw3))
    if not has_alpha:
        return Image.fromarray(coded_hw3)
    return Image.fromarray(np.concatenate([coded_hw3, coded_hwc[:, :, 3:]], axis=2))


def _press_below_white(light_hw3: NDArray[np.float64]) -> NDArray[np.float64]:
    """Light of which 1.0 is white, pressed so that the brightest is white: below the knee nothing changes.

    Reinhard's extended curve (2002) above the knee: its slope there is 1, and without anything above white it is the
    identity. All three colours of a pixel by one factor, so that a bright red stays red.
    """
    brightest_hw1 = light_hw3.max(axis=2, keepdims=True)
    top = (max(float(brightest_hw1.max()), 1.0) - _KNEE) / (1.0 - _KNEE)
    above_hw1 = np.maximum(brightest_hw1 - _KNEE, 0.0) / (1.0 - _KNEE)
    pressed_hw1 = above_hw1 * (1.0 + above_hw1 / top**2) / (1.0 + above_hw1)
    wanted_hw1 = np.minimum(brightest_hw1, _KNEE) + (1.0 - _KNEE) * pressed_hw1
    return np.asarray(np.minimum(light_hw3 * (wanted_hw1 / np.maximum(brightest_hw1, 1e-9)), 1.0))


@lru_cache(maxsize=2)
def _read_light(transfer: int) -> NDArray[np.float64]:
    """The light of each of the 256 values: PQ in shares of white, HLG in shares of the scene's brightest."""
    values = np.arange(256) / 255.0
    if transfer == PQ:
        root = values ** (1.0 / (2523 / 4096 * 128))
        return np.asarray(
            10_000.0
            / _WHITE
            * (np.maximum(root - 3424 / 4096, 0.0) / (2413 / 4096 * 32 - 2392 / 4096 * 32 * root)) ** (16384 / 2610)
        )
    a = 0.17883277
    b, c = 1.0 - 4.0 * a, 0.5 - a * np.log(4.0 * a)
    return np.asarray(np.where(values <= 0.5, values**2 / 3.0, (np.exp((values - c) / a) + b) / 12.0))


def _encode_srgb(light_hw3: NDArray[np.float64]) -> NDArray[np.uint8]:
    coded_hw3 = np.where(light_hw3 <= 0.0031308, 12.92 * light_hw3, 1.055 * light_hw3 ** (1 / 2.4) - 0.055)
    return np.asarray(coded_hw3 * 255.0 + 0.5).astype(np.uint8)
