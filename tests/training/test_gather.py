"""Two processes under `accelerate launch` are one with the whole batch."""

import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.training_log import read_log
from viewfinder.training import count_processes, gather_with_gradient, loop

SCRIPT = """
import atexit, json, os, sys
from pathlib import Path
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy, dropout, normalize
from viewfinder.training import (
    Card, TrainingJob, TrainingSettings, count_processes, fit, gather_with_gradient, loop, seed_all, shuffled
)

loop.LOG_STEPS = 1
seed_all(1)
TEXTS_NX, PICTURES_NX = torch.randn(48, 6), torch.randn(48, 6)


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.picture, self.idle = nn.Linear(6, 4), nn.Linear(6, 4), nn.Linear(2, 2)


def whole_loss(network, batch):
    # Every process computes the loss over all rows.
    texts_bd = gather_with_gradient(normalize(network.text(batch[0])))
    pictures_bd = gather_with_gradient(normalize(network.picture(batch[1])))
    scores_bb = 5 * texts_bd @ pictures_bd.T
    right_b = torch.arange(len(scores_bb))
    return (cross_entropy(scores_bb, right_b) + cross_entropy(scores_bb.T, right_b)) / 2, {"rows": len(scores_bb)}


def rows_loss(network, batch):
    # Every process has its own rows against all columns.
    texts_bd, pictures_bd = normalize(network.text(batch[0])), normalize(network.picture(batch[1]))
    first = distributed.get_rank() * len(texts_bd) if count_processes() > 1 else 0
    right_b = torch.arange(len(texts_bd)) + first
    by_text = cross_entropy(5 * texts_bd @ gather_with_gradient(pictures_bd).T, right_b)
    by_picture = cross_entropy(5 * pictures_bd @ gather_with_gradient(texts_bd).T, right_b)
    return (by_text + by_picture) / 2, {}


def noisy_loss(network, batch):
    return whole_loss(network, (dropout(batch[0], 0.3), batch[1]))


def gradient(loss, batch):
    # The mean loss and gradient over the processes, as the trainer has it.
    seed_all(2)
    network = Towers()
    value, _ = loss(network, batch)
    value.backward()
    gradients = [tower.weight.grad.flatten() for tower in (network.text, network.picture)]
    numbers = torch.cat([value.detach()[None], *gradients])
    if count_processes() > 1:
        distributed.all_reduce(numbers)
    return (numbers / count_processes()).tolist()


def batch_of(rows):
    return TEXTS_NX[rows], PICTURES_NX[rows]


def train(loss, out, **options):
    seed_all(2)
    job = TrainingJob(
        network=Towers(), loss=loss, may_leave_unused=True, card=Card(system="s", preset="lab", encoder="e"),
        batches=lambda epoch, seed: shuffled(48, 8, batch_of, epoch=epoch, seed=seed),
        settings=TrainingSettings(learning_rate=0.05, epochs=1, clip_norm=0.2, seed=5),
        validate=lambda network: {"loss": network.text.weight.sum().item()},
    )
    return fit(job, out, tensorboard=False, **options)


def main(out):
    calls = iter(range(100))
    trained = {
        "whole": train(whole_loss, out / "whole"),
        "rows": train(rows_loss, out / "rows"),
        "noisy": train(noisy_loss, out / "noisy"),
        # Only one of the processes is asked to stop; both must.
        "asked": train(noisy_loss, out / "asked",
                       should_stop=lambda: next(calls) == 3 and (count_processes() == 1 or distributed.get_rank())),
        "resumed": train(noisy_loss, out / "asked", resume=True),
    }
    rank = distributed.get_rank() if count_processes() > 1 else 0
    share = len(TEXTS_NX) // count_processes()
    own = batch_of(slice(rank * share, (rank + 1) * share))
    told = {loss.__name__: gradient(loss, own) for loss in (whole_loss, rows_loss)}
    told["steps"] = {name: [fitted.ended, fitted.step] for name, fitted in trained.items()}
    told["processes"] = count_processes()
    try:
        gather_with_gradient(torch.zeros(rank + 1, 2))
    except ValueError as error:
        told["uneven"] = str(error)
    (out / f"told-{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    # Asked for before the training is, so answered after what the training leaves to the end.
    left = Path(sys.argv[1], f"left-{os.environ['RANK']}")
    atexit.register(lambda: left.write_text(str(not distributed.is_initialized())))
    main(Path(sys.argv[1]))
"""


def test_alone_there_is_nothing_to_gather() -> None:
    rows_bd = torch.ones(2, 3, requires_grad=True)
    assert count_processes() == 1
    assert gather_with_gradient(rows_bd) is rows_bd


def _launch(script: Path, out: Path) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    source = Path(__file__).resolve().parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    plain = ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    command = [*launch, *plain, "--main_process_port", str(port), str(script), str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def _close(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> bool:
    return all(torch.allclose(ours[name], theirs[name], atol=1e-5) for name in theirs)


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_with_halves_are_one_with_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, one, two = tmp_path / "train.py", tmp_path / "one", tmp_path / "two"
    script.write_text(SCRIPT)
    one.mkdir()
    two.mkdir()
    warned = _launch(script, two)
    assert "Warning" not in warned, warned
    monkeypatch.setattr(loop, "LOG_STEPS", loop.LOG_STEPS)  # put back afterwards: the script sets its own
    runpy.run_path(str(script))["main"](one)
    alone = json.loads((one / "told-0.json").read_text())
    both = [json.loads((two / f"told-{rank}.json").read_text()) for rank in (0, 1)]
    assert [told["processes"] for told in (alone, *both)] == [1, 2, 2]
    for name in ("whole_loss", "rows_loss"):
        assert both[0][name] == both[1][name] == pytest.approx(alone[name], abs=1e-6)
        assert max(map(abs, alone[name][1:])) > 0.01  # there is a gradient to speak of
    assert [(two / f"left-{rank}").read_text() for rank in (0, 1)] == ["True", "True"]
    assert {told["uneven"] for told in both} == {"the processes have [1, 2] rows: give each equally many"}

    # The same losses, and the same weights after six steps of clipped AdamW.
    for name in ("whole", "rows"):
        expected = [record.loss for record in read_log(one / name / "log.jsonl")]
        assert [record.loss for record in read_log(two / name / "log.jsonl")] == pytest.approx(expected, abs=1e-5)
        assert _close(load_file(two / name / "best.safetensors"), load_file(one / name / "best.safetensors"))
    ended = {"whole": "epochs", "rows": "epochs", "noisy": "epochs", "asked": "asked", "resumed": "epochs"}
    assert (
        both[0]["steps"]
        == both[1]["steps"]
        == {name: [why, 4 if name == "asked" else 6] for name, why in ended.items()}
    )
    # Resumed with two states of random numbers, to the bit.
    noisy, resumed = load_file(two / "noisy/best.safetensors"), load_file(two / "asked/best.safetensors")
    assert all(torch.equal(noisy[name], resumed[name]) for name in noisy)
