"""Looks up what a turn refers to: pictures, the user's own image, attributes, answers, values to change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from viewfinder.conversation import Answer, BackTo, Conversation, Keep, Like, Node, PictureId, Question, Reject, Show
from viewfinder.errors import BadInput, PictureError, UnknownName
from viewfinder.pictures import is_file
from viewfinder.query import NOTHING_MORE, Change, Picture, Reads, ResolvedTurn
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_image, read_picture
from viewfinder.session.evidence import read_answer
from viewfinder.session.reading import Read, read_plainly, read_said
from viewfinder.session.said import find_revision_of
from viewfinder.store.objects import parse_address
from viewfinder.store.rows import FACTS
from viewfinder.wording.changes import ValueFamily, find_named_changes
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.statements import write_statement
from viewfinder.wording.values import find_values_meant

MAX_VALUES = 64
"""With more values than this, a catalogue column holds names rather than kinds."""

EXCLUSIVE_TAGS = frozenset({"colour"})
"""Groups of tags of which a thing has only one, so that asking for one excludes the others."""

MAX_KEPT_FROM = 5
"""Pictures at the top of the screen whose attribute `Keep` keeps if none was picked there."""


ImageFile = Callable[[str], Path | bytes]
"""The file of an image that a `Show` names, or the file's content."""


class ShownPictures(Sequence[Picture]):
    """Pictures that were shown and still exist, looked up only when needed: few retrievers use them."""

    def __init__(self, ids: Sequence[PictureId], gallery: Gallery, reads: Reads = NOTHING_MORE) -> None:
        self._shown, self._gallery, self._reads = ids, gallery, reads

    @cached_property
    def _ids(self) -> list[PictureId]:
        there = zip(self._shown, self._gallery.snapshot.rows_of(self._shown), strict=True)
        return [picture for picture, row in there if row is not None]

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: Any) -> Any:
        """A picture, or some of them."""
        if isinstance(index, slice):
            return ShownPictures(self._ids[index], self._gallery, self._reads)
        return read_picture(self._gallery, self._ids[index], self._reads)


def resolve_turn(
    conversation: Conversation,
    node: Node,
    gallery: Gallery,
    image_file: ImageFile = Path,
    reads: Reads = NOTHING_MORE,
    read: Read = read_plainly,
) -> ResolvedTurn:
    """The turn of a node with everything it refers to looked up; `reads` is what the retriever reads of pictures,
    `read` gives the description in a sentence.

    Raises:
        BadInput: it names a picture, file or attribute that does not exist.
        EncoderMismatch: the retriever was trained on vectors of another encoder.
    """
    turn = node.turn
    assert turn is not None
    pictures: tuple[Picture, ...] = ()
    text = "" if isinstance(turn, Answer) else read_said(turn, read)
    values: dict[str, tuple[str, ...]] = {}
    changes: tuple[Change, ...] = ()
    vocabulary = gallery.find_vocabulary(reads)
    revise = find_revision_of(node, read)
    screens = _Screens(conversation, gallery, image_file, reads)
    match turn:
        case Like(picture):
            pictures = (read_picture(gallery, picture, reads),)
        case Show(pixels_ref):
            pictures = (screens.read_image(pixels_ref),)
        case Reject(named):
            pictures = tuple(read_picture(gallery, picture, reads) for picture in named)
        case Keep(attribute, at):
            pictures = screens.list_after(at)
            if not pictures:
                raise BadInput(
                    f"nothing was on the screen after turn {at} that is still here: keep something of a later turn"
                )
            values, text = _find_kept_value(attribute, pictures, gallery)
        case Answer(question):
            values, text = _read_answer(question, read_answer(turn, gallery, read), gallery)
    if isinstance(turn, Like | Show) and reads.words and vocabulary is not None:
        changes, text = find_named_changes(text, _list_value_families(gallery))
    return ResolvedTurn(
        turn,
        node.number,
        gallery.encode_texts,
        text,
        pictures,
        ShownPictures(conversation.nodes[node.parent].shown, gallery, reads),
        values,
        changes,
        vocabulary.words if vocabulary is not None else (),
        gallery.find_sentences(None if reads.space is None else reads.space.raw_version),
        lambda number: screens.list_after(number) if 0 <= number < node.number else (),
        revise,
        lambda: gallery.collection,
        lambda others: resolve_turn(conversation, node, gallery, image_file, others, read),
    )


