"""The architectures of checkpoints, by the model type that config.json names; each defined once, as a `Family`.

`open_clip` is the layout of that package, whose own towers become a CLIP.
"""

from __future__ import annotations

from viewfinder.encoders.families.align import ALIGN
from viewfinder.encoders.families.blip import BLIP
from viewfinder.encoders.families.clip import ALTCLIP, CHINESE_CLIP, CLIP, METACLIP_2
from viewfinder.encoders.families.family import Family, TowerOutput, encode_regions, pool_regions
from viewfinder.encoders.families.siglip import SIGLIP, SIGLIP2

__all__ = ["FAMILIES", "OPEN_CLIP", "Family", "TowerOutput", "encode_regions", "pool_regions"]

OPEN_CLIP = "open_clip"

FAMILIES: dict[str, Family] = {
    "align": ALIGN,
    "altclip": ALTCLIP,
    "blip": BLIP,
    "chinese_clip": CHINESE_CLIP,
    "clip": CLIP,
    "metaclip_2": METACLIP_2,
    OPEN_CLIP: CLIP,
    "siglip": SIGLIP,
    "siglip2": SIGLIP2,
}
