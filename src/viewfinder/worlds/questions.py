"""Questions about a scene by an asker who has not seen it, and their true answers: a function a kind of question.

The asker knows which kinds were mentioned, and what was asked already (`AskerKnowledge`). A question is left out (None)
where it would give away its answer, or where there is nothing to ask about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.wording.numbers import NUMBERS
from viewfinder.wording.replies import CANT_TELL
from viewfinder.worlds.grammar import Speaker, list_absent_kinds
from viewfinder.worlds.kinds import PATTERNS, PLACES, SIZES, Light
from viewfinder.worlds.scene import CLEARLY_LARGER, Predicate, Thing, box_area, relation_holds
from viewfinder.worlds.words import (
    FRONTED,
    OPPOSITE_RELATIONS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    WHERE,
)


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question, its answer, and the facts it was after: no two questions of a dialogue are after the same one.

    `kinds` are those it brought to light; `focus` is the thing that "it" means from now on.
    """

    facts: tuple[str, ...]
    question: str
    answer: str
    kinds: tuple[str, ...] = ()
    focus: Thing | None = None


@dataclass
class AskerKnowledge:
    """The asker's knowledge: kinds that are there, facts, questions asked, and what "it" means."""

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
ThingQuestion = Callable[[Speaker, Thing, str], AnsweredQuestion | None]


def yes_or_no(speaker: Speaker, true: bool, *, more: str = "") -> str:
    """Yes or no, now and then with the reason."""
    word = "yes" if true else "no"
    return f"{word}, {more}" if more and speaker.chance(0.5) else word


def choose_thing(speaker: Speaker, known: AskerKnowledge, *, hide: str = "") -> tuple[Thing, str] | None:
    """A thing that the asker knows of, and what to call it: "it" if it was spoken of just before."""
    if known.focus is not None and speaker.chance(0.5):
        return known.focus, "it"
    things = [thing for thing in speaker.scene.things if thing.kind in known.kinds]
    if not things:
        return None
    thing = speaker.pick(things)
    name = speaker.pinpoint(thing, hide=hide)
    return (thing, name) if name else None


def ask_about_thing(
    speaker: Speaker, known: AskerKnowledge, *, ask: ThingQuestion, hide: str = ""
) -> AnsweredQuestion | None:
    """A question about a thing that the asker knows of; `hide`: see `Speaker.pinpoint`."""
    chosen = choose_thing(speaker, known, hide=hide)
    return None if chosen is None else ask(speaker, *chosen)


# Number and presence


