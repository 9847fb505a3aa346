"""Every protocol of what is said, by command, with a drawn network of ChatSearcher over vectors of colours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli import run
from viewfinder.data.chatsearch import ChatSample, ChatTurn, TextItem, write_chatsearch
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.data.files import write_json
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork
from viewfinder.retrievers.chatsearcher.sequence import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings, ChatSearcherSettings
from viewfinder.testing import ColourEncoder, load_colour_encoder, tiny_pictures
from viewfinder.training import Card, save_network

Evaluated = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(
    small: ChatSearcherSettings,
    tokeniser: TokenizerRecord,
    network_of: Callable[..., ChatSearcherNetwork],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Three pictures with a question, a search and a box each; and the weights."""
    home = tmp_path_factory.mktemp("evaluated")
    pictures = tiny_pictures(home / "images", 3)
    names = [f"images/{one.path.name}" for one in pictures]
    for inner in ("dialogues", "chatsearch", "annotations"):
        (home / inner).mkdir()
    asked = [make_dialogue(name, "", [Round("what is it?", "red")]) for name in names]
    write_dialogues(home / "dialogues" / "tiny_test.json", asked)
    searches = [
        ChatSample(name, "tChat", (ChatTurn("user", (TextItem(one.caption),)),), name)
        for name, one in zip(names, pictures, strict=True)
    ]
    write_chatsearch(home / "chatsearch" / "tChat_test.jsonl", searches)
    data: dict[str, Any] = {"categories": [{"id": 1, "name": "red"}], "images": [], "annotations": []}
    for at, one in enumerate(pictures):
        data["images"].append({"id": at, "file_name": one.path.name})
        data["annotations"].append({"image_id": at, "category_id": 1, "bbox": [0, 0, 24, 8]})
    write_json(home / "annotations" / "instances_tiny.json", data)
    known = {
        "model": asdict(small), "loss": asdict(ChatSearcherLossSettings()), "image_first": True, "leaning": 0.0,
        "tokeniser": asdict(tokeniser), "sentences_version": "", "stage": "instruction",
    }  # fmt: skip
    network = network_of(small)
    card = Card(
        system="chatsearcher",
        preset="",
        encoder=ColourEncoder.raw_version,
        settings=known | {"language": network.shape},
    )
    save_network(home / "drawn.safetensors", network, card)
    return home


@pytest.fixture
def evaluated(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evaluated:
    """Runs a protocol and gives what the program says, and the lines that it wrote."""
    monkeypatch.setattr("viewfinder.encoders.load_encoder", load_colour_encoder)

    def ran(protocol: str, *more: str) -> Any:
        paths = {
            "data": folder,
            "features": folder / "vectors",
            "out": folder / "run",
            "checkpoint": folder / "drawn.safetensors",
        }
        options = [text for name, path in paths.items() for text in (f"--{name}", str(path))]
        assert run(["evaluate", "chatsearcher", "--protocol", protocol, "--json", *options, *more]) == 0
        record = json.loads(capsys.readouterr().out)
        return record["tasks"][0], [json.loads(line) for line in Path(record["behind"]).read_text().splitlines()]

    return ran


def means(task: Any) -> dict[str, float]:
    return {figure["metric"]: figure["mean"] for figure in task["figures"]}


def test_questions_about_pictures_are_answered_in_words_alone(evaluated: Evaluated) -> None:
    task, lines = evaluated("visual")
    assert task["title"] == "visual, tiny, test" and len(lines) == 3
    assert all(line["said"] and line["blind"] for line in lines)
    assert len({line["blind"] for line in lines}) == 1  # without the picture one question is like the other
    assert means(task)["above text only"] == means(task)["accuracy"] - means(task)["text only"]


@pytest.mark.parametrize(("leaning", "shown"), [(100, 1.0), (-100, 0.0)])
def test_who_leans_far_enough_always_shows_pictures_or_never(evaluated: Evaluated, leaning: int, shown: float) -> None:
    task, lines = evaluated("decision", "--manner", f"leaning={leaning}")
    found = means(task)
    assert found["searches shown pictures"] == shown == 1 - found["questions answered in words"]
    assert found["right decisions"] == 0.5 and len(lines) == 6


def test_a_phrase_is_looked_for_among_cut_outs(evaluated: Evaluated) -> None:
    task, lines = evaluated("grounding", "--manner", "proposals=boxes")
    assert [line["phrase"] for line in lines] == ["a red"] * 3
    assert means(task)["grounded"] == means(task)["best box"]  # there is one box in each picture
