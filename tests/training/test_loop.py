import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from tests.training_log import read_log
from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError
from viewfinder.training import (
    Card,
    Constant,
    Exponential,
    HalveOnPlateau,
    Noam,
    OneCycle,
    Schedule,
    TrainingJob,
    TrainingSettings,
    WarmupCosine,
    fit,
    load_network,
    loop,
    read_card,
    seed_all,
    shuffled,
)

CARD = Card(system="line", preset="lab", encoder="raw-1", settings={"width": 2})
X_NX = torch.linspace(-1, 1, 24).reshape(12, 2)
Y_ND = X_NX @ torch.tensor([[1.0], [-2.0]]) + 0.5


def _batches(epoch: int, seed: int) -> Any:
    return shuffled(12, 4, lambda rows: (X_NX[rows], Y_ND[rows]), epoch=epoch, seed=seed)


def _loss(network: nn.Module, batch: Any) -> tuple[Tensor, dict[str, float]]:
    return mse_loss(network(batch[0]), batch[1]), {"rows": float(len(batch[0]))}


def _validate(network: nn.Module) -> dict[str, float]:
    return {"error": mse_loss(network(X_NX), Y_ND).item()}


def _job(settings: TrainingSettings | None = None, **changes: Any) -> TrainingJob:
    seed_all(0)
    given: dict[str, Any] = {
        "network": nn.Linear(2, 1),
        "batches": _batches,
        "loss": _loss,
        "settings": settings or TrainingSettings(learning_rate=0.1, epochs=3),
        "card": CARD,
        "validate": _validate,
        "selects": "error",
    }
    return TrainingJob(**{**given, **changes})


def _fit(job: TrainingJob, out: Path, **options: Any) -> Any:
    return fit(job, out, tensorboard=False, **options)


def _weights(job: TrainingJob) -> list[list[float]]:
    return [parameter.flatten().tolist() for parameter in job.network.parameters()]


def _told(out: Path) -> list[Any]:
    return [replace(record, seconds=0.0) for record in read_log(out / "log.jsonl")]


def test_training_is_what_a_loop_by_hand_does(tmp_path: Path) -> None:
    job = _job(TrainingSettings(learning_rate=0.1, epochs=2, weight_decay=0.1, clip_norm=0.5, seed=4))
    fitted = _fit(job, tmp_path)
    seed_all(0)
    network = nn.Linear(2, 1)
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.1)
    for epoch in (1, 2):
        for batch in _batches(epoch, 4):
            optimiser.zero_grad()
            _loss(network, batch)[0].backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
            optimiser.step()
    assert _weights(job) == [parameter.flatten().tolist() for parameter in network.parameters()]
    assert (fitted.ended, fitted.step, fitted.epoch, fitted.best) == ("epochs", 6, 2, tmp_path / "best.safetensors")


def test_the_log_has_means_over_the_steps_since_the_record_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([1.0, 3.0, 5.0, 7.0, 9.0, 11.0])

    def loss(network: nn.Module, batch: Any) -> tuple[Tensor, dict[str, float]]:
        value = next(values)
        return network(batch[0]).sum() * 0 + value, {"double": 2 * value}

    monkeypatch.setattr(loop, "LOG_STEPS", 2)
    _fit(_job(TrainingSettings(learning_rate=0.1, epochs=2), loss=loss, validate=None), tmp_path)
    told = [(record.step, record.epoch, record.loss, record.figures, record.lr) for record in _told(tmp_path)]
    # every two steps, and at the end of an epoch of three
    assert told == [
        (2, 1, 2.0, {"double": 4.0}, 0.1),
        (3, 1, 5.0, {"double": 10.0}, 0.1),
        (4, 2, 7.0, {"double": 14.0}, 0.1),
        (6, 2, 10.0, {"double": 20.0}, 0.1),
    ]


def test_the_best_network_is_that_of_the_best_validation(tmp_path: Path) -> None:
    figures = iter([0.3, 0.7, 0.7, float("nan"), 0.5])
    weights = []

    def validate(network: nn.Module) -> dict[str, float]:
        assert not network.training and not torch.is_grad_enabled()
        weights.append([parameter.clone() for parameter in network.parameters()])
        return {"recall": next(figures)}

    job = _job(TrainingSettings(learning_rate=0.1, epochs=5), validate=validate, selects="recall", higher=True)
    fitted = _fit(job, tmp_path)
    best = nn.Linear(2, 1)
    card = load_network(fitted.best, best, system="line", encoder="raw-1")
    assert (fitted.best_step, fitted.figures, card.figures) == (6, {"recall": 0.7}, {"recall": 0.7})
    assert all(torch.equal(a, b) for a, b in zip(best.parameters(), weights[1], strict=True))


