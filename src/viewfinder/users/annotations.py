"""Answers about captioned photographs: from what people wrote, and from COCO's boxes if there are any.

It is careful. What captions do not mention may still be there; only a category whose boxes are annotated in all
pictures can be denied. Captions that disagree count as "don't know".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from viewfinder.conversation import Question
from viewfinder.data.captions import has_captions, read_captioned, read_captions_csv, read_instances
from viewfinder.data.files import need_folder
from viewfinder.data.splits import Part, read_photographs
from viewfinder.encoders.tags import TagGroup, tag_groups
from viewfinder.errors import BadInput, UnknownName
from viewfinder.users.base import find_picture
from viewfinder.users.captions import (
    COLOUR_NAMES,
    MAX_WORDS_BETWEEN,
    PEOPLE,
    Mention,
    choose_by_captions,
    find_mentions,
    find_synonyms,
    to_singular,
)
from viewfinder.users.words import answer_by_rules, make_rules
from viewfinder.wording.clauses import DENYING_WORDS
from viewfinder.wording.nouns import join_with_and
from viewfinder.wording.numbers import spell_number
from viewfinder.wording.phrases import contains_phrase
from viewfinder.wording.plain_questions import normalize_question
from viewfinder.wording.replies import DONT_KNOW, drop_dont_know, write_yes_or_no
from viewfinder.wording.stop_words import ARTICLES


@dataclass(frozen=True)
class PhotoNotes:
    """The captions and boxes of one photograph.

    Attributes:
        captions: at least one.
        boxes: the number of boxes of each category; None: it was not annotated with boxes.
        crowds: categories of which there are more than were counted.
        path: its file, if one was looked for.
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
        """The notes of a photograph; UnknownName if it has none."""
        note = find_picture(self.pictures, picture)
        if note is None:
            raise UnknownName(f"{picture}: nobody has captioned this picture; {len(self.pictures)} others are")
        return note

    def group(self, name: str) -> TagGroup | None:
        """The zero-shot tags of this name, if there are any."""
        return next((group for group in self._groups if group.name == name), None)


def read_annotations(folder: Path) -> AnnotatedPhotos:
    """The notes of a COCO folder (`annotations/`), of Flickr8k or Flickr30k, or of any folder with a `captions.csv`.

    Raises:
        BadInput: none of these, or a damaged file (it is named).
    """
    if any(need_folder(folder).glob("annotations/captions_*.json")):
        boxed = any(folder.glob("annotations/instances_*.json"))
        marked = {picture.path.name: picture for picture in read_instances(folder)[0]} if boxed else {}
        notes = {}
        for picture in read_captioned(folder)[0]:
            things = marked[picture.path.name].instances if picture.path.name in marked else None
            counts = None if things is None else Counter(thing.category for thing in things)
            crowds = frozenset(thing.category for thing in things or () if thing.crowd)
            notes[picture.path.name] = PhotoNotes(picture.captions, counts, crowds, picture.path)
        return AnnotatedPhotos(notes, frozenset().union(*(picture.categories for picture in marked.values())))
    if not has_captions(folder):
        raise BadInput(f"{folder}: neither annotations/ (COCO) nor captions.csv is here")
    beside = (folder / "captions.csv").is_file() and not (folder / "images").is_dir()
    found, _ = read_captions_csv(folder / "captions.csv") if beside else read_captioned(folder)
    return AnnotatedPhotos({picture.path.name: PhotoNotes(picture.captions, path=picture.path) for picture in found})


def read_photo_notes(folder: Path, part: Part | None = None) -> AnnotatedPhotos:
    """The notes of all photographs below a folder (see `data.splits`), or of one part, by "<set>/<file>".

    Raises as `read_photographs`.
    """
    boxed = read_annotations(folder / "coco") if (folder / "coco").is_dir() else AnnotatedPhotos({})
    notes = {
        f"{name}/{picture.path.name}": boxed.pictures.get(picture.path.name)
        or PhotoNotes(picture.captions, path=picture.path)
        for name, pictures in read_photographs(folder, part).items()
        for picture in pictures
    }
    return AnnotatedPhotos(notes, boxed.categories)


@dataclass(frozen=True)
class AnnotationAnswerer:
    """The `Answerer` of captioned photographs."""

    notes: AnnotatedPhotos

    def answer(self, question: Question, picture: str) -> str:
        """A short answer that the annotations support; "don't know" if they support none.

        Raises:
            UnknownName: nothing is written about the picture.
        """
        view, offered = _View(self.notes, self.notes.of(picture)), drop_dont_know(question.choices)
        if len(offered) > 1 and (chosen := _choose(view, question)) is not None:
            return chosen
        said = answer_by_rules(_RULES, view, normalize_question(question.text))
        if said is None or not offered:
            return said or DONT_KNOW
        return next((choice for choice in offered if contains_phrase(choice, said)), DONT_KNOW)


def _choose(view: _View, question: Question) -> str | None:
    """Chooses by the boxes if a number is asked for and they tell it, else by the captions."""
    captions, counted = view.note.captions, re.search(r"how many (\w+)", question.text.lower())
    if counted and view.boxes(counted[1]) is not None and (number := _answer_number(view, counted[1])) is not None:
        captions = (f"{number} {counted[1]}",)
    return choose_by_captions(question, captions)


