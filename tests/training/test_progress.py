import io
import sys

import pytest

from viewfinder.training.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, shown: bool) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar("training", 8, shown=shown) as report:
        report(5, words="epoch 2, loss 0.25")
    return stream.getvalue()


def test_a_terminal_sees_a_bar_with_epoch_and_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _shown(monkeypatch, Terminal(), shown=True)
    assert "epoch 2, loss 0.25" in text and "5/8" in text


def test_a_pipe_and_a_program_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(monkeypatch, io.StringIO(), shown=True) == ""
    assert _shown(monkeypatch, Terminal(), shown=False) == ""
