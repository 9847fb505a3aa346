"""Reads captions: where they name things, and which of the choices of a question they support.

A mention has the number of things, their colour and what they do. The words of the choices are this module's own, so
that a questioner is not judged by the list that it asks from. A caption that has all words of a choice, or synonyms of
them, supports it; of several such choices the one that most captions name is chosen. "Something else" is said only if
captions name another value of the same kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from viewfinder.conversation import Question
from viewfinder.wording.numbers import NUMBER_WORDS
from viewfinder.wording.replies import NO_VALUES, drop_dont_know
from viewfinder.wording.stems import singular_words, stem
from viewfinder.worlds.kinds import COLOURS

COLOUR_NAMES = frozenset({*COLOURS, "grey", "gray", "beige", "tan", "gold", "silver", "navy", "blonde", "blond"})
_SPELT = {"gray": "grey", "blond": "blonde"}
MAX_WORDS_BETWEEN = 3
"""Words that may stand between a number or "no" and its noun, at most."""

_SYNONYMS = """
dog,puppy,pup|cat,kitten,kitty|bicycle,bike|motorcycle,motorbike|airplane,plane,aeroplane,jet|couch,sofa|tv,television
|cell phone,phone,cellphone,mobile phone|car,automobile|refrigerator,fridge|donut,doughnut|dining table,table|child,kid
|man,guy,gentleman|woman,lady|person,people,someone,somebody,human|photo,picture
"""
SYNONYMS = tuple(frozenset(words.strip().split(",")) for words in _SYNONYMS.split("|"))
_PEOPLE_WORDS = "man woman boy girl child kid baby toddler guy lady player skier surfer rider couple crowd"
PEOPLE = frozenset(_PEOPLE_WORDS.split())
"""Each of them is a person, but not every person is one of them."""

_IRREGULAR = {"men": "man", "women": "woman", "children": "child", "people": "person", "persons": "person"}


def find_synonyms(noun: str) -> frozenset[str]:
    """A noun and its synonyms, in the singular.

    >>> sorted(find_synonyms("puppies"))
    ['dog', 'pup', 'puppy']
    """
    own = to_singular(noun)
    return next((words for words in SYNONYMS if own in words), frozenset({own}))


def to_singular(noun: str) -> str:
    """A noun in the singular.

    >>> to_singular("traffic lights"), to_singular("women")
    ('traffic light', 'woman')
    """
    return " ".join(singular_words(" ".join(_IRREGULAR.get(word, word) for word in noun.split())))


@dataclass(frozen=True)
class Mention:
    """One place where a caption names something: the words before it (nearest last), after it, and whether plural."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    plural: bool

    @property
    def number(self) -> int | None:
        """The number of things, if the caption gives one."""
        plain_words = [word for word in self.before if word not in COLOUR_NAMES | {"and"}]
        for word in reversed(plain_words[-MAX_WORDS_BETWEEN:]):
            if word in {"a", "an"} and not self.plural:
                return 1
            if word in NUMBER_WORDS or word.isdigit():
                return NUMBER_WORDS[word] if word in NUMBER_WORDS else int(word)
        return None

    @property
    def colours(self) -> tuple[str, ...]:
        """Its colours, as the caption gives them: "a black and white dog", "the dog is brown"."""
        found: list[str] = []
        for word in reversed(self.before):
            if word in COLOUR_NAMES:
                found.insert(0, _SPELT.get(word, word))
            elif word != "and" or not found:
                break
        if not found and len(self.after) > 1 and self.after[0] in {"is", "are"} and self.after[1] in COLOUR_NAMES:
            found.append(_SPELT.get(self.after[1], self.after[1]))
        return tuple(found)

    @property
    def doing(self) -> str:
        """The action, if a participle follows: "running in the snow"; else ""."""
        rest = list(self.after[1:] if self.after[:1] in {("is",), ("are",)} else self.after)
        if not rest or not re.fullmatch(r"\w{2,}ing", rest[0]):
            return ""
        ends = (at for at, word in enumerate(rest) if at and word in _CONJUNCTIONS)
        return " ".join(rest[: next(ends, len(rest))])


_CONJUNCTIONS = frozenset({"while", "whilst", "and", "as", "with"})


def find_mentions(nouns: frozenset[str], caption: str) -> Iterator[Mention]:
    """Where a caption names one of these nouns (in the singular)."""
    raw = re.findall(r"[^\W_]+", caption.lower())
    folded = [to_singular(word) for word in raw]
    for noun in sorted(nouns):
        size = len(noun.split())
        for at in range(len(raw) - size + 1):
            # It may only qualify a noun that follows: a dog house is no dog.
            if " ".join(folded[at : at + size]) == noun and not {*raw[at + size : at + size + 1]} & _COMPOUNDS:
                last = at + size - 1
                yield Mention(tuple(raw[:at]), tuple(raw[at + size :]), plural=raw[last] != folded[last])


