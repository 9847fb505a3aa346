"""`evaluate captioner` and `--task` as commands, with an encoder of colours and a network that was never trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.fashion_iq import SPECIAL_WORDS, FashionPair, write_fashion_iq
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures
from viewfinder.training import Card, save_network
from viewfinder.users.captioner.network import make_captioner
from viewfinder.users.captioner.settings import RecurrentCaptioner

Run = Callable[..., Any]


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six pictures of one kind with five pairs, and the weights of a captioner beside them."""
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_colour_encoder)
    keys = [one.path.stem for one in tiny_pictures(tmp_path / "images", 6)]
    pairs = [FashionPair(wanted, shown, ("is red", "is blue")) for shown, wanted in pairwise(keys)]
    write_fashion_iq(tmp_path, "flags", "val", pairs, keys, {})
    model = RecurrentCaptioner(width=8, attributes=0, most_words=4)
    known = {"model": asdict(model), "vocabulary": [*SPECIAL_WORDS, "is", "red", "blue"], "labels": []}
    card = Card(system="captioner", preset="lab", encoder=ColourEncoder.raw_version, settings=known)
    save_network(tmp_path / "weights.safetensors", make_captioner(model, 48, 8, 0), card)
    return tmp_path


def evaluated(viewfinder: Run, flags: Path, system: str, *more: str) -> Any:
    paths = ("--data", str(flags), "--features", str(flags / "vectors"), "--out", str(flags / "run"))
    return viewfinder("evaluate", system, *paths, *more)


def test_captions_are_measured_and_written(viewfinder: Run, flags: Path) -> None:
    outcome = evaluated(viewfinder, flags, "captioner", "--checkpoint", str(flags / "weights.safetensors"))
    assert outcome.code == 0
    assert "captioner, flags, val: 5 pairs, 6 pictures" in outcome.out
    assert {"BLEU-4", "ROUGE-L", "CIDEr-D"} <= {line.split()[0] for line in outcome.out.splitlines() if line}
    written = {file.name for file in (flags / "run").iterdir()}
    assert written == {"results.json", "ranks.npz", "captions.jsonl", "report.html"}


def test_how_captions_are_decoded_is_a_manner(viewfinder: Run, flags: Path) -> None:
    chosen = ("--checkpoint", str(flags / "weights.safetensors"), "--manner", "decoding=greedy", "--json")
    record = evaluated(viewfinder, flags, "captioner", *chosen).json
    assert record["options"]["decoding"] == "greedy"
    assert [figure["metric"] for figure in record["tasks"][0]["figures"]] == ["BLEU-4", "ROUGE-L", "CIDEr-D"]


def test_only_the_tasks_with_these_words_are_run(viewfinder: Run, flags: Path) -> None:
    record = evaluated(viewfinder, flags, "random", "--task", "split gallery", "--json").json
    assert [task["title"] for task in record["tasks"]] == ["fashioniq, flags, split gallery, val"]
    outcome = evaluated(viewfinder, flags, "random", "--task", "hats")
    assert outcome.code == 2
    assert "there are: fashioniq, flags, split gallery, val" in outcome.err
