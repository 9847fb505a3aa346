"""Which answers a question offers, judged by its wording."""

from __future__ import annotations

import re

from viewfinder.conversation import Answer
from viewfinder.wording.patterns import compile_late
from viewfinder.wording.replies import DONT_KNOW, find_choice_meant, find_choices_meant

YES_NO_CHOICES = ("yes", "no", DONT_KNOW)
MAX_THINGS = 4
MAX_CHOICE_WORDS = 4

_LEAD = compile_late(
    r"^(?:(?:and|so|ok|okay|well|now|also|then|please)\b[\s,]*|(?:in|on|at)\s[^,?]{1,40},\s*"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:tell|say|describe|specify)(?:\s+me)?\s*)+",
    re.IGNORECASE,
)
_WHETHER = compile_late(r"(?:if|whether)\b", re.IGNORECASE)
_AUXILIARY = compile_late(
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)(?:n['’]t)?\b",
    re.IGNORECASE,
)
_SUBJECT = compile_late(
    r"(?:it|this|that|they|these|those|he|she|you|we|there|everyone|anyone|(?:the|his|her|their|its)\s+[\w'’-]+)\b\s*",
    re.IGNORECASE,
)
_OR_NOT = compile_late(r"\bor\s+(?:not|no|something|anything|someone|anyone)\b", re.IGNORECASE)
_OR = compile_late(r"\s*,?\s+or\s+", re.IGNORECASE)
_EXISTS = compile_late(r"^(?:there|(?:you\s+)?(?:see|have)|any)\b|\b(?:any|some|more than|less than)\b", re.IGNORECASE)
_OPENER = compile_late(r"\b(?:an?|the|in|on|at|by|with|for|from|during|near|inside|outside)\b", re.IGNORECASE)
_GOES_ON = compile_late(r"\s(?:in|on|at|by|of|with|from|near|behind|beside|when|while)\s.*$", re.IGNORECASE)


def find_choices(question: str) -> tuple[str, ...]:
    """The answers to offer: yes and no, the things that "A or B?" names, or none; always "don't know".

    >>> find_choices("Is there a dog in the picture?")
    ('yes', 'no', "don't know")
    >>> find_choices("Is the dog black or brown?"), find_choices("Was it taken at night or during the day?")
    (('black', 'brown', "don't know"), ('at night', 'during the day', "don't know"))
    >>> find_choices("What is the man wearing?"), find_choices("Are there any dogs or cats?")
    (("don't know",), ('yes', 'no', "don't know"))
    """
    asked = _LEAD.sub("", " ".join(question.split()).partition("?")[0].strip(" .!"))
    opening = _AUXILIARY.match(asked)
    rest = asked[opening.end() :].strip() if opening else asked.rpartition(",")[2] if ", " in asked else ""
    if not _OR.search(rest) or _OR_NOT.search(rest) or (opening and _EXISTS.search(rest)):
        return YES_NO_CHOICES if opening or _WHETHER.match(asked) else (DONT_KNOW,)
    return (*_split_choices(rest), DONT_KNOW)


def _split_choices(rest: str) -> tuple[str, ...]:
    """The things that "A, B or C" names; () where it is not clear where they begin and end."""
    parts = _OR.split(rest)
    if len(parts) != 2:
        return ()
    before, last = parts
    before = before[subject.end() :] if (subject := _SUBJECT.match(before)) else before
    *first, nearest = re.split(r"\s*,\s*", before)
    # What stands after "or" goes up to where the sentence goes on: "sitting on a bench" is "sitting".
    last = _GOES_ON.sub("", last if _OPENER.match(last) else f" {last}").strip()
    things = [*first, _match_form(nearest, last), last]
    lengths = [len(thing.split()) for thing in things]
    return tuple(things) if min(lengths) > 0 and max(lengths) <= MAX_CHOICE_WORDS and len(things) <= MAX_THINGS else ()


def _match_form(before: str, last: str) -> str:
    """The end of `before` that can replace `last`: it begins with the same kind of word, or has as many words."""
    if opening := _OPENER.match(last):
        openers = [found.start() for found in _OPENER.finditer(before)]
        article = opening[0].lower() in {"a", "an", "the"}
        return before[openers[-1 if article else 0] :] if openers else before
    words = before.split()
    return " ".join(words[-max(len(last.split()), 1) :])


def is_choice(answer: Answer) -> bool:
    """Whether an answer is one of the choices offered, in whatever words ("no one" is "nobody"), or several of them,
    and says no more."""
    choices = answer.question.choices
    return (find_choice_meant(answer.text, choices) or find_choices_meant(answer.text, choices)) is not None
