"""Trainings of a few steps."""

from __future__ import annotations

import pytest


@pytest.fixture
def every_step_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings log each of their steps, not every twentieth."""
    monkeypatch.setattr("viewfinder.training.loop.LOG_STEPS", 1)
