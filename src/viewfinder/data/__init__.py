"""Readers of the published data formats; `viewfinder.data.world` writes some of them."""

from viewfinder.data.captions import CaptionedPicture, read_captions_csv, read_coco, read_flickr8k
from viewfinder.data.catalogue import Catalogue, CatalogueRow, read_catalogue, read_products
from viewfinder.data.matching import Ambiguity, Matches, match_keys
from viewfinder.data.report import Dropped, ReadReport

__all__ = [
    "Ambiguity",
    "CaptionedPicture",
    "Catalogue",
    "CatalogueRow",
    "Dropped",
    "Matches",
    "ReadReport",
    "match_keys",
    "read_captions_csv",
    "read_catalogue",
    "read_coco",
    "read_flickr8k",
    "read_products",
]
