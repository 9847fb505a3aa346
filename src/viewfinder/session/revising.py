"""A change of mind: what a turn says in place of what was described before it.

Taking back what still holds is worse than keeping what does not: whatever is in doubt stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from viewfinder.conversation import Like, Reject, Show, Turn
from viewfinder.questioners.photographs import Facet, facets
from viewfinder.session.described_words import (
    LIKE_ARTICLES,
    NEVER_REPLACED,
    PLURALS,
    POINTS_BACK,
    WITHOUT_NOUN,
    Mention,
    Words,
    adjectives,
    colour_labels,
    named_things,
)
from viewfinder.session.reading import describes
from viewfinder.wording.clauses import is_correction, is_replacement, split_clauses
from viewfinder.wording.nouns import is_plural
from viewfinder.wording.stems import fold_words, singular_of_word, stem
from viewfinder.wording.taking_away import list_content_words

Revise = Callable[[str], str]
"""Gives a description of before as it still holds; "" where nothing of it does."""

_ADDS = re.compile(
    r"^\s*(?:but\s+)?(?:also|and|plus|with|add)\b|(?!^)\b(?:too|as well)\b|\b(?:also|another|more|fewer|less)\b",
    re.IGNORECASE,
)
"""Words that add to a description: "like this, but with a ball", "actually, there was a cat too"."""

_ABOUT_RESULTS = re.compile(
    r"^\s*(?:that|this|these|those)(?:'s|\s+(?:is|are|was|were)|(?=\s+(?:is|are)n't))\b"
    r"|\b(?:any|all|some|one|most|either) of (?:these|those|them)\b",
    re.IGNORECASE,
)
"""Who says "that's not a dog" speaks of what is shown, and wants a dog."""

_NOT_RULED_OUT = re.compile(
    r"(?:so|that|this|these|those|too|very|as|really|quite|much|many|enough|such)\b"
    r"|(?:same|other|any other|another|more|else)\b"
    r"|.*\b(?:like (?:this|that|these|those)|here|alone)$",
    re.IGNORECASE,
)
"""Pieces of which less is wanted, or another one: "not so dark", "no other people", "not that dog"."""

_INSTEAD_OF = re.compile(r"\b(?:instead of|rather than)\s+([^,.;:!?]+)", re.IGNORECASE)
"""What something else is said instead of: "a cat instead of the dog"."""

_WHERE_WORDS = """
in on at into onto inside through along across over under from by near off beside toward
"""
_WHERE = frozenset(_WHERE_WORDS.split())
"""Words of which one leads to the place of a thing."""

_AT_A_DISTANCE_WORDS = """
near next beside behind front beyond around above below by background foreground
"""
_AT_A_DISTANCE = frozenset(_AT_A_DISTANCE_WORDS.split())
"""Words that tell what else is about: "by a lake" may be on grass."""

_COVERED = frozenset(["covered", "surrounded", "filled"])

EXCLUSIVE = frozenset(
    ["running", "jumping", "walking", "sitting", "lying or sleeping", "standing", "swimming or splashing", "climbing"]
)
"""What nobody does at once; one may well sit and smile."""

_NUMBER_WORDS = "one two three four five six seven eight nine ten"
_NUMBERS = {word: n for n, word in enumerate(_NUMBER_WORDS.split(), 1)}
_NUMBERS |= {str(n): n for n in range(2, 11)}
MAX_PHRASE = 4
"""Words of a text that names one thing, with its article."""

_RIGHT_NUMBER = re.compile(
    rf"(?:(?:there|it)(?: (?:is|are|was|were)|'s)\s+)?(?:only|just|exactly)\s+(?:{'|'.join(_NUMBERS)})\b", re.IGNORECASE
)
"""Who counts anew: "only two people", "just one"."""

_BESIDES_NUMBER = fold_words("just only exactly there were was are is of them it be i want make maybe dogs people")
_BESIDES_COLOUR = fold_words("one ones rather have it in d i want make please maybe be something version")


def find_revision(turn: Turn, text: str, absent: tuple[str, ...] = ()) -> Revise | None:
    """What a turn, read as `text`, changes of descriptions; None where it adds to them, as most do.

    A correction ("no, in the snow") and words with a picture ("like this, but in the snow") take the place of what
    cannot be true beside them; what is ruled out ("not on grass") is no longer wanted; a number that is said to be the
    right one ("only two dogs") takes the place of others. `absent`: what it rules out besides, as facts of pictures.
    """
    clauses = split_clauses(text)
    instead = ""
    counted = clauses.wanted if describes(turn) and _RIGHT_NUMBER.match(clauses.wanted) else ""
    if isinstance(turn, Like | Show) or (describes(turn) and is_correction(text)):
        instead = clauses.wanted
    elif not (describes(turn) or isinstance(turn, Reject)):
        return None
    replaced = _INSTEAD_OF.findall(instead)
    instead = _INSTEAD_OF.sub("", instead).strip()
    if _ADDS.search(instead):
        instead = ""
    rejected = (clauses.wanted,) if isinstance(turn, Reject) and turn.text and clauses.wanted else ()
    unwanted = () if _ABOUT_RESULTS.search(text) else (*clauses.unwanted, *rejected, *replaced, *absent)
    without = tuple(piece for piece in unwanted if not _NOT_RULED_OUT.match(piece))
    if not (instead or without or counted):
        return None
    replaces = describes(turn) and is_replacement(getattr(turn, "text", ""))
    return partial(revise, instead=instead, without=without, replaces=replaces, counted=counted)


@lru_cache(maxsize=16_384)  # every later turn asks for all that was said again
def revise(
    description: str,
    instead: str = "",
    without: tuple[str, ...] = (),
    *,
    replaces: bool = False,
    counted: str = "",
) -> str:
    """A description without what cannot be true beside `instead`, and without the words of the pieces in `without`.

    Two labels of one facet of photographs ("on grass", "in the snow") cannot, but for facets of which several are true
    as a rule; nor can two colours, or two numbers, of one thing.

    >>> revise("a dog on the grass", "in the snow"), revise("a dog on the grass", "a cat")
    ('a dog', 'on the grass')
    >>> revise("a dog on the grass", "running"), revise("a man on a red bicycle", without=("red",))
    ('a dog on the grass', 'a man on a bicycle')

    `replaces`: the thing described is another one, even if both might be in a picture.

    >>> revise("a t-shirt", "a dress", replaces=True), revise("a man on the grass", "a dog", replaces=True)
    ('', 'on the grass')
    >>> revise("a shirt", "dresses", replaces=True), revise("a dog on the grass", "dogs", replaces=True)
    ('', 'on the grass')

    `counted`: what there is only that number of.

    >>> revise("three dogs on the grass", counted="only two dogs")
    'on the grass'
    """
    before, after = Words(description), Words(instead)
    gone = {at for facet, new in _list_said_instead(instead) for at in _find_replaced(facet, before, after, new)}
    gone |= {*_find_colour(before, after), *_find_number(before, after), *_find_number(before, Words(counted))}
    if replaces and not gone:
        gone.update(_find_other_number(before, after) or _find_subject(before, after))
    for piece in without:
        gone.update(_find_ruled_out(before, piece))
    left = before.cut_out(gone)
    return left if list_content_words(left) else ""


@lru_cache(maxsize=256)  # a turn compares it with all that was described
def _list_said_instead(instead: str) -> tuple[tuple[Facet, tuple[Mention, ...]], ...]:
    """The facets of which a text puts labels in place of others, with what it says of them."""
    words = Words(instead)
    said = (
        (facet, tuple(one for one in words.find_mentions(facet) if _is_said_instead(facet, words, one)))
        for facet in facets()
        if not (facet.several or facet.things or facet.name in NEVER_REPLACED)
    )
    return tuple((facet, new) for facet, new in said if new)


def _find_replaced(facet: Facet, before: Words, after: Words, new: Sequence[Mention]) -> Iterator[int]:
    """The words of a description that name a label of a facet, if what is said instead names others (`new`) alone."""
    old = before.find_mentions(facet)
    if not old or facet.find_labels(before.text) & facet.find_labels(after.text):
        return
    if facet.name in ("place", "indoors"):
        led: list[bool] = []
        for at, one in enumerate(old):  # "in a field of grass"
            is_of = at and before.lower[old[at - 1].places.stop : one.start] == ["of"]
            led.append(led[-1] if is_of else _is_led_to(before, one))
        # A lake in the mountains is, "no, in the woods", a lake still; "no, a beach" is no lake.
        wants_led = any(_is_led_to(after, one) for one in new) or all(led)
        old = [one for one, is_led in zip(old, led, strict=True) if is_led is wants_led]
    elif len({one.label for one in old}) > 1:
        return
    if facet.name == "doing" and not {one.label for one in (*old, *new)} <= EXCLUSIVE:
        return
    taken = {at for one in old for at in one.places}
    for one in old:
        yield from _take(facet, before, one, taken)


def _take(facet: Facet, words: Words, one: Mention, taken: set[int]) -> Iterator[int]:
    """The words that go with a mention; none if they would leave a phrase in pieces. `taken`: those of all mentions."""
    at, end, start = one.places.start, one.places.stop, one.start
    if facet.name == "doing":
        if not (words.is_joined(end) and words.lower[end] in LIKE_ARTICLES):  # "walking his dog"
            yield at
    elif words.folded[at] in WITHOUT_NOUN or words.lower[at].endswith(("'s", "’s")):
        yield at
    elif not _is_bound(facet, words, one, taken):
        yield from range(start, end)
        if start > 1 and words.lower[start - 1].endswith("ing") and words.lower[start - 2] in LIKE_ARTICLES:
            yield start - 2  # "a sleeping dog" is "sleeping"


def _is_bound(facet: Facet, words: Words, one: Mention, taken: set[int]) -> bool:
    """Whether a mention is only a part of what is named: the rest would say something else, or nothing."""
    at, end = one.places.start, one.places.stop
    if words.leads_on(end):  # "a beach ball", but "a city street" goes as a whole
        return end not in taken
    if words.is_joined(end) and words.lower[end] == "of":  # "a team of dogs"
        return end + 1 not in taken
    if facet.name == "time of day" and words.is_joined(at) and not words.is_small(at - 1):  # "her wedding day"
        return True
    return one.start - 1 not in taken and words.belongs(one.start)


def _is_said_instead(facet: Facet, words: Words, one: Mention) -> bool:
    """Whether what is said instead puts a label in place of another, and does not only name what else is there."""
    if facet.name in ("doing", "time of day"):
        return True
    if POINTS_BACK.search(words.text):
        return False
    lead = words.lower[words.find_lead(one.start) : one.start]
    if facet.name in ("place", "indoors") and not _WHERE.isdisjoint(lead):
        return _AT_A_DISTANCE.isdisjoint(lead)
    # What is not at a place has to be what the words are about: not "a man with a cat", "chasing a cat".
    start = words.lower[: one.start]
    return _WHERE.isdisjoint(start) and not any(
        word in ("with", "to", "like") or word.endswith("ing") for word in start
    )


def _is_led_to(words: Words, one: Mention) -> bool:
    """Whether a mention is where something else is: "on the grass", not "grass"; what it is covered in is not."""
    start = words.find_lead(one.start)
    if start and words.lower[start - 1] in _COVERED:
        return False
    return not _WHERE.isdisjoint(words.lower[start : one.start])


_NO_PLURALS_WORDS = """
upstairs downstairs always sometimes perhaps towards backwards forwards upwards downwards sideways besides across less
this yes jeans glasses sunglasses shorts sleeves stripes dots buttons pockets heels straps laces checks prints letters
flowers spots wings legs arms hands feet ears eyes teeth lights clouds
"""
_NO_PLURALS = frozenset(_NO_PLURALS_WORDS.split())
"""Words that end as plurals do, and what is on or about a thing: "a man" - "no, glasses" is a man with glasses."""

_BEINGS = ("who", "animal")
"""Facets of whom a description is of, as a rule."""


def _find_subject(before: Words, after: Words) -> Iterator[int]:
    """The words for what a description is of, where a text names nothing but another thing: all of the description, or
    the one person or animal in it."""
    from viewfinder.wording.talk import is_talk  # the words of talk are listed when a thing is first replaced

    new = _read_noun_phrase(after)
    if not new or after.folded[new[-1]] in before.folded or any(is_talk(after.lower[at]) for at in new):
        return  # "no, a bigger dog", "no, a bit darker"
    if _read_noun_phrase(before):
        yield from range(len(before.found))
        return
    beings = [facet for facet in facets() if facet.name in _BEINGS]
    old = [one for facet in beings for one in before.find_mentions(facet)]
    is_being = any(one.places.start == new[-1] for facet in beings for one in after.find_mentions(facet))
    if is_being and len(old) == 1 and before.find_lead(old[0].start) == 0 and not before.leads_on(old[0].places.stop):
        yield from range(old[0].start, old[0].places.stop)


def _read_noun_phrase(words: Words) -> range:
    """The words of a text that is an article or a number and at most three words of one thing, or as many that end in
    a plural ("blue shirts"); none if it is more."""
    lower, count = words.lower, len(words.found)
    if not 1 <= count <= MAX_PHRASE:
        return range(0)
    has_article = lower[0] in ("a", "an", "the") or lower[0] in _NUMBERS
    rest = range(1, count) if has_article else range(count)
    if not rest or not (has_article or (count < MAX_PHRASE and _is_plural(lower[-1]))):
        return range(0)
    is_one = all((words.is_joined(at) or at == 0) and not words.is_small(at) for at in rest)
    is_doing = any(lower[at].endswith("ing") for at in rest) and not (count == 2 and lower[0] in ("a", "an"))
    is_thing = words.folded[-1] not in adjectives() and lower[-1] not in ("one", "ones")
    return rest if is_one and is_thing and not is_doing else range(0)  # "a building" is a thing


def _is_plural(word: str) -> bool:
    """Whether a word without an article is a plural, rather than one of those words that only end so ("upstairs")."""
    return word in PLURALS or (len(word) > 3 and is_plural(word) and word not in _NO_PLURALS and "'" not in word)


def _find_other_number(before: Words, after: Words) -> list[int]:
    """The words for a thing of which there is another number: "a dog on grass", and then "no, dogs"."""
    new = _read_noun_phrase(after)
    if not new:
        return []
    last = new[-1]
    forms = [at for at, word in enumerate(before.folded) if word == after.folded[last] and not before.leads_on(at + 1)]
    old = [
        at
        for at in forms
        if (before.lower[at] in PLURALS or is_plural(before.lower[at])) != _is_plural(after.lower[last])
    ]
    return [
        place
        for at in old
        if not before.belongs(before.find_phrase(at))
        for place in range(before.find_phrase(at), at + 1)
    ]


def _find_ruled_out(words: Words, piece: str) -> Iterator[int]:
    """The words of a description that a piece rules out, if it has all of what that piece names."""
    named = {stem(word) for word in list_content_words(piece)}
    if not named <= set(words.folded):
        return
    for at, word in enumerate(words.folded):
        if word in named and not words.is_small(at):
            is_noun = word not in adjectives() and not words.lower[at].endswith("ing") and not words.leads_on(at + 1)
            start = words.find_phrase(at) if is_noun else at
            yield from range(at if words.belongs(start) else start, at + 1)


def _find_colour(before: Words, after: Words) -> Iterator[int]:
    """The colour of the thing of which another colour is said; without a thing, the one colour that there is."""
    new = {label for word in after.folded if (label := colour_labels().get(word))}
    if not new:
        return
    things = {
        singular_of_word(after.lower[at])
        for at, word in enumerate(after.folded)
        if not (after.is_small(at) or word in colour_labels() or word in _BESIDES_COLOUR)
    }
    if not {"one", "ones"}.isdisjoint(after.lower):  # "brown suede ones" are of what is described
        for at in [at for at in range(len(before.found)) if not before.is_small(at)][:1]:
            yield from _take_colours(before, new, _list_phrase(before, at))
        return
    old = [at for at, word in enumerate(before.folded) if word in colour_labels()]
    if things:
        for phrase in (_list_phrase(before, at) for at in old):
            if not things.isdisjoint(singular_of_word(before.lower[at]) for at in phrase):
                yield from _take_colours(before, new, phrase)
    elif len({colour_labels()[before.folded[at]] for at in old}) == 1:
        yield from _take_colours(before, new, old)


def _take_colours(words: Words, new: set[str], places: Sequence[int]) -> list[int]:
    """The colours among some words, if none of them is said again."""
    coloured = [at for at in places if words.folded[at] in colour_labels()]
    return coloured if new.isdisjoint(colour_labels()[words.folded[at]] for at in coloured) else []


def _list_phrase(words: Words, at: int) -> list[int]:
    """The words from one on to the end of its noun phrase: "red leather boots"."""
    end = at + 1
    while words.is_joined(end) and not words.is_small(end):
        end += 1
    return list(range(at, end))


def _find_number(before: Words, after: Words) -> Iterator[int]:
    """The number of what another number is said of, and of one thing its name, which is said again."""
    new = [at for at, word in enumerate(after.lower) if word in _NUMBERS]
    if len(new) != 1:
        return
    number, thing = _NUMBERS[after.lower[new[0]]], _name_counted(after, new[0])
    old = [at for at, word in enumerate(before.lower) if _NUMBERS.get(word, number) != number]
    if thing is None:
        others = {word for at, word in enumerate(after.folded) if at != new[0]}
        if len(old) == 1 and others <= _BESIDES_NUMBER:
            yield from old
        return
    if number > 1:
        old += [at for at, word in enumerate(before.lower) if word in ("a", "an")]
    for at in old:
        counted = _name_counted(before, at)
        if counted is not None and after.folded[thing] == before.folded[counted] and not before.leads_on(counted + 1):
            if counted == at + 1:
                yield from (at, counted)
            elif before.lower[at] in _NUMBERS:
                yield at


def _name_counted(words: Words, at: int) -> int | None:
    """The place of the noun that a number stands before: the last word of its phrase, or the first that is named."""
    end = at + 1
    while words.is_joined(end) and not words.is_small(end) and words.lower[end] not in _NUMBERS:
        if words.folded[end] in named_things() or words.lower[end].endswith("s"):
            return end
        end += 1
    return end - 1 if end - 1 > at else None
