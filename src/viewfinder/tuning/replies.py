"""Free answers as values: "it's blue, i think" and "blue" are the same answer to what colour something is."""

from __future__ import annotations

import re

from viewfinder.conversation import is_dont_know
from viewfinder.questioners.trained import meaning
from viewfinder.users.text import NUMBER_WORDS

LONGEST = 4
"""Words of a value; what says more is no value that others would share."""

_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|of course|certainly|correct|it is|they are|there is|there are|i do|i can)\b"
)
_NO = re.compile(
    r"(?:no|nope|nah|none|nothing|never|not|nobody|neither|i (?:don't|do not|can't|cannot) see|there (?:is|are) no"
    r"|there (?:isn't|aren't)|it (?:isn't|is not)|they (?:aren't|are not))\b"
)
_HEDGE = re.compile(r"(?:,? (?:i'd say|i would say|i think|i guess|i believe|maybe|probably|in total|only)$)")
_OPENING = re.compile(
    r"^(?:(?:it|he|she|that|this)(?:'s| is| was| has| looks(?: like)?)|(?:they|these)(?:'re| are)|they look(?: like)?"
    r"|there(?:'s| is| are)|i (?:see|think|believe|guess|count)|i'd say|looks like|just|only|about|around"
    r"|maybe|probably|neither,|in|on|at|to|near|by|the|a|an|some|all|very)\s+"
)


def answer_value(question: str, answer: str) -> str | None:
    """The answer as a value that others share; "" where it is don't know, None where it says too much.

    >>> value_of("is there a cup?", "yes, just one"), value_of("what colour is the cup?", "It's blue, i'd say.")
    ('yes', 'blue')
    >>> value_of("how many cups are there?", "there are two"), value_of("where is the cup?", "in the lower left corner")
    ('2', 'lower left')
    >>> value_of("is it big?", "can't tell"), value_of("who is it?", "a man with a hat who sits on a bench")
    ('', None)
    """
    said = " ".join(answer.casefold().replace("’", "'").split()).rstrip(" .!")
    if is_dont_know(said):
        return ""
    if meaning(question)[0] == "yes or no":
        if _NO.match(said):
            return "no"
        return "yes" if _YES.match(said) else _bare(said)
    return "0" if "how many" in question.casefold() and said in {"none", "no"} else _bare(said)


def _bare(said: str) -> str | None:
    said = _HEDGE.sub("", said)
    while (shorter := _OPENING.sub("", said)) != said:
        said = shorter
    said = re.sub(r" (?:side|corner|edge)$", "", re.split(r"[,;.]", said)[0].strip())
    if said in NUMBER_WORDS and said != "no":
        return str(NUMBER_WORDS[said])
    return said if said and len(said.split()) <= LONGEST else None
