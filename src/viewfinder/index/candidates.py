"""What a questioner sees of a talk: the likeliest pictures, how likely each is, and what can be looked up of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.conversation import Answer, BackTo, Conversation, Keep, Node, is_dont_know
from viewfinder.index.gallery import Gallery
from viewfinder.index.results import AT_LEAST, Ranking
from viewfinder.questioners import Candidates, PictureProjection
from viewfinder.retrievers import Query, RegionSpace
from viewfinder.retrievers.base import RawPictures

CANDIDATES = AT_LEAST
"""The likeliest pictures, which a question is about."""

Foreseen = Callable[[Answer], Query]
"""What would be looked for if this answer were given next."""


def select_candidates(view: Ranking, talk: Conversation, foreseen: Foreseen, *, settled: frozenset[str]) -> Candidates:
    """The likeliest pictures of a view, where the talk stands.

    `settled` are attributes that something outside the talk settles: filters.
    """
    gallery = view.gallery
    rows_c = view.best(CANDIDATES)
    columns = (gallery.snapshot.column(name) for name in gallery.snapshot.columns())
    path = talk.path()
    return Candidates(
        probabilities_c=_chances(view.scores.total_n[rows_c], view.query.sharpness),
        vectors_cd=gallery.snapshot.matrix_nd[rows_c],
        columns={column.name: (column.values, column.first_codes_n[rows_c]) for column in columns},
        said=tuple(text for node in path if (text := getattr(node.turn, "text", ""))),
        asked=tuple(node.asked for node in path if node.asked is not None),
        settled=settled | _settled(path),
        turns=tuple(node.turn for node in path if node.turn is not None and not isinstance(node.turn, BackTo)),
        lookup=GalleryLookup(gallery, rows_c, foreseen),
    )


class GalleryLookup:
    """The questioners' `Lookup` over some rows of a gallery."""

    def __init__(self, gallery: Gallery, rows_c: Int[np.ndarray, " c"], foreseen: Foreseen) -> None:
        self._gallery, self._rows_c, self._foreseen = gallery, rows_c, foreseen
        self.words = gallery.encoder.words
        self.sentences = gallery.encoder.sentences
        self.sentences_version = gallery.encoder.sentences_version

    def captions(self) -> Sequence[tuple[str, ...]]:
        """What people wrote about the candidates."""
        if not self._gallery.snapshot.has_captions:
            return [()] * len(self._rows_c)
        return [tuple(self._gallery.snapshot.captions(row)) for row in self._rows_c.tolist()]

    def seen(self, sight: PictureProjection) -> Float32[np.ndarray, "c k"]:
        """The candidates as a trained questioner sees them: made for the whole collection at the first call, and kept.

        Raises:
            EncoderMismatch: it was trained on the vectors of another encoder.
        """
        space = RegionSpace(
            sight.name, sight.raw_version, partial(_alone, sight), regions=1, width=sight.width, reads_regions=False
        )
        return self._gallery.block(space).vectors(self._rows_c)[:, 0]

    def foresee(self, answers: Sequence[Answer]) -> Float[np.ndarray, "a c"]:
        """The probabilities of the candidates after each of some answers."""
        queries = [self._foreseen(answer) for answer in answers]
        scores_ac = [self._gallery.shares(query, self._rows_c).sum(axis=1) for query in queries]
        return np.stack([_chances(s_c, query.sharpness) for s_c, query in zip(scores_ac, queries, strict=True)])


def _alone(sight: PictureProjection, raw: RawPictures) -> Float32[np.ndarray, "n 1 k"]:
    """A sight as a region space has it: one vector a picture."""
    return sight.project(raw.whole_ng)[:, None]


def _chances(total_c: Float[np.ndarray, " c"], sharpness: float) -> Float[np.ndarray, " c"]:
    """Scores as chances that sum to 1; none of none."""
    if not len(total_c):
        return np.zeros(0)
    chances_c = np.exp(sharpness * (total_c - total_c.max()).astype(np.float64))
    return np.asarray(chances_c / chances_c.sum())


def _settled(path: Sequence[Node]) -> frozenset[str]:
    names: set[str] = set()
    for node in path:
        match node.turn:
            case Keep(attribute):
                names.add(attribute)
            case Answer(question, text) if question.attribute is not None and not is_dont_know(text):
                names.add(question.attribute)
            case _:
                pass
    return frozenset(names)
