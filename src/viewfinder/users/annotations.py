"""Answers about captioned photographs: from what people wrote, and from COCO's boxes where there are any.

It is careful. What captions do not mention may be there all the same; only a category whose boxes are annotated in
all pictures can be denied. Captions that disagree count as "don't know".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from viewfinder.conversation import DONT_KNOW, SOMETHING_ELSE, Question
from viewfinder.data.captions import read_captions_csv, read_coco, read_flickr8k
from viewfinder.data.files import need_folder, read_json
from viewfinder.encoders.tags import TagGroup, tag_groups
from viewfinder.errors import BadInput, UnknownName
from viewfinder.users.base import find_picture
from viewfinder.users.words import (
    ARTICLES,
    NONE_OF_THESE,
    NUMBER_WORDS,
    answer_by_rules,
    contains_phrase,
    make_rules,
    normalize_question,
    number_word,
    open_choices,
    singular_words,
    yes_or_no,
)
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import join_with_and

COLOUR_NAMES = frozenset({*COLOURS, "grey", "gray", "beige", "tan", "gold", "silver", "navy", "blonde", "blond"})
_SPELT = {"gray": "grey", "blond": "blonde"}
_DENIED = frozenset({"no", "not", "without", "never", "nor"})
_REACH = 3
"""How many words may stand between a number or "no" and its noun."""

_SYNONYMS = """
dog,puppy,pup|cat,kitten,kitty|bicycle,bike|motorcycle,motorbike|airplane,plane,aeroplane,jet|couch,sofa|tv,television
|cell phone,phone,cellphone,mobile phone|car,automobile|refrigerator,fridge|donut,doughnut|dining table,table|child,kid
|man,guy,gentleman|woman,lady|person,people,someone,somebody,human|photo,picture
"""
SYNONYMS = tuple(frozenset(words.strip().split(",")) for words in _SYNONYMS.split("|"))
_PEOPLE_WORDS = "man woman boy girl child kid baby toddler guy lady player skier surfer rider couple crowd"
PEOPLE = frozenset(_PEOPLE_WORDS.split())
"""Every one of them is a person; not every person is one of them."""

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
    """One place where a caption names something: the words before it (nearest last), after it, and if plural."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    plural: bool

    @property
    def number(self) -> int | None:
        """How many the caption says there are."""
        plain_words = [word for word in self.before if word not in COLOUR_NAMES | {"and"}]
        for word in reversed(plain_words[-_REACH:]):
            if word in {"a", "an"} and not self.plural:
                return 1
            if word in NUMBER_WORDS or word.isdigit():
                return NUMBER_WORDS[word] if word in NUMBER_WORDS else int(word)
        return None

    @property
    def colours(self) -> tuple[str, ...]:
        """Its colours, as the caption has them: "a black and white dog", "the dog is brown"."""
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
        """What it does, where a participle follows: "running in the snow"; else ""."""
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
    for noun in nouns:
        size = len(noun.split())
        for at in range(len(raw) - size + 1):
            # Another noun may follow that it only qualifies: a dog house is no dog.
            if " ".join(folded[at : at + size]) == noun and not {*raw[at + size : at + size + 1]} & _COMPOUNDS:
                last = at + size - 1
                yield Mention(tuple(raw[:at]), tuple(raw[at + size :]), plural=raw[last] != folded[last])


_COMPOUND_WORDS = "house bed food park collar toy bowl rider racer dish lane track store shop player stop station show"
_COMPOUNDS = frozenset(_COMPOUND_WORDS.split())


@dataclass(frozen=True)
class PhotoNotes:
    """What is written about one photograph.

    Attributes:
        captions: one at least.
        boxes: how many boxes of each category it has; None: nobody drew boxes.
        crowds: categories of which there are more than were counted.
        path: its file, where one was looked for.
    """

    captions: tuple[str, ...]
    boxes: Mapping[str, int] | None = None
    crowds: frozenset[str] = frozenset()
    path: Path | None = None


@dataclass(frozen=True)
class AnnotatedPhotos:
    """Photographs by file name, and the categories that were annotated in all pictures that have boxes."""

    pictures: Mapping[str, PhotoNotes]
    categories: frozenset[str] = frozenset()
    _groups: tuple[TagGroup, ...] = field(default_factory=tag_groups, repr=False)

    def of(self, picture: str) -> PhotoNotes:
        """What is written about a photograph; UnknownName where nothing is."""
        note = find_picture(self.pictures, picture)
        if note is None:
            raise UnknownName(f"{picture}: nobody has captioned this picture; {len(self.pictures)} others are")
        return note

    def group(self, name: str) -> TagGroup | None:
        """The zero-shot tags of this name, if there are any."""
        return next((group for group in self._groups if group.name == name), None)