def ask_number(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks how many there are of a kind that was mentioned."""
    if not known.kinds:
        return None
    kind = speaker.pick(sorted(known.kinds))
    count, many = speaker.scene.counts()[kind], speaker.plural(kind)
    questions = (
        f"how many {many} are there",
        f"how many {many} do you see",
        f"how many {many} can you count",
        f"is there only one {speaker.noun(kind)}",
    )
    question, number = speaker.pick(questions), NUMBERS[count]
    if question.startswith("is there"):
        answer = yes_or_no(speaker, count == 1, more="just one" if count == 1 else f"there are {number}")
    else:
        full = f"there {'is' if count == 1 else 'are'} {number}"
        answer = speaker.pick((number, str(count), full, f"just {number}" if count == 1 else f"i see {number}"))
    return AnsweredQuestion((f"number/{kind}",), question, answer)


def ask_presence(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks whether something is there."""
    there = [kind for kind in speaker.scene.counts() if kind not in known.kinds]
    absent = list_absent_kinds(speaker.scene)
    asked = there if there and (speaker.chance(0.45) or not absent) else absent
    if not asked:
        return None
    kind = speaker.pick(asked)
    one, many = speaker.pick(speaker.scene.stock.nouns[kind])
    questions = (
        f"is there {with_article(one)}",
        f"are there any {many}",
        f"can you see {with_article(one)}",
        f"do you see any {many} in the picture",
    )
    question, fact = speaker.pick(questions), (f"presence/{kind}",)
    count = speaker.scene.counts()[kind]
    if not count:
        noes = ("no", "no", f"no, there are no {many}", f"i don't see any {many}", "no, i don't think so")
        return AnsweredQuestion(fact, question, speaker.pick(noes))
    focus = speaker.scene.of_kind(kind)[0] if count == 1 else None
    if speaker.chance(0.5):
        answer = f"yes, there {'is' if count == 1 else 'are'} {NUMBERS[count]}"
        return AnsweredQuestion((*fact, f"number/{kind}"), question, answer, (kind,), focus)
    return AnsweredQuestion(fact, question, "yes", (kind,), focus)


def ask_more(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks what else there is; the answer names a kind or two that the asker did not know of."""
    others = [kind for kind in speaker.scene.counts() if kind not in known.kinds]
    question = speaker.pick(
        ("what else is in the picture", "what else can you see", "is there anything else", "anything else in the scene")
    )
    if not others:
        nothing = ("no", "no, that's all") if question.startswith("is") else ("nothing else", "that's all")
        return AnsweredQuestion(("more",), question, speaker.pick(nothing))
    told = speaker.rng.sample(others, min(len(others), speaker.pick((1, 1, 2))))
    things = [speaker.scene.of_kind(kind)[0] for kind in told]
    named = [with_article(speaker.describe(thing, size=0.1, pattern=0.0, colour=0.0)) for thing in things]
    answer = f"{'yes, ' if question.startswith('is') else ''}{join_with_and(named)}"
    return AnsweredQuestion((f"more/{'+'.join(sorted(told))}",), question, answer, tuple(told))


# The scene as a whole


def ask_place(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks where it is, openly or by guessing."""
    place = speaker.scene.place
    if "place" in known.facts:
        return None
    if speaker.chance(0.5):
        question = speaker.pick(
            ("where was this taken", "what is in the background", "where is this", "what kind of place is it")
        )
        words = WHERE[place] if question.startswith("where") else PLACE_NOUNS[place]
        return AnsweredQuestion(("place",), question, speaker.pick(words))
    guess = speaker.pick((place, speaker.pick(tuple(name for name in PLACES if name != place))))
    question = speaker.pick((f"is this {WHERE[guess][0]}", f"is it {PLACE_NOUNS[guess][0]}"))
    right = guess == place
    # A wrong guess leaves the question open, unless the answer goes on.
    told = right or speaker.chance(0.5)
    answer = "yes" if right else f"no, {speaker.pick(WHERE[place])}" if told else "no"
    return AnsweredQuestion(("place", f"place/{guess}") if told else (f"place/{guess}",), question, answer)


def ask_indoors(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks whether it is indoors."""
    if "place" in known.facts:
        return None
    indoors = speaker.scene.light == "indoors"
    question = speaker.pick(
        ("is this indoors or outdoors", "is it indoors", "was it taken outside", "is this inside a building")
    )
    if question.endswith("outdoors"):
        answer = speaker.pick(("indoors", "inside") if indoors else ("outdoors", "outside"))
    else:
        answer = yes_or_no(speaker, indoors != question.endswith("outside"))
    return AnsweredQuestion(("indoors",), question, answer)


def ask_light(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks for the time of day, which cannot be told indoors."""
    question = speaker.pick(("what time of day is it", "is it day or night", "what is the light like", "is it dark"))
    open_answers, dark_answers = _LIGHT_ANSWERS[speaker.scene.light]
    answers = dark_answers if question == "is it dark" else open_answers
    return AnsweredQuestion(("light",), question, speaker.pick(answers))


_LIGHT_ANSWERS: dict[Light, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "day": (("day", "daytime", "it is day"), ("no", "no, by day")),
    "sunset": (("sunset", "at sunset", "evening"), ("no", "no, at sunset")),
    "night": (("night", "at night", "it is night"), ("yes", "yes, at night")),
    "indoors": (CANT_TELL, ("no", "no, there is enough light")),
}
"""Answers about the hour, and answers to "is it dark"."""


# Looks


def ask_colour(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks for the colour of a thing, openly or by guessing."""
    chosen = choose_thing(speaker, known, hide="colour")
    if chosen is None:
        return ask_colours(speaker, known)
    thing, name = chosen
    fact, colour = (f"colour/{thing.number}",), speaker.colour_word(thing)
    wrong = speaker.other_colours(thing)
    if wrong and speaker.chance(0.35):
        guess = speaker.pick((thing.colour, speaker.pick(wrong)))
        right = guess == thing.colour
        answer = yes_or_no(speaker, right, more="it is" if right else f"it is {colour}")
        return AnsweredQuestion(fact, f"is {name} {guess}", answer, focus=thing)
    question = speaker.pick((f"what colour is {name}", f"which colour is {name}", f"what is the colour of {name}"))
    if name == "it" and speaker.chance(0.3):
        question = "and its colour"
    answer = speaker.pick((colour, colour, f"it is {colour}", f"it's {colour}"))
    return AnsweredQuestion(fact, question, answer, focus=thing)


def ask_colours(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks for the colours of several things of one kind."""
    kinds = [kind for kind, count in speaker.scene.counts().items() if count > 1 and kind in known.kinds]
    if not kinds:
        return None
    kind = speaker.pick(kinds)
    group = speaker.scene.of_kind(kind)
    counts = sorted(Counter(thing.colour for thing in group).items())
    if len(counts) == 1:
        colour = counts[0][0]
        answer = speaker.pick((colour, f"{'both' if len(group) == 2 else 'all of them'} are {colour}"))
    else:
        answer = join_with_and([f"{NUMBERS[n]} {'is' if n == 1 else 'are'} {colour}" for colour, n in counts])
    many = speaker.plural(kind)
    question = speaker.pick(
        (f"what colour are the {many}", f"what colours are the {many}", f"are the {many} of the same colour")
    )
    if question.startswith("are"):
        answer = f"{'yes' if len(counts) == 1 else 'no'}, {answer}"
    return AnsweredQuestion((*(f"colour/{thing.number}" for thing in group), f"number/{kind}"), question, answer)


def ask_pattern(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks for the pattern of a thing; that of a product is not always known."""
    fact, guess = (f"pattern/{thing.number}",), speaker.pick(PATTERNS)
    questions = (
        f"does {name} have a pattern",
        f"is {name} {speaker.pick(PATTERN_ADJECTIVES[guess])}",
        f"what pattern does {name} have",
    )
    question = speaker.pick(questions)
    if not speaker.knows_pattern(thing):
        return AnsweredQuestion(fact, question, speaker.pick(CANT_TELL), focus=thing) if thing.product else None
    own = PATTERN_NOUNS.get(thing.pattern)
    telling = f"it has {own}" if own else "it is plain"
    if question.startswith("what"):
        answer = speaker.pick((own or "none", telling))
    else:
        right = guess == thing.pattern if question.startswith("is") else own is not None
        answer = yes_or_no(speaker, right, more=telling)
    return AnsweredQuestion(fact, question, answer, focus=thing)


def ask_size(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks how big a thing is for its kind."""
    word, guess = speaker.pick(SIZE_WORDS[thing.size]), speaker.pick(tuple(SIZES))
    guessing = f"is {name} {SIZE_WORDS[guess][0]}"
    question = speaker.pick((f"how big is {name}", f"is {name} big or small", guessing))
    if question == guessing:
        answer = yes_or_no(speaker, guess == thing.size, more=f"it is {word}")
    else:
        answer = speaker.pick((word, f"it is {word}", f"{word}, i'd say"))
    return AnsweredQuestion((f"size/{thing.number}",), question, answer, focus=thing)


def ask_facing(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks which way a thing faces, which cannot be told of most."""
    question = speaker.pick(
        (f"which way does {name} face", f"which way is {name} facing", f"does {name} face left or right")
    )
    seen = thing.kind in FRONTED and thing.faces != ""
    if not seen and not speaker.chance(0.3):
        return None
    answers = (thing.faces, f"to the {thing.faces}", f"it faces {thing.faces}") if seen else CANT_TELL
    return AnsweredQuestion((f"faces/{thing.number}",), question, speaker.pick(answers), focus=thing)


def ask_unknowable(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks for something that no picture shows."""
    question = speaker.pick((f"is {name} new", f"how old is {name}", f"who owns {name}", f"is {name} expensive"))
    return AnsweredQuestion(("unknowable",), question, speaker.pick(CANT_TELL), focus=thing)


# Position and relations


def ask_position(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks in which part of the picture a thing is."""
    question = speaker.pick(
        (f"where is {name}", f"where in the picture is {name}", f"is {name} on the left or on the right")
    )
    answer = speaker.spot(thing)
    if question.endswith("right"):
        sides = (thing.column, f"on the {thing.column}")
        answer = "neither, in the middle" if thing.column == "middle" else speaker.pick(sides)
    return AnsweredQuestion((f"position/{thing.number}",), question, answer, focus=thing)


def ask_relation(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks whether a relation holds between two things; a wrong guess is the opposite of the true one."""
    relations = [
        relation
        for relation in speaker.relations
        if {relation.subject.kind, relation.object.kind} <= known.kinds and relation.predicate != "next to"
    ]
    if not relations:
        return None
    relation = speaker.pick(relations)
    a, b = (speaker.pinpoint(thing, hide="column") for thing in (relation.subject, relation.object))
    if not a or not b:
        return None
    right = speaker.chance(0.5)
    guess = relation.predicate if right else OPPOSITE_RELATIONS[relation.predicate]
    telling = f"it is {speaker.pick(PREDICATE_WORDS[relation.predicate])} it"
    numbers = sorted((relation.subject.number, relation.object.number))
    question = f"is {a} {speaker.pick(PREDICATE_WORDS[guess])} {b}"
    answer = yes_or_no(speaker, right, more="" if right else telling)
    return AnsweredQuestion((f"relation/{numbers[0]}/{numbers[1]}",), question, answer)


def ask_neighbour(speaker: Speaker, thing: Thing, name: str) -> AnsweredQuestion | None:
    """Asks what there is beside a thing."""
    predicate = speaker.pick(_BESIDE)
    found = [other for other in speaker.scene.things if other != thing and relation_holds(other, predicate, thing)]
    question = f"what is {speaker.pick(PREDICATE_WORDS[predicate])} {name}"
    fact = (f"neighbour/{predicate}/{thing.number}",)
    if not found and speaker.chance(0.3):
        return AnsweredQuestion(fact, question, speaker.pick(("nothing", "nothing there")))
    if not 1 <= len(found) <= 3:
        return None
    answer = join_with_and([with_article(speaker.describe(other, size=0.1, pattern=0.0)) for other in found])
    return AnsweredQuestion(fact, question, answer, tuple(other.kind for other in found))


_BESIDE: tuple[Predicate, ...] = ("next to", "left of", "right of", "in front of", "behind")


def ask_bigger(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion | None:
    """Asks which of two things is bigger."""
    things = [thing for thing in speaker.scene.things if thing.kind in known.kinds]
    if len(things) < 2:
        return None
    one, other = speaker.rng.sample(things, 2)
    a, b = speaker.pinpoint(one, hide="size"), speaker.pinpoint(other, hide="size")
    smaller, larger = sorted((box_area(one.box), box_area(other.box)))
    if larger < CLEARLY_LARGER * smaller or not a or not b:
        return None
    is_larger = box_area(one.box) == larger
    numbers = sorted((one.number, other.number))
    facts = (f"bigger/{numbers[0]}/{numbers[1]}",)
    guessing, bigger = speaker.chance(0.5), speaker.pick(("bigger", "larger"))
    if guessing:
        answer = yes_or_no(speaker, is_larger, more="by far" if is_larger else "smaller")
        return AnsweredQuestion(facts, f"is {a} {bigger} than {b}", answer)
    return AnsweredQuestion(facts, f"which is {bigger}, {a} or {b}", a if is_larger else b)
