"""Questions about photographs, and how likely each answer is for a picture.

A `Facet` is a question with the labels that answer it: who is in it, where it is, what is going on, which things it
shows. Captions decide which labels hold for the photographs that are learnt from (`count_mentions`); a small
network predicts from the starter's vectors which hold for any picture (`PhotographLabels`). Which of the labels are
offered as choices depends on the pictures now likely, and `choice_chances` says what a picture would be answered with:
the same numbers choose a question and weigh its answer.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.conversation import Answer, Question
from viewfinder.processors import share_out
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import Option, entropy_bits, table_gains
from viewfinder.weights import Weights, read_weights
from viewfinder.wording.colours import find_colours_of
from viewfinder.wording.phrases import PhraseIndex
from viewfinder.wording.replies import SOMETHING_ELSE, is_dont_know
from viewfinder.wording.stems import stems

if TYPE_CHECKING:
    from viewfinder.encoders.starter.encoder import Head

FACETS_FILE = Path(__file__).with_name("photographs.toml")
SHIPPED_LABELS = Path(__file__).with_name("photographs.safetensors")
SYSTEM = "photographs"

PREDICTED_AT_ONCE = 256
"""Pictures whose labels one thread predicts at a time."""

EMPTY_ANSWERS = 0.05
"""The share of answers that say nothing, whatever the picture: chosen on photographs of `choose`."""


MISLEADING_ANSWERS = 0.15
"""The share of answers that are true and yet say nothing, as what was predicted of the picture is wrong."""

NAMED_TOO = 0.3
"""How likely a person who names a choice that is true names another that is true as well."""


@dataclass(frozen=True)
class Facet:
    """A question about photographs, with the labels that answer it.

    Attributes:
        words: by label the phrases, as stems, that name it; of a facet of colours those of the colour.
    """

    name: str  # by which a question carries it (`Question.attribute`)
    question: str  # as it is asked
    labels: tuple[str, ...]  # what may be answered, `otherwise` included
    words: Mapping[str, tuple[str, ...]]
    otherwise: str | None = None  # the label where no caption names another; None: then it is not known
    about: tuple[str, ...] = ()  # phrases of which the conversation must have one; () where it need not
    closed_by: tuple[str, ...] = ()  # phrases after which it is not asked any more
    things: frozenset[str] = frozenset()  # of a facet of colours, the things (as stems) before which a colour counts
    several: bool = False  # whether it may be asked again, with other labels, and after some of them were said
    together: bool = False  # whether several labels can be true of one picture
    denied_by: tuple[str, ...] = ()  # phrases after which `otherwise` cannot be true
    background: frozenset[str] = frozenset()  # labels that are not offered: nearly always there, and seldom told
    none: str = SOMETHING_ELSE  # the choice that none of the labels offered is true

    def find_labels(self, text: str) -> frozenset[str]:
        """The labels that a text names.

        >>> [sorted(facet.find_labels("Two white dogs on a snowy hill")) for facet in facets() if facet.name == "place"]
        [['in the mountains or on rocks', 'in the snow']]
        """
        folded = stems(text)
        if self.things:
            return frozenset(find_colours_of(folded, self.things, self.label_of))
        line = f" {' '.join(folded)} "
        return frozenset(label for label, phrases in self.words.items() if any(f" {one} " in line for one in phrases))

    @cached_property
    def label_of(self) -> Mapping[str, str]:
        """The label that each phrase names."""
        return {phrase: label for label, phrases in self.words.items() for phrase in phrases}

    def is_open(self, said: Sequence[FacetsRead]) -> bool:
        """Whether it may be asked: the texts neither answer it nor make it pointless, and bring up its subject."""
        if any(self.name in read.closed for read in said):
            return False
        if self.about and not any(self.name in read.about for read in said):
            return False
        return self.several or not any(self.name in read.named for read in said)

    def is_named(self, text: str) -> bool:
        """Whether a text answers it; in a fragment a colour may stand without its thing: "dog brown"."""
        if self.things:
            return not self.label_of.keys().isdisjoint(stems(text))
        return bool(self.find_labels(text))

    def labels_meant(self, answer: str) -> tuple[str, ...]:
        """The labels that an answer in free words comes to; () where it names none, or says that it cannot tell."""
        if is_dont_know(answer):
            return ()
        exact = tuple(label for label in self.labels if stems(label) == stems(answer))
        if exact:
            return exact
        named = {label for label, words in self.words.items() if self.things and set(words) & set(stems(answer))}
        return tuple(label for label in self.labels if label in named | self.find_labels(answer))


@cache
def facets() -> tuple[Facet, ...]:
    """All facets, as `photographs.toml` has them.

    >>> [facet.name for facet in facets()][:3]
    ['who', 'animal', 'number of people']
    """
    table = tomllib.loads(FACETS_FILE.read_text(encoding="utf-8"))
    return tuple(_parse_facet(record, table["colours"]) for record in table["facet"])


@dataclass(frozen=True)
class FacetsRead:
    """The facets, by name, of which a text says something."""

    named: frozenset[str]  # answered by it
    mentioned: Mapping[str, frozenset[str]]  # the labels that it mentions
    closed: frozenset[str]  # not asked any more after it
    about: frozenset[str]  # about something that it brings up
    denied: frozenset[str] = frozenset()  # whose `otherwise` it rules out


@lru_cache(maxsize=16_384)  # what was said is asked for at every later turn
def read_facets(text: str) -> FacetsRead:
    """All facets that a text says something of.

    >>> sorted(read_facets("Two white dogs on a snowy hill").mentioned["place"])
    ['in the mountains or on rocks', 'in the snow']
    """
    said = PhraseIndex([text]).find(
        phrase for facet in facets() for phrase in (*facet.closed_by, *facet.about, *facet.denied_by)
    )
    return FacetsRead(
        named=frozenset(facet.name for facet in facets() if facet.is_named(text)),
        mentioned={facet.name: labels for facet in facets() if (labels := facet.find_labels(text))},
        closed=frozenset(facet.name for facet in facets() if not said.isdisjoint(facet.closed_by)),
        about=frozenset(facet.name for facet in facets() if not said.isdisjoint(facet.about)),
        denied=frozenset(facet.name for facet in facets() if not said.isdisjoint(facet.denied_by)),
    )


def _parse_facet(record: Mapping[str, object], colours: Mapping[str, Sequence[str]]) -> Facet:
    things = _read_list(record, "colours_of")
    named = colours if things else record["labels"]
    assert isinstance(named, Mapping)
    words = {label: tuple(" ".join(stems(phrase)) for phrase in phrases) for label, phrases in named.items()}
    otherwise = record.get("otherwise")
    return Facet(
        str(record["name"]),
        str(record["question"]),
        (*words, *([] if otherwise is None else [str(otherwise)])),
        words,
        None if otherwise is None else str(otherwise),
        _read_list(record, "about"),
        _read_list(record, "closed_by"),
        frozenset(stems(thing)[0] for thing in things),
        bool(record.get("several", False)),
        bool(record.get("together", False)),
        _read_list(record, "denied_by"),
        frozenset(_read_list(record, "background")),
        str(record.get("none", SOMETHING_ELSE)),
    )


def _read_list(record: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = record.get(key, [])
    assert isinstance(found, list)
    return tuple(map(str, found))


@cache
def label_columns() -> Mapping[str, slice]:
    """The columns of each facet's labels among those of all facets."""
    ends = np.cumsum([len(facet.labels) for facet in facets()]).tolist()
    return {facet.name: slice(a, b) for facet, a, b in zip(facets(), [0, *ends], ends, strict=False)}


