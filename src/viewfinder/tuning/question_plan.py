"""A plan for training questions, and its numbers. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training.presets import load_preset
from viewfinder.tuning.pool import PoolSettings

QUESTION_PRESETS = Path(__file__).with_name("questions.toml")


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The numbers of one of the two networks and of its training."""

    hidden: int
    width: int
    batch: int
    epochs: int
    learning_rate: float
    weight_decay: float


@dataclass(frozen=True, kw_only=True)
class QuestionSettings:
    """All numbers for training questions: a table of questions.toml."""

    selector: NetworkSettings
    answers: NetworkSettings
    pool: PoolSettings = field(default_factory=PoolSettings)


def question_settings(preset: str = "lab", overrides: Sequence[str] = ()) -> QuestionSettings:
    """The numbers of a preset; `overrides` replace some: "answers.epochs=3", "pool.fewest=5".

    Raises:
        UnknownName, BadInput: as `training.load_preset`.
    """
    return load_preset(QUESTION_PRESETS, preset, QuestionSettings, overrides)


@dataclass(frozen=True, kw_only=True)
class QuestionPlan(TrainPlan):
    """A plan to learn questions; its `data` are folders of data sets with dialogues, or dialogue files.

    Attributes:
        against: folders of pictures of another kind than those of `data`: nothing is predicted about such pictures.
        settings: the numbers, instead of those of `preset` and `overrides`.
    """

    system: str = "questions"
    preset: str = "lab"
    tensorboard: bool = False
    against: tuple[Path, ...] = ()
    settings: QuestionSettings = field(default_factory=question_settings)


@dataclass(frozen=True)
class QuestionReport:
    """The result; `file` is None if the training was asked to stop before its end."""

    file: Path | None
    questions: int
    foretold: int  # --json's name for predicted
    figures: Mapping[str, float]
