"""Answers as evidence: how likely each picture of a gallery is to be answered as the user did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.conversation import Answer, Like, Node, Reject, Say, Turn
from viewfinder.encoders.tags import TagVectors
from viewfinder.query import Evidence, LikelihoodRatios
from viewfinder.questioners.answers import answer_likelihoods
from viewfinder.questioners.photographs import REMEMBER, photograph_labels
from viewfinder.search.gallery import MAX_KEPT_PICTURES, Gallery
from viewfinder.session.predicted import predict_labels
from viewfinder.session.reading import Read
from viewfinder.wording.choices import is_choice

if TYPE_CHECKING:
    from viewfinder.wording.fact_phrases import FactPhrase

MIN_LIKELIHOOD = 1e-6
"""No answer is taken to be less likely than this."""


def find_evidence(path: Sequence[Node], gallery: Gallery, read: Read) -> tuple[Evidence, ...]:
    """The answers on a path that count by themselves, and the facts that were said: not those since the turn from which
    a picked picture goes on, nor the facts that a later turn takes back."""
    from viewfinder.session.facts import list_facts, weigh_fact
    from viewfinder.wording.fact_phrases import takes_back

    found: list[tuple[Evidence, FactPhrase | None]] = []
    for node in path:
        if isinstance(node.turn, Like) and (since := node.turn.turn) is not None:
            found = [one for one in found if one[0].turn <= since]
        if isinstance(node.turn, Answer) and weigh_answer(gallery, node.turn) is not None:
            question, text = node.turn.question, node.turn.text
            weigh = partial(weigh_answer, gallery, node.turn)
            answered = Evidence(node.number, f"{question.text} {text}", f"{question.attribute}: {text}", weigh)
            found.append((answered, None))
        elif facts := list_facts(node.turn, read):
            found = [
                (evidence, earlier)
                for evidence, earlier in found
                if earlier is None or not any(takes_back(fact, earlier) for fact in facts)
            ]
            for fact in facts:
                weigh_said = partial(weigh_fact, fact, gallery)
                found.append((Evidence(node.number, fact.words, fact.words, weigh_said, is_fact=True), fact))
    return tuple(evidence for evidence, _ in found)


def is_evidence_alone(turn: Turn | None, gallery: Gallery, read: Read) -> bool:
    """Whether a turn is one of the offered choices or only names facts, so that no retriever needs to read it as a
    sentence."""
    if isinstance(turn, Say) or (isinstance(turn, Reject) and turn.text and not turn.pictures):
        from viewfinder.session.facts import read_turn

        reading = read_turn(turn, read)
        return bool(reading.facts) and not reading.content
    if not isinstance(turn, Answer):
        return False
    if weigh_answer(gallery, turn) is not None:
        return is_choice(turn)
    reading = read(turn.text)
    return bool(reading.facts) and not reading.content


def read_answer(answer: Answer, gallery: Gallery, read: Read) -> str:
    """The description in an answer: its words, without facts where these say what the question did not ask for."""
    reading = read(answer.text)
    is_free = answer.question.attribute == REMEMBER or (reading.facts and weigh_answer(gallery, answer) is None)
    return reading.content if is_free else answer.text


def weigh_answer(gallery: Gallery, answer: Answer) -> LikelihoodRatios | None:
    """How much likelier an answer is for each picture of a gallery than for its pictures on average, in nats.

    None if the answer says nothing by itself. Computed once and kept by the gallery.
    """

    def weigh() -> LikelihoodRatios | None:
        likely_n = answer_likelihoods(answer, KnownOfGallery(gallery))
        if likely_n is None or not len(gallery):
            return None
        mean = max(float(likely_n.mean()), MIN_LIKELIHOOD)
        return LikelihoodRatios(np.asarray(np.log(np.maximum(likely_n, MIN_LIKELIHOOD) / mean), np.float32), None)

    # All that the answer's likelihoods depend on.
    return gallery.remember((answer.question.attribute, answer.question.choices, answer.text), weigh)


def warm_gallery(gallery: Gallery) -> Gallery:
    """Computes all that the first turn would have to compute; returns the gallery itself."""
    KnownOfGallery(gallery).label_chances()
    from viewfinder.questioners.looks import picture_looks

    predict_labels(gallery, picture_looks())
    return gallery.warm()


@dataclass(frozen=True, eq=False)
class KnownOfGallery:
    """Catalogue, labels and tags of a gallery's pictures, as questioners ask for them (`KnownPictures`)."""

    gallery: Gallery

    @property
    def tags(self) -> TagVectors:
        """Zero-shot tags of the collection."""
        return self.gallery.tags

    def column_values(self, name: str) -> tuple[str, ...] | None:
        """The values of a catalogue column; None if there is no column of exactly this name."""
        return self.gallery.snapshot.column(name).values if name in self.gallery.snapshot.columns() else None

    def column_masks(self, name: str, values: Sequence[str]) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Which pictures have one of these values, and which have any."""
        column = self.gallery.snapshot.column(name)
        has_n = np.zeros(len(self.gallery), bool)
        for value in values:
            has_n |= column.mask(value)
        return has_n, column.first_codes_n >= 0

    def label_chances(self) -> Float[np.ndarray, "n l"] | None:
        """How likely each label of `questioners.photographs` holds; None where nothing can tell."""
        if self.gallery.scale.is_of_box:
            return predict_labels(self.gallery, photograph_labels())
        from viewfinder.session.labels import find_label_chances

        return find_label_chances(self.gallery)

    def label_chances_at(self, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k l"] | None:
        """`label_chances` of some pictures; in a large collection computed from their vectors alone."""
        labels = photograph_labels()
        if len(self.gallery) > MAX_KEPT_PICTURES and self.gallery.encoder.version == labels.vectors_version:
            return labels.chances(self.gallery.snapshot.matrix_nd[rows_k])
        chances_nl = self.label_chances()
        return None if chances_nl is None else np.asarray(chances_nl[rows_k])

    def tag_chances(self, group: str) -> Float[np.ndarray, "n t"]:
        """How likely each tag of a group is, for every picture."""
        return self.gallery.tags.probabilities(self.gallery.snapshot.matrix_nd)[group]
