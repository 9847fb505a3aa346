"""Answers any question about the pictures of a world from their truth, and says "don't know" to the rest.

It is honest: it does not answer what it does not understand, what the truth does not hold (who is in the picture, the
brand of the car) or what people would argue about ("is it to the left?" of something that is mostly above).
A question that names an attribute and offers choices, as questioners ask about catalogue columns and tags, is
answered in two steps: first what is true in words, then the choice that says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import MappingProxyType

from viewfinder.conversation import Question
from viewfinder.data.truth import PictureTruth
from viewfinder.errors import UnknownName
from viewfinder.users.base import find_picture
from viewfinder.users.goods import ITEM_RULES, CatalogueItem, CatalogueVocabulary, attribute_head
from viewfinder.users.phrases import KnownScene
from viewfinder.users.scenes import SCENE_RULES, find_main_thing
from viewfinder.users.words import CLASSES, LIGHTS, NONE_OF_THESE, PLACE_WORDS, SceneLexicon, answer_by_rules
from viewfinder.wording.numbers import is_in_range, spell_number, to_number
from viewfinder.wording.phrases import contains_phrase
from viewfinder.wording.plain_questions import normalize_question
from viewfinder.wording.replies import DONT_KNOW, SOMETHING_ELSE, drop_dont_know, is_denial
from viewfinder.worlds.words import COLOUR_WORDS, LIGHT_WORDS, SIZE_WORDS

Facts = tuple[str, ...]
"""Words that are true, the usual one first; empty: known to be nothing of what is asked for."""


def answer_with_choice(question: Question, truth: PictureTruth, catalogue: CatalogueVocabulary) -> str | None:
    """The answer to a question that names an attribute; None if the truth does not hold that attribute."""
    facts = attribute_facts(question.attribute or "", truth, catalogue)
    if facts is None:
        return None
    offered = [choice.lower() for choice in drop_dont_know(question.choices)]
    if offered and not truth.things:
        # For products, a choice must be a value known here; otherwise the column is a different one of that name.
        values = {value for known in catalogue.values.values() for value in known}
        known = values | catalogue.categories | {word for value in values for word in _ALSO.get(value, ())}
        if not any(choice in known or to_number(choice.split()[-1]) is not None for choice in offered):
            return None
    return choose_answer(facts, question.choices)


def choose_answer(facts: Facts, choices: Sequence[str]) -> str:
    """The choice that says what is true; without choices the word itself; else that it is something else.

    >>> choose_answer(("day", "daylight"), ("night", "bright daylight"))
    'bright daylight'
    >>> choose_answer(("4",), ("under 3", "3 or more")), choose_answer(("red",), ("blue", "something else"))
    ('3 or more', 'something else')
    """
    offered = drop_dont_know(choices)
    if not offered:
        return facts[0] if facts else "none"
    if (found := find_choice(facts, choices)) is not None:
        return found
    none = next((choice for choice in offered if is_denial(choice)), None)
    if not facts and none is not None:
        return none
    return SOMETHING_ELSE if SOMETHING_ELSE in offered else none or NONE_OF_THESE


def find_choice(facts: Facts, choices: Sequence[str]) -> str | None:
    """The first choice that says one of the facts: the same, a range around it, or more words; None if none does."""
    offered = drop_dont_know(choices)
    for fact in facts:
        number = to_number(fact)
        same = (choice for choice in offered if choice.strip().casefold() == fact.strip().casefold())
        around = (choice for choice in offered if number is not None and is_in_range(choice.strip(), number))
        more = (choice for choice in offered if contains_phrase(choice, fact))
        if (found := next(chain(same, around, more), None)) is not None:
            return found
    return None


def attribute_facts(attribute: str, truth: PictureTruth, catalogue: CatalogueVocabulary) -> Facts | None:
    """The facts of a picture about an attribute; None if they are not known."""
    for name, values in truth.attributes.items():
        if name == attribute:
            return tuple(values) or None
    if truth.things:
        return _SCENE[attribute](truth) if attribute in _SCENE else None
    own = [value.lower() for value in CatalogueItem(truth, catalogue).values(attribute_head(attribute))]
    return tuple(word for value in own for word in (value, *_ALSO.get(value, ()))) or None


_ALSO = {"multicoloured": ("multi",), "sporty": ("sports",)}
"""Names that shops use instead."""


def _look_of_main(
    truth: PictureTruth, name: str, synonyms: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Facts | None:
    value: str = getattr(find_main_thing(truth.things), name)
    return (value, *synonyms.get(value, ())) if value else None


def _list_main_kind(truth: PictureTruth) -> Facts:
    thing = find_main_thing(truth.things)
    return (thing.kind, *(singular for singular, _ in thing.nouns))


def _list_main_class(truth: PictureTruth) -> Facts | None:
    """ "What kind of thing is it mainly?": only if the class is beyond doubt."""
    words = _list_main_kind(truth)
    more = {"flower": "plant", "tree": "plant", "chair": "furniture", "hat": "clothing", "apple": "food"}
    classes = [name for name, kinds in CLASSES.items() if words[0] in kinds and name != "fruit"]
    classes += [more[words[0]]] if words[0] in more else []
    return (*words, *classes) if classes else None


def _list_place(truth: PictureTruth) -> Facts | None:
    first = {"garden": "grass", "meadow": "grass", "lake": "in the water", "road": "a street", "city": "a street"}
    if not truth.place:
        return None
    usual = (truth.place, *([first[truth.place]] if truth.place in first else []))
    room = ("room",) if truth.place in {"room", "kitchen"} else ()
    return (*usual, *sorted(PLACE_WORDS.get(truth.place, frozenset()) - {"room"}), *room)


def _list_light(truth: PictureTruth) -> Facts | None:
    spoken = (word for word in LIGHT_WORDS.get(truth.light, ()) if word)
    return (truth.light, *spoken, *sorted(LIGHTS.get(truth.light, frozenset()))) if truth.light else None


def _list_animals(truth: PictureTruth) -> Facts:
    """The animals, the largest first."""
    animals = [thing for thing in truth.things if thing.kind in CLASSES["animal"]]
    animals.sort(key=lambda thing: -thing.box[2] * thing.box[3])
    insect = ("insect",) if any(thing.kind == "butterfly" for thing in animals) else ()
    return (*(thing.kind for thing in animals), *insect)


def _list_count(truth: PictureTruth) -> Facts:
    number = len(truth.things)
    return (str(number), spell_number(number), *(["three or more"] if number > 2 else []))


def _list_repeated(truth: PictureTruth) -> Facts | None:
    """The most frequent kind; None if no kind occurs twice."""
    kind, number = Counter(thing.kind for thing in truth.things).most_common(1)[0]
    return (kind,) if number > 1 else None


_COLOUR = partial(_look_of_main, name="colour", synonyms=COLOUR_WORDS)
_SCENE: dict[str, Callable[[PictureTruth], Facts | None]] = {
    "background": _list_place,
    "place": _list_place,
    "light": _list_light,
    "main_object": _list_main_kind,
    "main_colour": _COLOUR,
    "main_size": partial(_look_of_main, name="size", synonyms=SIZE_WORDS),
    "main_pattern": partial(_look_of_main, name="pattern"),
    "colour": _COLOUR,
    "kind": _list_main_class,
    "animal": _list_animals,
    "objects": _list_count,
    "number": _list_count,
    "repeated_object": _list_repeated,
}
"""Keyed by the columns of a world's catalogue, and the names of the zero-shot tags."""


