"""The vocabulary of the worlds: several words for one thing, and how a world's people speak.

explicit    every turn says all that is needed, and each split is described in the same words
contextual  what stays is not said again ("the same place, at night"); questions and searches begin alike; pictures
            for testing are described in other words, so that no sentence of training occurs again
"""

from __future__ import annotations

import random
import re
from typing import Literal, get_args

from viewfinder.wording.nouns import make_plural, make_singular, with_article
from viewfinder.worlds.kinds import KINDS

Nouns = tuple[tuple[str, str], ...]
"""The words for one kind, each in the singular and the plural; the usual one comes first."""

SIZE_WORDS = {
    "small": ("small", "little", "tiny"),
    "medium": ("medium-sized", "middle-sized"),
    "large": ("large", "big", "huge"),
}

COLOUR_WORDS = {"purple": ("purple", "violet"), "red": ("red", "bright red"), "white": ("white", "snow-white")}

_SHADES = {
    "blue": ("navy blue", "turquoise blue", "teal"),
    "red": ("maroon", "burgundy"),
    "brown": ("rust", "copper", "bronze", "tan", "coffee brown", "beige", "khaki", "taupe", "nude"),
    "green": ("olive", "sea green", "fluorescent green"),
    "grey": ("silver", "steel", "charcoal", "grey melange"),
    "white": ("off white", "cream"),
    "pink": ("magenta", "peach"),
    "purple": ("mauve", "lavender"),
    "yellow": ("mustard", "gold"),
}
COLOUR_FAMILIES = {shade: family for family, shades in _SHADES.items() for shade in shades}
"""Shades that people also call by their family's name, so that a thing of a shade is never said not to be of it."""

PATTERN_ADJECTIVES = {
    "plain": ("plain", "single-coloured"),
    "striped": ("striped", "stripy"),
    "dotted": ("dotted", "spotted", "polka-dot"),
    "checked": ("checked", "checkered", "chequered"),
}
PATTERN_TAILS = {
    "striped": ("with stripes", "with a stripe pattern"),
    "dotted": ("with dots", "with spots", "covered in dots"),
    "checked": ("with checks", "with a checked pattern"),
}
PATTERN_NOUNS = {"striped": "stripes", "dotted": "dots", "checked": "checks"}

PREDICATE_WORDS = {
    "left of": ("left of", "to the left of", "on the left of"),
    "right of": ("right of", "to the right of", "on the right of"),
    "above": ("above", "over"),
    "below": ("below", "beneath", "underneath"),
    "next to": ("next to", "beside", "close to"),
    "in front of": ("in front of", "partly covering"),
    "behind": ("behind", "partly hidden by"),
}

_OPPOSITES = (("left of", "right of"), ("above", "below"), ("in front of", "behind"), ("next to", "next to"))
OPPOSITE_RELATIONS = dict(_OPPOSITES) | {other: one for one, other in _OPPOSITES}
"""The relation that holds the other way round; where it is the same one, there is no wrong guess."""

PLACE_NOUNS = {
    "beach": ("a beach", "a sandy beach", "the seaside"),
    "meadow": ("a meadow", "a grassy field", "rolling grassland"),
    "snow": ("a snowy landscape", "a winter scene", "snowy fields"),
    "city": ("a city at night", "a street below lit windows", "a night-time skyline"),
    "kitchen": ("a kitchen", "a tiled kitchen", "a kitchen with an oven"),
    "road": ("a country road", "a straight road", "an empty road"),
    "desert": ("a desert", "sand dunes", "a desert with cacti"),
    "lake": ("a lake", "a lake below hills", "a quiet lakeside"),
    "forest": ("a forest", "the woods", "a dense wood"),
    "room": ("a living room", "a room with a window", "a parlour with a round rug"),
    "mountains": ("mountains", "a mountain pasture", "snow-capped peaks"),
    "garden": ("a garden", "a garden with a picket fence", "a mown lawn"),
}

