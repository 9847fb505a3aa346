from pathlib import Path

import pytest

from viewfinder.data.files import need_field, need_texts, read_json
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
