from pathlib import Path

import pytest

from viewfinder.data.files import (
    Dropped,
    keep_pictured,
    keys_with_pictures,
    need_field,
    need_texts,
    read_json,
)
from viewfinder.errors import BadInput


def test_a_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}')
    with pytest.raises(BadInput, match=r"a\.json: a JSON list is needed, this is \{\"a\": 1\}"):
        read_json(file, list)
    file.write_text("[1]")
    with pytest.raises(BadInput, match=r"a\.json: a JSON object is needed, this is \[1\]"):
        read_json(file, dict)


def test_a_field_must_be_there_and_of_its_kind() -> None:
    assert need_field("f.json: [0]", {"a": 3}, "a", int) == 3
    for record in ({}, {"a": "3"}, {"a": True}, [3]):
        with pytest.raises(BadInput, match=r"^f\.json: \[0\]: field 'a' is needed \(int\)"):
            need_field("f.json: [0]", record, "a", int)


def test_a_long_value_is_shown_by_its_beginning() -> None:
    with pytest.raises(BadInput) as error:
        need_texts("f.json", ["x" * 1000, 3])
    assert str(error.value).startswith('f.json: a list of texts is needed, this is ["xxx')
    assert len(str(error.value)) < 200


def test_pictures_count_as_there_where_they_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "B1.jpg").touch()
    assert keys_with_pictures(tmp_path, ["B1", "B2"]) == {"B1"}
    assert keys_with_pictures(None, ["B1", "B2"]) == {"B1", "B2"}
    records = [("[0]", ["B2", "B1", "B3"], "three"), ("[1]", ["B1"], "one")]
    assert keep_pictured(records, {"B1"}) == (["one"], [Dropped("[0]", "no picture B2, B3")])
