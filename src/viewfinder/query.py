"""The data that a retriever hands to a search: the query, its parts, and a declaration of what it reads of pictures.

It stands between reading a conversation and scoring a collection; it knows neither retrievers nor galleries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Int, Int64, UInt8

from viewfinder.conversation import PictureId, Turn


class Ratios(Protocol):
    """How much likelier something is said of each picture than of others, in nats."""

    @property
    def is_nothing(self) -> bool:
        """Whether it is said of all alike."""
        ...

    @property
    def highest(self) -> float:
        """The highest ratio of any picture."""
        ...

    def at(self, rows_r: Int64[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The ratios of these rows."""
        ...

    def add_to(self, total_n: Float32[np.ndarray, " n"], sharpness: float) -> None:
        """Adds what they add to the scores of all pictures."""
        ...


@dataclass(frozen=True, eq=False)
class LikelihoodRatios:
    """Likelihood ratios of which each is a number of its own.

    Most texts name few pictures of a collection. `rows_k` are those, ascending, of which `nats_k` are not 0; None:
    `nats_k` has a number for every picture.
    """

    nats_k: Float32[np.ndarray, " k"]
    rows_k: Int64[np.ndarray, " k"] | None

    @staticmethod
    def of(nats_k: Float32[np.ndarray, " k"], rows_k: Int64[np.ndarray, " k"], pictures: int) -> LikelihoodRatios:
        """The ratios `nats_k` of the rows `rows_k` of so many `pictures`; those of all others are 0."""
        if len(rows_k) * FEW_OF <= pictures:
            return LikelihoodRatios(nats_k, rows_k)
        nats_n = np.zeros(pictures, np.float32)
        nats_n[rows_k] = nats_k
        return LikelihoodRatios(nats_n, None)

    @property
    def is_nothing(self) -> bool:
        """Whether it is said of all alike."""
        return not len(self.nats_k)

    @cached_property
    def highest(self) -> float:
        """The highest ratio of any picture."""
        return float(self.nats_k.max())

    def at(self, rows_r: Int64[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The ratios of these rows."""
        if self.rows_k is None:
            return np.asarray(self.nats_k[rows_r])
        found_r = np.zeros(len(rows_r), np.float32)
        if len(self.rows_k):
            place_r = np.minimum(np.searchsorted(self.rows_k, rows_r), len(self.rows_k) - 1)
            there_r = self.rows_k[place_r] == rows_r
            found_r[there_r] = self.nats_k[place_r[there_r]]
        return found_r

    def add_to(self, total_n: Float32[np.ndarray, " n"], sharpness: float) -> None:
        """Adds what they add to the scores of all pictures."""
        total_n[slice(None) if self.rows_k is None else self.rows_k] += self.nats_k / np.float32(sharpness)


@dataclass(frozen=True, eq=False)
class LevelRatios:
    """Likelihood ratios of which there are only a few: `nats_l`, of each picture the one whose number is in `level_n`.

    That a fact holds, does not hold or is not known of a picture takes a byte in place of four.
    """

    nats_l: Float32[np.ndarray, " l"]
    level_n: UInt8[np.ndarray, " n"]

    @property
    def is_nothing(self) -> bool:
        """Whether it is said of all alike."""
        return False

    @cached_property
    def highest(self) -> float:
        """The highest ratio of any picture."""
        return float(self.nats_l[np.bincount(self.level_n, minlength=len(self.nats_l)) > 0].max())

    def at(self, rows_r: Int64[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The ratios of these rows."""
        return np.asarray(self.nats_l[self.level_n[rows_r]])

    def add_to(self, total_n: Float32[np.ndarray, " n"], sharpness: float) -> None:
        """Adds what they add to the scores of all pictures."""
        total_n += (self.nats_l / np.float32(sharpness))[self.level_n]


@dataclass(frozen=True, eq=False)
class ComputedRatios:
    """Likelihood ratios that are computed of the pictures that they are asked of: of a large collection, few are.

    `of_rows` gives those of some rows, `of_all` those of every picture; none is above `highest`.
    """

    of_rows: Callable[[Int64[np.ndarray, " r"]], Float32[np.ndarray, " r"]]
    of_all: Callable[[], Float32[np.ndarray, " n"]]
    highest: float

    @property
    def is_nothing(self) -> bool:
        """Whether it is said of all alike."""
        return False

    def at(self, rows_r: Int64[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
        """The ratios of these rows."""
        return self.of_rows(rows_r)

    def add_to(self, total_n: Float32[np.ndarray, " n"], sharpness: float) -> None:
        """Adds what they add to the scores of all pictures."""
        total_n += self.of_all() / np.float32(sharpness)


FEW_OF = 16
"""Ratios of less than one in so many pictures are kept, and added, without those that are 0."""
Words = Callable[[Sequence[str]], Float[np.ndarray, "n d"]]
"""Texts to unit vectors in the retriever's space."""


@dataclass(frozen=True)
class SentenceEncoder:
    """Texts to the frozen sentence vectors that systems are trained on; `version` identifies these vectors."""

    version: str
    encode: Words


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that a turn names or that was shown, as far as a retriever may know it.

    `vectors` holds what the retriever `Reads`, as far as the encoder provides it: "global" (d,), "vocabulary" (l,),
    "own" (k, d), its vectors in the retriever's `RegionSpace`, and "raw" (g,) and "raw regions" (r, e), from which
    those are made. `attributes` are from the catalogue, `predicted` from the retriever's predictor, the likeliest
    first; `caption` is its caption, "" without one.
    """

    id: PictureId | None
    vectors: Mapping[str, Float[np.ndarray, ...]]
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    predicted: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Change:
    """A value that a "but ..." asks for, its alternatives, and its catalogue column, if any."""

    value: str
    rivals: tuple[str, ...]
    column: str | None = None


@dataclass(frozen=True, eq=False)
class ResolvedTurn:
    """A turn with everything it refers to looked up by the session.

    `number` is the node's number; `text` what the turn says in words, with answers to questions spelt out; `pictures`
    are those the turn names, in its order (for `Keep`: those on the screen after the turn it names); `shown` what
    was on the screen when the user spoke; `attribute_values` what an answer or a kept attribute means in the
    catalogue: column -> values; `changes` the values that a "but ..." names, and then `text` is the rest of it.
    `words` gives vectors in the space of the global picture vectors, `sentences` vectors before any head. `earlier`
    gives the pictures of an earlier turn by its number: the one picked there, else the top of what it showed.
    `revise` gives a description of before as it still holds after this turn, "" where nothing of it does; None: all do.
    `collection` describes all pictures that are searched, `look_up_for` gives the same turn with what another
    retriever reads of pictures; None: nobody can tell.
    """

    turn: Turn
    number: int
    words: Words
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    shown: Sequence[Picture] = ()
    attribute_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    vocabulary: tuple[str, ...] = ()
    sentences: SentenceEncoder | None = None
    earlier: Callable[[int], tuple[Picture, ...]] = lambda number: ()
    revise: Callable[[str], str] | None = None
    collection: Callable[[], Collection] | None = None
    look_up_for: Callable[[Reads], ResolvedTurn] | None = None


@dataclass(frozen=True, eq=False)
class RawPictures:
    """Pictures, one a row, as raw vectors and captions: the input from which trained systems make their own vectors.

    Attributes:
        regions_nre: raw regions in half precision, zeros where one is missing; None: they are not read.
        captions: one each, "" where there is none; empty: they are not read.
    """

    whole_ng: Float[np.ndarray, "n g"]  # raw global vectors
    regions_nre: Float[np.ndarray, "n r e"] | None = None
    captions: tuple[str, ...] = ()
    sentences: SentenceEncoder | None = None  # reads captions; None: they are not read


@dataclass(frozen=True, eq=False)
class RegionSpace:
    """Every picture as k vectors of d dimensions, which a trained system makes from an encoder's raw vectors.

    Attributes:
        name: identifies all that the vectors depend on besides the pictures: the system, a fingerprint of all its
            weights. Results are cached under it: the vectors of pictures beside a library, and a session's states.
        project: raw pictures -> (n k d), each vector of length 1; a missing region is a vector of zeros.
        reads_regions, reads_captions: whether raw regions, and captions, are needed at all.
        system: what `viewfinder train` trains it as; "" if it does not.
    """

    name: str
    raw_version: str  # of the raw vectors that `project` reads
    project: Callable[[RawPictures], Float32[np.ndarray, "n k d"]]
    regions: int  # k, the vectors of one picture
    width: int  # d
    temperature: float = 9.0  # of the softmax over a picture's regions; scores are multiplied by it
    reads_regions: bool = True
    reads_captions: bool = False
    has_whole: bool = False  # whether the last of the k vectors is that of the whole picture rather than of a region
    system: str = ""

    @classmethod
    def of_wholes(
        cls,
        name: str,
        raw_version: str,
        project: Callable[[RawPictures], Float32[np.ndarray, "n 1 d"]],
        width: int,
        system: str = "",
    ) -> RegionSpace:
        """One vector a picture, of the whole picture: no regions are read."""
        return cls(
            name, raw_version, project, 1, width, temperature=1.0, reads_regions=False, has_whole=True, system=system
        )


@runtime_checkable
class Predictor(Protocol):
    """Predicts from the raw vector which labels hold for a picture; `fingerprint` changes with all it depends on."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels it can predict."""

    @property
    def fingerprint(self) -> str:
        """Tells its label numbers from those of other predictors."""

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        """The probability of every label, from 0 to 1."""

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        """The numbers of the likeliest labels, best first; all of them if there are fewer."""


@dataclass(frozen=True, eq=False)
class Collection:
    """What a retriever may know of the pictures that are searched, taken together.

    Attributes:
        encoder_version: of the encoder that made their vectors.
        mean_d: the mean of these vectors; of a large collection, that of a sample.
        has_captions: whether people have written captions of any of them.
        pictures: how many there are.
    """

    encoder_version: str
    mean_d: Float32[np.ndarray, " d"]
    has_captions: bool
    pictures: int


@dataclass(frozen=True, eq=False)
class Reads:
    """The inputs of a retriever: declared once, as its `reads`, for the session, the gallery and the library.

    Attributes:
        space: where its queries look for pictures; None: the space of the encoder's own vectors, "global".
        named: how pictures that turns name are given, beside their global vector: as the vectors of `space` ("own"), or
            as the raw vectors that it is made from ("raw").
        words: whether to look up what the vocabulary says of these pictures, and which of its words a "but ..."
            changes; retrievers that read vectors of their own do without.
    """

    space: RegionSpace | None = None
    named: Literal["global", "own", "raw"] = "global"
    named_regions: bool = False  # whether their raw regions are given as well, even if `space` itself is made without
    words: bool = True
    predictor: Predictor | None = None  # predicts the attributes of these pictures; None: they are not read
    count: int = 0  # how many attributes of a picture: the likeliest ones
    regions_in: Callable[[Collection], bool] | None = None  # in which collections it uses regions, if not in all
    regions_version: str | None = None  # the encoder version of these collections, if they are all of one

    @property
    def regions(self) -> bool:
        """Whether all pictures of a collection must have raw regions."""
        return self.space is not None and self.space.reads_regions

    def uses_regions_of(self, collection: Callable[[], Collection]) -> bool:
        """Whether all pictures of a collection, which is described if that matters, are to have raw regions."""
        return self.regions or (self.regions_in is not None and self.regions_in(collection()))

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of all representations that are read: "global", "own", "raw", "regions", "named regions",
        "vocabulary", "attributes"."""
        there = (
            (self.named, self.named != "global" or not self.regions),
            ("regions", self.regions),
            ("named regions", self.named_regions),
            ("vocabulary", self.words),
            ("attributes", self.predictor is not None),
        )
        return tuple(name for name, needed in there if needed)


NOTHING_MORE = Reads()


@dataclass(frozen=True, eq=False)
class Part:
    """One ingredient of a query: what it is like, how much it counts, and the turn it came from.

    `turn` and `label` are shown to people: `Hit.why` says what each turn adds and, for parts of kind "regions", where
    in the picture each looks; there `label` is what the slot holds, `turn` the last that was written into it, and
    `weight` is not negative.

    `holds` is for programs: the turns whose words a part is made of, each with these words; () if it holds the words
    of no particular turn, None if it comes from `turn` alone and `label` describes it fully.

    `beyond`: of likeness to words or a picture counts what is above the mean of all pictures by more than so many
    deviations; None: all of it. What is unwanted is held against pictures that show it, and not against all that have
    a little of it.

    `factor` is what likeness to words or a picture is multiplied by: what brings it to the scale on which weights and
    `Query.sharpness` were chosen (`encoders/scale.py`). A gallery sets it.

    words, picture   likeness: dot product with `vector_d`; for a `centred` part, less the picture's background:
                     how well that picture answers anything at all
    value            likeness: 1 if the picture has the catalogue column and value `value`, else 0
    vocabulary       likeness: what the encoder's vocabulary says of a picture, compared with `vector_d` over words
    contrast         likeness: log-probability of `vector_d` against its `rivals_rd` (itself among them)
    regions          likeness: with c the dot products of `vector_d` and a picture's vectors in the query's
                     `RegionSpace`, sum_k softmax_k(temperature * c) c (Tan et al. 2019, Eq. 1, as in their code)
    """

    kind: Literal["words", "picture", "value", "vocabulary", "contrast", "regions"]
    turn: int
    label: str
    weight: float
    vector_d: Float[np.ndarray, " d"] | None = None
    value: tuple[str, str] | None = None
    rivals_rd: Float[np.ndarray, "r d"] | None = None
    centred: bool = False
    holds: tuple[tuple[int, str], ...] | None = None
    factor: float = 1.0
    beyond: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is likeness to words or a picture and nothing else: an inner product."""
        return self.kind in ("words", "picture") and self.beyond is None


@dataclass(frozen=True)
class Operation:
    """A reference of a turn to an earlier one, as it was understood.

    rollback   continues from the picture of that turn rather than from the last one
    keep       wants an attribute of the picture of that turn; "" is all of it

    `turn` is the number of the turn, `words` what the user said of it ("the first's colour"); "" where the turn was
    given explicitly (`Like` with `turn`, `Keep`).
    """

    kind: Literal["rollback", "keep"]
    turn: int
    attribute: str = ""
    words: str = ""


@dataclass(frozen=True)
class Evidence:
    """An answer or a fact that was said, weighted by how likely each picture is: the session adds it to any query.

    `label` is for people ("Who is in it? a man"), `short` for a chip ("person: a man"). `ratios` gives the numbers, so
    that a search knows nothing of questions, and a query that is kept holds none of them; None: what the question was
    about has gone, or the fact holds for no picture. `is_fact`: it says what files know, and is looked for by itself.
    `is_filter`: it is obeyed to the letter, so it says nothing of the pictures that are left.
    """

    turn: int
    label: str
    short: str
    ratios: Callable[[], Ratios | None]
    is_fact: bool = False
    is_filter: bool = False


@dataclass(frozen=True)
class WordMatch:
    """The text of a turn as evidence: it counts for pictures whose captions or catalogue have nearly the same words.

    `by_machine`: it counts for those of which a machine wrote such words.
    """

    turn: int
    text: str
    by_machine: bool = False

    @property
    def label(self) -> str:
        """As it is shown to people."""
        return f'{"a machine wrote" if self.by_machine else "written"} of it: "{self.text}"'


@dataclass(frozen=True, eq=False)
class Opinion:
    """What another system makes of the same conversation: a picture gains `nats` for every deviation by which the
    system's score of it is above the mean of all pictures.

    `turn` is the last one that it has heard, `system` its name.
    """

    system: str
    turn: int
    query: Query
    nats: float

    @property
    def label(self) -> str:
        """As it is shown to people."""
        return f"what {self.system} makes of all that was said"


Term = Evidence | WordMatch | Opinion
"""What is added to the likeness of pictures to a query's parts."""


SHARPNESS = 20.0
"""The sharpness of a query of which nothing better is known, on the scale of the encoder in the box."""


@dataclass(frozen=True, eq=False)
class Query:
    """The parts that pictures are compared with, and how.

    dot                every part in the space "global": a picture's score is the weighted mean of its likeness to them
    late_interaction   every part of kind "regions", in a `RegionSpace`: the same mean
    rank_fusion        every part of kind "regions": the pictures are ranked by each part alone, and the score is
                       minus their mean rank as a share of the gallery (R-RankFusion; `weight` plays no role)

    A query without parts still names its space, from the very first state on. `excluded` pictures come last, whatever
    their score. `adapters` says which turns could not be taken as given, and what was done instead.

    `sharpness` turns scores into probabilities: a lead of 1 / sharpness makes a picture e times as likely. A system
    trained with a softmax over scores gives the factor they were multiplied by. The same factor scales what is added
    to the scores: what answers say of pictures (`evidence`), and what is written of them (`word_matches`).

    `on_box_scale`: weights and sharpness were chosen for the likeness that the encoder in the box gives. A gallery of
    another brings its own to that scale (`express_query`). Otherwise likeness stays as the encoder gives it.

    `operations` is what the last turn does with earlier ones, for systems that read it. `opinions` are of retrievers
    that ask others. `shown_factor`: what scores are multiplied by where they are shown.
    """

    parts: tuple[Part, ...]
    space: Literal["global"] | RegionSpace = "global"
    compare: Literal["dot", "late_interaction", "rank_fusion"] = "dot"
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()
    sharpness: float = SHARPNESS
    operations: tuple[Operation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    word_matches: tuple[WordMatch, ...] = ()
    on_box_scale: bool = False
    opinions: tuple[Opinion, ...] = ()
    shown_factor: float = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        """All that is added to the likeness of pictures, in the order in which it is explained."""
        return (*self.evidence, *self.opinions, *self.word_matches)

    @property
    def looks_for_something(self) -> bool:
        """Whether anything was said that orders pictures: their looks, or facts."""
        return bool(self.parts) or any(known.is_fact for known in self.evidence)
