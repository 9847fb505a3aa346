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
from viewfinder.users.choices import answer_with_choice, choose_answer, find_choice
from viewfinder.users.goods import CatalogueItem, CatalogueVocabulary, answer_about_item
from viewfinder.users.lexicon import SceneLexicon
from viewfinder.users.naming import find_picture
from viewfinder.users.phrases import KnownScene
from viewfinder.users.scenes import answer_about_scene
from viewfinder.users.text import DONT_KNOW, normalize_question


@dataclass(frozen=True)
class Oracle:
    """The `Answerer` of worlds, of scenes and of catalogues alike; `truths` by picture."""

    truths: Mapping[str, PictureTruth]
    lexicon: SceneLexicon = field(init=False, repr=False)
    shelf: CatalogueVocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lexicon", SceneLexicon.of(self.truths.values()))
        object.__setattr__(self, "shelf", CatalogueVocabulary.of(self.truths.values()))

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
        truth = find_truth(self.truths, picture)
        if question.attribute is not None and (chosen := answer_with_choice(question, truth, self.shelf)) is not None:
            return chosen
        said = self._said(normalize_question(question.text), truth)
        if said is None:
            return DONT_KNOW
        if question.attribute is None:
            return find_choice((said,), question.choices) or said
        return choose_answer((said,), question.choices)

    def _said(self, question: str, truth: PictureTruth) -> str | None:
        if truth.things:
            return answer_about_scene(question, KnownScene(truth, self.lexicon))
        return answer_about_item(question, CatalogueItem(truth, self.shelf))


def find_truth(truths: Mapping[str, PictureTruth], picture: str) -> PictureTruth:
    """The truth of one picture, by its file name; a folder before it does not matter.

    Raises:
        UnknownName: there is none.
    """
    found = find_picture(truths, picture)
    if found is None:
        raise UnknownName(f"{picture}: this world has no such picture; it has {len(truths)}, named as in images/")
    return found
