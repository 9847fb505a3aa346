"""Answers any question about the pictures of a world from their truth, and says "don't know" to the rest.

It is honest: what it does not understand, what the truth does not hold (who is in the picture, the brand of the
car) and what people would argue about ("is it to the left?" of something that is mostly above) it does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.conversation import Question
from viewfinder.data.truth import PictureTruth, read_truth
from viewfinder.errors import UnknownName
from viewfinder.users.choices import choice_answer, choose, fitting
from viewfinder.users.goods import Article, Shelf, goods_answer
from viewfinder.users.lexicon import Lexicon
from viewfinder.users.naming import known_of
from viewfinder.users.phrases import Scene
from viewfinder.users.scenes import scene_answer
from viewfinder.users.text import DONT_KNOW, plain


@dataclass(frozen=True)
class Oracle:
    """The `Answerer` of worlds, of scenes and of catalogues alike; `truths` by picture."""

    truths: Mapping[str, PictureTruth]
    lexicon: Lexicon = field(init=False, repr=False)
    shelf: Shelf = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lexicon", Lexicon.of(self.truths.values()))
        object.__setattr__(self, "shelf", Shelf.of(self.truths.values()))

    @staticmethod
    def at(world: Path) -> Oracle:
        """The oracle of a world's folder.

        Raises:
            BadInput: as `read_truth`.
        """
        return Oracle(read_truth(world))

    def answer(self, question: Question, picture: str) -> str:
        """A short true answer; "don't know" where there is none.

        Asked for an attribute it keeps to the choices, where there are some; those of a free question are suggestions.

        Raises:
            UnknownName: the world has no such picture.
        """
        truth = truth_of(self.truths, picture)
        if question.attribute is not None and (chosen := choice_answer(question, truth, self.shelf)) is not None:
            return chosen
        said = self._said(plain(question.text), truth)
        if said is None:
            return DONT_KNOW
        if question.attribute is None:
            return fitting((said,), question.choices) or said
        return choose((said,), question.choices)

    def _said(self, question: str, truth: PictureTruth) -> str | None:
        if truth.things:
            return scene_answer(question, Scene(truth, self.lexicon))
        return goods_answer(question, Article(truth, self.shelf))


def truth_of(truths: Mapping[str, PictureTruth], picture: str) -> PictureTruth:
    """The truth of one picture, by its file name; a folder before it does not matter.

    Raises:
        UnknownName: there is none.
    """
    found = known_of(truths, picture)
    if found is None:
        raise UnknownName(f"{picture}: this world has no such picture; it has {len(truths)}, named as in images/")
    return found
