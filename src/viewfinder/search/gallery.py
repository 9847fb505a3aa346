"""Pictures to search in: a snapshot of a library seen through its encoder.

A `Snapshot` stores pictures, a `Gallery` scores them for a query, and a `Ranking` orders them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Int64, UInt8

from viewfinder.byte_cache import ByteCache
from viewfinder.encoders.base import Encoder, Vocabulary
from viewfinder.encoders.scale import (
    BOX,
    Scale,
    find_scale,
    find_temperature,
    share_background,
)
from viewfinder.encoders.tags import TagVectors
from viewfinder.encoders.vectors import check_finite, check_rows, check_texts
from viewfinder.errors import LibraryError, UnknownName
from viewfinder.pictures.facts.model import MACHINE_NAMES
from viewfinder.query import (
    NOTHING_MORE,
    SHARPNESS,
    Evidence,
    LikelihoodRatios,
    Part,
    Picture,
    Predictor,
    Query,
    RawPictures,
    Reads,
    RegionSpace,
    SentenceEncoder,
    WordMatch,
)
from viewfinder.search.kernels import best_rows, dot_scores, top_k
from viewfinder.search.near_scores import IndexedPictures, NearScores, NearSearch, sample_rows
from viewfinder.search.own_scale import (
    OwnJudgement,
    OwnScale,
    curves_for,
    measure_levels,
    measure_usual,
    name_sayings,
    own_features,
    read_sayings,
)
from viewfinder.search.parts import (
    RIVAL_TEMPERATURE,
    contrast_scores,
    positive_weight,
    sum_plain_parts,
    vectors_of_parts,
    vocabulary_vectors,
)
from viewfinder.search.products import Products, find_products
from viewfinder.search.raw_vectors import Boxed, Companion, RawVectors, best_labels, check_fits, name_labels
from viewfinder.search.region_scores import TILE, RegionBlock, attention_weights, tile_batches
from viewfinder.search.verdicts import (
    CERTAIN_NATS,
    CROWD,
    UNHEARD,
    Judgement,
    Spread,
    judge_conversation,
    mean_familiarity,
    speaks_in_sentences,
)
from viewfinder.search.written_words import WordIndex, add_named, build_entries, build_name_entries, rows_of_all
from viewfinder.store.rows import FACTS
from viewfinder.store.snapshot import Snapshot
from viewfinder.wording.stop_words import content_stems

if TYPE_CHECKING:  # few collections lie on several machines
    from viewfinder.search.shard_scores import ShardAnswer, ShardQuestion, Shards

Numbers = TypeVar("Numbers")

MAX_RATIO_BYTES = 128 << 20
"""Bytes of the numbers that are kept of answers and texts: at 50,000 pictures those of 640 answers, or of far more
texts."""

MAX_KEPT_PICTURES, MAX_PICTURES_AT_ONCE = 200_000, 8192
"""Up to so many pictures, large values are kept for each of them; this many are also computed at once."""

SAME_VECTOR = 1e-5
"""Two vectors of unit length whose numbers differ by less are those of one text."""

SCALE_SAMPLE, SCALE_VERSION = 500, 1
"""Pictures on which the scale of an encoder is measured, and the version of what is computed of them."""

TAG_SAMPLE = 2000
"""Pictures that represent the collection when tags are measured."""

MIN_SORTED = 100
"""Results sorted at once: more than are looked at, as a rule, if nothing is asked."""

WHOLE_BOX = (0.0, 0.0, 1.0, 1.0)
"""The box of a whole picture."""

UNKNOWN_SIDE = 1000
"""Pictures of a data set of which only the vectors are known are taken to be squares of this size."""


@dataclass(frozen=True, eq=False)
class Scores:
    """The score of every picture.

    `adds_pn` is what each part adds, kept if computing it for a few pictures would cost as much as for all (rank
    fusion: a rank is one among all). `ids`: the ids of all rows, if these are not in the order of ids.
    """

    total_n: Float32[np.ndarray, " n"]
    excluded_n: Bool[np.ndarray, " n"]
    adds_pn: Float32[np.ndarray, "parts n"] | None = None
    ids: Sequence[str] | None = None

    def at(self, rows_r: Int[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The scores of these pictures."""
        return np.asarray(self.total_n[rows_r])

    def count_open(self, allowed_n: Bool[np.ndarray, " n"] | None) -> int:
        """How many pictures are allowed and not excluded."""
        open_n = ~self.excluded_n if allowed_n is None else allowed_n & ~self.excluded_n
        return int(np.count_nonzero(open_n))

    @cached_property
    def _leading_k(self) -> Int64[np.ndarray, " k"]:
        """Rows of the best among all pictures, ties by row: one pass for all that a turn asks of them."""
        return top_k(self.total_n, MIN_SORTED)

    @property
    def crowd_k(self) -> Int64[np.ndarray, " k"]:
        """Rows of the `CROWD` best among all pictures."""
        return self._leading_k[:CROWD]

    @cached_property
    def spread(self) -> Spread:
        """How the scores of all are distributed; there must be at least one picture."""
        return Spread.of(self.total_n, self.total_n[self.crowd_k])

    def best(self, count: int, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Int[np.ndarray, " k"]:
        """Rows of the best pictures that are allowed and not excluded, best first, ties by id."""
        open_n = allowed_n
        if self.excluded_n.any():
            open_n = ~self.excluded_n if allowed_n is None else allowed_n & ~self.excluded_n
        if open_n is None and self.ids is None and count <= MIN_SORTED:
            return self._leading_k[:count]
        return best_rows(self.total_n, count, open_n, None, self.ids)


@dataclass(frozen=True, eq=False)
class WeighedText:
    """A text looked up in what is written about the pictures.

    `rows_of_all`: the pictures of which all words of the text are written; None if it has none that may be names.
    """

    text: str
    ratios: LikelihoodRatios | None
    rows_of_all: Int64[np.ndarray, " k"] | None = None


class Gallery:
    """Pictures to search in. Rows are those of the snapshot; a gallery never changes.

    `raw` is the source of the pictures' raw vectors, which trained systems project into spaces of their own.
    `match_words`: whether what is said is also looked up in captions and catalogue; off when systems are compared by
    what they see, with descriptions that may be those very captions.
    """

    def __init__(
        self, snapshot: Snapshot, encoder: Encoder, raw: RawVectors | None = None, *, match_words: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.encoder = encoder
        self.encoder_name = encoder.name
        """How the library names its encoder, where a command would."""
        self.raw = raw
        self.indexed: IndexedPictures | None = None
        """The index with which turns find the best pictures, once there is one; without, they scan all."""
        self.companion: Companion | None = None
        """The starter beside this encoder, if it has vectors of all these pictures."""
        self.shards: Shards | None = None
        """Scans the pictures for turns in place of this process."""
        self._near = NearSearch(self)
        self._match_words = match_words
        self._blocks: dict[str, RegionBlock] = {}
        self._remembered = ByteCache(MAX_RATIO_BYTES)

    def __len__(self) -> int:
        return len(self.snapshot.matrix_nd)

    @property
    def matches_words(self) -> bool:
        """Whether people speak to it: what they say is then read for content, facts and words written here."""
        return self._match_words

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Differs for every state of the library, and for every encoder."""
        return self.encoder.version, str(self.snapshot.folder), self.snapshot.generation

    @cached_property
    def products(self) -> Products | None:
        """The products of which there are several pictures; None: there are none."""
        return find_products(self.snapshot)

    def widths(self, space: RegionSpace | None = None) -> dict[str, int]:
        """How many numbers a picture has for each kind of a query's parts (`Part`), in this space if any."""
        found = dict.fromkeys(("words", "picture", "contrast"), int(self.snapshot.matrix_nd.shape[1]))
        if (vocabulary := self.encoder.vocabulary) is not None:
            found["vocabulary"] = len(vocabulary.words)
        if space is not None:
            found["regions"] = space.width
        return found

    # -- pictures

    @cached_property
    def background_n(self) -> Float32[np.ndarray, " n"]:
        """How well each picture answers any text at all: as the encoder says, or else by the sayings."""
        known_n = self.snapshot.derived(
            f"background-{self.encoder.version}",
            lambda snapshot: check_finite(
                self.encoder.background(snapshot.matrix_nd), self.encoder, "how well pictures answer any text"
            ),
            by_row=True,
        )
        if self.scale.is_of_box or known_n.any():
            return known_n
        return share_background(self.levels_n2[:, 0], self.scale.level)

    @cached_property
    def sayings_bd(self) -> Float32[np.ndarray, "b d"]:
        """Vectors of the sayings that every library is asked, kept beside the snapshot."""
        return self.snapshot.derived_of_texts(
            f"sayings-{name_sayings()}-{self.encoder.version}",
            lambda: self.encode_texts(read_sayings()).astype(np.float32),
        )

    @cached_property
    def levels_n2(self) -> Float32[np.ndarray, "n 2"]:
        """Mean and deviation of each picture's likeness to the sayings."""
        return self.snapshot.derived(
            f"levels-{name_sayings()}-{self.encoder.version}",
            lambda snapshot: measure_levels(snapshot.matrix_nd, self.sayings_bd),
            by_row=True,
        )

    @cached_property
    def scale(self) -> Scale:
        """What brings likeness to the scale of the encoder in the box: the encoder's own, or measured here."""
        known = find_scale(self.encoder)
        if known is not None or not len(self):
            return known or BOX
        # Not above: a server of the starter would load it for nothing.
        from viewfinder.encoders.measured_scale import measure_scale

        rows_k, temperature = sample_rows(len(self), SCALE_SAMPLE), find_temperature(self.encoder)

        def measure(snapshot: Snapshot) -> Float32[np.ndarray, " numbers"]:
            vectors_kd = np.asarray(snapshot.matrix_nd[rows_k], np.float32)
            levels_k2 = self.levels_n2[rows_k]
            found = measure_scale(vectors_kd, levels_k2[:, 1], self.sayings_bd, temperature)
            return np.array([found.words, found.pictures, *found.texts, np.median(levels_k2[:, 0])], np.float32)

        name = f"scale-{SCALE_VERSION}-{name_sayings()}-{temperature}-{self.encoder.version}"
        words, pictures, slope, offset, level = self.snapshot.derived(name, measure).tolist()
        return Scale(words, pictures, (slope, offset), level)

    def express(self, query: Query) -> Query:
        """A retriever's query in what likeness is here.

        One on the scale of the box gets the factors of its parts; of others, a sharpness that nobody chose is
        multiplied by what likeness would be. What a system compares in a space of its own has the scale that it
        learnt.
        """
        if isinstance(query.space, RegionSpace) or not query.parts or self.scale.is_of_box:
            return query
        if not query.on_box_scale:
            return replace(query, sharpness=SHARPNESS * self.scale.words) if query.sharpness == SHARPNESS else query
        factors = {"words": self.scale.words, "picture": self.scale.pictures}
        return replace(query, parts=tuple(replace(part, factor=factors.get(part.kind, 1.0)) for part in query.parts))

    @cached_property
    def own_scale(self) -> OwnScale:
        """What scores mean among these pictures, kept beside the snapshot; of at least one picture."""
        background_n, levels_n2, sayings_bd = self.background_n, self.levels_n2, self.sayings_bd
        usual_1 = self.snapshot.derived(
            f"usual-{name_sayings()}-{self.encoder.version}",
            lambda snapshot: np.array(
                [measure_usual(snapshot.matrix_nd, background_n, levels_n2, sayings_bd)], np.float32
            ),
        )
        return OwnScale(sayings_bd, levels_n2, background_n, float(usual_1[0]))

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

    def likeness_in_words(
        self, vector_l: Float[np.ndarray, " l"], rows: Int[np.ndarray, " k"] | slice
    ) -> Float32[np.ndarray, " k"]:
        """How similar `vector_l` is to the pictures in `rows` as the vocabulary describes them.

        For a small collection it is cached, at 5 KB a picture; for a large one it is computed from their vectors.
        """
        vocabulary = self.encoder.vocabulary
        assert vocabulary is not None
        if len(self) <= MAX_KEPT_PICTURES:
            vocabulary_nl = self.snapshot.derived(
                f"vocabulary-{self.encoder.version}",
                lambda snapshot: vocabulary_vectors(snapshot.matrix_nd, vocabulary),
                by_row=True,
            )
            return np.asarray(vocabulary_nl[rows] @ vector_l, np.float32)
        vectors_kd = self.snapshot.matrix_nd[rows]
        found = [
            vocabulary_vectors(vectors_kd[at : at + MAX_PICTURES_AT_ONCE], vocabulary) @ vector_l
            for at in range(0, len(vectors_kd), MAX_PICTURES_AT_ONCE)
        ]
        return np.asarray(np.concatenate(found or [np.zeros(0)]), np.float32)

    def warm(self) -> Gallery:
        """Computes all that the first search would have to compute; returns the gallery itself."""
        self.background_n  # noqa: B018 (computed on first use)
        if self.encoder.vocabulary is not None:
            self.likeness_in_words(np.zeros(len(self.encoder.vocabulary.words), np.float32), np.zeros(0, np.int64))
        self.tags  # noqa: B018
        self.words  # noqa: B018
        self.file_names  # noqa: B018
        self.machine_ratios("a picture")
        if len(self):
            self.own_scale  # noqa: B018
        if self.indexed is not None and len(self):
            self._near.moments  # noqa: B018
        return self

    @cached_property
    def sentences(self) -> SentenceEncoder:
        """Encodes texts for systems that are trained on frozen sentence vectors."""
        return SentenceEncoder(self.encoder.sentences_version, self.encode_sentences)

    def find_sentences(self, raw_version: str | None) -> SentenceEncoder:
        """Frozen sentence vectors for a system that reads raw vectors of this version: those of the same encoder."""
        encoder = self.encoder if raw_version is None else self.find_encoder(raw_version)
        return self.sentences if encoder is self.encoder else encode_with(encoder)

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

    def encode_texts(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Vectors of texts, comparable with those of the pictures. Raises PartFailed: the encoder gave no such."""
        return check_texts(self.encoder.words(texts), texts, self.encoder)

    def encode_sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Frozen sentence vectors; raises as `encode_texts`."""
        return check_texts(self.encoder.sentences(texts), texts, self.encoder)

    def caption(self, row: int) -> str:
        """The first caption of a picture; "" if it has none."""
        return next(iter(self.snapshot.captions(row)), "")

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

    def picture(self, picture_id: str, reads: Reads = NOTHING_MORE) -> Picture:
        """A picture with all that a retriever reads of it. Raises UnknownName, and as `check_fits`."""
        row, space = self.row(picture_id), reads.space
        raw_1g = regions_1re = None
        if space is not None and reads.named == "raw":
            raw = self.need_raw(space)
            [(raw_1g, regions_1re)] = raw.batches([picture_id], regions=reads.regions or reads.named_regions)
        vectors = self._name_vectors(self.snapshot.matrix_nd[row], raw_1g, regions_1re)
        if reads.words:
            vectors |= self._describe(reads, self._find_described(picture_id, row, reads))
        if space is not None and reads.named == "own":
            vectors["own"] = self.block(space).vectors(np.array([row]))[0]
        seen = {}
        if reads.predictor is not None:
            seen = self.predicted([row], reads.predictor, reads.count, None if space is None else space.raw_version)[0]
        return Picture(picture_id, vectors, self.snapshot.attributes(row), tuple(seen), self.caption(row))

    def picture_of(self, pixels: UInt8[np.ndarray, "h w 3"], reads: Reads = NOTHING_MORE) -> Picture:
        """An image that is in no library, as `picture` gives one that is. Raises EncoderMismatch as it does."""
        space = None if reads.named == "global" else reads.space
        seer = self.encoder
        if reads.space is not None:
            seer = self.find_encoder(reads.space.raw_version)
        if space is not None:
            check_fits(space, seer, self.encoder_name)
        regions = space is not None and (reads.regions or reads.named_regions)
        raw = seer.pictures([pixels], regions=regions)
        raw_1g = self._check_image(np.asarray(raw.global_bd, np.float32))
        own_1g = raw_1g if seer is self.encoder else self._check_image(self.encoder.pictures([pixels]).global_bd)
        vector_d = self._check_image(self.encoder.project(np.asarray(own_1g, np.float32)))[0]
        as_raw = space is not None and reads.named == "raw"
        vectors = self._name_vectors(
            vector_d, raw_1g if as_raw else None, raw.regions_brd if as_raw and regions else None
        )
        if reads.words:
            vectors |= self._describe(reads, vector_d if seer is self.encoder else seer.project(raw_1g)[0])
        if space is not None and reads.named == "own":
            sentences = self.find_sentences(space.raw_version) if space.reads_captions else None
            captions = () if sentences is None else ("",)  # it has none
            regions_1re = raw.regions_brd if space.reads_regions else None
            vectors["own"] = space.project(RawPictures(raw_1g, regions_1re, captions, sentences))[0]
        if reads.predictor is None:
            return Picture(None, vectors)
        [best_c2] = best_labels(reads.predictor, raw_1g, reads.count)
        return Picture(None, vectors, predicted=tuple(name_labels(best_c2, reads.predictor.labels)))

    def _check_image(self, made_1d: Float[np.ndarray, "1 _"]) -> Float[np.ndarray, "1 _"]:
        """The encoder's vector of an image of the user's own. Raises PartFailed: it is no vector."""
        return check_finite(check_rows(made_1d, 1, self.encoder), self.encoder, "this image")

    def predicted(
        self, rows: Sequence[int], predictor: Predictor, count: int = 8, raw_version: str | None = None
    ) -> list[dict[str, float]]:
        """The likeliest attributes of pictures and their chances, best first, from raw vectors of this version.

        Raises LibraryError: there are no raw vectors.
        """
        raw = self.raw if raw_version is None else self.find_raw(raw_version)

        def predict(snapshot: Snapshot) -> Float32[np.ndarray, "n c 2"]:
            if raw is None:
                raise LibraryError("attributes are predicted from raw vectors, and of these pictures there are none")
            batches = raw.batches(snapshot.ids, regions=False)
            found = [best_labels(predictor, np.asarray(raw_bg, np.float32), count) for raw_bg, _ in batches]
            return np.concatenate([np.zeros((0, min(count, len(predictor.labels)), 2), np.float32), *found])

        seen_nc2 = self.snapshot.derived(f"attributes-{predictor.fingerprint}-{count}", predict, by_row=True)
        return [name_labels(seen_nc2[row], predictor.labels) for row in rows]

    def _name_vectors(
        self,
        vector_d: Float[np.ndarray, " d"],
        raw_1g: Float[np.ndarray, "1 g"] | None = None,
        regions_1re: Float[np.ndarray, "1 r e"] | None = None,
    ) -> dict[str, Float[np.ndarray, ...]]:
        """The representations of one picture, under the names that retrievers use (`Picture.vectors`)."""
        vectors: dict[str, Float[np.ndarray, ...]] = {"global": np.array(vector_d)}
        if raw_1g is not None:
            vectors["raw"] = np.asarray(raw_1g[0], np.float32)
        if regions_1re is not None:
            vectors["raw regions"] = regions_1re[0]
        return vectors

    def find_vocabulary(self, reads: Reads) -> Vocabulary | None:
        """The words in which a retriever has pictures described: those of the encoder that it was trained on."""
        encoder = self.encoder if reads.space is None else self.find_encoder(reads.space.raw_version)
        return encoder.vocabulary

    def _find_described(self, picture_id: str, row: int, reads: Reads) -> Float[np.ndarray, " d"]:
        """The vector of a picture in the space of `find_vocabulary`."""
        encoder = self.encoder if reads.space is None else self.find_encoder(reads.space.raw_version)
        if encoder is self.encoder or self.companion is None:
            return np.asarray(self.snapshot.matrix_nd[row])
        [(raw_1g, _)] = self.companion.raw.batches([picture_id], regions=False)
        return np.asarray(encoder.project(raw_1g)[0])

    def _describe(self, reads: Reads, vector_d: Float[np.ndarray, " d"]) -> dict[str, Float[np.ndarray, " l"]]:
        """A picture as the vocabulary describes it, under its name; nothing if there is none."""
        vocabulary = self.find_vocabulary(reads)
        return {} if vocabulary is None else {"vocabulary": vocabulary_vectors(vector_d[None], vocabulary)[0]}

    # -- what is known of pictures by words

    def remember(self, key: Hashable, compute: Callable[[], Numbers]) -> Numbers:
        """The result of `compute`, from the second call with a key on from a cache that is bounded by bytes.

        For numbers of these pictures that every later turn of every conversation needs again.
        """
        known: tuple[Numbers] | None = self._remembered.get(key)
        if known is None:
            known = (compute(),)
            self._remembered.put(key, known)
        return known[0]

    @cached_property
    def words(self) -> WordIndex | None:
        """The words written about the pictures; None if there are none, or if words are not to be matched."""
        if not self._match_words:
            return None
        headings = set(self.snapshot.columns()) - set(FACTS) - self.snapshot.file_columns
        index = WordIndex(self.snapshot.derived_by_block("words-4", build_entries), len(self), headings)
        return index if len(index) else None

    @cached_property
    def file_names(self) -> WordIndex | None:
        """The names of the pictures' files; None if words are not to be matched."""
        if not self._match_words:
            return None
        return WordIndex(self.snapshot.derived_by_block("names-1", build_name_entries), len(self))

    @cached_property
    def _coverage(self) -> float:
        """The share of what people say of pictures that is written about these."""
        calibration = self.encoder.calibration
        return 1.0 if self.words is None or calibration is None else self.words.measure_coverage(calibration.familiar)

    def written_ratios(self, text: str) -> LikelihoodRatios | None:
        """How much likelier a text is said of each picture given what is written about it; None: nothing matches."""
        return None if self.file_names is None else self._look_up(self.file_names, text).ratios

    def machine_ratios(self, text: str) -> LikelihoodRatios | None:
        """The same given what machines wrote about pictures, and read in them; they may be wrong."""
        if not self._match_words or not self.snapshot.file_columns & MACHINE_NAMES:
            return None
        from viewfinder.search.machine_words import weigh_machine_words

        known = {} if self.encoder.calibration is None else self.encoder.calibration.familiar
        return self.remember(("machine", text), lambda: weigh_machine_words(self.snapshot, text, known))

    def _look_up(self, names: WordIndex, text: str) -> WeighedText:
        return self.remember(text, lambda: self._weigh_text(names, text))

    def _weigh_text(self, names: WordIndex, text: str) -> WeighedText:
        named_k, words = names.rows_named(text), self.words
        if words is None:
            return WeighedText(text, add_named(None, named_k, len(self)), named_k if len(named_k) else None)
        known = {} if self.encoder.calibration is None else self.encoder.calibration.familiar
        found = words.find(text)
        ratios = words.likelihood_ratios(
            found, lambda word: 10.0 ** known.get(word, UNHEARD), self._coverage, words.find_values(text)
        )
        written_k = rows_of_all(found.values()) if found else None
        if not len(named_k) and written_k is not None and known and not any(word in known for word in found):
            named_k = written_k  # a name, or another language: what the encoder makes of it says nothing
        if len(named_k):
            return WeighedText(text, add_named(ratios, named_k, len(self)), named_k)
        return WeighedText(text, ratios, written_k)

    def _find_rows_of_all(self, texts: Sequence[str]) -> Int64[np.ndarray, " k"]:
        """The pictures of which all words of the texts are written."""
        names = self.file_names
        found = [] if names is None else [self._look_up(names, text).rows_of_all for text in texts]
        return rows_of_all(rows_k for rows_k in found if rows_k is not None)

    # -- scores

    def scores(self, query: Query, *, exact: bool = False, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Scores:
        """The score of every picture for a query, in one pass over the vectors. Raises as `check_fits`.

        Unless `exact`, late interaction over more than `late_interaction.MAX_EXACT` pictures is approximate for all but
        the best of those allowed and not excluded; the order of these is the exact one, except where 8 bits misjudge.
        """
        excluded_n = np.zeros(len(self), dtype=bool)
        excluded_n[self._find_excluded(query)] = True
        prior_n, adds_pn = self.prior(query), None
        if not isinstance(query.space, RegionSpace):
            total_n = self.dot_scores(query)
        elif query.compare == "rank_fusion" and query.parts:
            from viewfinder.search.late_interaction import region_shares

            adds_pn = region_shares(query, query.space, self.block(query.space))
            total_n = adds_pn.sum(axis=0)
        elif query.parts:
            from viewfinder.search.late_interaction import late_scores

            open_n = ~excluded_n if allowed_n is None else allowed_n & ~excluded_n
            block = self.block(query.space)
            known_n = np.zeros(len(self), np.float32) if prior_n is None else prior_n
            total_n = late_scores(query, query.space, block, exact=exact, allowed_n=open_n, prior_n=known_n)
            # Includes what answers add, because it decides which pictures are scored in full.
            return Scores(total_n, excluded_n, ids=self.snapshot.ids_to_order)
        else:
            total_n = np.zeros(len(self), np.float32)
        if prior_n is not None:
            total_n = total_n + prior_n
        return Scores(total_n, excluded_n, adds_pn, self.snapshot.ids_to_order)

    def turn_scores(self, query: Query, allowed_n: Bool[np.ndarray, " n"] | None = None) -> Scores | NearScores:
        """The scores that a turn needs, from shards or the index if these serve the query. Raises as `scores`."""
        near = None
        if self.shards is not None:
            near = self._ask_shards(self.shards, query, allowed_n)
        elif self.indexed is not None:
            near = self._near.scores(self.indexed, query, allowed_n)
        return self.scores(query, allowed_n=allowed_n) if near is None else near

    def _ask_shards(self, shards: Shards, query: Query, allowed_n: Bool[np.ndarray, " n"] | None) -> NearScores | None:
        """None for queries over vectors of a system's own: each of these is compared with all others."""
        if isinstance(query.space, RegionSpace) or not query.parts:
            return None
        from viewfinder.search.shard_scores import merge_answers

        excluded_k = self._find_excluded(query)
        open_n = allowed_n
        if len(excluded_k):
            open_n = np.ones(len(self), bool) if allowed_n is None else allowed_n.copy()
            open_n[excluded_k] = False
        # What answers and written words add depends on all pictures: it is known here, one number per picture.
        answers, lost = shards.ask(replace(query, evidence=(), word_matches=()), self.prior(query), open_n)
        return merge_answers(
            answers,
            lost,
            size=len(self),
            excluded_k=excluded_k,
            allowed_n=allowed_n,
            score=partial(self.scores_at, query),
            ids=self.snapshot.ids_to_order,
        )

    def answer_shard(
        self,
        question: ShardQuestion,
        rows_r: Int[np.ndarray, " r"] | slice,
        ids_r: Sequence[str] | None = None,
    ) -> ShardAnswer:
        """The answer of the shard of these rows; `ids_r`: their ids, if rows are not in the order of ids."""
        from viewfinder.search.shard_scores import make_answer

        total_r = self.dot_scores(question.query, rows_r)
        if question.prior_r is not None:
            total_r = total_r + question.prior_r
        return make_answer(total_r, question, ids_r)

    def _find_excluded(self, query: Query) -> Int64[np.ndarray, " k"]:
        """Rows of the excluded pictures that exist here, ascending."""
        if not query.excluded:  # as in most turns
            return np.zeros(0, np.int64)
        found = [row for row in self.snapshot.rows_of(query.excluded) if row is not None]
        return np.array(sorted(found), np.int64)

    def scores_at(self, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float32[np.ndarray, " k"]:
        """The scores of these pictures for a query over one vector a picture."""
        total_k, prior_k = self.dot_scores(query, rows_k), self.prior(query, rows_k)
        return total_k if prior_k is None else total_k + prior_k

    def shares(
        self, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | NearScores | None = None
    ) -> Float[np.ndarray, "k parts"]:
        """The share of each part in the score of these pictures; with `evidence_shares` rows sum to the scores.

        Given the `scores` of the same query, rank fusion needs no second pass over all pictures.
        """
        if not query.parts:
            return np.zeros((len(rows_k), 0))
        if not isinstance(query.space, RegionSpace):
            weight, vectors_kd = positive_weight(query), self.snapshot.matrix_nd[rows_k]
            likeness = (self.likeness(part, rows_k, vectors_kd) for part in query.parts)
            shares = (part.weight * alike_k / weight for part, alike_k in zip(query.parts, likeness, strict=True))
            return np.stack([*shares], axis=1)
        from viewfinder.search.late_interaction import region_shares

        block = self.block(query.space)
        if query.compare != "rank_fusion":
            return region_shares(query, query.space, block.at(rows_k)).T
        if not isinstance(scores, Scores) or scores.adds_pn is None:
            return region_shares(query, query.space, block)[:, rows_k].T
        return scores.adds_pn[:, rows_k].T

    def why(
        self, query: Query, rows_k: Int[np.ndarray, " k"], scores: Scores | NearScores | None = None
    ) -> list[dict[str, Any]]:
        """Why these pictures are hits, as JSON: `turns` (`explain_turns`), and `regions` where the query has them."""
        # Not above: few searches are explained.
        from viewfinder.search.explanation import explain_regions, explain_turns

        shares_kp = self.shares(query, rows_k, scores)
        found = explain_turns(query, np.concatenate([shares_kp, self.evidence_shares(query, rows_k)], axis=1))
        if isinstance(query.space, RegionSpace) and query.parts:
            looks = zip(found, rows_k.tolist(), shares_kp, self.attention(query, rows_k), strict=True)
            for entry, row, shares_p, attention_pr in looks:
                entry["regions"] = explain_regions(query, shares_p, attention_pr, self.boxes(row, query.space))
        return found

    def evidence_shares(self, query: Query, rows_k: Int[np.ndarray, " k"]) -> Float[np.ndarray, "k evidence"]:
        """The share of each answer that counts as evidence, then of each word match, in the score of these pictures."""
        shares_ke = np.zeros((len(rows_k), len(query.evidence) + len(query.word_matches)), np.float32)
        terms: tuple[Evidence | WordMatch, ...] = (*query.evidence, *query.word_matches)
        for at, term in enumerate(terms):
            # Nothing where there are no ratios: what they were about has gone.
            if (ratios := self._weigh(term)) is not None:
                shares_ke[:, at] = ratios.at(rows_k) / np.float32(query.sharpness)
        return shares_ke

    def prior(self, query: Query, rows_k: Int[np.ndarray, " k"] | None = None) -> Float32[np.ndarray, " k"] | None:
        """The sum that answers and word matches add to the scores of these pictures, or of all; None: nothing."""
        return self._sum_terms(query, (*query.evidence, *query.word_matches), rows_k)

    def _sum_terms(
        self, query: Query, terms: Sequence[Evidence | WordMatch], rows_k: Int[np.ndarray, " k"] | None = None
    ) -> Float32[np.ndarray, " k"] | None:
        if not terms:
            return None
        total_k = np.zeros(len(self) if rows_k is None else len(rows_k), np.float32)
        for ratios in map(self._weigh, terms):
            if ratios is None or ratios.is_nothing:
                continue
            if rows_k is None:
                ratios.add_to(total_k, query.sharpness)
            else:
                total_k += ratios.at(rows_k) / np.float32(query.sharpness)
        return total_k

    def _weigh(self, term: Evidence | WordMatch) -> LikelihoodRatios | None:
        if isinstance(term, Evidence):
            return term.ratios()
        return self.machine_ratios(term.text) if term.by_machine else self.written_ratios(term.text)

    def judge(self, texts: Sequence[str], query: Query, scores: Scores | NearScores) -> Judgement | OwnJudgement | None:
        """The texts judged against these pictures; None without texts."""
        calibration = self.encoder.calibration
        if not texts or not len(self):
            return None
        texts_md = np.concatenate([self.encode_texts([text]) for text in texts])  # just encoded, and cached
        # If the query is their plain mean, with nothing else but what is written, its scores are those of what was
        # said. Systems may read the same words as another vector than the encoder's.
        alone = not query.evidence and not isinstance(query.space, RegionSpace) and len(query.parts) == len(texts)
        plain = alone and all(part.kind == "words" and part.centred and part.weight == 1.0 for part in query.parts)
        read = [part.vector_d for part in query.parts if part.vector_d is not None] if plain else []
        telling = [match for match in query.word_matches if not ((ratios := self._weigh(match)) and ratios.is_nothing)]
        adds_n = self._sum_terms(query, telling)
        is_said = len(read) == len(texts) and np.abs(np.stack(read) - texts_md).max() < SAME_VECTOR
        said: Scores | NearScores
        if is_said and isinstance(scores, Scores):
            said = scores if adds_n is None else replace(scores, total_n=scores.total_n - adds_n)
        elif is_said and isinstance(scores, NearScores) and scores.is_of_all and not query.word_matches:
            said = scores
        else:
            alone_part = Part("words", 0, "", 1.0, texts_md.mean(axis=0), centred=True, factor=self.scale.words)
            said = self.turn_scores(Query((alone_part,)))
            if isinstance(said, NearScores) and not len(said.rows_c):  # the shards have just gone
                return None
        named = frozenset[str]()
        if self.snapshot.has_captions:
            best = said.crowd_k.tolist()
            named = frozenset(content_stems(caption for row in best for caption in self.snapshot.captions(row)))
        found: Judgement | OwnJudgement
        if calibration is not None and calibration.is_own:
            found = judge_conversation(calibration, said.spread, said.at, texts_md, texts, named)
        else:
            known = self._common_words
            # Texts of which no word is known are of another language: they are not of rare things.
            is_heard = not self.scale.is_of_box and all(
                not known.keys().isdisjoint(content_stems([it])) for it in texts
            )
            is_known = is_heard if calibration is None else True
            familiar = mean_familiarity(known, texts, named) if is_known else None
            # Standings are in deviations of the encoder's own likeness.
            factor = 1.0 if is_said and query.parts[0].factor == 1.0 else self.scale.words

            def score_at(rows_k: Int64[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
                return said.at(rows_k) if factor == 1.0 else said.at(rows_k) / factor

            standing_c = self.own_scale.stand(score_at(said.crowd_k), said.crowd_k)
            features_f = own_features(self.own_scale, standing_c, texts_md, familiar, self.scale)
            spoken = speaks_in_sentences(texts)
            curves = curves_for(len(self), of_box=self.scale.is_of_box or calibration is not None)
            found = OwnJudgement(curves, self.own_scale, features_f, spoken, score_at)
        written_n = None if adds_n is None else adds_n * query.sharpness
        held_k = self._find_rows_of_all(texts)
        if len(held_k):
            written_n = np.zeros(len(self), np.float32) if written_n is None else written_n
            written_n[held_k] = CERTAIN_NATS
        return replace(found, written_n=written_n)

    @cached_property
    def _common_words(self) -> Mapping[str, float]:
        """How common words are in captions: as the encoder knows it, or the starter that is kept beside it."""
        calibration = self.encoder.calibration
        if calibration is None and self.companion is not None and not self.scale.is_of_box:
            calibration = self.companion.encoder.calibration
        return {} if calibration is None else calibration.familiar

    # -- regions

    def block(self, space: RegionSpace) -> RegionBlock:
        """All pictures as a trained system sees them, made on the first call, then mapped. Raises as `check_fits`."""
        raw = self.need_raw(space)

        def project(snapshot: Snapshot) -> Float32[np.ndarray, "f d"]:
            captions = map(self.caption, range(len(self) if space.reads_captions else 0))
            sentences = self.find_sentences(space.raw_version) if space.reads_captions else None
            batches = (
                space.project(RawPictures(global_bg, regions_bre, tuple(islice(captions, len(global_bg))), sentences))
                for global_bg, regions_bre in raw.batches(snapshot.ids, regions=space.reads_regions)
            )
            return tile_batches(batches, len(self), space.regions, space.width)

        if space.name not in self._blocks:
            # Captions need no mark in the name: other captions are another state of the tables.
            flat_fd = self.snapshot.derived(f"regions-{space.name}-{TILE}", project)

            def keep(name: str, compute: Callable[[int], np.ndarray]) -> np.ndarray:
                def rows_of(new: Snapshot) -> np.ndarray:
                    return compute(len(self) - len(new))

                return self.snapshot.derived(f"regions-{space.name}-{name}", rows_of, by_row=True)

            self._blocks[space.name] = RegionBlock.mapped(flat_fd, space.regions, keep)
        return self._blocks[space.name]

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

        With a `space`, one box for each of its vectors: the whole picture last if it `has_whole`, and alone if there is
        only one vector. No boxes if it is not known where regions lie.
        """
        alone = space is not None and space.regions == 1
        boxes_r4: Float[np.ndarray, "_boxes 4"] = np.zeros((0, 4), np.float32)
        if isinstance(self.raw, Boxed) and not alone:
            boxes_r4 = self.raw.boxes(self.snapshot.ids[row])
        elif not alone and (self.raw is None or self.raw.raw_version == self.encoder.raw_version):
            width, height = (side or UNKNOWN_SIDE for side in self.snapshot.size(row))
            seer = self.encoder if space is None else self.find_encoder(space.raw_version)
            boxes_r4 = seer.region_boxes(width, height) / np.array([width, height] * 2, np.float32)
        # else: regions of a detector that does not say where it looked
        if space and (space.has_whole or alone):
            boxes_r4 = np.concatenate([boxes_r4, np.array([WHOLE_BOX], np.float32)])
        return boxes_r4 if space is None or len(boxes_r4) == space.regions else np.zeros((0, 4), np.float32)

    # -- one vector a picture

    def dot_scores(self, query: Query, rows: Int[np.ndarray, " k"] | slice = slice(None)) -> Float32[np.ndarray, " k"]:
        """The weighted mean likeness of pictures to the query's parts, in one scan of their vectors."""
        plain, vectors_kd = sum_plain_parts(query), self.snapshot.matrix_nd[rows]
        total_k = np.zeros(len(vectors_kd), np.float32)
        if plain.vector_d is not None:
            total_k += dot_scores(vectors_kd, plain.vector_d)
        if plain.centred:
            total_k -= np.float32(plain.centred) * self.background_n[rows]
        for part in plain.others:
            total_k += np.float32(part.weight / positive_weight(query)) * self.likeness(part, rows)
        return total_k

    def likeness(
        self,
        part: Part,
        rows: Int[np.ndarray, " k"] | slice,
        vectors_kd: Float[np.ndarray, "k d"] | None = None,
    ) -> Float[np.ndarray, " k"]:
        """How similar the pictures in `rows` are to one part; `vectors_kd`: their vectors, if they are at hand."""
        if part.kind == "value":
            assert part.value is not None
            column, value = part.value
            try:
                held_n = self.snapshot.column(column).mask(value)
            except UnknownName:  # the catalogue has changed since the turn was said
                held_n = np.zeros(len(self), dtype=bool)
            return np.asarray(held_n[rows], np.float32)
        assert part.vector_d is not None
        if part.kind == "vocabulary":
            return self.likeness_in_words(part.vector_d, rows)
        if part.kind == "contrast":
            assert part.rivals_rd is not None
            temperature = RIVAL_TEMPERATURE / self.scale.words
            return contrast_scores(
                self.snapshot.matrix_nd[rows], part.vector_d, part.rivals_rd, temperature=temperature
            )
        vectors_kd = self.snapshot.matrix_nd[rows] if vectors_kd is None else vectors_kd
        likeness_k: Float[np.ndarray, " k"] = vectors_kd @ part.vector_d
        likeness_k = likeness_k - self.background_n[rows] if part.centred else likeness_k
        return likeness_k if part.factor == 1.0 else likeness_k * np.float32(part.factor)


def encode_with(encoder: Encoder) -> SentenceEncoder:
    """The frozen sentence vectors of an encoder."""
    return SentenceEncoder(
        encoder.sentences_version, lambda texts: check_texts(encoder.sentences(texts), texts, encoder)
    )
