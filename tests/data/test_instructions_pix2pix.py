"""InstructPix2Pix: pairs of pictures by prompt and seed, and triplets of texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.files import Dropped, ReadReport
from viewfinder.data.picture_texts import read_instruct_pix2pix
from viewfinder.errors import BadInput

HORSE = {"input": "a horse", "edit": "make it a zebra", "output": "a zebra"}


def _prompt(folder: Path, name: str, *seeds: int, prompt: Any = HORSE) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "prompt.json").write_text(json.dumps(prompt))
    for seed in seeds:
        (place / f"{seed}_0.jpg").write_bytes(b"")
        (place / f"{seed}_1.jpg").write_bytes(b"")
    return place


def test_pairs_come_by_prompt_and_seed(tmp_path: Path) -> None:
    _prompt(tmp_path, "0000002", 12)
    place = _prompt(tmp_path, "0000001", 9, 31)
    (tmp_path / "seeds.json").write_text(json.dumps([["0000002", ["12"]], ["0000001", ["9", "31"]]]))
    pairs, report = read_instruct_pix2pix(tmp_path)
    assert [(pair.prompt, pair.seed) for pair in pairs] == [("0000001", "31"), ("0000001", "9"), ("0000002", "12")]
    assert pairs[0].instruction == "make it a zebra"
    assert (pairs[0].source, pairs[0].target) == (place / "31_0.jpg", place / "31_1.jpg")
    assert report == ReadReport(3, 3)


def test_without_seeds_json_the_folders_say_what_there_is(tmp_path: Path) -> None:
    _prompt(tmp_path, "0000001", 9, 31, prompt=HORSE | {"url": "http://x"})
    pairs, _ = read_instruct_pix2pix(tmp_path)
    assert [pair.seed for pair in pairs] == ["31", "9"]


def test_pairs_without_a_picture_are_reported(tmp_path: Path) -> None:
    place = _prompt(tmp_path, "0000001", 9)
    (place / "9_1.jpg").unlink()
    (tmp_path / "seeds.json").write_text(json.dumps([["0000001", [9]], ["0000005", [1, 2]]]))
    gone = (Dropped("0000005/1", "no prompt.json"), Dropped("0000005/2", "no prompt.json"))
    missing = Dropped("0000001/9", "no such file: 9_1.jpg")
    assert read_instruct_pix2pix(tmp_path) == ([], ReadReport(3, 0, (missing, *gone)))


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("seeds.json", '[["0000001", "9"]]', r"seeds\.json, \[0\]: \[prompt, \[seed, ...\]\] is needed"),
        ("seeds.json", '{"0000001": [9]}', r"seeds\.json: a JSON list is needed"),
        ("0000001/prompt.json", '{"input": "a", "output": "b"}', r"prompt\.json: field 'edit' is needed"),
    ],
)
def test_a_damaged_file_is_named_with_record_and_field(tmp_path: Path, file: str, content: str, why: str) -> None:
    _prompt(tmp_path, "0000001", 9)
    (tmp_path / file).write_text(content)
    with pytest.raises(BadInput, match=why):
        read_instruct_pix2pix(tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"neither seeds\.json nor <prompt>/prompt\.json here"):
        read_instruct_pix2pix(tmp_path)