def count_mentions(captions: Sequence[str]) -> Int[np.ndarray, " l"]:
    """How many captions of a picture have each label of all facets; `otherwise` counts 1 where none has another."""
    found = []
    for facet in facets():
        named = [facet.find_labels(caption) for caption in captions]
        counts = [sum(label in one for one in named) for label in facet.words]
        found += counts if facet.otherwise is None else [*counts, int(not any(counts))]
    return np.array(found, np.int64)


def choice_chances(holds_nk: Float[np.ndarray, "n k"], error: float = EMPTY_ANSWERS) -> Float[np.ndarray, "n k+1"]:
    """P(answer | picture) over k choices and "something else", where choice i holds with the chance `holds_nk[:, i]`.

    One of those that hold is named, the likelier the more likely it holds; "something else" where none does. A share
    `error` of the answers says nothing.

    >>> choice_chances(np.array([[0.9, 0.1]]), error=0.0).round(3).tolist()
    [[0.826, 0.092, 0.083]]
    """
    sure_nk = np.clip(holds_nk.astype(np.float64), 1e-3, 1 - 1e-3)
    weight_nk = np.concatenate([sure_nk, (1 - sure_nk).prod(axis=1, keepdims=True)], axis=1)
    chance_nk = weight_nk / weight_nk.sum(axis=1, keepdims=True)
    return np.asarray((1 - error) * chance_nk + error / chance_nk.shape[1])


