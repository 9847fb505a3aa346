"""The likeliest pictures at a point of a conversation, as questioners see them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.conversation import Answer, Conversation, Keep, PictureId
from viewfinder.query import RegionSpace, SentenceEncoder
from viewfinder.questioners import Candidates, PictureProjection
from viewfinder.search.gallery import Gallery
from viewfinder.search.ranking import Ranking
from viewfinder.session.chances import find_chances_at
from viewfinder.store.packed_ids import take_ids
from viewfinder.store.rows import FACTS
from viewfinder.wording.replies import is_dont_know

MAX_CANDIDATES = 1000
"""How many of the likeliest pictures a question is about."""

MAY_BE_ASKED = frozenset({*FACTS, "keywords", "persons", "place", "city", "region", "country"})
"""What files tell and a user may have in mind; nobody knows a picture's coordinates, its lens or its file's name."""


def select_candidates(ranking: Ranking, conversation: Conversation, *, settled: frozenset[str]) -> Candidates:
    """The likeliest pictures at the present point of a conversation; `settled`: attributes that filters settle."""
    snapshot, rows_c = ranking.gallery.snapshot, ranking.best(MAX_CANDIDATES)
    path, open_no_more = conversation.path(), set(settled)
    turns = tuple(node.turn for node in path if node.turn is not None)
    for turn in turns:
        if isinstance(turn, Keep):
            open_no_more.add(turn.attribute)
        elif isinstance(turn, Answer) and turn.question.attribute is not None and not is_dont_know(turn.text):
            open_no_more.add(turn.question.attribute)
    asked_for = (name for name in snapshot.columns() if name not in snapshot.file_columns or name in MAY_BE_ASKED)
    columns = [snapshot.column(name) for name in asked_for]
    total_c = ranking.scores.at(rows_c)
    lead_c = (total_c - total_c[:1]).astype(np.float64)  # the best is first, so `exp` cannot overflow
    chances_c = np.exp(ranking.query.sharpness * lead_c)
    return Candidates(
        probabilities_c=chances_c / (chances_c.sum() or 1.0),  # there may be no candidate
        vectors_cd=snapshot.matrix_nd[rows_c],
        columns={column.name: (column.values, column.find_first_codes(rows_c)) for column in columns},
        file_columns=snapshot.file_columns,
        said=tuple(text for turn in turns if (text := getattr(turn, "text", ""))),
        asked=tuple(node.asked for node in path if node.asked is not None),
        settled=frozenset(open_no_more),
        turns=turns,
        lookup=GalleryLookup(ranking.gallery, rows_c),
    )


class GalleryLookup:
    """The questioners' `Lookup` over some rows of a gallery."""

    def __init__(self, gallery: Gallery, rows_c: Int[np.ndarray, " c"]) -> None:
        self._gallery, self._rows_c = gallery, rows_c
        self.words = gallery.encode_texts

    @property
    def sentences_version(self) -> str:
        """Identifies the sentence encoder whose vectors `sentences` gives: the starter's, if it is there."""
        return self._sentences.version

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Frozen unit sentence vectors."""
        return self._sentences.encode(texts)

    @property
    def _sentences(self) -> SentenceEncoder:
        """Questioners are trained on those of the starter."""
        companion = self._gallery.companion
        return self._gallery.find_sentences(None if companion is None else companion.raw.raw_version)

    def ids(self) -> Sequence[PictureId]:
        """The ids of the candidates."""
        return take_ids(self._gallery.snapshot.ids, self._rows_c)

    def label_chances(self) -> Float32[np.ndarray, "c l"] | None:
        """How likely each label of `questioners.photographs` holds; None if the encoder's vectors do not tell."""
        return find_chances_at(self._gallery, self._rows_c)

    def captions(self) -> Sequence[tuple[str, ...]]:
        """The captions of each candidate."""
        if not self._gallery.snapshot.has_captions:
            return [()] * len(self._rows_c)
        return [tuple(self._gallery.snapshot.captions(row)) for row in self._rows_c.tolist()]

    def project(self, projection: PictureProjection) -> Float32[np.ndarray, "c k"]:
        """The candidates as a trained questioner sees them; raises EncoderMismatch as `check_fits`."""
        name, version, width = projection.name, projection.raw_version, projection.width
        space = RegionSpace(
            name, version, lambda raw: projection.project(raw.whole_ng)[:, None], 1, width, reads_regions=False
        )
        from viewfinder.search.regions import find_block  # few questioners ask for a space of their own

        return find_block(self._gallery, space).vectors(self._rows_c)[:, 0]
