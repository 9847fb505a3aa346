"""The demo, and the scripts in examples/."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

Run = Callable[..., Any]

ROOT = Path(__file__).resolve().parents[2]
FLICKR = ROOT.parent / "shared" / "data" / "flickr8k" / "images"


@pytest.mark.slow
def test_the_demo_finds_its_picture_serves_its_library_and_can_be_run_again(
    program: Callable[..., subprocess.Popen[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setenv("VIEWFINDER_PORT", port)  # so it has to take another
        process = program("demo", "--out", out, "--serve")
        assert process.stdout is not None
        told = ""
        for line in process.stdout:
            told += line
            if line.startswith("Serving "):
                break
        assert f"viewfinder chat --library {out / 'library'}" in told
        address = told.split("Serving ")[1].split(" at ")[1].split()[0]
        assert port not in address
        assert httpx.get(f"{address}api/v1/collection", timeout=60).json()["pictures"] > 100
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 0
    alone = program("demo", "--out", out, "--json")  # without a terminal nobody would end a server
    again = json.loads(alone.communicate(timeout=300)[0])
    assert alone.returncode == 0
    ranks = [turn["target_rank"] for turn in again["turns"]]
    assert len(ranks) == 5
    assert ranks[0] > 10
    assert ranks == sorted(ranks, reverse=True), "a turn set the picture back"
    best = again["turns"][-1]["results"][0]
    assert (best["id"], best["match"], again["turns"][-1]["verdict"]) == (again["target"], "likely", "found")
    kinds = {next(iter(turn["said"])) for turn in again["turns"]}
    assert {"say", "like", "answer", "reject"} <= kinds


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.long
def test_the_example_finds_a_real_photo_in_five_turns(viewfinder: Run, tmp_path: Path) -> None:
    if not FLICKR.is_dir():
        pytest.skip("../shared/data/flickr8k is not there")
    library = tmp_path / "library"
    added = viewfinder("add", FLICKR, "--library", library, "--json")
    assert (added.code, added.json["added"]) == (0, len([*FLICKR.glob("*.jpg")]))
    conversation = viewfinder(
        "chat", "--script", ROOT / "examples" / "find-a-photo.jsonl", "--library", library, "--json"
    )
    assert conversation.code == 0
    assert len(conversation.lines) <= 5
    best = [Path(hit["path"]).name for hit in conversation.lines[-1]["results"][:3]]
    assert "1056359656_662cee0814.jpg" in best
    assert "1056359656_662cee0814.jpg" not in [Path(hit["path"]).name for hit in conversation.lines[0]["results"]]


def test_the_example_has_at_least_three_kinds_of_turns() -> None:
    lines = (ROOT / "examples" / "find-a-photo.jsonl").read_text().splitlines()
    turns = [json.loads(line) for line in lines if not line.startswith("#")]
    assert len({next(iter(turn)) for turn in turns}) >= 3
    assert len(turns) <= 5
