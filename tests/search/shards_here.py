"""Shards that are searched one after the other in this process, in place of the actors of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from viewfinder.query import Query
from viewfinder.search.gallery import Gallery
from viewfinder.search.indexed_pictures import CandidateSearch, IndexedPictures
from viewfinder.search.shard_scores import Addition, ShardAnswer, ask_parts, split_rows
from viewfinder.search.turn_scores import answer_shard


@dataclass
class ShardsHere:
    """So many shards; those in `lost` are not searched, those in `indexes` by their index if `may_index`."""

    gallery: Gallery
    count: int
    lost: frozenset[int] = frozenset()
    indexes: Mapping[int, IndexedPictures] = field(default_factory=dict)
    may_index: bool = False
    is_indexed: bool = False

    @property
    def parts(self) -> list[slice]:
        return split_rows(len(self.gallery), self.count, 64)

    def ask(
        self,
        query: Query,
        prior: Addition | None,
        allowed_n: np.ndarray | None,
        excluded_k: np.ndarray,
        search: CandidateSearch | None,
    ) -> tuple[list[ShardAnswer], list[slice]]:
        parts, ids = self.parts, self.gallery.snapshot.ids_to_order
        questions = ask_parts(parts, query, prior, allowed_n, excluded_k, search)
        answers = [
            answer_shard(self.gallery, question, part, None if ids is None else ids[part], self.indexes.get(number))
            for number, (part, question) in enumerate(zip(parts, questions, strict=True))
            if number not in self.lost
        ]
        return answers, [part for number, part in enumerate(parts) if number in self.lost]