def test_without_validation_the_last_weights_are_the_best(tmp_path: Path) -> None:
    job = _job(TrainingSettings(learning_rate=0.1, steps=4), validate=None)
    fitted = _fit(job, tmp_path)
    assert (fitted.ended, fitted.step, fitted.epoch, fitted.best_step) == ("steps", 4, 2, 4)
    assert torch.equal(load_file(fitted.best)["weight"], job.network.get_parameter("weight"))
    assert read_card(fitted.best) == CARD


def test_patience_counts_validations_without_a_new_best(tmp_path: Path) -> None:
    figures = iter([5.0, 4.0, 4.0, 3.0, 3.5, 3.5, 0.0])
    settings = TrainingSettings(learning_rate=0.1, epochs=9, patience=2)
    fitted = _fit(_job(settings, validate=lambda network: {"error": next(figures)}), tmp_path)
    assert (fitted.ended, fitted.epoch, fitted.best_step) == ("patience", 6, 12)


def test_validation_by_steps_and_once_more_at_the_end(tmp_path: Path) -> None:
    settings = TrainingSettings(learning_rate=0.1, steps=8, validate_epochs=None, validate_steps=3)
    _fit(_job(settings), tmp_path)
    assert [record.step for record in _told(tmp_path) if record.kind == "validation"] == [3, 6, 8]


def test_validation_may_begin_with_the_first_epoch_and_come_every_third_after_it(tmp_path: Path) -> None:
    settings = TrainingSettings(learning_rate=0.1, epochs=8, validate_epochs=3, validate_offset=1)
    _fit(_job(settings), tmp_path)  # three steps an epoch, and once more at the end
    assert [record.step for record in _told(tmp_path) if record.kind == "validation"] == [3, 12, 21, 24]


def test_validation_does_not_touch_the_random_numbers_of_the_training(tmp_path: Path) -> None:
    drawn: list[float] = []

    def validate(network: nn.Module) -> dict[str, float]:
        drawn.append(torch.rand(()).item())
        return {"error": 1.0}

    def network() -> nn.Module:
        seed_all(0)
        return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Linear(8, 1))

    often = _job(TrainingSettings(learning_rate=0.1, epochs=2, validate_steps=1), network=network(), validate=validate)
    _fit(often, tmp_path / "often")
    never = _job(TrainingSettings(learning_rate=0.1, epochs=2), network=network(), validate=None)
    _fit(never, tmp_path / "never")
    assert _weights(often) == _weights(never)
    assert len(drawn) == 6 and len(set(drawn)) == 1


def test_only_the_chosen_parameters_train(tmp_path: Path) -> None:
    job = _job(trainable=lambda name: "bias" in name)
    weight, bias = _weights(job)
    _fit(job, tmp_path)
    assert _weights(job)[0] == weight and _weights(job)[1] != bias
    with pytest.raises(BadInput, match="no parameter of the network is trainable"):
        _fit(_job(trainable=lambda name: "text" in name), tmp_path / "none")


def test_before_every_step_the_network_is_shown_as_it_is(tmp_path: Path) -> None:
    seen = []

    def before(network: nn.Module) -> None:
        assert not network.training and not torch.is_grad_enabled()
        seen.append(network(X_NX).sum().item())

    def loss(network: nn.Module, batch: Any) -> tuple[Tensor, dict[str, float]]:
        assert network.training
        return _loss(network, batch)

    _fit(_job(TrainingSettings(learning_rate=0.1, epochs=1), before_step=before, loss=loss), tmp_path)
    assert len(set(seen)) == 3


def test_bfloat16_trains_and_precisions_may_follow_each_other(tmp_path: Path) -> None:
    seen = []

    def loss(network: nn.Module, batch: Any) -> tuple[Tensor, dict[str, float]]:
        out = network(batch[0])
        seen.append(out.dtype)
        return mse_loss(out.float(), batch[1]), {}

    for precision in ("bf16", "no"):
        settings = TrainingSettings(learning_rate=0.1, epochs=1, precision=precision)
        _fit(_job(settings, loss=loss), tmp_path / precision)
    assert seen == [torch.bfloat16] * 3 + [torch.float32] * 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU can do fp16")
def test_a_precision_that_the_machine_has_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match="precision fp16 needs a GPU, and there is none here; set precision to bf16 or no"
    ):
        _fit(_job(TrainingSettings(learning_rate=0.1, epochs=1, precision="fp16")), tmp_path)


def _stopper(steps: int) -> Callable[[], bool]:
    asked = iter(range(1, 10_000))
    return lambda: next(asked) >= steps


SCHEDULES = [Constant(), Exponential(factor=0.5), Noam(width=4, warmup=5), WarmupCosine(warmup=3), OneCycle()]