def read_annotations(folder: Path) -> AnnotatedPhotos:
    """The notes of a COCO folder (`annotations/`), of Flickr8k or of any folder with a `captions.csv`.

    Raises:
        BadInput: none of these, or a damaged file (which is named).
    """
    if (need_folder(folder) / "annotations").is_dir():
        pictures, _ = read_coco(folder)
        boxes, crowds, categories = _read_boxes(folder)
        notes = {}
        for picture in pictures:
            name = picture.path.name
            counts = dict(boxes[name]) if name in boxes else None
            notes[name] = PhotoNotes(picture.captions, counts, frozenset(crowds.get(name, ())), picture.path)
        return AnnotatedPhotos(notes, categories)
    if not (folder / "captions.csv").is_file():
        raise BadInput(f"{folder}: neither annotations/ (COCO) nor captions.csv is here")
    found, _ = read_flickr8k(folder) if (folder / "images").is_dir() else read_captions_csv(folder / "captions.csv")
    return AnnotatedPhotos({picture.path.name: PhotoNotes(picture.captions, path=picture.path) for picture in found})


BoxCounts = dict[str, Counter[str]]


def _read_boxes(folder: Path) -> tuple[BoxCounts, dict[str, set[str]], frozenset[str]]:
    """Boxes by picture and category, categories that come as a crowd, and all categories."""
    counts: BoxCounts = {}
    crowds: dict[str, set[str]] = {}
    categories: set[str] = set()
    for file in sorted((folder / "annotations").glob("instances_*.json")):
        data = read_json(file, dict)
        try:
            named = {entry["id"]: entry["name"] for entry in data["categories"]}
            pictures = {entry["id"]: entry["file_name"] for entry in data["images"]}
            for name in pictures.values():
                counts.setdefault(name, Counter())
            for at, box in enumerate(data["annotations"]):
                if box["image_id"] not in pictures or box["category_id"] not in named:
                    raise BadInput(
                        f"{file}: annotations[{at}]: its image_id or category_id is not in the file; "
                        "fetch the file again"
                    )
                picture, name = pictures[box["image_id"]], named[box["category_id"]]
                counts[picture][name] += 1
                if box.get("iscrowd"):
                    crowds.setdefault(picture, set()).add(name)
        except (KeyError, TypeError) as error:
            raise BadInput(f"{file}: not as COCO's own instance files are ({error!r}); fetch it again") from error
        categories |= set(named.values())
    return counts, crowds, frozenset(categories)


@dataclass(frozen=True)
class AnnotationAnswerer:
    """The `Answerer` of captioned photographs."""

    notes: AnnotatedPhotos

    def answer(self, question: Question, picture: str) -> str:
        """A short answer that the annotations bear out; "don't know" where they do not.

        Raises:
            UnknownName: nothing is written about the picture.
        """
        view = _View(self.notes, self.notes.of(picture))
        group = self.notes.group(question.attribute or "")
        if group is not None:
            return _tagged(view, group, question.choices or group.answers) or DONT_KNOW
        said = answer_by_rules(_RULES, view, normalize_question(question.text))
        if said is None:
            return DONT_KNOW
        # The choices of a free question are suggestions.
        return next((choice for choice in open_choices(question.choices) if contains_phrase(choice, said)), said)


@dataclass(frozen=True)
class _View:
    """One photograph's note among all notes."""

    notes: AnnotatedPhotos
    note: PhotoNotes

    def mentions(self, noun: str) -> list[Mention]:
        """Where captions say that it is there."""
        nouns = find_synonyms(noun) | (PEOPLE if to_singular(noun) == "person" else frozenset())
        found = (mention for caption in self.note.captions for mention in find_mentions(nouns, caption))
        return [mention for mention in found if _DENIED.isdisjoint(mention.before[-_REACH:])]

    def boxes(self, noun: str) -> int | None:
        """How many boxes there are of exactly this; None where the annotators did not look for it."""
        category = next(iter(find_synonyms(noun) & self.notes.categories), None)
        return None if category is None or self.note.boxes is None else self.note.boxes.get(category, 0)


def _split(text: str) -> tuple[str, str] | None:
    """A colour, if there is one, and a noun of one or two words; None for anything longer."""
    words = [word for word in text.split() if word not in ARTICLES]
    colour = words.pop(0) if len(words) > 1 and words[0] in COLOUR_NAMES else ""
    return (colour, " ".join(words)) if 1 <= len(words) <= 2 else None


