"""What training questions is asked to do, and its numbers. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.encoders.base import Encoder
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
    from viewfinder.training.presets import load_preset  # the package imports torch

    return load_preset(QUESTION_PRESETS, preset, QuestionSettings, overrides)


@dataclass(frozen=True, kw_only=True)
class QuestionPlan:
    """What to learn questions from, and where they go.

    Attributes:
        data: folders of data sets with dialogues, or dialogue files.
        against: folders of pictures of another kind than those of `data`: nothing is predicted about such pictures.
        out: where the training is written.
        encoder: reads pictures and sentences.
        settings: the numbers.
        features: where vectors are kept, with several data sets one named folder each; None: beside the data.
        sentences: where sentence vectors are kept; None: with those of pictures.
        resume: whether to resume the training that is in `out`.
        seed: of all random draws.
        shown: a progress bar.
        notify: called with a line of text at every stage.
        should_stop: asked after every step.
    """

    data: tuple[Path, ...]
    out: Path
    encoder: Encoder
    against: tuple[Path, ...] = ()
    settings: QuestionSettings = field(default_factory=question_settings)
    features: Path | None = None
    sentences: Path | None = None
    resume: bool = False
    seed: int = 0
    shown: bool = True
    notify: Callable[[str], None] = lambda line: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class QuestionReport:
    """The result; `file` is None if the training was asked to stop before its end."""

    file: Path | None
    questions: int
    foretold: int  # --json's name for predicted
    figures: Mapping[str, float]