@pytest.mark.parametrize("schedule", [*SCHEDULES, HalveOnPlateau(gain=0.5, patience=1)])
def test_a_training_asked_to_stop_goes_on_to_the_same_end(
    tmp_path: Path, schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOG_STEPS", 2)
    settings = TrainingSettings(learning_rate=0.1, epochs=4, schedule=schedule, validate_steps=2, clip_norm=1.0)
    whole = _job(settings)
    expected = _fit(whole, tmp_path / "whole")
    halted = _fit(_job(settings), tmp_path / "halves", should_stop=_stopper(5))
    assert (halted.ended, halted.step, halted.epoch) == ("asked", 5, 2)
    rest = _job(settings)
    got = _fit(rest, tmp_path / "halves", resume=True)
    assert replace(got, best=expected.best) == expected
    assert _weights(rest) == _weights(whole)
    assert _told(tmp_path / "halves") == _told(tmp_path / "whole")


def test_a_stream_of_batches_is_resumed_as_a_sequence_is(tmp_path: Path) -> None:
    def stream(epoch: int, seed: int) -> Iterator[Any]:
        yield from _batches(epoch, seed)

    settings = TrainingSettings(learning_rate=0.1, epochs=2)
    whole, rest = _job(settings), _job(settings, batches=stream)
    _fit(whole, tmp_path / "whole")
    _fit(_job(settings, batches=stream), tmp_path / "halves", should_stop=_stopper(2))
    _fit(rest, tmp_path / "halves", resume=True)
    assert _weights(rest) == _weights(whole)


def test_resuming_a_finished_training_changes_nothing(tmp_path: Path) -> None:
    first = _fit(_job(), tmp_path)
    files = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert _fit(_job(), tmp_path, resume=True) == first
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == files


def test_a_finished_training_may_be_made_longer(tmp_path: Path) -> None:
    _fit(_job(TrainingSettings(learning_rate=0.1, epochs=2)), tmp_path / "a")
    longer, whole = _job(), _job()
    assert _fit(longer, tmp_path / "a", resume=True).epoch == 3
    _fit(whole, tmp_path / "b")
    assert _weights(longer) == _weights(whole)


def test_the_last_few_checkpoints_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_STEPS", 2)
    _fit(_job(TrainingSettings(learning_rate=0.1, epochs=3, keep=3)), tmp_path)
    kept = sorted(file.name for file in (tmp_path / "checkpoints").iterdir())
    assert kept == ["00000006.safetensors", "00000008.safetensors", "00000009.safetensors"]


def test_a_folder_with_a_training_is_not_overwritten_and_not_mixed_with_another(tmp_path: Path) -> None:
    _fit(_job(), tmp_path)
    with pytest.raises(BadInput, match=r"holds a training already; go on with it \(--resume\) or name another folder"):
        _fit(_job(), tmp_path)
    with pytest.raises(BadInput, match=r"begun with learning_rate = 0\.1, not 0\.2; keep it, or train elsewhere"):
        _fit(_job(TrainingSettings(learning_rate=0.2, epochs=3)), tmp_path, resume=True)
    with pytest.raises(EncoderMismatch, match="trained on vectors of the encoder 'raw-1', not 'raw-2'"):
        _fit(_job(card=replace(CARD, encoder="raw-2")), tmp_path, resume=True)
    with pytest.raises(BadInput, match=r"00000009\.safetensors: weight is"):
        _fit(_job(network=nn.Linear(3, 1)), tmp_path, resume=True)


def test_a_damaged_checkpoint_is_named_in_one_line(tmp_path: Path) -> None:
    _fit(_job(), tmp_path)
    newest = tmp_path / "checkpoints" / "00000009.safetensors"
    newest.write_bytes(newest.read_bytes()[:-8])
    with pytest.raises(BadInput, match=r"00000009.safetensors: damaged \(.*\); delete it") as caught:
        _fit(_job(), tmp_path, resume=True)
    assert "\n" not in str(caught.value)
    newest.unlink()  # what the message says: go on from the one before
    assert _fit(_job(), tmp_path, resume=True).step == 9


def test_a_loss_that_is_no_number_ends_the_training_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    def loss(network: nn.Module, batch: Any) -> tuple[Tensor, dict[str, float]]:
        calls.append(1)
        return network(batch[0]).sum() * (math.nan if len(calls) == 5 else 1.0), {}

    calls: list[int] = []
    with pytest.raises(ViewfinderError, match=r"the loss is nan in step 5 \(epoch 2\); lower learning_rate"):
        _fit(_job(loss=loss), tmp_path)
    assert [file.name for file in (tmp_path / "checkpoints").iterdir()] == ["00000003.safetensors"]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"batches": lambda epoch, seed: []}, "epoch 1 has no batches"),
        ({"selects": "recall"}, "validation gives no 'recall' to choose by; it gives: error"),
    ],
)
def test_a_job_that_cannot_work_says_why(tmp_path: Path, changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        _fit(_job(**changes), tmp_path)


def test_patience_without_validation_is_refused() -> None:
    with pytest.raises(BadInput, match="patience counts validations, but this training has none"):
        _job(TrainingSettings(learning_rate=0.1, epochs=1, patience=2), validate=None)
