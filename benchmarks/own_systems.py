"""The systems that `one` has for its own: mixture.py trains them, as often as the gates of `one` are fitted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rows import SEEDS

from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import force_pictures
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import SYSTEMS
from viewfinder.retrievers.one.retriever import OWN_WEIGHTS

BEST = "best.safetensors"


def name_own(system: str, seed: int) -> str:
    """The name of a training, under which its scores are kept beside those of the shipped systems."""
    return f"mixture-{system}-{seed}"


def members_for(seed: int) -> dict[str, str]:
    """The systems that `one` asks, and under which names their scores are, in the fit with this seed."""
    return {system: name_own(system, seed) if system in OWN_WEIGHTS else system for system in SYSTEMS}


def run_of(system: str, seed: int, work: Path) -> Path:
    """The folder of a training."""
    return work / "runs" / name_own(system, seed)


def load_retrained(system: str, seed: int, work: Path) -> Retriever[Any]:
    """A system with the weights of the mixture."""
    return force_pictures(load_system(system, 0, run_of(system, seed, work) / BEST))


def load_own(work: Path, seed: int) -> Mapping[str, Retriever[Any]]:
    """The systems that `one` has for its own in the fit with this seed, by the names of the systems."""
    return {system: load_retrained(system, seed, work) for system in OWN_WEIGHTS}


def list_own() -> dict[str, tuple[str, int]]:
    """System and seed of all of them, by the names of their scores."""
    return {name_own(system, seed): (system, seed) for seed in SEEDS for system in OWN_WEIGHTS}


def load_all_own(work: Path) -> Mapping[str, Retriever[Any]]:
    """All of them, by the names of their scores."""
    return {name: load_retrained(system, seed, work) for name, (system, seed) in list_own().items()}