WHERE = {
    "beach": ("on the beach", "on a sandy beach", "by the sea", "at the seaside"),
    "meadow": ("in a meadow", "in a grassy field", "out in the fields"),
    "snow": ("in the snow", "in a snowy landscape", "in a winter scene"),
    "city": ("in the city at night", "in a city street after dark", "in front of a lit skyline"),
    "kitchen": ("in a kitchen", "in the kitchen", "in a kitchen with white tiles"),
    "road": ("along a road", "by a country road", "where a road leads to the horizon"),
    "desert": ("in the desert", "among sand dunes", "in a dry desert"),
    "lake": ("by a lake", "at the lake", "at the waterside"),
    "forest": ("in a forest", "in the woods", "deep in the forest"),
    "room": ("in a living room", "in a room with a window", "indoors"),
    "mountains": ("in the mountains", "below snow-capped peaks", "on a mountain pasture"),
    "garden": ("in a garden", "on a lawn with a picket fence", "in the back garden"),
}

STANDS = {
    "beach": ("on the sand", "on the beach"),
    "meadow": ("in the grass", "on the meadow"),
    "snow": ("in the snow", "on the snow"),
    "city": ("in the street", "on the asphalt"),
    "kitchen": ("on the kitchen floor", "on the floor"),
    "road": ("by the road", "along the road"),
    "desert": ("in the sand", "on the desert sand"),
    "lake": ("on the shore", "at the lakeside"),
    "forest": ("on the forest floor", "among the fallen leaves"),
    "room": ("on the floor", "on the floorboards"),
    "mountains": ("on the pasture", "in front of the mountains"),
    "garden": ("on the lawn", "in the garden"),
}
FLOATS = {"air": ("in the air", "up in the air"), "water": ("on the water", "in the water")}

LIGHT_WORDS = {
    "day": ("by day", "in daylight"),
    "sunset": ("at sunset", "at dusk", "in the evening"),
    "night": ("at night", "in the dark"),
    "indoors": ("",),
}

SKY_WORDS = {
    "day": ("a blue sky", "blue sky with a few clouds", "the sky is blue"),
    "sunset": ("an orange evening sky", "a sky glowing at sunset", "clouds in the evening sky"),
    "night": ("a dark night sky", "the sky is dark", "a clear night sky"),
}

PART_WORDS = {
    "sea": ("the sea", "a calm sea", "waves on the sea"),
    "sand": ("a strip of sand", "sand in the foreground", "the sand of the beach"),
    "grass": ("grass", "a grassy slope", "flowers in the grass"),
    "snow": ("snow on the ground", "a blanket of snow", "deep snow"),
    "firs": ("a row of firs", "snowy firs in the distance", "firs on the horizon"),
    "night sky": ("a dark night sky", "the sky above the city"),
    "skyline": ("tall buildings", "lit windows", "skyscrapers with lit windows"),
    "street": ("a dark street", "markings on the asphalt", "the street in front"),
    "tiles": ("white wall tiles", "a tiled wall", "rows of tiles"),
    "worktop": ("kitchen cabinets", "a worktop with an oven", "an oven between cabinets"),
    "shelf": ("a shelf on the wall", "jars on a shelf", "a wooden shelf"),
    "floor": ("a tiled floor", "the kitchen floor"),
    "road": ("a road to the horizon", "a straight road", "a dashed line on the road"),
    "verge": ("grass beside the road", "posts along the road", "the grassy verge"),
    "dunes": ("sand dunes", "dunes in the distance", "a ridge of sand"),
    "cacti": ("a cactus", "cacti in the distance", "cacti on the dunes"),
    "hills": ("hills across the water", "low hills", "hills on the far shore"),
    "lake": ("a lake", "still water", "ripples on the lake"),
    "shore": ("reeds on the shore", "a grassy shore", "the near shore"),
    "trunks": ("tall trunks", "rows of tree trunks", "trees in the background"),
    "forest floor": ("leaves on the ground", "the forest floor", "fallen leaves"),
    "wallpaper": ("striped wallpaper", "a papered wall"),
    "window": ("a window with curtains", "red curtains", "a white window frame"),
    "painting": ("a framed painting", "a picture on the wall", "a painting of mountains"),
    "rug": ("a round rug", "a rug on the floorboards", "an oval carpet"),
    "mountains": ("snow-capped mountains", "mountain peaks", "snow on the peaks"),
    "pasture": ("a pasture", "stones in the grass", "a grassy slope below the peaks"),
    "fence": ("a white picket fence", "a fence with a hedge behind it", "a wooden fence"),
    "lawn": ("a mown lawn", "a row of flowers along the fence", "stripes on the lawn"),
}