def _exists(view: _View, what: str) -> str | None:
    parts = _split(what)
    if parts is None:
        return None
    colour, noun = parts
    found = view.mentions(noun)
    if any(not colour or colour in mention.colours for mention in found) or (not colour and view.boxes(noun)):
        return "yes"
    # The annotators looked for it, or for what it is a kind of, and there was none.
    is_ruled_out = view.boxes("person" if to_singular(noun) in PEOPLE else noun) == 0
    return "no" if not found and is_ruled_out else None


def _count_of(view: _View, what: str) -> str | None:
    """Boxes, unless captions say otherwise; without boxes what captions agree on, three at least if it is one."""
    parts = _split(what)
    if parts is None or parts[0]:
        return None
    found = view.mentions(parts[1])
    told = [mention.number for mention in found]
    boxes = view.boxes(parts[1])
    if boxes is not None:
        differ = any(number not in (None, boxes) for number in told) or (boxes == 0 and bool(found))
        return None if differ or find_synonyms(parts[1]) & view.note.crowds else number_word(boxes)
    numbers = [number for number in told if number is not None]
    if len(set(numbers)) != 1 or (numbers[0] == 1 and len(numbers) < 3):
        return None
    return number_word(numbers[0])


def _colours(view: _View, what: str) -> tuple[str, ...]:
    """The colours that captions give it: those of the caption that gives most, if all others agree; else none."""
    parts = _split(what)
    told = [set(mention.colours) for mention in view.mentions(parts[1]) if mention.colours] if parts else []
    most = max(told, key=len, default=set())
    return tuple(sorted(most)) if all(colours <= most for colours in told) else ()


def _colour_of(view: _View, what: str) -> str | None:
    colours = _colours(view, what)
    return join_with_and(colours) if colours else None


def _is_coloured(view: _View, what: str, colour: str) -> str | None:
    colours = _colours(view, what) if colour in COLOUR_NAMES else ()
    return yes_or_no(colour in colours) if colours else None


def _doing(view: _View, what: str) -> str | None:
    parts = _split(what)
    told = [mention.doing for mention in view.mentions(parts[1]) if mention.doing] if parts else []
    return min(told, key=len) if told else None


def _tag_of(view: _View, group: str) -> str | None:
    """Which of the zero-shot tags of this name the captions speak of."""
    tags = view.notes.group(group)
    return None if tags is None else _tagged(view, tags, tags.answers)


def _inside(view: _View, said: str) -> str | None:
    """Indoors or outdoors, as far as the place tells."""
    place = _tag_of(view, "place")
    if place is None or place == "a shop":
        return None
    indoors = place in {"a room", "a kitchen or restaurant"}
    if " or " in said:
        return "indoors" if indoors else "outdoors"
    return yes_or_no(indoors == said.startswith("in"))


def _tagged(view: _View, group: TagGroup, choices: tuple[str, ...]) -> str | None:
    """The answer that most captions name, as one of the choices; None where two do alike, or only one of several."""
    votes = Counter(
        tag.name
        for caption in view.note.captions
        for tag in group.tags
        if any(contains_phrase(caption, word) for word in (tag.name.removeprefix("a ").removeprefix("an "), *tag.also))
    )
    (first, most), (_, next_most) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    if most == next_most or most < min(2, len(view.note.captions)):
        return None
    offered = open_choices(choices)
    if first in offered:
        return first
    return SOMETHING_ELSE if SOMETHING_ELSE in offered else NONE_OF_THESE


def _summary(view: _View) -> str:
    return min(view.note.captions, key=lambda caption: (len(caption), caption)).strip().rstrip(" .").lower()


_RULES = make_rules(
    (r"(?:is|are) there (.+?)(?: there| in it)?", _exists),
    (r"(?:do|can|could) you see (.+)", _exists),
    (r"any (.+)", _exists),
    (r"how many (.+?)(?: (?:are|is) there| (?:do|can) you (?:see|count)| are in it)?", _count_of),
    (r"(?:what|which) colours? (?:is|are|does|do) (.+?)(?: have)?", _colour_of),
    (r"what is the colour of (.+)", _colour_of),
    (r"(?:is|was) (?:it|this) (?:taken )?(indoors|outdoors|inside|outside|indoors or outdoors)", _inside),
    (r"(?:is|are) (.+) (\w+)", _is_coloured),
    (r"what (?:is|are) (.+) doing", _doing),
    (r"where (?:is|was) (?:it|this)(?: taken)?|where are we|what is (?:in )?the background",
     partial(_tag_of, group="place")),
    (r"(?:what|which) (?:kind of )?animals?(?: (?:is|are) (?:it|there|in it|this))?", partial(_tag_of, group="animal")),
    (r"who is (?:it|this|there|in it|shown)", partial(_tag_of, group="people")),
    (r"what (?:is it|do you see|is (?:happening|going on))|what is it (?:of|about)", _summary),
)  # fmt: skip