def set_likelihoods(
    holds_nk: Float[np.ndarray, "n k"],
    named: Sequence[int],
    *,
    either: bool = False,
    error: float = MISLEADING_ANSWERS,
    usual: float | None = None,
) -> Float[np.ndarray, " n"]:
    """P(answer | picture) where several of k choices can be true: that those in `named` are, or with () that none is.

    What is named has to hold: all of it, or with `either` some of it ("a bus or a car"). What is not may hold all the
    same: people name of what is true a part, the share `NAMED_TOO` of the rest. A picture of which two choices are true
    is thus no less likely to be the one than a picture of which one is. A share `error` of the answers says nothing: it
    is as likely for each picture as the answers are on average: `usual`, or (None) the mean of these pictures.

    >>> set_likelihoods(np.array([[0.9, 0.9], [0.5, 0.1]]), [0], error=0.0).round(3).tolist()
    [0.657, 0.485]
    """
    sure_nk = np.clip(holds_nk.astype(np.float64), 1e-3, 1 - 1e-3)
    if not named:
        likely_n = (1 - sure_nk).prod(axis=1)
    else:
        said_ns = sure_nk[:, list(named)]
        true_n = 1 - (1 - said_ns).prod(axis=1) if either else said_ns.prod(axis=1)
        likely_n = true_n * (1 - NAMED_TOO * np.delete(sure_nk, list(named), axis=1)).prod(axis=1)
    if not len(likely_n):
        return np.asarray(likely_n)
    return np.asarray((1 - error) * likely_n + error * (likely_n.mean() if usual is None else usual))


