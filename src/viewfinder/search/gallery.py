"""Pictures to search in: a snapshot of a library seen through its encoder.

A `Snapshot` stores pictures, a `Gallery` knows what is needed to compare them with words and images. `scores.py` scores
them for a query, and a `Ranking` orders them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from viewfinder.byte_cache import ByteCache
from viewfinder.encoders.base import Encoder, Vocabulary
from viewfinder.encoders.tags import TagVectors
from viewfinder.encoders.vectors import check_texts
from viewfinder.errors import UnknownName
from viewfinder.pictures.facts.model import MACHINE_NAMES
from viewfinder.query import Collection, LikelihoodRatios, Reads, RegionSpace, SentenceEncoder
from viewfinder.search.measures import Measures
from viewfinder.search.raw_vectors import Companion, RawVectors, check_fits
from viewfinder.store.snapshot import Snapshot

if TYPE_CHECKING:  # few collections are large, or lie on several machines
    from viewfinder.search.indexed_pictures import IndexedPictures
    from viewfinder.search.products import Products
    from viewfinder.search.region_scores import RegionBlock
    from viewfinder.search.shard_scores import Shards
    from viewfinder.search.written_words import WrittenWords

MAX_RATIO_BYTES = 64 << 20
"""Bytes of the numbers that are kept of answers and texts: at 50,000 pictures those of 320 answers, or of far more
texts."""

MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE = 200_000, 8192
"""Up to so many pictures, large values are kept for each of them; this many are also computed at once."""

TAG_SAMPLE = 2000
"""Pictures that represent the collection when tags are measured."""


class Gallery:
    """Pictures to search in. Rows are those of the snapshot; a gallery never changes.

    `raw` is the source of the pictures' raw vectors, which trained systems project into spaces of their own.
    `match_words`: whether what is said is also looked up in captions and catalogue; off when systems are compared by
    what they see, with descriptions that may be those very captions.

    Attributes:
        encoder_name: how the library names its encoder, where a command would.
        matches_words: whether people speak to it: what they say is then read for content, facts and words written here.
        written: what is written about the pictures, if it matches words.
        measures: what likeness means among these pictures.
        indexed: the index with which turns find the best pictures, once there is one; without, they scan all.
        companion: the starter beside this encoder, if it has vectors of all these pictures.
        shards: searches the pictures for turns in place of this process.
        memory: numbers of these pictures that every later turn of every conversation needs again.
        blocks: the pictures as trained systems see them, by the names of their spaces (`regions.find_block`).
    """

    def __init__(
        self, snapshot: Snapshot, encoder: Encoder, raw: RawVectors | None = None, *, match_words: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.encoder = encoder
        self.encoder_name = encoder.name
        self.raw = raw
        self.matches_words = match_words
        self.memory = ByteCache(MAX_RATIO_BYTES)
        self.measures = Measures(snapshot, encoder)
        self.written = _read_written(snapshot, encoder, self.memory) if match_words else None
        self.indexed: IndexedPictures | None = None
        self.companion: Companion | None = None
        self.shards: Shards | None = None
        self.blocks: dict[str, RegionBlock] = {}

    def __len__(self) -> int:
        return len(self.snapshot.matrix_nd)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Differs for every state of the library, and for every encoder."""
        return self.encoder.version, str(self.snapshot.folder), self.snapshot.generation

    @property
    def has_index(self) -> bool:
        """Whether turns look for candidates in an index, here or in shards, and score these alone."""
        return self.indexed is not None or (self.shards is not None and self.shards.is_indexed)

    # -- pictures

    def row(self, picture_id: str) -> int:
        """The row of a picture; raises as `rows`."""
        return self.rows([picture_id])[0]

    def rows(self, ids: Sequence[str]) -> list[int]:
        """The rows of pictures. Raises UnknownName: one is not in this library."""
        rows = self.snapshot.rows_of(ids)
        for picture_id, row in zip(ids, rows, strict=True):
            if row is None:
                raise UnknownName(f"no picture in this library has the id {picture_id!r}; ids are what `find` prints")
        return [row for row in rows if row is not None]

    def caption(self, row: int) -> str:
        """The first caption of a picture; "" if it has none."""
        return next(iter(self.snapshot.captions(row)), "")

    @cached_property
    def products(self) -> Products | None:
        """The products of which there are several pictures; None: there are none."""
        from viewfinder.search.products import find_products

        return find_products(self.snapshot)

    @cached_property
    def tags(self) -> TagVectors:
        """Zero-shot tags, measured against a sample of this collection."""
        rows_k = np.linspace(0, max(len(self) - 1, 0), min(len(self), TAG_SAMPLE)).astype(int)

        def encode(phrases: Sequence[str]) -> Float[np.ndarray, "n d"]:
            mark = hashlib.blake2b("\n".join(phrases).encode(), digest_size=4).hexdigest()
            return self.snapshot.derived_of_texts(
                f"tags-{mark}-{self.encoder.version}", lambda: self.encode_texts(phrases).astype(np.float32)
            )

        return TagVectors.of(encode, background=self.snapshot.matrix_nd[rows_k])

    def weigh_machine_words(self, text: str) -> LikelihoodRatios | None:
        """How much likelier a text is said of each picture given what machines wrote about pictures, and read in them.

        They may be wrong. None: nothing matches.
        """
        if not self.matches_words or not self.snapshot.file_columns & MACHINE_NAMES:
            return None
        from viewfinder.search.machine_words import weigh_machine_words

        known = {} if self.encoder.calibration is None else self.encoder.calibration.familiar
        return self.memory.remember(("machine", text), lambda: weigh_machine_words(self.snapshot, text, known))

    @cached_property
    def collection(self) -> Collection:
        """What retrievers may know of all pictures together; the mean of none is 0."""
        width = self.snapshot.matrix_nd.shape[1]
        is_small = len(self) <= MAX_KEPT_PICTURES
        if is_small:
            mean_d = self.snapshot.matrix_nd[:].sum(axis=0) / max(len(self), 1)
        else:
            mean_d = self.measures.moments.mean_w[:width]
        return Collection(self.encoder.version, np.asarray(mean_d, np.float32), self.snapshot.has_captions, len(self))

    # -- what words and images are made comparable with

    def encode_texts(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Vectors of texts, comparable with those of the pictures. Raises PartFailed: the encoder gave no such."""
        return check_texts(self.encoder.words(texts), texts, self.encoder)

    def encode_said(self, text: str) -> Float[np.ndarray, "1 d"]:
        """The vector of a text that was said, kept for later turns; raises as `encode_texts`."""
        return self.memory.remember(("vector", text), lambda: self.encode_texts([text]))

    def widths(self, space: RegionSpace | None = None) -> dict[str, int]:
        """How many numbers a picture has for each kind of a query's parts (`Part`), in this space if any."""
        found = dict.fromkeys(("words", "picture", "contrast"), int(self.snapshot.matrix_nd.shape[1]))
        if (vocabulary := self.encoder.vocabulary) is not None:
            found["vocabulary"] = len(vocabulary.words)
        if space is not None:
            found["regions"] = space.width
        return found

    def find_raw(self, version: str) -> RawVectors | None:
        """The raw vectors of this version, of the encoder or of the starter beside it; else those of the encoder."""
        is_beside = self.companion is not None and self.companion.raw.raw_version == version
        return self.companion.raw if self.companion is not None and is_beside else self.raw

    def need_raw(self, space: RegionSpace) -> RawVectors:
        """The raw vectors that a trained system makes its own from. Raises as `check_fits`."""
        return check_fits(space, self.find_raw(space.raw_version), self.encoder_name)

    def find_encoder(self, raw_version: str) -> Encoder:
        """The encoder that makes raw vectors of this version, if there is one; else the gallery's own."""
        if raw_version == self.encoder.raw_version or self.companion is None:
            return self.encoder
        return self.companion.encoder if self.companion.raw.raw_version == raw_version else self.encoder

    def find_vocabulary(self, reads: Reads) -> Vocabulary | None:
        """The words in which a retriever has pictures described: those of the encoder that it was trained on."""
        encoder = self.encoder if reads.space is None else self.find_encoder(reads.space.raw_version)
        return encoder.vocabulary

    def find_sentences(self, raw_version: str | None) -> SentenceEncoder:
        """Frozen sentence vectors for a system that reads raw vectors of this version: those of the same encoder."""
        encoder = self.encoder if raw_version is None else self.find_encoder(raw_version)
        return SentenceEncoder(
            encoder.sentences_version, lambda texts: check_texts(encoder.sentences(texts), texts, encoder)
        )


def _read_written(snapshot: Snapshot, encoder: Encoder, memory: ByteCache) -> WrittenWords:
    from viewfinder.search.written_words import WrittenWords  # where systems are compared, nothing is looked up

    return WrittenWords(snapshot, encoder, memory)
