"""What all questions about a scene share: what was asked, what the one who asks knows, which thing is meant.

Questions about a scene as a whole: how many there are, what else there is, where and when it is.

Questions about things of a scene: their looks, where they are, what is beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from viewfinder.worlds.grammar import (
    Speaker,
    absent_kinds,
    colour_word,
    described,
    knows_pattern,
    noun,
    nouns,
    other_colours,
    spot,
    the,
)
from viewfinder.worlds.kinds import PATTERNS, PLACES, SIZES
from viewfinder.worlds.scene import Predicate, Thing, box_area, relation_holds
from viewfinder.worlds.words import (
    CANT_TELL,
    FRONTED,
    NUMBERS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    WHERE,
    join_with_and,
    with_article,
)


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question, its answer, the facts it was after (no two questions of a talk are after the same one).

    `kinds` are those it brought to light; `focus` is the thing that "it" means from now on.
    """

    facts: tuple[str, ...]
    question: str
    answer: str
    kinds: tuple[str, ...] = ()
    focus: Thing | None = None


@dataclass
class AskerKnowledge:
    """What the one who asks knows: kinds that are there, facts, words used, and what "it" means."""

    kinds: set[str] = field(default_factory=set)
    facts: set[str] = field(default_factory=set)
    questions: set[str] = field(default_factory=set)
    focus: Thing | None = None

    def is_news(self, asked: AnsweredQuestion) -> bool:
        """Whether neither these words nor any of these facts came up before."""
        return asked.question not in self.questions and not self.facts & set(asked.facts)

    def learn(self, asked: AnsweredQuestion) -> None:
        """Take note of a question and its answer."""
        self.kinds |= set(asked.kinds)
        self.facts |= set(asked.facts)
        self.questions.add(asked.question)
        self.focus = asked.focus


QuestionMaker = Callable[[Speaker, AskerKnowledge], AnsweredQuestion | None]


def yes_or_no(talk: Speaker, true: bool, *, more: str = "") -> str:
    """Yes or no, now and then with the reason."""
    word = "yes" if true else "no"
    return f"{word}, {more}" if more and talk.chance(0.5) else word


def choose_thing(talk: Speaker, known: AskerKnowledge, *, hide: str = "") -> tuple[Thing, str] | None:
    """A thing that the asker knows of, and what to call it: "it" if it was spoken of just before."""
    if known.focus is not None and talk.chance(0.5):
        return known.focus, "it"
    things = [thing for thing in talk.scene.things if thing.kind in known.kinds]
    if not things:
        return None
    thing = talk.rng.choice(things)
    name = the(talk, thing, hide=hide)
    return (thing, name) if name else None


# Number and presence


