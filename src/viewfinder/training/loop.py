"""The one training loop: `fit` takes a `TrainingJob` from its first weights, or its last checkpoint, to its end.

The folder of a training:

log.jsonl                      what was measured when (progress.py)
tensorboard/                   the same for TensorBoard
checkpoints/*.safetensors      everything needed to resume, by number of steps; the last few (checkpoints.py)
best.safetensors               the best network so far, with its card (checkpoints.py)
"""

from __future__ import annotations

import atexit
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import broadcast_object_list, send_to_device
from torch import Tensor, nn

from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.training.batches import own_randomness, seed_all, take_share
from viewfinder.training.checkpoints import (
    TrainingParts,
    TrainingProgress,
    newest_checkpoint,
    restore_checkpoint,
    save_checkpoint,
    save_network,
)
from viewfinder.training.optimisers import make_optimiser, make_schedule
from viewfinder.training.presets import TrainingSettings
from viewfinder.training.progress import LogRecord, Report, TrainingLog, progress_bar
from viewfinder.weights import Card

LOG_STEPS = 20
"""After so many steps the means of figures are logged, as they are after every epoch."""

SAVE_STEPS = 500
"""After so many steps a checkpoint is written, as it is after every epoch."""

Figures = Mapping[str, Tensor | float | int]
Loss = Callable[[Any, Any], tuple[Tensor, Figures]]
"""Of the network that is trained, and of a batch."""


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """One training of one network.

    network: made after `seed_all`, so that its first weights are the same in every run and process. What must survive
        an interruption besides weights (a queue of negatives, say) belongs in its buffers.
    batches: (epoch, seed) -> the batches of an epoch (from 1): the same ones whenever it is asked, since a resumed
        training skips those already used. Tensors in them are moved to the device. `shuffled` makes such batches.
        With several processes each takes the batches rank, rank + processes, ...
    loss: (network, batch) -> a scalar and figures to log (the same names on all processes). It may call
        any part of the network.
    validate: network, in eval mode and without gradients -> figures. Called on the main process alone, so it must
        gather nothing; its random numbers are the same every time and do not touch those of the training.
    selects: the validation figure that chooses `best.safetensors`; `higher` says whether higher is better.
        Without `validate`, the weights of the last step are the best.
    trainable: which parameters train, by name; None leaves `requires_grad` as it is.
    before_step: called with the network in eval mode and without gradients before every step (Fashion IQ: embed the
        gallery again).
    may_leave_unused: in some steps some trainable parameters get no gradient; matters to several processes only.
    """

    network: nn.Module
    batches: Callable[[int, int], Iterable[Any]]
    loss: Loss
    settings: TrainingSettings
    card: Card
    validate: Callable[[Any], Figures] | None = None
    selects: str = "loss"
    higher: bool = False
    trainable: Callable[[str], bool] | None = None
    before_step: Callable[[nn.Module], None] | None = None
    may_leave_unused: bool = False

    def __post_init__(self) -> None:
        if self.settings.patience is not None and self.validate is None:
            raise BadInput("patience counts validations, but this training has none; leave patience out")

    def choose_trainable(self) -> list[nn.Parameter]:
        """Freeze what does not train; return the parameters that do.

        Raises:
            BadInput: there are none.
        """
        if self.trainable is not None:
            for name, parameter in self.network.named_parameters():
                parameter.requires_grad_(self.trainable(name))
        chosen = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        if not chosen:
            raise BadInput("no parameter of the network is trainable; check which names are chosen")
        return chosen


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a training ended; one that was asked to stop before its first validation has no `best` yet."""

    ended: str  # "epochs", "steps", "patience", "schedule" or "asked" (by `should_stop`: resume to continue)
    step: int
    epoch: int
    best: Path  # the file of the best network
    best_step: int
    figures: Mapping[str, float] = field(default_factory=dict)  # what validation measured with it


def fit(
    job: TrainingJob,
    out: Path,
    *,
    resume: bool = False,
    shown: bool = True,
    tensorboard: bool = True,
    should_stop: Callable[[], bool] = lambda: False,
) -> TrainingResult:
    """Train; with `resume`, continue from the newest checkpoint in `out` (from the start if there is none).

    A training that was killed and resumed ends with the same numbers as one that was not, on the same machine and
    number of processes. `should_stop` is called after every step; a training stopped by it leaves a checkpoint.
    `shown`: a progress bar, on a terminal.

    Raises:
        BadInput: `out` holds a training and `resume` is False; or one of other settings, or a damaged checkpoint.
        EncoderMismatch: `out` holds a training on another encoder's vectors.
        ViewfinderError: the loss is no longer a number.
        DiskFull: the disk is full; the last checkpoint is kept.
    """
    checkpoint = newest_checkpoint(out)
    if checkpoint is not None and not resume:
        raise BadInput(f"{out}: holds a training already; go on with it (--resume) or name another folder")
    run = _Run(job, out)
    if checkpoint is not None:
        restore_checkpoint(checkpoint, run.parts)
        run.saved = True
    else:
        seed_all(job.settings.seed + run.accelerator.process_index)
    with ExitStack() as stack:
        if run.accelerator.is_main_process:
            run.log = TrainingLog(out, kept=run.at.log_bytes, step=run.at.step, tensorboard=tensorboard)
            stack.callback(run.log.close)
        shown = shown and run.accelerator.is_main_process
        run.report = stack.enter_context(progress_bar("training", run.total_steps, shown=shown))
        return run.run_to_end(should_stop)


class _WithLoss(nn.Module):
    """The loss as the forward of a module: mixed precision and several processes only wrap a forward."""

    def __init__(self, job: TrainingJob) -> None:
        super().__init__()
        self.network = job.network
        self._loss = job.loss

    def forward(self, batch: Any) -> tuple[Tensor, Figures]:
        loss, figures = self._loss(self.network, batch)
        return loss, dict(figures)


@cache
def _leave_processes_at_exit() -> None:
    """End the group of processes while Python still runs: a gloo thread that frees tensors later aborts the process.

    The end of a group waits for its threads, unless DDP still holds it (torch 2.13 never lets it go). Then all they
    lack is the interpreter's lock, for an instant.
    """

    def leave() -> None:
        PartialState().destroy_process_group()
        time.sleep(0.05)

    atexit.register(leave)


class _Run:
    """A training under way."""

    def __init__(self, job: TrainingJob, out: Path) -> None:
        self.job, self.settings, self.out = job, job.settings, out
        # The state is shared by all accelerators of a process and refuses a precision other than the first one's.
        AcceleratorState._reset_state()
        parallel = DistributedDataParallelKwargs(find_unused_parameters=job.may_leave_unused)
        self.accelerator = Accelerator(mixed_precision=job.settings.precision, kwargs_handlers=[parallel])
        if self.accelerator.use_distributed:
            _leave_processes_at_exit()
        # accelerate would silently train in full precision.
        if job.settings.precision == "fp16" and self.accelerator.device.type == "cpu":
            raise BadInput("precision fp16 needs a GPU, and there is none here; set precision to bf16 or no")
        parameters = job.choose_trainable()
        bare = make_optimiser(job.settings, parameters)
        self.total_steps = _count_steps(job, self.accelerator.num_processes)
        self.with_loss, self.optimiser = self.accelerator.prepare(_WithLoss(job), bare)
        self.schedule = make_schedule(job.settings, bare, total_steps=self.total_steps)
        self.at = TrainingProgress()
        self.parts = TrainingParts(
            job.network, job.settings, job.card, self.accelerator, bare, self.schedule, self.at, out
        )
        self.parameters = parameters
        self.log: TrainingLog | None = None
        self.report: Report = lambda done, total=None, words=None: None
        self._began = time.monotonic()
        self.saved = False  # whether the newest checkpoint is up to date

    def run_to_end(self, should_stop: Callable[[], bool]) -> TrainingResult:
        self._began = time.monotonic() - self.at.seconds
        while (ended := self._find_end()) is None:
            if not self._run_epoch(should_stop):
                self._save_checkpoint()
                return self._make_result("asked")
        # The last record, validation and checkpoint, unless already done.
        self._log_means()
        if self.job.validate is None:
            self.at.best_step = self.at.step
            self._save_best()
        elif self.at.validated != self.at.step:
            self._run_validation()
        if not self.saved:
            self._save_checkpoint()
        return self._make_result(ended)

    def _find_end(self) -> str | None:
        """Why the training is over, if it is."""
        settings, at = self.settings, self.at
        if settings.steps is not None and at.step >= settings.steps:
            return "steps"
        if settings.epochs is not None and at.epoch > settings.epochs:
            return "epochs"
        if settings.patience is not None and at.waited >= settings.patience:
            return "patience"
        return "schedule" if self.schedule.over else None

    def _run_epoch(self, should_stop: Callable[[], bool]) -> bool:
        """The rest of an epoch, or up to the end of the training; False if it was asked to stop."""
        accelerator, settings, at = self.accelerator, self.settings, self.at
        batches = take_share(
            self.job.batches(at.epoch, settings.seed),
            rank=accelerator.process_index,
            processes=accelerator.num_processes,
            done=at.batch,
        )
        for batch in batches:
            self._run_step(batch)
            if at.step % LOG_STEPS == 0:
                self._log_means()
            if settings.validate_steps is not None and at.step % settings.validate_steps == 0:
                self._run_validation()
            if self._find_end() is not None:
                return True
            if self._is_stopped(should_stop()):
                return False
            if at.step % SAVE_STEPS == 0:
                self._save_checkpoint()
        if at.batch == 0:
            raise BadInput(f"epoch {at.epoch} has no batches for {accelerator.num_processes} process(es)")
        self._log_means()
        self.schedule.after_epoch(at.whole.take())
        due = settings.validate_epochs
        if due is not None and (at.epoch - settings.validate_offset) % due == 0 and at.validated != at.step:
            self._run_validation()
        at.epoch, at.batch = at.epoch + 1, 0
        self._save_checkpoint()
        return True

    def _run_step(self, batch: Any) -> None:
        """One update of the weights."""
        accelerator, network, at = self.accelerator, self.job.network, self.at
        if self.job.before_step is not None:
            network.eval()
            with torch.no_grad(), accelerator.autocast():
                self.job.before_step(network)
        network.train()
        self.optimiser.zero_grad()
        loss, figures = self.with_loss(send_to_device(batch, accelerator.device))
        accelerator.backward(loss)
        self._add_figures({**figures, "loss": loss.detach()})
        if self.settings.clip_norm is not None:
            accelerator.clip_grad_norm_(self.parameters, self.settings.clip_norm)
        at.rate = float(self.optimiser.param_groups[0]["lr"])
        self.optimiser.step()
        if not accelerator.optimizer_step_was_skipped:  # fp16 skips a step whose gradients overflowed
            self.schedule.after_step()
        self.saved = False
        at.step += 1
        at.batch += 1
        self.report(at.step, words=f"epoch {at.epoch}, loss {at.recent.mean('loss'):.4g}")

    def _add_figures(self, figures: Figures) -> None:
        """Add a batch's figures, averaged over the processes, to those since the last record and of the epoch."""
        names = sorted(figures)
        numbers = torch.tensor([float(figures[name]) for name in names], dtype=torch.float64)
        if self.accelerator.num_processes > 1:
            numbers = self.accelerator.reduce(numbers.to(self.accelerator.device), reduction="mean")
        told = dict(zip(names, numbers.tolist(), strict=True))
        if not math.isfinite(told["loss"]):
            raise ViewfinderError(
                f"{self.out}: the loss is {told['loss']} in step {self.at.step + 1} (epoch {self.at.epoch}); "
                "lower learning_rate or set clip_norm"
            )
        self.at.recent.add(told)
        self.at.whole.add(told)

    def _log_means(self) -> None:
        """Log the means since the last record, if there are any."""
        if self.at.recent.sums:
            figures = self.at.recent.take()
            self._log_record("train", figures.pop("loss"), self.at.rate, figures)

    def _log_record(self, kind: Any, loss: float | None, rate: float | None, figures: Mapping[str, float]) -> None:
        at = self.at
        at.seconds = time.monotonic() - self._began
        if self.log is not None:
            known: dict[str, Any] = {"step": at.step, "epoch": at.epoch, "seconds": at.seconds}
            self.log.write(LogRecord(kind=kind, loss=loss, lr=rate, figures=figures, **known))

    def _run_validation(self) -> None:
        """Measure, log, and keep the network if it is the best so far."""
        if self.job.validate is None:
            return
        at = self.at
        self.saved = False
        self._log_means()
        measured: list[dict[str, float] | None] = [None]
        if self.accelerator.is_main_process:
            self.job.network.eval()
            with torch.no_grad(), self.accelerator.autocast(), own_randomness(self.settings.seed):
                found = self.job.validate(self.job.network)
            measured = [{name: float(figure) for name, figure in found.items()}]
        broadcast_object_list(measured)
        [figures] = measured
        assert figures is not None
        if self.job.selects not in figures:
            raise BadInput(f"validation gives no {self.job.selects!r} to choose by; it gives: {', '.join(figures)}")
        self._log_record("validation", None, None, figures)
        now = figures[self.job.selects] if self.job.higher else -figures[self.job.selects]
        best = not math.isnan(now) and (at.best is None or now > at.best)
        at.validated, at.waited = at.step, 0 if best else at.waited + 1
        if best:
            at.best, at.best_step, at.figures = now, at.step, figures
            self._save_best()
        self.schedule.after_validation(best=best)

    def _save_best(self) -> None:
        if self.accelerator.is_main_process:
            card = replace(self.job.card, figures={**self.job.card.figures, **self.at.figures})
            save_network(self.out / "best.safetensors", self.job.network, card)

    def _save_checkpoint(self) -> None:
        self.at.seconds = time.monotonic() - self._began
        if self.log is not None:
            self.at.log_bytes = self.log.size()
        save_checkpoint(self.parts)
        self.saved = True

    def _is_stopped(self, asked: bool) -> bool:
        """Whether any process was asked to stop: all stop after the same step."""
        if self.accelerator.num_processes == 1:
            return asked
        flag = torch.tensor([float(asked)], device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, reduction="sum").item() > 0)

    def _make_result(self, ended: str) -> TrainingResult:
        at, best = self.at, self.out / "best.safetensors"
        epoch = at.epoch if at.batch else at.epoch - 1
        return TrainingResult(
            ended=ended, step=at.step, epoch=epoch, best=best, best_step=at.best_step, figures=at.figures
        )


def _count_steps(job: TrainingJob, processes: int) -> int | None:
    """Steps from start to end, if known."""
    settings: TrainingSettings = job.settings
    if settings.epochs is None:
        return settings.steps
    batches = job.batches(1, settings.seed)
    if not isinstance(batches, Sized):
        return settings.steps
    by_epochs = settings.epochs * (len(batches) // processes)
    return by_epochs if settings.steps is None else min(by_epochs, settings.steps)
