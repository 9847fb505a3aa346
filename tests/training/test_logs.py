import json
from pathlib import Path

from tests.training_log import read_log
from viewfinder.training import LogRecord
from viewfinder.training.progress import TrainingLog


def _record(step: int, **figures: float) -> LogRecord:
    return LogRecord(kind="train", step=step, epoch=1, loss=step / 2, lr=0.1, figures=figures, seconds=0.5)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path / "run", kept=0, step=0, tensorboard=False)
    log.write(_record(1, recall=1 / 3))
    log.write(_record(2))
    log.close()
    assert read_log(tmp_path / "run" / "log.jsonl") == [_record(1, recall=1 / 3), _record(2)]


def test_a_resumed_log_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path, kept=0, step=0, tensorboard=False)
    log.write(_record(1))
    size = log.size()
    log.write(_record(2, recall=0.1))
    log.close()
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"kind": "tr')  # killed while writing
    assert [record.step for record in read_log(tmp_path / "log.jsonl")] == [1, 2]
    log = TrainingLog(tmp_path, kept=size, step=1, tensorboard=False)
    log.write(_record(2))
    log.close()
    assert read_log(tmp_path / "log.jsonl") == [_record(1), _record(2)]


def test_a_log_that_was_deleted_begins_again(tmp_path: Path) -> None:
    TrainingLog(tmp_path, kept=500, step=9, tensorboard=False).close()
    assert (tmp_path / "log.jsonl").read_bytes() == b""


def test_a_figure_that_is_no_number_is_null(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path, kept=0, step=0, tensorboard=False)
    log.write(_record(1, recall=float("nan"), best=float("inf")))
    log.close()
    assert json.loads((tmp_path / "log.jsonl").read_text())["figures"] == {"recall": None, "best": None}


def test_tensorboard_shows_the_same_numbers(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = TrainingLog(tmp_path, kept=0, step=0, tensorboard=True)
    for step in (1, 2):
        log.write(_record(step, recall=step / 4))
    log.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/recall")] == [(1, 0.25), (2, 0.5)]
    assert [event.value for event in events.Scalars("train/loss")] == [0.5, 1.0]
