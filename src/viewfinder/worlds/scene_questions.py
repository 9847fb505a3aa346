"""Questions about a scene as a whole: how many there are, what else there is, where and when it is."""

from __future__ import annotations

from viewfinder.worlds.asking import AnsweredQuestion, AskerKnowledge, yes_or_no
from viewfinder.worlds.kinds import PLACES
from viewfinder.worlds.phrases import Speaker, absent_kinds, described, noun, nouns
from viewfinder.worlds.words import CANT_TELL, NUMBERS, PLACE_NOUNS, WHERE, join_with_and, with_article

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
