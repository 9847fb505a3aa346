"""The training ground: a system brings a network, a loss, batches and a validation; the rest is here.

A whole training:

>>> import torch
>>> from dataclasses import dataclass
>>> from pathlib import Path
>>> from torch.nn.functional import cross_entropy, normalize
>>> from viewfinder.training import Card, TrainingJob, TrainingSettings, fit, gather_with_gradient, seed_all, shuffled
>>> settings = TrainingSettings(learning_rate=0.03, epochs=20, seed=7)  # or load_preset(file, "lab", Preset).training
>>> seed_all(settings.seed)
>>> texts_nx = torch.randn(256, 8)
>>> pictures_nd = normalize(texts_nx @ torch.randn(8, 16))
>>> def batches(epoch, seed):
...     return shuffled(256, 64, lambda rows: (texts_nx[rows], pictures_nd[rows]), epoch=epoch, seed=seed)
>>> def loss(network, batch):
...     queries_bd, pictures_bd = gather_with_gradient(network(batch[0])), gather_with_gradient(batch[1])
...     right_b = torch.arange(len(queries_bd), device=queries_bd.device)
...     return cross_entropy(10 * queries_bd @ pictures_bd.T, right_b), {}
>>> def validate(network):
...     found_n = (network(texts_nx) @ pictures_nd.T).argmax(dim=1)
...     return {"recall": (found_n == torch.arange(256)).float().mean().item()}
>>> card = Card(system="linear", preset="lab", encoder="none")
>>> job = TrainingJob(network=torch.nn.Linear(8, 16), batches=batches, loss=loss, settings=settings, card=card,
...           validate=validate, selects="recall", higher=True)
>>> fitted = fit(job, Path("runs/linear"), tensorboard=False)
>>> fitted.ended, fitted.step, fitted.figures["recall"] > 0.9
('epochs', 80, True)

Several processes: `accelerate launch --multi_gpu train.py`; without a GPU, `ACCELERATE_USE_CPU=true accelerate launch
--multi_gpu --num_processes 2 train.py` (with `--cpu` alone, accelerate 1.15 starts a single process). A step then sees
the same rows as with one process, and only the main process writes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viewfinder.training.batches import (
        Batches,
        count_processes,
        draw_epochs,
        gather_with_gradient,
        seed_all,
        shuffled,
    )
    from viewfinder.training.checkpoints import load_network, save_network
    from viewfinder.training.loop import TrainingJob, TrainingResult, fit
    from viewfinder.training.presets import (
        Constant,
        Exponential,
        HalveOnPlateau,
        Noam,
        OneCycle,
        Schedule,
        TrainingSettings,
        WarmupCosine,
        build_settings,
        load_preset,
    )
    from viewfinder.training.progress import LogRecord
    from viewfinder.weights import Card, read_card

_MODULES = (
    "viewfinder.weights",
    *(f"{__name__}.{name}" for name in ("presets", "progress", "batches", "checkpoints", "loop")),
)
"""The modules that hold the names; those without torch come first."""

__all__ = [  # noqa: RUF022 - as the modules stand above
    "Batches", "count_processes", "draw_epochs", "gather_with_gradient", "seed_all", "shuffled", "load_network",
    "save_network", "TrainingJob", "TrainingResult", "fit", "build_settings", "load_preset", "LogRecord",
    "Constant", "Exponential", "HalveOnPlateau", "Noam", "OneCycle", "Schedule", "TrainingSettings", "WarmupCosine",
    "Card", "read_card",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Imports a name on first use: most names need torch, and a search that reads presets' tables does not."""
    homes = (vars(import_module(module)) for module in _MODULES if name in __all__)
    for home in homes:
        if name in home:
            return home[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