@dataclass(frozen=True)
class Oracle:
    """The `Answerer` of worlds, of scenes and of catalogues alike; `truths` by picture."""

    truths: Mapping[str, PictureTruth]
    lexicon: SceneLexicon = field(init=False, repr=False)
    catalogue: CatalogueVocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lexicon", SceneLexicon.of(self.truths.values()))
        object.__setattr__(self, "catalogue", CatalogueVocabulary.of(self.truths.values()))

    def answer(self, question: Question, picture: str) -> str:
        """A short true answer; "don't know" if there is none.

        Asked for an attribute, it keeps to the choices, if there are any; those of a free question are suggestions.

        Raises:
            UnknownName: the world has no such picture.
        """
        truth = find_truth(self.truths, picture)
        if question.attribute is not None:
            chosen = answer_with_choice(question, truth, self.catalogue)
            if chosen is not None:
                return chosen
        text = normalize_question(question.text)
        if truth.things:
            said = answer_by_rules(SCENE_RULES, KnownScene(truth, self.lexicon), text)
        else:
            said = answer_by_rules(ITEM_RULES, CatalogueItem(truth, self.catalogue), text)
        if said is None:
            return DONT_KNOW
        if question.attribute is None:
            return find_choice((said,), question.choices) or said
        return choose_answer((said,), question.choices)


def find_truth(truths: Mapping[str, PictureTruth], picture: str) -> PictureTruth:
    """The truth of one picture, by its file name; a folder before it does not matter.

    Raises:
        UnknownName: there is none.
    """
    found = find_picture(truths, picture)
    if found is None:
        raise UnknownName(f"{picture}: this world has no such picture; it has {len(truths)}, named as in images/")
    return found
