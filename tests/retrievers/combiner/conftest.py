"""Transactions about pictures of one colour over another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures

SMALL = (
    "batch=8", "model.projection=24", "model.hidden=24", "training.learning_rate=0.01", "training.epochs=4",
)  # fmt: skip


@pytest.fixture(scope="session")
def combiner_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty transactions for training and twelve to validate; their last turn goes back to the first or second."""
    folder = tmp_path_factory.mktemp("transactions")
    drawn = tiny_pictures(folder / "images", 56)
    named = [f"images/{one.path.name}" for one in drawn]
    rows = []
    for at in range(52):
        places = [at, at + 1, at + 2, at + 3]
        said = [f"1. is {drawn[place].top} over {drawn[place].bottom} 2. is small" for place in places[1:]]
        said[-1] = f"I prefer the {('FIRST', 'SECOND')[at % 2]}, and {said[-1]}"
        rows.append(Transaction(named[at], tuple(named[place] for place in places[1:]), tuple(said)))
    for split, some in (("train", rows[:40]), ("val", rows[40:])):
        write_transactions(folder, "flags", split, some, named)
    return folder


@pytest.fixture(scope="session")
def combiner_plan(combiner_data: Path) -> Callable[..., TrainPlan]:
    """A training of the laboratory's table at a small size; more settings, and what else a plan says, can be given."""

    def plan(out: Path, *overrides: str, **known: Any) -> TrainPlan:
        given: dict[str, Any] = {"system": "combiner", "preset": "lab", "data": (combiner_data,), "out": out}
        given |= {"encoder": ColourEncoder(), "overrides": (*SMALL, *overrides), "shown": False, "tensorboard": False}
        return TrainPlan(**(given | known))

    return plan