FRONTED = frozenset({"bird", "bus", "car", "dog", "fish"})
"""Kinds that visibly face left or right."""


def spot_words(column: str, row: str) -> tuple[str, ...]:
    """Ways to say where something is, by the ninth of the picture."""
    if (column, row) == ("middle", "centre"):
        return ("in the middle", "in the centre of the picture")
    if column == "middle":
        return {"top": ("at the top", "near the top"), "bottom": ("at the bottom", "near the lower edge")}[row]
    if row == "centre":
        return (f"on the {column}", f"at the {column}", f"on the {column} side")
    vertical = {"top": "upper", "bottom": "lower"}[row]
    return (f"in the {vertical} {column}", f"in the {vertical} {column} corner", f"on the {column}")


PAIRS = frozenset(
    {"jeans", "trousers", "pants", "shorts", "leggings", "tights", "stockings", "briefs", "boxers", "capris"}
    | {"churidar", "sunglasses", "cufflinks", "gloves", "socks"}
)
"""Last words of what is worn in pairs, or is called one."""

_AS_THEY_ARE = {
    "tshirts": (("t-shirt", "t-shirts"), ("tee", "tees")),
    "heels": (("high-heeled shoe", "high-heeled shoes"),),
    "flats": (("flat shoe", "flat shoes"),),
    "flip flops": (("flip-flop", "flip-flops"),),
    "sports shoes": (("sports shoe", "sports shoes"), ("trainer", "trainers")),
    "watches": (("watch", "watches"), ("wristwatch", "wristwatches")),
    "caps": (("cap", "caps"), ("baseball cap", "baseball caps")),
    "backpacks": (("backpack", "backpacks"), ("knapsack", "knapsacks")),
    "sweaters": (("sweater", "sweaters"), ("pullover", "pullovers")),
    "trunk": (("pair of trunks", "pairs of trunks"),),
    "perfume and body mist": (("perfume bottle", "perfume bottles"),),
    "necklace and chains": (("necklace", "necklaces"),),
    "innerwear vests": (("undershirt", "undershirts"), ("innerwear vest", "innerwear vests")),
}
_OTHER_WORDS = {"trousers": ("slacks",), "track pants": ("tracksuit bottoms",), "sunglasses": ("shades",)}


def make_nouns(article: str) -> Nouns:
    """Singular and plural of an article type, which the table has mostly in the plural; first the usual word.

    >>> make_nouns("Clutches"), make_nouns("Laptop Bag"), make_nouns("Track Pants")[0]
    ((('clutch', 'clutches'),), (('laptop bag', 'laptop bags'),), ('pair of track pants', 'pairs of track pants'))
    """
    words = article.lower()
    if words in _AS_THEY_ARE:
        return _AS_THEY_ARE[words]
    if words.split()[-1] in PAIRS:
        return tuple((f"pair of {name}", f"pairs of {name}") for name in (words, *_OTHER_WORDS.get(words, ())))
    singular = make_singular(words)
    return ((singular, make_plural(singular)),)


_SYNONYMS = {
    "bicycle": ("bike",),
    "boat": ("sailing boat", "sailboat"),
    "car": ("automobile",),
    "cat": ("kitty",),
    "chair": ("wooden chair",),
    "clock": ("alarm clock",),
    "cup": ("mug", "coffee cup"),
    "dog": ("puppy",),
    "flower": ("blossom",),
    "gift": ("present", "gift box"),
    "house": ("cottage",),
    "lamp": ("table lamp",),
    "moon": ("crescent moon",),
    "mushroom": ("toadstool",),
    "umbrella": ("parasol",),
}
NOUNS: dict[str, Nouns] = {
    kind: tuple((noun, make_plural(noun)) for noun in (kind, *_SYNONYMS.get(kind, ()))) for kind in KINDS
}
"""Words for the drawn kinds."""


