"""A plan of a training, and the reading of its data: data sets, vectors, transactions, weights to start from.

No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from viewfinder.data.fashionmt import Transaction, fashionmt_sources, read_transactions
from viewfinder.data.splits import name_pictures
from viewfinder.encoders.base import Encoder
from viewfinder.encoders.features import Features, features
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.encoders.features.store import feature_folders, find_writable_folder
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.training.presets import load_preset, read_card_settings
from viewfinder.training.progress import report_tenths
from viewfinder.weights import Card, TrainingList, check_card, join_lists, read_card

if TYPE_CHECKING:
    from viewfinder.training import TrainingJob, TrainingResult

SENTENCES = "sentences"
"""The folder of sentence vectors, beside those of the pictures' vectors."""

AnyPreset = TypeVar("AnyPreset")


@dataclass(frozen=True, kw_only=True)
class TrainPlan:
    """The options of one training: its system, data, settings and folder.

    Attributes:
        data: folders of data sets; training learns from their training split and is measured on the validation split.
        features: where vectors are kept; several data sets have a folder each, by name. None: beside the data.
        shown, tensorboard: a progress bar; a log for TensorBoard.
        should_stop: called after every step; a training that is stopped leaves a checkpoint.
    """

    system: str  # one of `TRAINERS`
    data: tuple[Path, ...]
    preset: str  # a table of the system's presets.toml; `overrides` replace its settings, "key=value"
    out: Path  # where the training is written
    encoder: Encoder  # what reads pictures and sentences
    resume: bool = False  # whether to continue the training in `out`
    overrides: tuple[str, ...] = ()
    seed: int = 0  # of all draws
    features: Path | None = None
    start: Path | None = None  # weights to start from
    shown: bool = True
    tensorboard: bool = True
    notify: Callable[[str], None] = lambda line: None  # called with a line at every stage
    should_stop: Callable[[], bool] = lambda: False
    seen: set[str] = field(default_factory=set, init=False, repr=False, compare=False)  # as `note_training` notes it
    parts: list[str] = field(default_factory=list, init=False, repr=False, compare=False)  # as `note_weights` notes it

    def note_training(self, folder: Path, keys: Iterable[str]) -> None:
        """Notes that training uses these pictures of a data set (by key): the weights will carry a list of them."""
        self.seen.update(*name_pictures(folder, keys).values())

    def note_weights(self, trained_on: str) -> None:
        """Notes that training uses weights with this list (a simulated user's, say): theirs will have it, too."""
        self.parts.append(trained_on)

    def list_training(self) -> str:
        """The list of all pictures noted, and of those that the starting weights and the weights noted had seen.

        "" if one of these lists is unknown.
        """
        before = None if self.start is None else read_card(self.start).trained_on
        noted = TrainingList.of(self.seen).encode() if self.seen else ""
        return join_lists(noted, before, *self.parts) or ""

    def vectors(self, folder: Path, *, regions: bool = False) -> Features:
        """The vectors of a data set's pictures, computed if missing; progress is reported at every tenth."""
        progress = report_tenths(self.notify, f"vectors of {folder}:")
        return features(folder, self.encoder, out=self.features_of(folder), regions=regions, progress=progress)

    def features_of(self, folder: Path) -> Path | None:
        """Where the vectors of one of the data sets are kept; None: beside it."""
        several = self.features is not None and len(self.data) > 1
        return self.features / folder.resolve().name if self.features is not None and several else self.features

    def check_out(self) -> None:
        """Raises BadInput: `out` holds a training, and this one is not to continue it.

        `fit` would raise the same, but only after the data is read.
        """
        if not self.resume and any(self.out.glob("**/checkpoints/*.safetensors")):
            raise BadInput(
                f"{self.out}: holds a training already; go on with it (--resume) or name another folder (--out)"
            )

    def fit(self, job: TrainingJob, out: Path | None = None) -> TrainingResult:
        """Runs one training with the plan's seed, in `out` or by default where the plan says; see `training.fit`."""
        from viewfinder.training import fit

        out, stop = out or self.out, self.should_stop
        card = replace(job.card, trained_on=self.list_training())
        job = replace(job, settings=replace(job.settings, seed=self.seed), card=card)
        return fit(job, out, resume=self.resume, shown=self.shown, tensorboard=self.tensorboard, should_stop=stop)

    def sentences(self, texts: Sequence[str]) -> SentenceVectors:
        """The encoder's vectors of sentences, computed if missing."""
        home = self.data[0] if self.data[0].is_dir() else self.data[0].parent  # questions are learnt from files, too
        places = feature_folders(home, SENTENCES) if self.features is None else [self.features / SENTENCES]
        return SentenceVectors.of(texts, self.encoder, find_writable_folder(places), self.notify)


def read_preset(plan: TrainPlan, file: Path, kind: type[AnyPreset]) -> tuple[AnyPreset, Card | None]:
    """The preset of a plan, and the card of the weights to start from, whose `model` then replaces the preset's.

    Raises:
        BadInput, UnknownName: no such preset or setting; no such weights, or they are of another system.
    """
    preset: Any = load_preset(file, plan.preset, kind, plan.overrides)
    start = read_start_card(plan)
    return preset if start is None else replace(preset, model=read_card_settings(type(preset.model), start)), start


def read_start_card(plan: TrainPlan) -> Card | None:
    """The card of the weights to start from, if the plan names any.

    Raises:
        BadInput: there is no such file, or it is of another system.
    """
    if plan.start is None:
        return None
    card = read_card(plan.start)
    check_card(plan.start, card, system=plan.system)
    return card


def check_start_sentences(file: Path, start: Card, version: str) -> None:
    """Raises EncoderMismatch if the weights to start from read sentence vectors of another encoder."""
    before = start.settings["sentences_version"]
    if before != version:
        raise EncoderMismatch(
            f"{file}: reads sentence vectors of {before!r}, and this encoder's are {version!r}; use the encoder it was "
            "trained with"
        )


TransactionRows = tuple[Transaction, tuple[int, ...]]
"""A transaction, and the rows of its pictures."""


def read_transaction_rows(
    plan: TrainPlan, folder: Path, split: str, sources: Sequence[str], *, most: int = 0, regions: bool = False
) -> tuple[Features, list[TransactionRows], list[str]]:
    """A folder's vectors, its transactions whose pictures all have vectors, and the names in its sources' galleries.

    `sources`: empty: all of them; the first `most` transactions of each; 0: all.

    Raises:
        UnknownName: there is no such source.
        BadInput: damaged data.
    """
    known = [source for source, splits in fashionmt_sources(folder).items() if split in splits]
    if missing := [source for source in sources if source not in known]:
        there = ", ".join(known) or "none"
        raise UnknownName(f"{folder}: no source of {split!r} is called {', '.join(missing)}; there are: {there}")
    vectors = plan.vectors(folder, regions=regions)
    found: list[TransactionRows] = []
    gallery: list[str] = []
    for source in sources or known:
        read, _ = read_transactions(folder, source, split)
        # Some pictures are named with a leading slash.
        with_rows = [(one, [vectors.find_row(name.lstrip("/")) for name in one.pictures]) for one in read.transactions]
        chosen = [(one, tuple(row for row in rows if row is not None)) for one, rows in with_rows if None not in rows]
        chosen = chosen[: most or None]
        plan.notify(f"{folder}, {source}, {split}: {len(chosen):,} transactions of {len(read.transactions):,}")
        found += chosen
        gallery += read.gallery
    if split == "train":
        plan.note_training(folder, {vectors.keys[row] for _, rows in found for row in rows})
    return vectors, found, gallery
