"""LLaVA's talks: placeholders become pictures; what cannot be used is reported, what is damaged is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.chatsearch import ChatTurn, ImageItem, TextItem
from viewfinder.data.files import Dropped, ReadReport
from viewfinder.data.picture_texts import read_llava
from viewfinder.errors import BadInput


def _sample(*said: str, image: str | None = "1.jpg", **others: Any) -> dict[str, Any]:
    turns = [{"from": ("human", "gpt")[at % 2], "value": text} for at, text in enumerate(said)]
    picture = {} if image is None else {"image": image}
    return {"id": "000000033471", **picture, "conversations": turns, **others}


def _file(folder: Path, *records: Any) -> Path:
    file = folder / "llava_instruct_150k.json"
    file.write_text(json.dumps(list(records)))
    return file


def test_a_placeholder_becomes_the_picture_where_it_stands(tmp_path: Path) -> None:
    file = _file(tmp_path, _sample("<image>\nWhat is it?", "A bus."), _sample("What is it?\n<image>", "Red."))
    (first, second), report = read_llava(file)
    bus = ImageItem("1.jpg")
    assert first.turns == (
        ChatTurn("user", (bus, TextItem("What is it?"))),
        ChatTurn("assistant", (TextItem("A bus."),)),
    )
    assert second.turns[0].content == (TextItem("What is it?"), bus)
    assert (first.id, first.image) == ("000000033471", "1.jpg")
    assert report == ReadReport(2, 2)


def test_dialogues_about_no_picture_are_kept(tmp_path: Path) -> None:
    [sample], _ = read_llava(_file(tmp_path, _sample("Hello", "Hi", image=None) | {"id": 7}))
    assert (sample.id, sample.image) == ("7", "")


@pytest.mark.parametrize(
    ("sample", "why"),
    [
        (_sample("Hello", "Hi"), "names a picture, but no turn has <image>"),
        (_sample("<image>", "Hi", image=None), "<image>, but no picture"),
        (_sample("<image>", ""), "an empty turn"),
        (_sample(), "no turns"),
        (_sample() | {"conversations": [{"from": "gpt", "value": "<image>"}]}, "user and assistant do not alternate"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_reported(tmp_path: Path, sample: dict[str, Any], why: str) -> None:
    samples, report = read_llava(_file(tmp_path, _sample("<image>", "a bus"), sample))
    assert len(samples) == 1
    assert report == ReadReport(2, 1, (Dropped("[1] 000000033471", why),))


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("a talk", "[1]: field 'conversations' is needed"),
        (_sample("<image>") | {"image": 3}, "[1]: field 'image' is needed (str)"),
        ({"id": "1", "conversations": [{"from": "bot", "value": "x"}]}, "[1].conversations[0].from: one of human, gpt"),
        ({"id": "1", "conversations": [{"from": "gpt"}]}, "[1].conversations[0]: field 'value' is needed"),
        ({"conversations": []}, "[1]: field 'id' is needed"),
    ],
)
def test_a_damaged_record_is_named_by_its_position_and_field(tmp_path: Path, record: Any, why: str) -> None:
    file = _file(tmp_path, _sample("<image>", "x"), record)
    with pytest.raises(BadInput) as caught:
        read_llava(file)
    assert str(caught.value).startswith(f"{file}, {why}")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    file = _file(tmp_path, _sample("<image>", "x"))
    file.write_text(file.read_text()[:-5])
    with pytest.raises(BadInput, match=r"llava_instruct_150k.json, line 1, column \d+: damaged JSON"):
        read_llava(file)
