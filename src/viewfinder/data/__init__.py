"""Readers of the published data formats; `viewfinder.worlds` writes many of them.

What every library needs (captions, catalogues, matching names to files) is imported here. The readers of single data
sets are separate modules, so that a search does not load them:

visual_genome   regions, scene graphs, splits, detector features; Drill-down's vocabulary
dialogues       VisDial, ChatIR's released dialogues and pool, PlugIR's rewritten dialogues
fashion_iq, fashionmt, cirr, circo    composed retrieval, of one turn and of several
chatsearch, picture_texts        what ChatSearcher is trained and judged with
truth           what a world knows of its pictures

For a missing or damaged file, or a malformed record, every reader raises BadInput, which names file, record and field;
for a kind or split that is not there, UnknownName, which names those that are.
"""

from viewfinder.data.captions import CaptionedPicture, read_captions, read_captions_csv, read_coco, read_flickr8k
from viewfinder.data.catalogue import CatalogueRow, read_catalogue, read_products
from viewfinder.data.files import Dropped, ReadReport, make_table, read_table
from viewfinder.data.matching import Ambiguity, match_keys

__all__ = [
    "Ambiguity",
    "CaptionedPicture",
    "CatalogueRow",
    "Dropped",
    "ReadReport",
    "make_table",
    "match_keys",
    "read_captions",
    "read_captions_csv",
    "read_catalogue",
    "read_coco",
    "read_flickr8k",
    "read_products",
    "read_table",
]