@dataclass(frozen=True, eq=False)
class _Screens:
    """The pictures that were on the screen after the turns of a conversation."""

    conversation: Conversation
    gallery: Gallery
    image_file: ImageFile
    reads: Reads

    def read_image(self, name: str) -> Picture:
        """An image that the user brought, read from its file."""
        file, fit = self.image_file(name), self.gallery.encoder.fit
        from viewfinder.pictures.decode import Limits, decode
        from viewfinder.pictures.sandbox import decode_one

        if isinstance(file, bytes):  # packed by ourselves: no sandbox needed
            return read_image(self.gallery, decode(file, limits=Limits(), fit=fit).pixels, self.reads)
        if not is_file(file):
            if (url := parse_address(file)) is not None:
                raise BadInput(f"no such image: {url} is an address, not a file: download it, and give the file")
            raise BadInput(f"no such image: {file}")
        try:
            pixels = decode_one(file, fit).pixels
        except PictureError as error:
            raise PictureError(f"{name}: {error}") from error
        return read_image(self.gallery, pixels, self.reads)

    def list_after(self, number: int) -> tuple[Picture, ...]:
        """The picture of that turn, else the top of its results, as far as they exist."""
        node = self.conversation.nodes[number]
        while isinstance(node.turn, BackTo):  # it only moves
            node = self.conversation.nodes[node.parent]
        if isinstance(node.turn, Show):
            return (self.read_image(node.turn.pixels_ref),)
        ids = (node.turn.picture,) if isinstance(node.turn, Like) else node.shown[:MAX_KEPT_FROM]
        return tuple(ShownPictures(ids, self.gallery, self.reads))


def _find_kept_value(
    attribute: str, pictures: tuple[Picture, ...], gallery: Gallery
) -> tuple[dict[str, tuple[str, ...]], str]:
    """The value that most of the pictures share: by the catalogue if it has such a column, else by zero-shot tags."""
    columns = gallery.snapshot.columns()
    column = find_attribute(attribute, columns)
    if column is not None:
        votes = [value for picture in pictures for value in picture.attributes.get(column, ())]
        if not votes:
            raise BadInput(f"the catalogue says nothing of {column} for the pictures of that turn")
        value = max(dict.fromkeys(votes), key=votes.count)
        return {column: (value,)}, value
    groups = tuple(group.name for group in gallery.tags.groups)
    group = find_attribute(attribute, groups)
    if group is None:
        raise UnknownName(f"no attribute is called {attribute!r}; there are: {', '.join((*columns, *groups))}")
    vectors_kd = np.stack([picture.vectors["global"] for picture in pictures])
    mean_t = gallery.tags.probabilities(vectors_kd)[group].mean(axis=0)
    return {}, gallery.tags.group(group).tags[int(mean_t.argmax())].phrase


def find_attribute(wanted: str, names: Sequence[str]) -> str | None:
    """The attribute a user means: the same letters, else the one name that contains them (colour -> baseColour)."""
    asked, *letters = (re.sub(r"[_ ]", "", name.casefold()).replace("color", "colour") for name in (wanted, *names))
    exact = [name for name, found in zip(names, letters, strict=True) if found == asked]
    inside = [name for name, found in zip(names, letters, strict=True) if asked and asked in found]
    return exact[0] if exact else inside[0] if len(inside) == 1 else None


def _read_answer(question: Question, answer: str, gallery: Gallery) -> tuple[dict[str, tuple[str, ...]], str]:
    """The values of the catalogue that an answer means, by column, and the answer as a statement."""
    if is_dont_know(answer):
        return {}, answer
    if question.attribute is None:
        return {}, write_statement(question.text, answer)
    if question.attribute in gallery.snapshot.columns():
        values = find_values_meant(question, answer, gallery.snapshot.column(question.attribute).values)
        return ({question.attribute: values} if values else {}), answer
    if question.attribute not in {group.name for group in gallery.tags.groups}:
        return {}, answer
    group = gallery.tags.group(question.attribute)
    meant = find_values_meant(question, answer, group.answers)
    phrases = [tag.phrase for tag in group.tags if tag.name in meant]
    return {}, ", ".join(phrases) if phrases else "" if group.none in meant else answer


def _list_value_families(gallery: Gallery) -> tuple[ValueFamily, ...]:
    """Values that exclude each other: those of catalogue columns, then colours and the like among the tags."""
    # A "but ..." never refers to facts of the files.
    told = {*FACTS} | gallery.snapshot.file_columns
    columns = [gallery.snapshot.column(name) for name in gallery.snapshot.columns() if name not in told]
    known = [ValueFamily(column.values, column.name) for column in columns if 1 < len(column.values) <= MAX_VALUES]
    tagged = [
        ValueFamily(tuple(name for tag in group.tags for name in (tag.name, *tag.also)))
        for group in gallery.tags.groups
        if group.name in EXCLUSIVE_TAGS
    ]
    return (*known, *tagged)