Language = Literal["explicit", "contextual"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

# What questions and searches begin with alike

LEADS = (
    *("okay, so", "one more thing:", "let me see,", "now then,", "all right,", "thanks, and"),
    *("by the way,", "if i may:", "tell me:", "hm, and"),
)
"""Beginnings of at least two words each, so that neither the first word nor the first two tell what follows."""

SHARE_LED = 0.85
"""Share of questions and searches that begin with one of them."""

_LEAD = re.compile(rf"^(?:{'|'.join(map(re.escape, LEADS))}) ")


def add_lead(text: str, rng: random.Random) -> str:
    """A question or a search, mostly with a beginning that both have."""
    return f"{rng.choice(LEADS)} {text}" if rng.random() < SHARE_LED else text


def drop_lead(text: str) -> str:
    """A question or a search without that beginning.

    >>> drop_lead("now then, is it red"), drop_lead("is it red")
    ('is it red', 'is it red')
    """
    return _LEAD.sub("", text)


# The same in other words

_OTHER_NOUNS = {
    "bicycle|bike": "pushbike",
    "sailing boat|sailboat|boat": "yacht",
    "book": "volume",
    "bottle": "flask",
    "bus": "coach",
    "car|automobile": "motorcar",
    "cat|kitty": "feline",
    "wooden chair|chair": "seat",
    "alarm clock|clock": "timepiece",
    "coffee cup|cup|mug": "beaker",
    "dog|puppy": "hound",
    "dress": "frock",
    "flower|blossom": "bloom",
    "gift box|gift|present": "parcel",
    "house|cottage": "home",
    "table lamp|lamp": "reading light",
    "toadstool|mushroom": "fungus",
    "umbrella|parasol": "brolly",
    "beach": "seashore",
    "forest": "woodland",
    "desert": "arid land",
    "garden": "yard",
    "living room": "sitting room",
    "kitchen": "scullery",
    "road": "highway",
    "city": "town",
    "colour": "hue",
}
_TEST_PHRASES = {
    "there is|there are": "one can spot",
    "picture of|photo of|this is|product shot:": "image of",
    "is made of": "consists of",
    "is made for|is for": "is meant for",
    "is a pair of": "would be a pair of",
    "does not have|has no": "comes without",
    "is still": "remains",
    "still has": "keeps its",
    "is not": "isn't",
    "is": "looks",
    "has": "comes with",
    "long sleeves": "full-length sleeves",
    "short sleeves": "half sleeves",
    "sleeveless": "bare-armed",
    "casual": "everyday",
    "formal": "smart",
    "sporty": "athletic",
    "small|little|tiny": "compact",
    "large|big|huge": "sizeable",
    "in daylight|by day": "in the daytime",
    "at sunset|at dusk|in the evening": "as the sun goes down",
    "at night|in the dark": "after nightfall",
    "next to|beside|close to": "adjacent to",
    "in front of": "before",
    "behind": "at the back of",
    "above|over": "higher than",
    "below|beneath|underneath": "lower than",
}


def _make_thesaurus() -> dict[str, str]:
    """Every word or phrase, plurals too, with its replacement."""
    other = {name: instead for names, instead in _TEST_PHRASES.items() for name in names.split("|")}
    for names, instead in _OTHER_NOUNS.items():
        for name in names.split("|"):
            other |= {name: instead, make_plural(name): make_plural(instead)}
    return other


_OTHER = _make_thesaurus()
_ALL = "|".join(sorted(map(re.escape, _OTHER), key=len, reverse=True))
_KNOWN = re.compile(rf"(?<![\w-])(?P<article>an? )?(?P<word>{_ALL})(?![\w-])", re.IGNORECASE)


def reword(text: str) -> str:
    """A text in words that do not occur where systems are trained: as true as before, and never the same text.

    >>> reword("A small dog next to an umbrella."), reword("is red and has a collar"), reword("a green ball")
    ('A compact hound adjacent to a brolly.', 'looks red and comes with a collar', 'pictured: a green ball')
    """

    def other(found: re.Match[str]) -> str:
        instead = _OTHER[found["word"].lower()]
        return with_article(instead) if found["article"] else instead

    said = _KNOWN.sub(other, text)
    if said == text:
        return f"pictured: {text}"
    return said[0].upper() + said[1:] if text[0].isupper() else said
