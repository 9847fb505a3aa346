"""Pictures to search in: a snapshot of a library seen through its encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt8

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import UnknownName
from viewfinder.index.late_interaction import TILE, RegionBlock, attention_weights
from viewfinder.index.raw_vectors import (
    Boxed,
    RawVectors,
    build_block,
    check_fits,
    check_version,
    name_labels,
    name_raw_vectors,
    predict_all_attributes,
    predict_attributes,
)
from viewfinder.index.scores import (
    ChanceOf,
    calibrate,
    contrast_scores,
    dot_scores,
    explain_regions,
    explain_turns,
    fusion_shares,
    late_scores,
    late_shares,
    positive_weight,
    sum_plain_parts,
    top_k,
    vectors_of_parts,
    vocabulary_vectors,
)
from viewfinder.index.snapshot import Snapshot
from viewfinder.retrievers import (
    NOTHING_MORE,
    Part,
    Picture,
    Predictor,
    Query,
    Reads,
    RegionSpace,
    SentenceEncoder,
)
from viewfinder.retrievers.base import RawPictures

TAG_SAMPLE = 2000
"""Pictures that stand for the collection when tags are measured."""

WHOLE = (0.0, 0.0, 1.0, 1.0)
"""The box of a whole picture."""

UNKNOWN_SIDE = 1000
"""Pictures of a data set that is known by its vectors only are taken to be squares of this size."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The score of every picture, and the chance that it is what the words mean.

    `adds_pn` is what each part adds, kept where asking for a few pictures would cost as much as for all of them (rank
    fusion: a rank is one among all).
    """

    total_n: Float32[np.ndarray, " n"]
    chance_of: ChanceOf
    excluded_n: Bool[np.ndarray, " n"]
    adds_pn: Float32[np.ndarray, "parts n"] | None = None


class Gallery:
    """Pictures to search in. Rows are the snapshot's; nothing here changes.

    `raw` is where the raw vectors of the pictures come from, which trained systems project into spaces of their own.
    """

    def __init__(self, snapshot: Snapshot, encoder: Encoder, raw: RawVectors | None = None) -> None:
        self.snapshot = snapshot
        self.encoder = encoder
        self.raw = raw
        self._blocks: dict[str, RegionBlock] = {}

    def __len__(self) -> int:
        return len(self.snapshot)

    # -- pictures

    @cached_property
    def background_n(self) -> Float32[np.ndarray, " n"]:
        """How well each picture answers anything at all."""
        return self.snapshot.derived(
            f"background-{self.encoder.version}", lambda snapshot: self.encoder.background(snapshot.matrix_nd)
        )

    @cached_property
    def tags(self) -> TagVectors:
        """Zero-shot tags, measured against a sample of this collection."""
        rows_k = np.linspace(0, max(len(self) - 1, 0), min(len(self), TAG_SAMPLE)).astype(int)
        return TagVectors.of(self.encoder.words, background=self.snapshot.matrix_nd[rows_k])

    @cached_property
    def vocabulary_nl(self) -> Float32[np.ndarray, "n l"]:
        """What the vocabulary says of every picture."""
        vocabulary = self.encoder.vocabulary
        assert vocabulary is not None
        return self.snapshot.derived(
            f"vocabulary-{self.encoder.version}", lambda snapshot: vocabulary_vectors(snapshot.matrix_nd, vocabulary)
        )

    @cached_property
    def sentences(self) -> SentenceEncoder:
        """What reads texts for systems that are trained on frozen sentence vectors."""
        return SentenceEncoder(self.encoder.sentences_version, self.encoder.sentences)

    def caption(self, row: int) -> str:
        """What somebody wrote about a picture, their first caption; "" if nobody did."""
        return next(iter(self.snapshot.captions(row)), "")

    def row(self, picture_id: str) -> int:
        """The row of a picture.

        Raises:
            UnknownName: it is not in this library.
        """
        row = self.snapshot.row_of(picture_id)
        if row is None:
            raise UnknownName(f"no picture in this library has the id {picture_id!r}; ids are what `find` prints")
        return row

    def picture(self, picture_id: str, reads: Reads = NOTHING_MORE) -> Picture:
        """What a retriever may know of a picture, `reads` included.

        Raises:
            UnknownName: it is not in this library.
            LibraryError: the retriever reads raw vectors, and there are none of these pictures.
            EncoderMismatch: the retriever was trained on other raw vectors.
        """
        row = self.row(picture_id)
        vectors = self.vectors_of(self.snapshot.matrix_nd[row], words=reads.words)
        if reads.space is not None:
            vectors["own"] = self.block(reads.space).vectors(np.array([row]))[0]
        if reads.raw is not None:
            raw = check_fits(reads.raw, self.raw)
            [(raw_1g, regions_1re)] = raw.batches([picture_id], regions=reads.regions or reads.raw.reads_regions)
            vectors |= name_raw_vectors(raw_1g, regions_1re)
        seen = {} if reads.predictor is None else self.predicted([row], reads.predictor, reads.count)[0]
        return Picture(picture_id, vectors, self.snapshot.attributes(row), tuple(seen), self.caption(row))

    def picture_of(self, pixels: UInt8[np.ndarray, "h w 3"], reads: Reads = NOTHING_MORE) -> Picture:
        """The same of an image that is in no library.

        Raises:
            EncoderMismatch: the retriever was trained on raw vectors of another encoder.
        """
        spaces = [space for space in (reads.space, reads.raw) if space is not None]
        for space in spaces:
            check_version(space, self.encoder.raw_version)
        with_regions = reads.regions or any(space.reads_regions for space in spaces)
        raw = self.encoder.pictures([pixels], regions=with_regions)
        raw_1g = np.asarray(raw.global_bd, np.float32)
        vectors = self.vectors_of(self.encoder.project(raw.global_bd)[0], words=reads.words)
        if reads.space is not None:
            vectors["own"] = reads.space.project(self._raw_pictures(reads.space, raw_1g, raw.regions_brd))[0]
        if reads.raw is not None:
            vectors |= name_raw_vectors(raw_1g, raw.regions_brd if reads.regions or reads.raw.reads_regions else None)
        seen = {} if reads.predictor is None else predict_attributes(reads.predictor, raw_1g, reads.count)[0]
        return Picture(None, vectors, predicted=tuple(seen))

    def _raw_pictures(
        self, space: RegionSpace, raw_1g: Float32[np.ndarray, "1 g"], regions_1re: Float[np.ndarray, "1 r e"] | None
    ) -> RawPictures:
        """An image of which nobody has written, as far as the space reads it."""
        captions, sentences = (("",), self.sentences) if space.reads_captions else ((), None)
        return RawPictures(raw_1g, regions_1re if space.reads_regions else None, captions, sentences)

    def predicted(self, rows: Sequence[int], predictor: Predictor, count: int = 8) -> list[dict[str, float]]:
        """The likeliest attributes of pictures and their chances, best first: of all on the first call, then mapped.

        Raises:
            LibraryError: there are no raw vectors of these pictures.
        """
        seen_nc2 = self.snapshot.derived(
            f"attributes-{predictor.fingerprint}-{count}",
            lambda snapshot: predict_all_attributes(snapshot.ids, predictor, self.raw, count),
        )
        return [name_labels(seen_nc2[row], predictor.labels) for row in rows]

    def vectors_of(self, vector_d: Float[np.ndarray, " d"], *, words: bool) -> dict[str, Float[np.ndarray, ...]]:
        """The representations of a picture with this vector: "global", and with `words` its "vocabulary"."""
        vectors = {"global": np.array(vector_d)}
        if words and self.encoder.vocabulary is not None:
            vectors["vocabulary"] = vocabulary_vectors(vector_d[None], self.encoder.vocabulary)[0]
        return vectors

    # -- scores

    def scores(self, query: Query, *, exact: bool = False, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Scores:
        """The score of every picture for a query, in one pass over the vectors.

        Late interaction over many pictures (`regions.MANY`) is approximate for all but the best of those allowed and
        not excluded, unless `exact`; their order is as if it were not, but for what 8 bits misjudge.

        Raises:
            EncoderMismatch: the query is for vectors of another encoder.
        """
        excluded_n = np.zeros(len(self), dtype=bool)
        rows = [self.snapshot.row_of(picture) for picture in query.excluded]
        excluded_n[[row for row in rows if row is not None]] = True
        adds_pn = None
        if not isinstance(query.space, RegionSpace):
            total_n = self._dot_scores(query)
        elif query.compare == "rank_fusion" and query.parts:
            adds_pn = fusion_shares(query, query.space, self.block(query.space))
            total_n = adds_pn.sum(axis=0)
        elif query.parts:
            open_n = ~excluded_n if allowed_n is None else allowed_n & ~excluded_n
            total_n = late_scores(query, query.space, self.block(query.space), exact=exact, allowed_n=open_n)
        else:
            total_n = np.zeros(len(self), np.float32)
        return Scores(total_n, calibrate(query, total_n, self.encoder.calibration), excluded_n, adds_pn)

    def shares(
        self, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | None = None
    ) -> Float[np.ndarray, "k parts"]:
        """What each part adds to the score of these pictures; rows sum to the scores.

        `scores` of the same query spare rank fusion a second pass over all pictures.
        """
        if not query.parts:
            return np.zeros((len(rows_k), 0))
        if not isinstance(query.space, RegionSpace):
            weight = positive_weight(query)
            return np.stack([part.weight * self._likeness(part, rows_k) / weight for part in query.parts], axis=1)
        if query.compare != "rank_fusion":
            return late_shares(query, query.space, self.block(query.space).at(rows_k)).T
        known = scores.adds_pn if scores is not None else None
        adds_pn = fusion_shares(query, query.space, self.block(query.space)) if known is None else known
        return adds_pn[:, rows_k].T

    def best(
        self, scores: Scores, count: int, allowed_n: Bool[np.ndarray, " n"] | None = None
    ) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures that are allowed and not excluded, best first, ties by id."""
        open_n = ~scores.excluded_n if allowed_n is None else allowed_n & ~scores.excluded_n
        return top_k(scores.total_n, count, allowed_n=open_n)

    def why(self, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | None = None) -> list[dict[str, Any]]:
        """Why these pictures are hits, as JSON: `turns` (see `explained`), and `regions` where the query has them."""
        shares_kp = self.shares(query, rows_k, scores)
        found = [explain_turns(query, shares_p) for shares_p in shares_kp]
        if isinstance(query.space, RegionSpace) and query.parts:
            looks = zip(found, rows_k.tolist(), shares_kp, self.attention(query, rows_k), strict=True)
            for entry, row, shares_p, attention_pr in looks:
                entry["regions"] = explain_regions(query, shares_p, attention_pr, self.boxes(row, query.space))
        return found

    # -- regions

    def block(self, space: RegionSpace) -> RegionBlock:
        """All pictures as a trained system sees them: made on the first call, then mapped from beside the snapshot.

        Raises:
            EncoderMismatch: it was trained on other raw vectors than these pictures have.
        """
        raw = check_fits(space, self.raw)
        if space.name not in self._blocks:
            # Captions need no mark of their own in the name: other captions are another state of the tables.
            flat_fd = self.snapshot.derived(f"regions-{space.name}-{TILE}", lambda _: self._flat_block(space, raw))
            self._blocks[space.name] = RegionBlock.mapped(flat_fd, space.regions)
        return self._blocks[space.name]

    def _flat_block(self, space: RegionSpace, raw: RawVectors) -> Float32[np.ndarray, "f d"]:
        if not space.reads_captions:
            return build_block(self.snapshot.ids, space, raw)
        return build_block(self.snapshot.ids, space, raw, map(self.caption, range(len(self))), self.sentences)

    def attention(self, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, "k parts r"]:
        """How much each part of a query in a `RegionSpace` looks at each vector of these pictures: the softmax."""
        space = query.space
        if not isinstance(space, RegionSpace):
            raise ValueError("a query over one vector a picture looks at no regions")
        if not query.parts:
            return np.zeros((len(rows_k), 0, space.regions), np.float32)
        regions_krd = self.block(space).vectors(rows_k)
        return attention_weights(regions_krd, vectors_of_parts(query), temperature=space.temperature)

    def boxes(self, row: int, space: RegionSpace | None = None) -> Float[np.ndarray, "_boxes 4"]:
        """Where a picture's regions lie: (x0, y0, x1, y1) as shares of its width and height.

        With a `space`, one box for each of its vectors: the whole picture last if it `has_whole`, and alone if there
        is one vector only. No boxes at all where it is not known where regions lie.
        """
        alone = space is not None and space.regions == 1
        boxes_r4 = np.zeros((0, 4), np.float32) if alone else self._region_boxes(row)
        if space and (space.has_whole or alone):
            boxes_r4 = np.concatenate([boxes_r4, np.array([WHOLE], np.float32)])
        return boxes_r4 if space is None or len(boxes_r4) == space.regions else np.zeros((0, 4), np.float32)

    def _region_boxes(self, row: int) -> Float[np.ndarray, "_boxes 4"]:
        if isinstance(self.raw, Boxed):
            return self.raw.boxes(self.snapshot.ids[row])
        if self.raw is not None and self.raw.raw_version != self.encoder.raw_version:
            return np.zeros((0, 4), np.float32)  # regions of a detector that does not say where it looked
        facts = self.snapshot.facts(row)
        width, height = facts["width"] or UNKNOWN_SIDE, facts["height"] or UNKNOWN_SIDE
        return self.encoder.region_boxes(width, height) / np.array([width, height, width, height], np.float32)

    # -- one vector a picture

    def _dot_scores(self, query: Query) -> Float32[np.ndarray, " n"]:
        """The weighted mean likeness of every picture to the query's parts, in one scan of the vectors."""
        plain = sum_plain_parts(query)
        total_n = np.zeros(len(self), np.float32)
        if plain.vector_d is not None:
            total_n += dot_scores(self.snapshot.matrix_nd, plain.vector_d)
        if plain.centred:
            total_n -= np.float32(plain.centred) * self.background_n
        for part in plain.others:
            total_n += np.float32(part.weight / positive_weight(query)) * self._likeness(part, slice(None))
        return total_n

    def _likeness(self, part: Part, rows: Int[np.ndarray, " k"] | slice) -> Float[np.ndarray, " k"]:
        """How like the pictures in `rows` are to one part."""
        if part.kind == "value":
            assert part.value is not None
            held_k: Float[np.ndarray, " k"] = self._has_value(*part.value)[rows].astype(np.float32)
            return held_k
        assert part.vector_d is not None
        if part.kind == "vocabulary":
            said_k: Float[np.ndarray, " k"] = self.vocabulary_nl[rows] @ part.vector_d
            return said_k
        if part.kind == "contrast":
            assert part.rivals_rd is not None
            return contrast_scores(self.snapshot.matrix_nd[rows], part.vector_d, part.rivals_rd)
        likeness_k: Float[np.ndarray, " k"] = self.snapshot.matrix_nd[rows] @ part.vector_d
        return likeness_k - self.background_n[rows] if part.centred else likeness_k

    def _has_value(self, column: str, value: str) -> Bool[np.ndarray, " n"]:
        try:
            return self.snapshot.column(column).mask(value)
        except UnknownName:  # the catalogue has changed since the turn was said
            return np.zeros(len(self), dtype=bool)
