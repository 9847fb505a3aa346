"""Questions about things of a scene: their looks, where they are, what is beside them."""

from __future__ import annotations

from viewfinder.worlds.asking import AnsweredQuestion, AskerKnowledge, choose_thing, yes_or_no
from viewfinder.worlds.kinds import PATTERNS, SIZES
from viewfinder.worlds.phrases import (
    Speaker,
    colour_word,
    described,
    knows_pattern,
    nouns,
    other_colours,
    spot,
    the,
)
from viewfinder.worlds.scene import Predicate, box_area, relation_holds
from viewfinder.worlds.words import (
    CANT_TELL,
    FRONTED,
    NUMBERS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PREDICATE_WORDS,
    SIZE_WORDS,
    join_with_and,
    with_article,
)

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
