"""Answers as evidence: how likely each picture of a gallery is to be answered as the user did."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int64

from viewfinder.conversation import Answer, Like, Node, Reject, Say, Turn
from viewfinder.encoders.tags import TagVectors
from viewfinder.query import ComputedRatios, Evidence, LevelRatios, LikelihoodRatios, Ratios
from viewfinder.questioners.answers import AnswerModel, find_model
from viewfinder.questioners.photographs import REMEMBER, photograph_labels
from viewfinder.search.gallery import MAX_PICTURES_AT_ONCE, Gallery
from viewfinder.search.turn_scores import warm_scores
from viewfinder.session.chances import find_chances_at
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
        elif facts := [fact for fact in list_facts(node.turn, read) if not fact.filter]:
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


def weigh_answer(gallery: Gallery, answer: Answer) -> Ratios | None:
    """How much likelier an answer is for each picture of a gallery than for its pictures on average, in nats.

    None if the answer says nothing by itself. Computed once and kept by the gallery, or, where an index finds the
    pictures that matter, computed of these alone: the mean is then that of a sample.
    """

    # All that the answer's likelihoods depend on.
    said = (answer.question.attribute, answer.question.choices, answer.text)

    def weigh() -> Ratios | None:
        if not len(gallery):
            return None
        on_demand = gallery.has_index
        known = KnownOfGallery(gallery, find_sample(gallery))
        model = find_model(answer, known)
        if model is None:
            return None
        if model.is_of_catalogue:
            return _weigh_levels(model, KnownOfGallery(gallery))
        likely_n = model.weigh(known)
        mean = max(float(likely_n.mean()), MIN_LIKELIHOOD)

        def compare(likely_k: Float[np.ndarray, " k"]) -> Float32[np.ndarray, " k"]:
            return np.asarray(np.log(np.maximum(likely_k, MIN_LIKELIHOOD) / mean), np.float32)

        if not on_demand:
            return LikelihoodRatios(compare(likely_n), None)
        return ComputedRatios(
            lambda rows_k: compare(model.weigh(KnownOfGallery(gallery, rows_k), mean)),
            lambda: gallery.memory.remember(
                ("all", *said), lambda: compare(model.weigh(KnownOfGallery(gallery), mean))
            ),
            -math.log(mean),
        )

    return gallery.memory.remember(said, weigh)


def _weigh_levels(model: AnswerModel, pictures: KnownOfGallery) -> LevelRatios:
    """The ratios of what a catalogue tells: it has the value, another one, or none."""
    level_n, chance_l = model.find_levels(pictures), np.array(model.levels)
    mean = float(np.bincount(level_n, minlength=len(chance_l)) @ chance_l / len(level_n))
    return LevelRatios(np.log(chance_l / max(mean, MIN_LIKELIHOOD)).astype(np.float32), level_n)


def warm_gallery(gallery: Gallery) -> Gallery:
    """Computes all that the first turn would have to compute; returns the gallery itself."""
    KnownOfGallery(gallery, find_sample(gallery)).label_chances()
    from viewfinder.questioners.looks import picture_looks

    predict_labels(gallery, picture_looks())
    return warm_scores(gallery)


def find_sample(gallery: Gallery) -> Int64[np.ndarray, " k"] | None:
    """The rows on which answers are measured; None: all."""
    return gallery.measures.samples.rows_k if gallery.has_index else None


@dataclass(frozen=True, eq=False)
class KnownOfGallery:
    """Catalogue, labels and tags of a gallery's pictures, as questioners ask for them (`KnownPictures`).

    `rows_k`: the pictures that are asked about; None: all of them.
    """

    gallery: Gallery
    rows_k: Int[np.ndarray, " k"] | None = None

    @property
    def tags(self) -> TagVectors:
        """Zero-shot tags of the collection."""
        return self.gallery.tags

    def column_values(self, name: str) -> tuple[str, ...] | None:
        """The values of a catalogue column; None if there is no column of exactly this name."""
        return self.gallery.snapshot.column(name).values if name in self.gallery.snapshot.columns() else None

    def column_masks(self, name: str, values: Sequence[str]) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        """Which pictures have one of these values, and which have any."""
        column, wanted = self.gallery.snapshot.column(name), {value.casefold() for value in values}
        has_n, known_n = (
            column.mark(np.array(chosen, bool))
            for chosen in ([value.casefold() in wanted for value in column.values], [True] * len(column.values))
        )
        return (has_n, known_n) if self.rows_k is None else (has_n[self.rows_k], known_n[self.rows_k])

    def label_chances(self) -> Float[np.ndarray, "n l"] | None:
        """How likely each label of `questioners.photographs` holds; None where nothing can tell."""
        if self.rows_k is not None:
            return find_chances_at(self.gallery, self.rows_k)
        if self.gallery.measures.scale.is_of_box:
            return predict_labels(self.gallery, photograph_labels())
        from viewfinder.session.labels import find_label_chances

        return find_label_chances(self.gallery)

    def tag_chances(self, group: str) -> Float[np.ndarray, "n t"]:
        """How likely each tag of a group is, for every picture."""
        matrix_nd, tags = self.gallery.snapshot.matrix_nd, self.gallery.tags
        if self.rows_k is not None:
            return tags.probabilities(matrix_nd[self.rows_k])[group]
        starts = range(0, max(len(matrix_nd), 1), MAX_PICTURES_AT_ONCE)
        return np.concatenate([tags.probabilities(matrix_nd[at : at + MAX_PICTURES_AT_ONCE])[group] for at in starts])