@dataclass(frozen=True)
class _View:
    """One photograph's note among all notes."""

    notes: AnnotatedPhotos
    note: PhotoNotes

    def mentions(self, noun: str) -> list[Mention]:
        """Where captions say that it is there."""
        nouns = find_synonyms(noun) | (PEOPLE if to_singular(noun) == "person" else frozenset())
        found = (mention for caption in self.note.captions for mention in find_mentions(nouns, caption))
        return [mention for mention in found if DENYING_WORDS.isdisjoint(mention.before[-MAX_WORDS_BETWEEN:])]

    def boxes(self, noun: str) -> int | None:
        """The number of boxes of exactly this; None if the annotators did not look for it."""
        category = next(iter(find_synonyms(noun) & self.notes.categories), None)
        return None if category is None or self.note.boxes is None else self.note.boxes.get(category, 0)


def _split_colour(text: str) -> tuple[str, str] | None:
    """A colour, if there is one, and a noun of one or two words; None for anything longer."""
    words = [word for word in text.split() if word not in ARTICLES]
    colour = words.pop(0) if len(words) > 1 and words[0] in COLOUR_NAMES else ""
    return (colour, " ".join(words)) if 1 <= len(words) <= 2 else None


def _answer_existence(view: _View, what: str) -> str | None:
    parts = _split_colour(what)
    if parts is None:
        return None
    colour, noun = parts
    found = view.mentions(noun)
    if any(not colour or colour in mention.colours for mention in found) or (not colour and view.boxes(noun)):
        return "yes"
    # The annotators looked for it, or for its parent category, and there was none.
    is_ruled_out = view.boxes("person" if to_singular(noun) in PEOPLE else noun) == 0
    return "no" if not found and is_ruled_out else None


def _answer_number(view: _View, what: str) -> str | None:
    """Boxes, unless captions say otherwise; without boxes, what captions agree on, at least three if it is one."""
    parts = _split_colour(what)
    if parts is None or parts[0]:
        return None
    found = view.mentions(parts[1])
    told = [mention.number for mention in found]
    boxes = view.boxes(parts[1])
    if boxes is not None:
        differ = any(number not in (None, boxes) for number in told) or (boxes == 0 and bool(found))
        return None if differ or find_synonyms(parts[1]) & view.note.crowds else spell_number(boxes)
    numbers = [number for number in told if number is not None]
    if len(set(numbers)) != 1 or (numbers[0] == 1 and len(numbers) < 3):
        return None
    return spell_number(numbers[0])


def _find_agreed_colours(view: _View, what: str) -> tuple[str, ...]:
    """The colours that captions give it: those of the caption that gives the most, if all others agree; else none."""
    parts = _split_colour(what)
    told = [set(mention.colours) for mention in view.mentions(parts[1]) if mention.colours] if parts else []
    most = max(told, key=len, default=set())
    return tuple(sorted(most)) if all(colours <= most for colours in told) else ()


def _answer_colour(view: _View, what: str) -> str | None:
    colours = _find_agreed_colours(view, what)
    return join_with_and(colours) if colours else None


def _answer_whether_coloured(view: _View, what: str, colour: str) -> str | None:
    colours = _find_agreed_colours(view, what) if colour in COLOUR_NAMES else ()
    return write_yes_or_no(colour in colours) if colours else None


def _answer_doing(view: _View, what: str) -> str | None:
    parts = _split_colour(what)
    told = [mention.doing for mention in view.mentions(parts[1]) if mention.doing] if parts else []
    return min(told, key=len) if told else None


def _find_tag(view: _View, group: str) -> str | None:
    """The zero-shot tag of this name that most captions mention; None on a tie, or if one of several mentions it."""
    tags = view.notes.group(group)
    votes = Counter(
        tag.name
        for caption in view.note.captions
        for tag in (tags.tags if tags else ())
        if any(contains_phrase(caption, word) for word in (tag.name.removeprefix("a ").removeprefix("an "), *tag.also))
    )
    (first, most), (_, next_most) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    return None if most == next_most or most < min(2, len(view.note.captions)) else first


def _answer_indoors(view: _View, said: str) -> str | None:
    """Indoors or outdoors, if the place tells."""
    place = _find_tag(view, "place")
    if place is None or place == "a shop":
        return None
    indoors = place in {"a room", "a kitchen or restaurant"}
    if " or " in said:
        return "indoors" if indoors else "outdoors"
    return write_yes_or_no(indoors == said.startswith("in"))


def _summarise(view: _View) -> str:
    return min(view.note.captions, key=lambda caption: (len(caption), caption)).strip().rstrip(" .").lower()


_RULES = make_rules(
    (r"(?:is|are) there (.+?)(?: there| in it)?", _answer_existence),
    (r"(?:do|can|could) you see (.+)", _answer_existence),
    (r"any (.+)", _answer_existence),
    (r"how many (.+?)(?: (?:are|is) there| (?:do|can) you (?:see|count)| are in it)?", _answer_number),
    (r"(?:what|which) colours? (?:is|are|does|do) (.+?)(?: have)?", _answer_colour),
    (r"what is the colour of (.+)", _answer_colour),
    (r"(?:is|was) (?:it|this) (?:taken )?(indoors|outdoors|inside|outside|indoors or outdoors)", _answer_indoors),
    (r"(?:is|are) (.+) (\w+)", _answer_whether_coloured),
    (r"what (?:is|are) (.+) doing", _answer_doing),
    (r"where (?:is|was) (?:it|this)(?: taken)?|where are we|what is (?:in )?the background",
     partial(_find_tag, group="place")),
    (r"(?:what|which) (?:kind of )?animals?(?: (?:is|are) (?:it|there|in it|this))?",
     partial(_find_tag, group="animal")),
    (r"who is (?:it|this|there|in it|shown)", partial(_find_tag, group="people")),
    (r"what (?:is it|do you see|is (?:happening|going on))|what is it (?:of|about)", _summarise),
)  # fmt: skip
