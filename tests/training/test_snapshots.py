"""A training that is killed, twice and at bad moments, ends with the numbers of one that was not."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training_log import read_log
from viewfinder.training import loop
from viewfinder.training.checkpoints import CHECKPOINT, newest_checkpoint, read_tensors

SCRIPT = """
import os, random, signal, sys
from pathlib import Path
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, normalize
from viewfinder.training import Card, OneCycle, TrainingJob, TrainingSettings, fit, loop, seed_all, shuffled

out, kill_in, kill_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = {"loss": 0, "replace": 0}

def call(where):
    calls[where] += 1
    if where == kill_in and calls[where] == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

replace = Path.replace
def replace_or_die(scratch, target):
    call("replace")
    return replace(scratch, target)
Path.replace = replace_or_die

seed_all(3)
texts_nx = torch.randn(96, 6)
pictures_nd = normalize(texts_nx @ torch.randn(6, 5))

def loss(network, batch):
    call("loss")
    texts_bx, pictures_bd = batch
    noise = random.gauss(0, 0.1) + np.random.standard_normal() * 0.1
    scores_bb = 5 * network(dropout(texts_bx, 0.2)) @ pictures_bd.T + noise * torch.randn(len(texts_bx), len(texts_bx))
    return cross_entropy(scores_bb, torch.arange(len(texts_bx))), {"noise": noise}

def validate(network):
    found_n = (network(texts_nx + 0.1 * torch.randn(96, 6)) @ pictures_nd.T).argmax(dim=1)
    return {"recall": (found_n == torch.arange(96)).float().mean().item()}

settings = TrainingSettings(
    learning_rate=0.02, epochs=4, schedule=OneCycle(), clip_norm=1.0, seed=3, patience=3,
)
loop.LOG_STEPS, loop.SAVE_STEPS = 3, 4
job = TrainingJob(
    network=nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 5)),
    batches=lambda epoch, seed: shuffled(
        96, 16, lambda rows: (texts_nx[rows], pictures_nd[rows]), epoch=epoch, seed=seed
    ),
    loss=loss, validate=validate, selects="recall", higher=True, settings=settings,
    card=Card(system="s", preset="lab", encoder="e"),
)
fit(job, out, resume=True)
"""


def _run(out: Path, kill_in: str, kill_at: int) -> int:
    source = Path(__file__).resolve().parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(out), kill_in, str(kill_at)]
    return subprocess.run(command, env=environment, check=False).returncode


def _run_here(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same to its end in this process, which has torch already."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["script", str(out), "", "0"])
        # Put back afterwards: the script sets its own.
        patch.setattr(Path, "replace", Path.replace)
        patch.setattr(loop, "LOG_STEPS", loop.LOG_STEPS)
        patch.setattr(loop, "SAVE_STEPS", loop.SAVE_STEPS)
        exec(SCRIPT, {"__name__": "script"})


def _told(out: Path) -> list[Any]:
    return [replace(record, seconds=0.0) for record in read_log(out / "log.jsonl")]


@pytest.mark.slow
def test_a_training_killed_twice_ends_with_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    _run_here(whole, monkeypatch)
    # 6 steps an epoch. Step 11 is in the middle of epoch 2; the checkpoint before it is that of step 8, and step 9 is
    # in the log already.
    assert _run(killed, "loss", 11) == -signal.SIGKILL
    checkpoint = newest_checkpoint(killed)
    assert checkpoint is not None and checkpoint.name == "00000008.safetensors"
    assert _told(killed)[-1].step == 9
    # Then in the middle of writing a checkpoint, the file already beside its place.
    assert _run(killed, "replace", 4) == -signal.SIGKILL
    assert list(killed.rglob("*.part"))
    _run_here(killed, monkeypatch)

    assert not list(killed.rglob("*.part"))
    assert _told(killed) == _told(whole)
    best, expected = load_file(killed / "best.safetensors"), load_file(whole / "best.safetensors")
    assert all(torch.equal(best[name], expected[name]) for name in expected)
    last = newest_checkpoint(whole)
    assert last is not None and last.name == "00000024.safetensors"
    tensors, record = read_tensors(last, schema=CHECKPOINT)
    again, record_again = read_tensors(killed / "checkpoints" / last.name, schema=CHECKPOINT)
    assert tensors.keys() == again.keys() and all(torch.equal(tensors[name], again[name]) for name in tensors)
    for told in (record, record_again):
        del told["at"]["seconds"], told["at"]["log_bytes"]
    assert record == record_again