@dataclass(frozen=True, eq=False)
class PhotographLabels:
    """Predicts which labels hold for a picture: a network of one hidden layer over the shipped head's vectors.

    `raw_version` is that of the raw vectors it reads; a library of another encoder has no such labels, and nothing is
    read of the disk for it.
    """

    file: Path = SHIPPED_LABELS
    raw_version: str = "starter-raw-1"

    @cached_property
    def weights(self) -> Weights:
        """The weights of the network."""
        return read_weights(self.file)

    @property
    def trained_on(self) -> str:
        """The list of the pictures that the network and the head below it were trained on; "": unknown."""
        return self.weights.card.trained_on

    @cached_property
    def head(self) -> Head:
        """The head of the starter, whose vectors it was trained on."""
        # Not above: a server would load the starter for libraries of any other encoder.
        from viewfinder.encoders.starter.encoder import StarterEncoder

        return StarterEncoder().head

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of all facets."""
        return tuple(label for facet in facets() for label in facet.labels)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with every number that the chances depend on."""
        return f"photographs-{self.weights.fingerprint}-{self.head.fingerprint()}"

    @cached_property
    def vectors_version(self) -> str:
        """The `version` of the encoder whose vectors `chances` reads: the starter with the shipped head."""
        return f"{self.raw_version}-{self.head.fingerprint()}"

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n l"]:
        """The chance of every label for pictures by their raw vectors."""
        return self.chances(self.head.pictures(raw_ng))

    def chances(self, vectors_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n l"]:
        """The chance of every label for pictures by their vectors in the space of the shipped head."""
        found_nl = np.empty((len(vectors_nd), len(self.labels)), np.float32)

        def predict(at: int) -> None:
            found_nl[at : at + PREDICTED_AT_ONCE] = label_chances(
                self.weights.arrays, vectors_nd[at : at + PREDICTED_AT_ONCE]
            )

        share_out(predict, range(0, len(vectors_nd), PREDICTED_AT_ONCE))
        return found_nl


def label_chances(arrays: Mapping[str, np.ndarray], vectors_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n l"]:
    """The chance of every label: sigmoid(relu(x A + a) B + b), x being the vectors at mean 0 and deviation 1."""
    inputs_nd = (vectors_nd - arrays["mean_d"]) / arrays["deviation_d"]
    hidden_nh = np.maximum(inputs_nd @ arrays["inner_dh"] + arrays["inner_h"], 0)
    # Beyond 30 the sigmoid is 0 or 1 in single precision, and `exp` would overflow some way after it.
    logits_nl = np.clip(hidden_nh @ arrays["outer_hl"] + arrays["outer_l"], -30, 30)
    return np.asarray(1 / (1 + np.exp(-logits_nl)), np.float32)


@cache
def photograph_labels() -> PhotographLabels:
    """The network that comes with the package."""
    return PhotographLabels()


# -- asking: labels that separate the pictures now likely, and what else one remembers

MAX_LABELS = 7
"""Choices of a question, without "something else" and "don't know"."""

MAX_HELD = 0.9
"""A label that holds for more of the likely pictures goes without saying."""

MIN_SHARE = 0.04
"""A label that fewer of the likely pictures are answered with is not offered."""

MIN_GAIN_OF_CHOICE = 0.05
"""Bits that one more choice must bring."""

MAX_ELSEWHERE = 0.35
"""A question is not asked if it is likelier than this that none of its choices is true."""

WANTED_ELSEWHERE = 0.1
"""More labels are offered than tell apart until it is no likelier than this that none is true."""

MAX_COMPARED = 400
"""The likeliest candidates, over which questions are compared."""

REMEMBER = "remember"
"""`Question.attribute` of an open question: its answer is a further description."""

WORTH_KNOWING = {
    "who is in it": ("who", "number of people"),
    "where it is": ("place", "indoors"),
    "what is going on": ("doing",),
    "a colour": ("dog colour", "clothes colour"),
}
"""What an open question may name as worth knowing, with the facets of which none was spoken of."""

OPEN_QUESTIONS = (
    "What else do you remember of it?",
    "What is around it, or behind it?",
    "Is there any other detail that you remember?",
)


def photograph_options(view: Candidates, holds_cl: Float[np.ndarray, "c l"]) -> Iterator[Option]:
    """An option for each facet that the conversation leaves open; `holds_cl`: the chance of every label."""
    likely_c = np.argsort(-view.probabilities_c, kind="stable")[:MAX_COMPARED]
    belief_c, near_cl = view.probabilities_c[likely_c] / view.probabilities_c[likely_c].sum(), holds_cl[likely_c]
    said = [read_facets(text) for text in view.said]
    usable = [
        (facet, _rank_labels(facet, view.asked, said, belief_c, near_cl[:, label_columns()[facet.name]]))
        for facet in facets()
        if facet.is_open(said)
    ]
    offers = _choose_labels(usable, belief_c, near_cl)
    tables = [choice_chances(holds_cl[:, columns]) for _, columns in offers]
    gains = _compute_gains(view.probabilities_c, tables)
    for (facet, columns), table_ca, gain in zip(offers, tables, gains, strict=True):
        first = label_columns()[facet.name].start
        choices = (*(facet.labels[column - first] for column in columns), facet.none)
        yield Option(
            "photograph", facet.question, choices, view.probabilities_c @ table_ca, gain, partial(np.asarray, table_ca),
            attribute=facet.name, choices=choices,
        )  # fmt: skip


def _rank_labels(
    facet: Facet,
    asked: Sequence[Question],
    said: Sequence[FacetsRead],
    belief_c: Float[np.ndarray, " c"],
    holds_ck: Float[np.ndarray, "c k"],
) -> list[int]:
    """The columns of the labels of a facet that may still be offered, the likeliest first; none if it is not asked."""
    before = [question for question in asked if question.attribute == facet.name]
    if before and not facet.several:
        return []
    spent = {choice for question in before for choice in question.choices}
    spent |= {label for read in said for label in read.mentioned.get(facet.name, ())} | facet.background
    share_k, held_k = belief_c @ choice_chances(holds_ck, error=0.0)[:, :-1], belief_c @ holds_ck
    if any(facet.name in read.denied for read in said):
        spent.add(facet.otherwise or "")
    elif facet.otherwise is not None:
        share_k[facet.labels.index(facet.otherwise)] = 1.0  # that there is nobody can always be said
    settled = {label for label, held in zip(facet.labels, held_k.tolist(), strict=True) if held > MAX_HELD}
    if settled - spent and not facet.several:
        return []
    order = [at for at in np.argsort(-share_k, kind="stable").tolist() if facet.labels[at] not in spent | settled]
    return [label_columns()[facet.name].start + at for at in order[:MAX_LABELS] if share_k[at] >= MIN_SHARE]


def _choose_labels(
    usable: Sequence[tuple[Facet, list[int]]], belief_c: Float[np.ndarray, " c"], holds_cl: Float[np.ndarray, "c l"]
) -> list[tuple[Facet, list[int]]]:
    """The facets that tell the likely pictures apart, each with as many of its labels as are worth offering."""
    prefixes = [(facet, columns[:count]) for facet, columns in usable for count in range(2, len(columns) + 1)]
    tables = [choice_chances(holds_cl[:, columns]) for _, columns in prefixes]
    none = [float(belief_c @ (1 - holds_cl[:, columns]).prod(axis=1)) for _, columns in prefixes]
    best: dict[str, tuple[float, int]] = {}
    for at, ((facet, _), gain) in enumerate(zip(prefixes, _compute_gains(belief_c, tables), strict=True)):
        before = best.get(facet.name)
        if before is None or gain > before[0] + MIN_GAIN_OF_CHOICE or none[before[1]] > WANTED_ELSEWHERE:
            best[facet.name] = gain, at
    chosen = (prefixes[at] for _, at in best.values() if none[at] <= MAX_ELSEWHERE)
    return [
        (facet, sorted(columns, key=lambda column: column == _otherwise_column(facet))) for facet, columns in chosen
    ]


def _otherwise_column(facet: Facet) -> int | None:
    """The column of "nobody", which stands after those that there may be."""
    if facet.otherwise is None:
        return None
    return int(label_columns()[facet.name].start) + facet.labels.index(facet.otherwise)


def _compute_gains(belief_c: Float[np.ndarray, " c"], tables: Sequence[Float[np.ndarray, "c _"]]) -> list[float]:
    """The gain of each question in bits, all in one product: many small ones take longer."""
    if not tables:
        return []
    starts_q = np.cumsum([0, *(table_ca.shape[1] for table_ca in tables)])
    gains_q = table_gains(belief_c[None].astype(np.float64), np.concatenate(tables, axis=1), starts_q)[0]
    return [float(gain) for gain in gains_q]


def open_question(view: Candidates, by: str) -> Question | None:
    """A question for further details; None once the person had none, or all such questions were asked.

    The last one, asked where something is still open, says what it would help to know.
    """
    asked = [question for question in view.asked if question.attribute == REMEMBER]
    answers = [turn for turn in view.turns if isinstance(turn, Answer) and turn.question.attribute == REMEMBER]
    if any(is_dont_know(turn.text) or not turn.text.strip() for turn in answers):
        return None
    missing = find_missing(view)
    if len(asked) < len(OPEN_QUESTIONS):
        text = OPEN_QUESTIONS[len(asked)]
    elif len(asked) == len(OPEN_QUESTIONS) and missing:
        text = f"It would still help to know {' or '.join(missing[:2])}: can you say anything else?"
    else:
        return None
    bits = float(entropy_bits(view.probabilities_c))
    why = f"no question with choices is worth its while, and {2**bits:,.0f} pictures are about equally likely"
    return Question(text, (), by, why, REMEMBER)


def find_missing(view: Candidates) -> tuple[str, ...]:
    """What an open question may name of which the conversation has said nothing: "where it is", "a colour"."""
    said = [read_facets(text) for text in view.said]
    spoken = {name for read in said for name in (*read.named, *read.closed, *read.denied)}
    spoken |= {question.attribute for question in view.asked if question.attribute is not None}
    return tuple(name for name, subjects in WORTH_KNOWING.items() if spoken.isdisjoint(subjects))
