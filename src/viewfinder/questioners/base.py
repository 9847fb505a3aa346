"""The contract of questioners: they see the candidates and ask, or do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Int32

from viewfinder.conversation import Question, Turn
from viewfinder.plugins import refuse_reply

Column = tuple[tuple[str, ...], Int32[np.ndarray, " c"]]
"""A catalogue column: its values, and for each candidate the index of its value (-1: not known)."""


@dataclass(frozen=True, eq=False)
class PictureProjection:
    """A trained questioner's own vector of a picture: a unit vector that it makes of the encoder's raw global one.

    `name` identifies all that the vector depends on besides the picture; vectors are cached under it. `project` maps
    (n g) to (n k).
    """

    name: str
    raw_version: str
    width: int
    project: Callable[[Float[np.ndarray, "n g"]], Float32[np.ndarray, "n k"]]


@runtime_checkable
class Lookup(Protocol):
    """Facts that take time to look up and that only some questioners need, for the candidates in their order."""

    def captions(self) -> Sequence[tuple[str, ...]]:
        """The captions of each candidate; () where there are none."""
        ...

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts, in the space of `Candidates.vectors_cd`."""
        ...

    @property
    def sentences_version(self) -> str:
        """Identifies the sentence encoder whose vectors `sentences` gives."""
        ...

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Frozen unit sentence vectors: what questioners are trained on."""
        ...

    def label_chances(self) -> Float32[np.ndarray, "c l"] | None:
        """How likely each label of `questioners.photographs` holds; None where the encoder's vectors do not tell."""
        ...

    def ids(self) -> Sequence[str]:
        """The ids of the candidates."""
        ...

    def project(self, projection: PictureProjection) -> Float32[np.ndarray, "c k"]:
        """The candidates as a trained questioner sees them.

        Raises:
            EncoderMismatch: it was trained on the vectors of another encoder.
        """
        ...


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pictures that are still in question, and what was said so far.

    Attributes:
        probabilities_c: how likely each is the one meant; sums to 1. At most about 1,000 candidates.
        columns: catalogue columns by name, restricted to these candidates, and what files tell of pictures.
    """

    probabilities_c: Float[np.ndarray, " c"]
    vectors_cd: Float[np.ndarray, "c d"]  # unit vectors of the candidates, in the space of the words
    columns: Mapping[str, Column] = field(default_factory=dict)
    said: tuple[str, ...] = ()  # the texts of the conversation so far, answers included
    asked: tuple[Question, ...] = ()  # the questions asked so far
    settled: frozenset[str] = frozenset()  # names of attributes that are no longer open (filtered on, kept, answered)
    turns: tuple[Turn, ...] = ()  # what the user did so far, from the first turn on, without moves
    file_columns: frozenset[str] = frozenset()  # names of those columns that files fill
    lookup: Lookup | None = None  # what else can be known of the candidates; None where they are numbers only


@runtime_checkable
class Questioner(Protocol):
    """Decides what to ask next. All it may know of a conversation is in the view; it keeps costly results only."""

    @property
    def name(self) -> str:
        """The name by which it is chosen; its questions carry it in `by`."""
        ...

    def ask(self, view: Candidates) -> Question | None:
        """The next question, or None where none is worth the user's time."""
        ...


@dataclass(frozen=True)
class NoQuestions:
    """The questioner called "none"."""

    name: str = "none"

    def ask(self, view: Candidates) -> Question | None:
        """None, whatever the view."""
        return None


@runtime_checkable
class LoadsFirst(Protocol):
    """A questioner that is not ready at once, such as one whose language model loads."""

    def prepare(self) -> None:
        """Returns when it is ready; ViewfinderError where it never will be."""
        ...


def prepare_questioner(questioner: Questioner) -> None:
    """Wait until a questioner is ready: what an experiment does first, and a live conversation never does.

    Raises:
        ViewfinderError: it never will be.
    """
    if isinstance(questioner, LoadsFirst):
        questioner.prepare()


def check_question(questioner: Questioner, asked: object) -> Question | None:
    """The answer of a questioner, if it is a question or None. Raises PartFailed: it is something else."""
    if asked is None:
        return None
    if not isinstance(asked, Question):
        raise refuse_reply("questioner", questioner, f"`ask` gave {type(asked).__name__}, not a Question or None")
    texts = (asked.text, asked.by, asked.why, *_as_tuple(asked.choices), *_as_tuple(asked.examples))
    is_whole = isinstance(asked.choices, tuple) and isinstance(asked.examples, tuple)
    if not (is_whole and all(isinstance(text, str) for text in (*texts, asked.attribute or ""))):
        raise refuse_reply(
            "questioner", questioner, "`ask` gave a Question whose fields are not texts and tuples of texts"
        )
    return asked


def _as_tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()
