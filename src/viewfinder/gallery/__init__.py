"""A snapshot of a library seen through its encoder: scores of a query, what they mean, and why.

gallery  `Gallery`: pictures to search in
regions  many vectors a picture: where raw vectors come from, the block of a trained system, its scores
attributes  what a predictor sees in pictures
plain    one vector a picture: the parts of a query that are one scan, and those compared through words
chances  what a score means: chances, matches, the verdict
why      what each turn adds, and what each slot looks at, as JSON
"""

from viewfinder.gallery.chances import LIKELY, MAYBE, ChanceOf, Match, Verdict, match_of, verdict_of
from viewfinder.gallery.gallery import Gallery, Scores
from viewfinder.gallery.plain import PlainSum, contrast, plain_sum, said_of
from viewfinder.gallery.regions import Boxed, RawVectors, check_fits
from viewfinder.gallery.why import explained

__all__ = [
    "LIKELY",
    "MAYBE",
    "Boxed",
    "ChanceOf",
    "Gallery",
    "Match",
    "PlainSum",
    "RawVectors",
    "Scores",
    "Verdict",
    "check_fits",
    "contrast",
    "explained",
    "match_of",
    "plain_sum",
    "said_of",
    "verdict_of",
]
