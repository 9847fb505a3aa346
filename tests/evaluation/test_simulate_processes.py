"""Work in several processes. What is called there must be known there by name, so it is Python's own."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from viewfinder.errors import ViewfinderError
from viewfinder.evaluation.simulate import DIED
from viewfinder.worlds.making import run_in_processes


@pytest.mark.parametrize("processes", [1, 2, 9])
def test_every_item_is_done_once_and_keeps_its_place(processes: int) -> None:
    done = dict(run_in_processes(partial(partial, pow, 2), range(5), processes, died=DIED))
    assert done == {0: 1, 1: 2, 2: 4, 3: 8, 4: 16}


@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_work_raises_is_raised_here(processes: int, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files = [tmp_path / "none", tmp_path / "nothing"]
        list(run_in_processes(partial(partial, Path.read_text), files, processes, died=DIED))


def test_a_process_that_dies_is_one_clear_line() -> None:
    with pytest.raises(ViewfinderError, match="a process that held dialogues died"):
        list(run_in_processes(partial(partial, os._exit), [1, 1], 2, died=DIED))
