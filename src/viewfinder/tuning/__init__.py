"""Fitting the starter's alignment head: once for the box, or on a user's own captions."""

from viewfinder.tuning.collection import TuneReport, tune
from viewfinder.tuning.starter import TrainReport, train_starter

__all__ = ["TrainReport", "TuneReport", "train_starter", "tune"]
