"""The network of words is loaded while `find` imports the rest, where the library is one of the encoder in the box."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viewfinder.cli.options import load_words_meanwhile
from viewfinder.encoders.starter import encoder


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        (json.dumps({"encoder": "starter"}), 1),
        (json.dumps({"encoder": "models/clip?q8"}), 0),
        ("[]", 0),
        (None, 0),  # no library
    ],
)
def test_only_the_encoder_in_the_box_is_loaded_beforehand(
    settings: str | None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[None] = []
    monkeypatch.setattr(encoder, "sentence_encoder", lambda is_brief: loaded.append(None))
    if settings is not None:
        (tmp_path / "library.json").write_text(settings)
    load_words_meanwhile(tmp_path).join()
    assert len(loaded) == count
