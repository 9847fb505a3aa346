"""ChatSearch dialogues: written and read back; a damaged record is named by file, line and field."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.chatsearch import (
    ROLES,
    SUBTASKS,
    ChatSample,
    ChatTurn,
    ImageItem,
    Role,
    Subtask,
    TextItem,
    read_chatsearch,
    read_galleries,
    read_gallery,
    write_chatsearch,
    write_gallery,
)
from viewfinder.data.files import ReadReport
from viewfinder.errors import BadInput

TOWERS = {
    "id": "m-000001",
    "subtask": "mChat",
    "turns": [
        {"role": "user", "content": [{"text": "We went somewhere with tall glass towers."}]},
        {"role": "assistant", "content": [{"text": "Like this?"}, {"image": "coco/1.jpg"}]},
        {"role": "user", "content": [{"text": "Same city, but at night from a boat."}]},
    ],
    "target": "laion/abc.jpg",
    "source": {"pipeline": "merge", "caption_ref": "towers", "caption_target": "a boat"},
}


def _file(folder: Path, *records: Any) -> Path:
    file = folder / "samples.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


WORDS = st.text(min_size=1)
CONTENT = st.lists(st.tuples(st.sampled_from([TextItem, ImageItem]), WORDS), min_size=1, max_size=3)
DIALOGUES = st.tuples(st.lists(st.tuples(st.sampled_from(ROLES), CONTENT), max_size=2), CONTENT)


def _turn(role: Role, content: list[tuple[Any, str]]) -> ChatTurn:
    return ChatTurn(role, tuple(kind(said) for kind, said in content))


# Plain values only: the checker of annotations draws random numbers, which a strategy must not.
@given(
    st.lists(st.tuples(WORDS, st.sampled_from(SUBTASKS), DIALOGUES), max_size=3, unique_by=lambda drawn: drawn[0]),
    WORDS,
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, Subtask, Any]], target: str
) -> None:
    samples = [
        ChatSample(
            name, subtask, (*(_turn(role, said) for role, said in before), _turn("user", last)), target, {"by": name}
        )
        for name, subtask, (before, last) in drawn
    ]
    file = tmp_path_factory.mktemp("chat") / "samples.jsonl"
    write_chatsearch(file, samples)
    assert read_chatsearch(file) == (samples, ReadReport(len(samples), len(samples)))


def test_a_line_as_the_format_has_it(tmp_path: Path) -> None:
    [sample], _ = read_chatsearch(_file(tmp_path, TOWERS), galleries={"mChat": ["x.jpg", "laion/abc.jpg"]})
    assert sample.turns[1] == ChatTurn("assistant", (TextItem("Like this?"), ImageItem("coco/1.jpg")))
    assert (sample.id, sample.subtask, sample.target) == ("m-000001", "mChat", "laion/abc.jpg")
    assert sample.images() == ("coco/1.jpg",)
    write_chatsearch(tmp_path / "again.jsonl", [sample])
    assert json.loads((tmp_path / "again.jsonl").read_text()) == TOWERS


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"target": None}, "field 'target' is needed"),
        ({"subtask": "xChat"}, "subtask: one of tChat, iChat, mChat is needed, not 'xChat'"),
        ({"turns": []}, "turns: the last turn must be the user's"),
        ({"turns": [{"role": "assistant", "content": [{"text": "x"}]}]}, "turns: the last turn must be the user's"),
        ({"turns": [{"role": "bot", "content": [{"text": "x"}]}]}, "turns[0].role: one of user, assistant"),
        ({"turns": [{"role": "user", "content": []}]}, "turns[0].content: a list of texts and images"),
        ({"turns": [{"role": "user", "content": [{"text": "x", "image": "y"}]}]}, "turns[0].content[0]: "),
        ({"turns": [{"role": "user", "content": [{"text": 7}]}]}, "turns[0].content[0]: "),
        ({"source": "GPT"}, "field 'source' is needed"),
        ({"id": "m-000001"}, "the id 'm-000001' is on line 1 already"),
    ],
)
def test_a_damaged_sample_is_named_by_file_line_and_field(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file = _file(tmp_path, TOWERS, TOWERS | {"id": "m-000002"} | change)
    with pytest.raises(BadInput) as caught:
        read_chatsearch(file)
    assert str(caught.value).startswith(f"{file}, line 2")
    assert why in str(caught.value)


def test_a_target_that_is_not_in_the_gallery_is_named(tmp_path: Path) -> None:
    write_gallery(tmp_path, "mChat", ["a.jpg"])
    file = _file(tmp_path, TOWERS)
    with pytest.raises(BadInput, match=r"line 1, target: 'laion/abc.jpg' is not in gallery_mChat.txt"):
        read_chatsearch(file, galleries=read_galleries(tmp_path))
    with pytest.raises(BadInput, match=r"line 1, subtask: there is no gallery_mChat.txt"):
        read_chatsearch(file, galleries={"tChat": ["laion/abc.jpg"]})


def test_galleries_keep_their_order_and_are_found_by_subtask(tmp_path: Path) -> None:
    file = write_gallery(tmp_path, "tChat", ["b.jpg", "a b.jpg"])
    assert (file.name, file.read_text()) == ("gallery_tChat.txt", "b.jpg\na b.jpg\n")
    assert read_galleries(tmp_path) == {"tChat": ("b.jpg", "a b.jpg")}


def test_a_gallery_with_nothing_in_it_or_something_twice_is_named(tmp_path: Path) -> None:
    write_gallery(tmp_path, "iChat", ["b.jpg", "a.jpg", "b.jpg"])
    with pytest.raises(BadInput, match=r"gallery_iChat.txt, line 3: 'b.jpg' is on line 1 already"):
        read_galleries(tmp_path)
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(BadInput, match="this gallery is empty"):
        read_gallery(tmp_path / "empty.txt")
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput, match=r"no gallery_<subtask>\.txt here"):
        read_galleries(tmp_path / "other")
