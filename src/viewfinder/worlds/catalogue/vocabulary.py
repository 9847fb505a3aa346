"""The facets of an article, the words of each, and how they are ordered. Only tables.

A facet is one aspect (colour, sleeves, fabric). It belongs to one of Fashion IQ's five types of attributes, and says
how its words are put into a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TYPES = ("texture", "fabric", "shape", "part", "style")
"""The five types of attributes of DeepFashion and Fashion IQ, in the order of `asin2attr`."""

Form = Literal["is", "coloured", "has", "made", "shaped", "for", "kind"]
"""Ways to say a word: "is slim", "is red in colour", "has a collar", "is made of denim", "has a tote shape" ..."""


@dataclass(frozen=True)
class Facet:
    """One aspect of an article.

    Attributes:
        type: which of `TYPES`; "" for what is no attribute (the kind of article).
        noun: what to call it: "keep the FIRST's colour".
        one: whether an article has one word of it at most, so that a known word rules the others out.
        seen: whether a picture shows it.
        said: whether anything is ever said of it; a catalogue knows more than people would mention.
        vague: words that rule nothing out: what is unisex is for men too.
    """

    type: str
    noun: str
    form: Form = "is"
    one: bool = True
    seen: bool = True
    said: bool = True
    vague: frozenset[str] = frozenset()


FACETS: dict[str, Facet] = {
    "kind": Facet("", "kind", "kind"),
    "colour": Facet("texture", "colour", "coloured", vague=frozenset({"multicoloured"})),
    "pattern": Facet("texture", "pattern", vague=frozenset({"printed", "graphic", "embroidered"})),
    "finish": Facet("texture", "finish", one=False),
    "fabric": Facet("fabric", "fabric", "made"),
    "cut": Facet("shape", "shape", "shaped"),
    "fit": Facet("shape", "fit"),
    "length": Facet("shape", "length"),
    "size": Facet("shape", "size"),
    "sleeves": Facet("part", "sleeves", "has"),
    "neck": Facet("part", "neckline", "has"),
    "closure": Facet("part", "fastening", "has"),
    "heel": Facet("part", "heel", "has"),
    "detail": Facet("part", "details", "has", one=False),
    "usage": Facet("style", "style", seen=False),
    "sport": Facet("style", "sport", "for", seen=False),
    "audience": Facet("style", "wearer", "for", seen=False, vague=frozenset({"unisex"})),
    "season": Facet("style", "season", "for", seen=False, said=False),
}

OPPOSITES: frozenset[tuple[str, str]] = frozenset({("pattern", "plain")})
"""Words that any other word of their facet rules out, a vague one too."""

FORMS: dict[tuple[str, str], Form] = {
    ("audience", "unisex"): "is",
    ("closure", "slip-on"): "is",
    ("fabric", "knitted"): "is",
    ("sleeves", "sleeveless"): "is",
}
"""Words that are said otherwise than the rest of their facet."""

PHRASES: dict[tuple[str, str], tuple[str, ...]] = {
    ("pattern", "plain"): ("is plain", "is one solid colour"),
    ("pattern", "printed"): ("is printed", "has a print"),
    ("pattern", "striped"): ("is striped", "has stripes"),
    ("pattern", "checked"): ("is checked", "has checks", "has a checked pattern"),
    ("pattern", "dotted"): ("is dotted", "has dots", "has a dotted pattern"),
    ("pattern", "graphic"): ("has a graphic print", "has a graphic on it"),
    ("pattern", "floral"): ("is floral", "has a floral pattern"),
    ("pattern", "colourblocked"): ("is colourblocked", "has blocks of colour"),
    ("sleeves", "sleeveless"): ("is sleeveless",),
    ("detail", "ruffled hem"): ("has a ruffled hem", "has ruffles along the hem"),
    ("usage", "sporty"): ("is sporty", "has a sporty style"),
    ("usage", "casual"): ("is casual", "has a casual style"),
    ("usage", "formal"): ("is formal", "has a formal style", "is dressy"),
    ("usage", "ethnic"): ("is ethnic wear", "has an ethnic style"),
    ("usage", "travel"): ("is for travelling",),
    ("colour", "multicoloured"): ("is multicoloured", "has several colours"),
}
"""Usual ways to say a word, where the form of the facet would be stiff or where there are more."""

DENIALS: dict[tuple[str, str], tuple[str, ...]] = {
    ("pattern", "striped"): ("is not striped", "has no stripes"),
    ("pattern", "checked"): ("is not checked", "has no checks"),
    ("pattern", "dotted"): ("is not dotted", "has no dots"),
    ("pattern", "printed"): ("is not printed", "has no print"),
    ("pattern", "graphic"): ("has no graphic",),
    ("detail", "ruffled hem"): ("has no ruffles",),
}

_COLOURS_BY_LIGHTNESS: dict[float, tuple[str, ...]] = {
    0.05: ("black",),
    0.18: ("navy blue",),
    0.25: ("charcoal", "coffee brown", "burgundy", "maroon"),
    0.35: ("brown", "purple"),
    0.42: ("olive", "blue", "red", "rust", "teal"),
    0.45: ("green", "bronze", "magenta"),
    0.5: ("copper",),
    0.55: ("grey", "taupe"),
    0.62: ("grey melange", "tan"),
    0.65: ("orange", "khaki", "mustard", "turquoise blue"),
    0.68: ("gold",),
    0.72: ("pink",),
    0.75: ("lavender",),
    0.8: ("peach",),
    0.82: ("beige", "nude"),
    0.85: ("yellow",),
    0.93: ("cream",),
    0.95: ("off white",),
    0.98: ("white",),
}
LIGHTNESS = {colour: lightness for lightness, colours in _COLOURS_BY_LIGHTNESS.items() for colour in colours}
"""The lightness of colours, 0 (black) to 1; metals and mixtures are left out."""

SHADES = ("black", "charcoal", "grey", "grey melange", "white", "off white", "cream", "beige", "brown", "taupe", "tan")
VIVID = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "magenta", "turquoise blue", "multicoloured")
QUIET, BUSY = ("plain",), ("printed", "striped", "checked", "dotted", "graphic", "floral", "colourblocked")


@dataclass(frozen=True)
class Comparison:
    """An order on the words of a facet: articles whose levels lie `margin` apart can be compared.

    `alike` names a facet in which they must not be known to differ: a white pattern makes a dark shirt lighter.
    """

    facet: str
    levels: dict[str, float]
    more: tuple[str, ...]
    less: tuple[str, ...]
    margin: float = 1.0
    alike: str = ""


def _rank(*words: str) -> dict[str, float]:
    return {word: float(level) for level, word in enumerate(words)}


COMPARISONS: tuple[Comparison, ...] = (
    Comparison(
        "colour",
        LIGHTNESS,
        ("is lighter", "has a lighter colour", "has a paler colour"),
        ("is darker", "has a darker colour"),
        margin=0.25,
        alike="pattern",
    ),
    Comparison(
        "colour",
        dict.fromkeys(SHADES, 0.0) | dict.fromkeys(VIVID, 1.0),
        ("is more colourful", "has a brighter colour", "has a livelier colour"),
        ("is less colourful", "has a quieter colour"),
        alike="pattern",
    ),
    Comparison(
        "pattern",
        dict.fromkeys(QUIET, 0.0) | dict.fromkeys(BUSY, 1.0),
        ("has more pattern", "has a busier look", "is more patterned"),
        ("is plainer", "is simpler", "has less pattern"),
    ),
    Comparison(
        "sleeves",
        _rank("sleeveless", "short sleeves", "three-quarter sleeves", "long sleeves"),
        ("has longer sleeves", "is longer in the sleeves"),
        ("has shorter sleeves", "is shorter in the sleeves"),
    ),
    Comparison(
        "length",
        _rank("cropped", "hip-length", "tunic-length"),
        ("is longer", "has a longer cut"),
        ("is shorter", "has a shorter cut"),
    ),
    Comparison(
        "length",
        _rank("mini", "knee-length", "maxi"),
        ("is longer", "has a longer skirt"),
        ("is shorter", "has a shorter skirt"),
    ),
    Comparison(
        "length",
        _rank("above-the-knee", "calf-length", "full-length"),
        ("is longer", "has longer legs"),
        ("is shorter", "has shorter legs"),
    ),
    Comparison(
        "length",
        _rank("low-cut", "ankle-high", "knee-high"),
        ("is taller", "has a higher shaft"),
        ("is lower", "has a lower shaft"),
    ),
    Comparison(
        "fit",
        _rank("skinny", "slim", "straight", "wide"),
        ("is wider", "is looser", "has a looser fit"),
        ("is narrower", "is tighter", "has a tighter fit"),
    ),
    Comparison("fit", _rank("fitted", "flared"), ("is looser", "is more flared"), ("is tighter", "is more fitted")),
    Comparison("heel", _rank("flat heel", "mid heel", "high heel"), ("has a higher heel",), ("has a lower heel",)),
    Comparison("size", _rank("small", "medium-sized", "large"), ("is bigger", "is larger"), ("is smaller",)),
    Comparison(
        "usage",
        _rank("sporty", "casual", "formal"),
        ("is more formal", "is dressier", "is more elegant"),
        ("is less formal", "is more relaxed"),
    ),
)