_COMPOUND_WORDS = "house bed food park collar toy bowl rider racer dish lane track store shop player stop station show"
_COMPOUNDS = frozenset(_COMPOUND_WORDS.split())


# Choices

_KINDS = """
place: snow=snowy,snowbank,snowdrift beach=shore,shoreline,seashore,sand,sandy,coast
 water=ocean,sea,lake,river,pool,pond,creek,stream,wave,surf,waterfall grass=grassy,lawn,meadow,pasture
 street=road,sidewalk,highway,pavement,curb,crosswalk,intersection wood=forest,tree,woodland
 mountain=hill,cliff,mountainside,peak,slope,ridge rock=rocky,boulder park=playground court=stadium,arena,pitch,sport
 track=racetrack kitchen=stove,oven bathroom=toilet,shower,sink bedroom=bed
 room=living,office,classroom,hallway,lobby,kitchen,bathroom,bedroom,dining
 restaurant=cafe,diner,bar city=town,urban,downtown,building desert=dune garden=yard,backyard,flower air=midair,sky
 stage=concert market=store,shop dirt=mud,muddy ice=icy floor=tile,carpet,rug
setting: indoors=indoor,inside,room,kitchen,bedroom,bathroom,couch,bed,office,toilet,sink,carpet,stove,oven,restaurant
,hallway,library,gym,lobby,museum,classroom,refrigerator,fireplace,bathtub,shower,desk
 outdoors=outdoor,outside,snow,beach,shore,ocean,sea,lake,river,grass,grassy,field,street,road,sidewalk,park,mountain
,hill,forest,wood,tree,sky,yard,playground,pool,rock,cliff,desert,pond,stream,track,wave,garden,city
who: man=guy,gentleman,male,cowboy woman=lady,female,girlfriend boy=lad girl= baby=toddler,infant
 group=crowd,team,family,several
animal: dog=puppy,pup,greyhound,poodle,terrier,retriever,collie,labrador,dalmatian,bulldog cat=kitten,kitty
 horse=pony,foal bird=duck,goose,gull,seagull,pigeon,swan,parrot,eagle cow=bull,cattle,calf,ox sheep=lamb,ram,goat
 elephant= giraffe= zebra= bear= monkey= deer= fish= lion= tiger=
doing: run=race,sprint,chase jump=leap,hop,airborne sit=seat stand=wait walk=stroll,hike swim=dive ride=cycle,bike
 lie=lay,sleep,rest,nap climb=scale eat=drink,dine,bite skate=skateboard ski=snowboard,sled
 surf=wakeboard,waterski throw=toss,pitch catch=fetch,carry,retrieve hold=grab dance= sing=perform read=
 smile=laugh,pose fly=soar swing=slide drive= kick= talk=speak,chat cook=prepare fight=wrestle,tackle dig=splash
 watch=look,stare
"""
"""Kinds of facts that captions tell, their values, and the words for each value (the first is its name)."""

_SETTINGS = frozenset({"indoor", "outdoor", "insid", "outsid"})
_CREATURES = {"animal": ("animal", "pet"), "who": ("person", "human")}
_BALLS = frozenset({"ball", "soccer", "football", "baseball", "basketball", "tennis", "volleyball", "rugby"})
_NOBODY = frozenset({"nobody", "no one", "none", "no person", "no people", "no animal", "nothing", "no"})
_MANY = frozenset({"group", "crowd", "team", "several", "many", "lot", "bunch", "family", "pack", "herd", "few"})
_SMALL_WORDS = (
    "a an the of in on at by with and to it is are was some into its his her their there or do they near far away"
)
_OPEN = frozenset(_SMALL_WORDS.split())
_PERSONS = re.compile(r"\w{2,}(?:man|men|woman|women|boy|girl|er|ers|ist|ists)")
_NO_PERSON_WORDS = "water flower sweater river over under after together number paper other another never corner tower"
_NO_PERSONS = frozenset(_NO_PERSON_WORDS.split())
_OTHER_FORMS = {"people": "person", "lying": "lie", "leaves": "leaf", "skiing": "ski", "skis": "ski"}


def stem_word(word: str) -> str:
    """A word of a caption without its inflection, for comparing.

    >>> [stem_word(word) for word in ("runs", "running", "chased", "riding", "ride", "dogs", "women", "king")]
    ['run', 'run', 'chas', 'rid', 'rid', 'dog', 'woman', 'king']
    """
    return stem(_OTHER_FORMS.get(word, word))