def ask_number(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """How many there are of a kind that was mentioned."""
    kinds = sorted(known.kinds)
    if not kinds:
        return None
    kind = talk.one(kinds)
    count, many = talk.scene.counts()[kind], nouns(talk, kind)
    question = talk.one(
        (
            f"how many {many} are there",
            f"how many {many} do you see",
            f"how many {many} can you count",
            f"is there only one {noun(talk, kind)}",
        )
    )
    if question.startswith("is there"):
        return AnsweredQuestion(
            (f"number/{kind}",),
            question,
            yes_or_no(talk, count == 1, more="just one" if count == 1 else f"there are {NUMBERS[count]}"),
        )
    full = f"there {'is' if count == 1 else 'are'} {NUMBERS[count]}"
    answer = talk.one(
        (NUMBERS[count], str(count), full, f"just {NUMBERS[count]}" if count == 1 else f"i see {NUMBERS[count]}")
    )
    return AnsweredQuestion((f"number/{kind}",), question, answer)


def ask_presence(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Of something that is there, or is not."""
    there = [kind for kind in talk.scene.counts() if kind not in known.kinds]
    absent = absent_kinds(talk.scene)
    kind = talk.one(there) if there and (talk.chance(0.45) or not absent) else talk.one(absent) if absent else ""
    if not kind:
        return None
    one, many = talk.rng.choice(talk.scene.stock.nouns[kind])
    question = talk.one(
        (
            f"is there {with_article(one)}",
            f"are there any {many}",
            f"can you see {with_article(one)}",
            f"do you see any {many} in the picture",
        )
    )
    fact = (f"presence/{kind}",)
    count = talk.scene.counts()[kind]
    if not count:
        return AnsweredQuestion(
            fact,
            question,
            talk.one(("no", "no", f"no, there are no {many}", f"i don't see any {many}", "no, i don't think so")),
        )
    more = f"there {'is' if count == 1 else 'are'} {NUMBERS[count]}"
    told = talk.chance(0.5)
    focus = next(thing for thing in talk.scene.things if thing.kind == kind) if count == 1 else None
    return AnsweredQuestion(
        (*fact, f"number/{kind}") if told else fact, question, f"yes, {more}" if told else "yes", (kind,), focus
    )


def ask_more(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """What else there is: this tells of a kind or two that the asker did not know of."""
    others = [kind for kind in talk.scene.counts() if kind not in known.kinds]
    question = talk.one(
        ("what else is in the picture", "what else can you see", "is there anything else", "anything else in the scene")
    )
    if not others:
        nothing = ("no", "no, that's all") if question.startswith("is") else ("nothing else", "that's all")
        return AnsweredQuestion(("more",), question, talk.one(nothing))
    told = talk.rng.sample(others, min(len(others), talk.rng.choice((1, 1, 2))))
    things = [next(thing for thing in talk.scene.things if thing.kind == kind) for kind in told]
    answer = join_with_and(
        [with_article(described(talk, thing, size=0.1, pattern=0.0, colour=0.0)) for thing in things]
    )
    answer = f"yes, {answer}" if question.startswith("is") else answer
    return AnsweredQuestion((f"more/{'+'.join(sorted(told))}",), question, answer, tuple(told))


# The scene as a whole


def ask_place(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Where it is: asked openly, or by guessing."""
    place = talk.scene.place
    if "place" in known.facts:
        return None
    if talk.chance(0.5):
        question = talk.one(
            ("where was this taken", "what is in the background", "where is this", "what kind of place is it")
        )
        words = WHERE[place] if question.startswith("where") else PLACE_NOUNS[place]
        return AnsweredQuestion(("place",), question, talk.one(words))
    guess = talk.one((place, talk.one(tuple(name for name in PLACES if name != place))))
    question = talk.one((f"is this {WHERE[guess][0]}", f"is it {PLACE_NOUNS[guess][0]}"))
    right = guess == place
    # A wrong guess leaves the question open, unless the answer goes on.
    told = right or talk.chance(0.5)
    answer = "yes" if right else f"no, {talk.one(WHERE[place])}" if told else "no"
    return AnsweredQuestion(("place", f"place/{guess}") if told else (f"place/{guess}",), question, answer)


def ask_indoors(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Whether there is a roof over it."""
    if "place" in known.facts:
        return None
    indoors = talk.scene.light == "indoors"
    question = talk.one(
        ("is this indoors or outdoors", "is it indoors", "was it taken outside", "is this inside a building")
    )
    if question.endswith("outdoors"):
        return AnsweredQuestion(
            ("indoors",), question, talk.one(("indoors", "inside") if indoors else ("outdoors", "outside"))
        )
    return AnsweredQuestion(("indoors",), question, yes_or_no(talk, indoors != question.endswith("outside")))


def ask_light(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Which time of day it is; indoors nobody can tell."""
    question = talk.one(("what time of day is it", "is it day or night", "what is the light like", "is it dark"))
    return AnsweredQuestion(("light",), question, talk.one(_light_answers(talk.scene.light, question)))


def _light_answers(light: str, question: str) -> tuple[str, ...]:
    dark = question == "is it dark"
    if light == "indoors":
        return ("no", "no, there is enough light") if dark else CANT_TELL
    by = {"day": "by day", "sunset": "at sunset", "night": "at night"}[light]
    if dark:
        return ("yes", f"yes, {by}") if light == "night" else ("no", f"no, {by}")
    return {
        "day": ("day", "daytime", "it is day"),
        "sunset": ("sunset", by, "evening"),
        "night": ("night", by, "it is night"),
    }[light]


# Looks


def ask_colour(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """What colour a thing is, or whether it is of this one."""
    chosen = choose_thing(talk, known, hide="colour")
    if chosen is None:
        return ask_colours(talk, known)
    thing, name = chosen
    fact = (f"colour/{thing.number}",)
    colour = colour_word(talk, thing)
    wrong = other_colours(talk, thing)
    if wrong and talk.chance(0.35):
        guess = talk.one((thing.colour, talk.one(wrong)))
        right = guess == thing.colour
        return AnsweredQuestion(
            fact,
            f"is {name} {guess}",
            yes_or_no(talk, right, more="it is" if right else f"it is {colour}"),
            focus=thing,
        )
    question = talk.one((f"what colour is {name}", f"which colour is {name}", f"what is the colour of {name}"))
    if name == "it" and talk.chance(0.3):
        question = "and its colour"
    return AnsweredQuestion(
        fact, question, talk.one((colour, colour, f"it is {colour}", f"it's {colour}")), focus=thing
    )


def ask_colours(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Of several things of one kind at once."""
    kinds = [kind for kind, count in talk.scene.counts().items() if count > 1 and kind in known.kinds]
    if not kinds:
        return None
    kind = talk.one(kinds)
    group = [thing for thing in talk.scene.things if thing.kind == kind]
    colours = sorted({thing.colour for thing in group})
    if len(colours) == 1:
        answer = talk.one((colours[0], f"{'both' if len(group) == 2 else 'all of them'} are {colours[0]}"))
    else:
        counts = [(sum(thing.colour == colour for thing in group), colour) for colour in colours]
        answer = join_with_and(
            [
                f"{NUMBERS[count]} is {colour}" if count == 1 else f"{NUMBERS[count]} are {colour}"
                for count, colour in counts
            ]
        )
    many = nouns(talk, kind)
    question = talk.one(
        (f"what colour are the {many}", f"what colours are the {many}", f"are the {many} of the same colour")
    )
    if question.startswith("are"):
        answer = f"{'yes' if len(colours) == 1 else 'no'}, {answer}"
    return AnsweredQuestion((*(f"colour/{thing.number}" for thing in group), f"number/{kind}"), question, answer)


def ask_pattern(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Which pattern a thing has; of products, that is not always known."""
    chosen = choose_thing(talk, known)
    if chosen is None:
        return None
    thing, name = chosen
    fact = (f"pattern/{thing.number}",)
    guess = talk.one(PATTERNS)
    question = talk.one(
        (
            f"does {name} have a pattern",
            f"is {name} {talk.one(PATTERN_ADJECTIVES[guess])}",
            f"what pattern does {name} have",
        )
    )
    if not knows_pattern(talk, thing):
        return AnsweredQuestion(fact, question, talk.one(CANT_TELL), focus=thing) if thing.product else None
    own = PATTERN_NOUNS.get(thing.pattern)
    telling = f"it has {own}" if own else "it is plain"
    if question.startswith("is"):
        return AnsweredQuestion(fact, question, yes_or_no(talk, guess == thing.pattern, more=telling), focus=thing)
    if question.startswith("does"):
        return AnsweredQuestion(fact, question, yes_or_no(talk, own is not None, more=telling), focus=thing)
    return AnsweredQuestion(fact, question, talk.one((own or "none", telling)), focus=thing)


def ask_size(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """How big a thing is, of its kind."""
    chosen = choose_thing(talk, known, hide="size")
    if chosen is None:
        return None
    thing, name = chosen
    fact, word = (f"size/{thing.number}",), talk.one(SIZE_WORDS[thing.size])
    guess = talk.one(tuple(SIZES))
    question = talk.one((f"how big is {name}", f"is {name} big or small", f"is {name} {SIZE_WORDS[guess][0]}"))
    if question == f"is {name} {SIZE_WORDS[guess][0]}":
        return AnsweredQuestion(fact, question, yes_or_no(talk, guess == thing.size, more=f"it is {word}"), focus=thing)
    return AnsweredQuestion(fact, question, talk.one((word, f"it is {word}", f"{word}, i'd say")), focus=thing)


def ask_facing(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Which way a thing looks; of many things nobody can tell."""
    chosen = choose_thing(talk, known)
    if chosen is None:
        return None
    thing, name = chosen
    question = talk.one(
        (f"which way does {name} face", f"which way is {name} facing", f"does {name} face left or right")
    )
    seen = thing.kind in FRONTED and thing.faces != ""
    if not seen and not talk.chance(0.3):
        return None
    answer = (
        talk.one((thing.faces, f"to the {thing.faces}", f"it faces {thing.faces}")) if seen else talk.one(CANT_TELL)
    )
    return AnsweredQuestion((f"faces/{thing.number}",), question, answer, focus=thing)


def ask_unknowable(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """What no picture shows."""
    chosen = choose_thing(talk, known)
    if chosen is None:
        return None
    thing, name = chosen
    question = talk.one((f"is {name} new", f"how old is {name}", f"who owns {name}", f"is {name} expensive"))
    return AnsweredQuestion(("unknowable",), question, talk.one(CANT_TELL), focus=thing)


# Position and relations


def ask_position(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """In which part of the picture a thing is."""
    chosen = choose_thing(talk, known, hide="column")
    if chosen is None:
        return None
    thing, name = chosen
    question = talk.one(
        (f"where is {name}", f"where in the picture is {name}", f"is {name} on the left or on the right")
    )
    answer = spot(talk, thing)
    if question.endswith("right"):
        answer = (
            "neither, in the middle" if thing.column == "middle" else talk.one((thing.column, f"on the {thing.column}"))
        )
    return AnsweredQuestion((f"position/{thing.number}",), question, answer, focus=thing)


_OPPOSITE: dict[Predicate, Predicate] = {
    "left of": "right of",
    "right of": "left of",
    "above": "below",
    "below": "above",
    "in front of": "behind",
    "behind": "in front of",
}


def ask_relation(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Whether a thing is left of another; a wrong guess is the opposite of what is so."""
    relations = [
        r for r in talk.relations if {r.subject.kind, r.object.kind} <= known.kinds and r.predicate in _OPPOSITE
    ]
    if not relations:
        return None
    relation = talk.rng.choice(relations)
    a, b = the(talk, relation.subject, hide="column"), the(talk, relation.object, hide="column")
    if not a or not b:
        return None
    right = talk.chance(0.5)
    guess = relation.predicate if right else _OPPOSITE[relation.predicate]
    telling = f"it is {talk.one(PREDICATE_WORDS[relation.predicate])} it"
    numbers = sorted((relation.subject.number, relation.object.number))
    return AnsweredQuestion(
        (f"relation/{numbers[0]}/{numbers[1]}",),
        f"is {a} {talk.one(PREDICATE_WORDS[guess])} {b}",
        yes_or_no(talk, right, more="" if right else telling),
    )


def ask_neighbour(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """What there is beside a thing."""
    chosen = choose_thing(talk, known, hide="column")
    if chosen is None:
        return None
    thing, name = chosen
    predicate: Predicate = talk.rng.choice(("next to", "left of", "right of", "in front of", "behind"))
    found = [other for other in talk.scene.things if other != thing and relation_holds(other, predicate, thing)]
    question = f"what is {talk.one(PREDICATE_WORDS[predicate])} {name}"
    fact = (f"neighbour/{predicate}/{thing.number}",)
    if not found:
        return AnsweredQuestion(fact, question, talk.one(("nothing", "nothing there"))) if talk.chance(0.3) else None
    if len(found) > 3:
        return None
    answer = join_with_and([with_article(described(talk, other, size=0.1, pattern=0.0)) for other in found])
    return AnsweredQuestion(fact, question, answer, tuple(other.kind for other in found))


def ask_bigger(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Which of two is the bigger one."""
    things = [thing for thing in talk.scene.things if thing.kind in known.kinds]
    if len(things) < 2:
        return None
    one, other = talk.rng.sample(things, 2)
    large, small = sorted((one, other), key=lambda thing: -box_area(thing.box))
    a, b = the(talk, one, hide="size"), the(talk, other, hide="size")
    if box_area(large.box) < 1.6 * box_area(small.box) or not a or not b:
        return None
    numbers = sorted((one.number, other.number))
    facts = (f"bigger/{numbers[0]}/{numbers[1]}",)
    if talk.chance(0.5):
        return AnsweredQuestion(
            facts,
            f"is {a} {talk.one(('bigger', 'larger'))} than {b}",
            yes_or_no(talk, one is large, more="by far" if one is large else "smaller"),
        )
    return AnsweredQuestion(facts, f"which is {talk.one(('bigger', 'larger'))}, {a} or {b}", a if one is large else b)
