"""A text is read while `find` imports the rest, where the library is one of the encoder in the box."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from viewfinder.cli.options import read_words_meanwhile
from viewfinder.encoders.starter import encoder


@pytest.mark.parametrize(
    ("settings", "text", "done"),
    [
        ({"encoder": "starter", "head": None}, "a red shirt", ["network", "head", "a red shirt"]),
        ({"encoder": "starter", "head": None}, " ", ["network", "head"]),  # an image is looked for, or a filter
        ({"encoder": "starter", "head": "heads/tuned.safetensors"}, "a red shirt", ["network", "a red shirt"]),
        ({"encoder": "models/clip?q8", "head": None}, "a red shirt", []),
        ([], "a red shirt", []),
        (None, "a red shirt", []),  # no library
    ],
)
def test_a_text_is_read_beforehand_by_the_encoder_in_the_box_alone(
    settings: object, text: str, done: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def load_network() -> object:
        told.append("network")
        return told.extend  # which is called with the texts

    def load_head() -> encoder.Head:
        told.append("head")
        return shipped

    shipped = encoder.shipped_head()
    monkeypatch.setattr(encoder, "sentence_encoder", load_network)
    monkeypatch.setattr(encoder, "shipped_head", load_head)
    if settings is not None:
        (tmp_path / "library.json").write_text(json.dumps(settings))
    read_words_meanwhile(tmp_path, text).join()
    assert told == done


def test_a_text_that_another_thread_reads_is_waited_for_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = encoder.SentenceEncoder()
    read: list[str] = []
    compute = sentences.compute

    def noted(text: str) -> object:
        read.append(text)
        return compute(text)

    monkeypatch.setattr(sentences, "compute", noted)
    said: Sequence[str] = ["a purple kettle"] * 3  # each on a thread of its own
    vectors_ns = sentences(said)
    assert read == ["a purple kettle"]
    assert (vectors_ns == sentences(["a purple kettle"])).all()