@cache
def stems_of(text: str) -> frozenset[str]:
    """The stems of all words of a text."""
    return frozenset(stem_word(word) for word in re.findall(r"[^\W_]+", text.lower()))


def _read_kinds(text: str) -> dict[str, dict[str, frozenset[str]]]:
    kinds: dict[str, dict[str, frozenset[str]]] = {}
    for kind, values in re.findall(r"^(\w+):((?:.|\n[ ,])*)", text, re.MULTILINE):
        pairs = (value.partition("=") for value in re.sub(r"\s*,\s*", ",", values).split())
        kinds[kind] = {
            stem_word(name): frozenset({stem_word(name), *(stem_word(word) for word in also.split(",") if word)})
            for name, _, also in pairs
        }
    return kinds


FACT_KINDS = _read_kinds(_KINDS)


@cache
def find_values(kind: str, text: str) -> frozenset[str]:
    """The values of a kind that a text names.

    >>> sorted(find_values("animal", "two puppies chase a pony")), sorted(find_values("place", "by the sea"))
    (['dog', 'hors'], ['water'])
    """
    words = stems_of(text)
    if kind == "who":
        group = {"group"} if (count_people(text) or 0) > 2 else set[str]()
        return frozenset({value for value, own in FACT_KINDS["who"].items() if own & words} | group)
    return frozenset(value for value, own in FACT_KINDS[kind].items() if own & words)


def names_person(text: str) -> bool:
    """Whether a text names a person, also by what they do: "a climber"."""
    words = set(re.findall(r"[^\W_]+", text.lower()))
    folded = {to_singular(word) for word in words}
    told = folded & (PEOPLE | find_synonyms("person") | find_synonyms("man") | find_synonyms("woman"))
    return bool(told or any(_PERSONS.fullmatch(word) and word not in _NO_PERSONS for word in words))


def count_named(noun: str, text: str) -> int | None:
    """The number of things of a noun that a text gives, "a group" counting as three; None if it gives none."""
    if to_singular(noun) == "person":
        return count_people(text)
    found = list(find_mentions(find_synonyms(noun), text))
    numbers = [3 if _MANY & set(mention.before[-3:]) else mention.number for mention in found]
    return max((number for number in numbers if number is not None), default=None)


@cache
def count_people(text: str) -> int | None:
    """The number of people in a text, over all its nouns for people; None if one has no number.

    >>> count_people("A man and two boys"), count_people("men with a dog"), count_people("a dog")
    (3, None, None)
    """
    mentions = [
        mention
        for noun in sorted(PEOPLE | find_synonyms("person") | find_synonyms("man"))
        for mention in find_mentions(frozenset({noun}), text)
    ]
    numbers = [
        2 if noun_is_couple else 3 if _MANY & set(mention.before[-3:]) else mention.number
        for mention in mentions
        for noun_is_couple in ("couple" in mention.before[-2:],)
    ]
    known = [number for number in numbers if number is not None]
    return sum(known) if known and len(known) == len(numbers) else None


def choose_by_captions(question: Question, captions: Sequence[str]) -> str | None:
    """The choice that captions support; None if they do not decide."""
    offered = tuple(choice for choice in drop_dont_know(question.choices) if choice.lower() not in NO_VALUES)
    if (noun := re.search(r"how many (\w+)", question.text.lower())) is not None:
        return _choose_number(offered, [count_named(noun[1], caption) for caption in captions])
    if offered and all(_find_colours(choice) for choice in offered):
        said = [_find_told_colours(question.text, caption) for caption in captions]
        held = [[choice for choice in offered if colours and _find_colours(choice) <= colours] for colours in said]
        told = sum(map(bool, said))
    else:
        kind = _find_kind(offered)
        held = [[choice for choice in offered if supports_choice(choice, caption, kind)] for caption in captions]
        told = sum(bool(find_values(kind, caption)) for caption in captions) if kind else 0
        nobody = next((choice for choice in offered if choice.lower() in _NOBODY), None)
        if nobody is not None and kind in _CREATURES and not told and not any(held) and len(captions) > 2:
            return None if kind == "who" and any(map(names_person, captions)) else nobody
    votes = Counter(choice for choices in held for choice in choices)
    other = next((choice for choice in question.choices if choice.lower() in NO_VALUES), None)
    # "Something else" needs two captions (or the only one) that name another value.
    return _choose_most_named(votes) or (other if told and told >= min(2, len(captions)) else None)


def _find_kind(offered: Sequence[str]) -> str | None:
    """The kind of more than half of the choices, if there is one; indoors or outdoors by these words alone."""
    if offered and all(stems_of(choice) & _SETTINGS for choice in offered):
        return "setting"
    counts = {
        kind: sum(bool(find_values(kind, choice)) for choice in offered) for kind in FACT_KINDS if kind != "setting"
    }
    best = max(counts, key=lambda kind: counts[kind])
    return best if 2 * counts[best] > len(offered) else None


def supports_choice(choice: str, caption: str, kind: str | None = None) -> bool:
    """Whether a caption supports a choice: by a value of this kind that both name, else word by word.

    >>> supports_choice("in the snow", "a dog on a snowy hill", "place"), supports_choice("a red ball", "a ball")
    (True, False)
    """
    words = stems_of(caption)
    for part in re.split(r"\s+or\s+|[,/]", choice.lower()):
        if kind is not None and (named := find_values(kind, part)):
            if named & find_values(kind, caption):
                return True
            continue
        wanted = [word for word in re.findall(r"[^\W_]+", part) if word not in _OPEN]
        if wanted and all(words & _list_related_stems(word) for word in wanted):
            return True
    return False


@cache
def _list_related_stems(word: str) -> frozenset[str]:
    """The stems of a word, of its synonyms and of its subordinate terms: any dog is an animal."""
    own = frozenset(stem_word(other) for other in find_synonyms(word))
    if stem_word(word) in {"ball", "game", "sport"}:
        return own | _BALLS
    for kind, names in _CREATURES.items():
        if to_singular(word) in names:
            own |= frozenset(map(stem_word, PEOPLE)) if kind == "who" else frozenset[str]()
            own |= frozenset(part for values in FACT_KINDS[kind].values() for part in values)
    return own


def _choose_number(offered: Sequence[str], told: Sequence[int | None]) -> str | None:
    """The number that most captions give, if they agree; 1 only if two captions or all of them give it."""
    votes = Counter(number for number in told if number is not None)
    known = [choice for choice in offered if _parse_limits(choice) is not None]
    by_choice = Counter[str]()
    for number, count in votes.items():
        for choice in known:
            least, most = _parse_limits(choice) or (0, 0)
            if least <= number <= most:
                by_choice[choice] += count
    found = _choose_most_named(by_choice)
    if found is None or 2 * by_choice[found] <= votes.total():
        return None
    is_one = _parse_limits(found) == (1, 1)
    return None if is_one and votes.total() < min(2, len(told)) else found


@cache
def _parse_limits(choice: str) -> tuple[int, float] | None:
    """The least and most that a number in words means; None for other words.

    >>> _parse_limits("two"), _parse_limits("three or more"), _parse_limits("a group"), _parse_limits("a hat")
    ((2, 2), (3, inf), (3, inf), None)
    """
    words = re.findall(r"[^\W_]+", choice.lower())
    numbers = [NUMBER_WORDS.get(word, int(word) if word.isdigit() else None) for word in words]
    known = [number for number in numbers if number is not None]
    if not known:
        return (3, float("inf")) if _MANY & set(words) else (0, 0) if words and words[0] in {"none", "nobody"} else None
    if "more" in words:
        return known[0] + ("than" in words), float("inf")
    return min(known), max(known)


def _find_colours(text: str) -> frozenset[str]:
    words = ("grey" if word == "gray" else word for word in re.findall(r"[^\W_]+", text.lower()))
    return frozenset(word for word in words if word in COLOUR_NAMES)


_CLOTHES = "shirt jacket coat dress pants shorts suit sweater hat uniform jersey outfit clothes clothing top vest jeans"


def _find_told_colours(question: str, caption: str) -> frozenset[str]:
    """The colours that a caption gives to what a question asks about: the dog, or what a person wears."""
    asked = [to_singular(word) for word in re.findall(r"[^\W_]+", question.lower())]
    # Asked what a person wears, captions name the garments: "a red shirt".
    worn = {"wear", "wearing", "worn", "clothe", "clothes", "clothing", "dressed"} & set(asked)
    nouns = (
        {to_singular(word) for word in _CLOTHES.split()} if worn else set(asked) - _OPEN - {"colour", "color", "what"}
    )
    found = {
        colour
        for noun in nouns
        for mention in find_mentions(find_synonyms(noun), caption)
        for colour in mention.colours
    }
    if worn:  # the colour that a person is "in"
        colour = "|".join(COLOUR_NAMES)
        said = re.findall(rf"\bin ((?:{colour})(?: and (?:{colour}))?)", caption.lower())
        found |= {colour for text in said for colour in _find_colours(text)}
    return frozenset(found)


def _choose_most_named(votes: Counter[str]) -> str | None:
    """The choice that most captions name; of a tie, the one with more words, else the first offered."""
    return max(votes, key=lambda choice: (votes[choice], len(stems_of(choice)))) if votes else None
