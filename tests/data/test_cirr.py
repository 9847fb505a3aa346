import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.cirr import CirrPair, read_cirr, write_cirr
from viewfinder.errors import BadInput, UnknownName

NAMES = tuple(f"dev-{i}-0-img0" for i in range(8))


def pair(pairid: int = 1, **changes: Any) -> dict[str, Any]:
    """A query as the published files have them: from picture 2 to picture 0."""
    return {
        "pairid": pairid,
        "reference": NAMES[2],
        "target_hard": NAMES[0],
        "target_soft": {NAMES[0]: 1.0, NAMES[4]: -1},
        "caption": "the same boat from above",
        "img_set": {"id": 3, "members": list(NAMES[:6]), "reference_rank": 2, "target_rank": 0},
    } | changes


def folder_with(tmp_path: Path, pairs: list[dict[str, Any]], *, split: str = "val") -> Path:
    for name, data in (
        (f"captions/cap.rc2.{split}.json", pairs),
        (f"image_splits/split.rc2.{split}.json", {name: f"./dev/{name}.png" for name in NAMES}),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(data))
    return tmp_path


def test_pairs_come_with_their_set_and_grades(tmp_path: Path) -> None:
    read, report = read_cirr(folder_with(tmp_path, [pair(12060), pair(12061, caption="closer")]), "val")
    assert str(report) == "2 of 2 found"
    assert [(one.pairid, one.caption) for one in read.pairs] == [(12060, "the same boat from above"), (12061, "closer")]
    first = read.pairs[0]
    assert (first.reference, first.target) == (NAMES[2], NAMES[0])
    assert first.members == NAMES[:6]
    assert first.soft_targets == {NAMES[0]: 1.0, NAMES[4]: -1.0}
    assert read.gallery == NAMES


def test_the_subset_is_ranked_without_the_reference(tmp_path: Path) -> None:
    read, _ = read_cirr(folder_with(tmp_path, [pair()]), "val")
    assert read.pairs[0].candidates == (NAMES[0], NAMES[1], NAMES[3], NAMES[4], NAMES[5])


def test_the_test_split_keeps_its_targets_secret(tmp_path: Path) -> None:
    secret = pair()
    del secret["target_hard"], secret["target_soft"]
    read, report = read_cirr(folder_with(tmp_path, [secret], split="test1"), "test1")
    assert read.pairs[0].target is None
    assert read.pairs[0].soft_targets == {}
    assert report.found == 1


def test_a_pair_without_a_target_is_damage_elsewhere(tmp_path: Path) -> None:
    damaged = pair(77)
    del damaged["target_hard"]
    with pytest.raises(BadInput, match=r"cap\.rc2\.val\.json: \[1\], pairid 77: field 'target_hard' is needed"):
        read_cirr(folder_with(tmp_path, [pair(), damaged]), "val")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target_hard": "dev-99-0-img0"}, "target_hard"),
        ({"reference": "dev-99-0-img0"}, "reference"),
        ({"img_set": {"members": [NAMES[0], "dev-99-0-img0"]}}, "members"),
    ],
)
def test_a_picture_outside_the_gallery_is_named(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_cirr(folder_with(tmp_path, [pair(5), pair(6, **changes)]), "val")
    file = tmp_path / "captions" / "cap.rc2.val.json"
    expected = f"{file}: pairid 6, field {field!r}: dev-99-0-img0 is not among the 8 pictures of the gallery"
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairid": "5"}, r"\[0\]: field 'pairid' is needed \(int\)"),
        ({"caption": None}, "pairid 1: field 'caption' is needed"),
        ({"img_set": [1]}, "pairid 1: field 'img_set' is needed"),
        ({"img_set": {"members": [3]}}, "pairid 1, field 'members': a list of texts is needed"),
        ({"target_soft": {NAMES[0]: "yes"}}, "pairid 1: field 'target_soft' needs a number"),
    ],
)
def test_a_field_of_the_wrong_form_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_cirr(folder_with(tmp_path, [pair(**changes)]), "val")


def test_an_unknown_split_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"there are: cap\.rc2\.val\.json"):
        read_cirr(folder_with(tmp_path, [pair()]), "dev")


def test_a_truncated_file_is_named_with_its_line(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, [pair()])
    file = folder / "captions" / "cap.rc2.val.json"
    file.write_text(file.read_text()[:-40])
    with pytest.raises(BadInput, match=r"cap\.rc2\.val\.json, line 1, column \d+: damaged JSON"):
        read_cirr(folder, "val")


@pytest.mark.parametrize("place", ["img_raw/dev", "dev"])
def test_pictures_are_found_and_missing_ones_reported(tmp_path: Path, place: str) -> None:
    folder = folder_with(tmp_path, [pair()])
    (folder / place).mkdir(parents=True)
    for name in NAMES[1:]:
        (folder / place / f"{name}.png").touch()
    read, report = read_cirr(folder, "val")
    assert read.paths == {name: folder / place / f"{name}.png" for name in NAMES[1:]}
    assert [dropped.record for dropped in report.dropped] == [NAMES[0]]
    assert "no file ./dev/dev-0-0-img0.png" in report.dropped[0].reason


def test_annotations_alone_are_read_without_complaint(tmp_path: Path) -> None:
    read, report = read_cirr(folder_with(tmp_path, [pair()]), "val")
    assert read.paths == {}
    assert report.dropped == ()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    members = ("a", "b", "c")
    pairs = [
        CirrPair(7, "a", "the same in red", "b", members, {"b": 1.0}),
        CirrPair(8, "c", "from above", None, members, {}),
    ]
    (tmp_path / "b.png").touch()
    write_cirr(tmp_path, "test1", pairs, {name: f"./{name}.png" for name in (*members, "d")})
    read, _ = read_cirr(tmp_path, "test1")
    assert list(read.pairs) == pairs
    assert read.gallery == ("a", "b", "c", "d") and set(read.paths) == {"b"}


def test_places_within_a_set_are_written_as_published(tmp_path: Path) -> None:
    pairs = [CirrPair(at, "c", "red", "a", members, {}) for at, members in enumerate([tuple("abc"), tuple("ca")])]
    write_cirr(tmp_path, "val", [*pairs, pairs[0]], {name: name for name in "abc"})
    sets = [one["img_set"] for one in json.loads((tmp_path / "captions" / "cap.rc2.val.json").read_text())]
    assert sets[0] == {"id": 0, "members": ["a", "b", "c"], "reference_rank": 2, "target_rank": 0}
    assert sets[1] == {"id": 1, "members": ["c", "a"], "reference_rank": 0, "target_rank": 1}
    assert sets[2]["id"] == 0


@pytest.mark.parametrize(("reference", "members", "lost"), [("x", "abc", "x"), ("a", "abz", "z")])
def test_a_pair_that_could_not_be_read_is_not_written(tmp_path: Path, reference: str, members: str, lost: str) -> None:
    pair = CirrPair(3, reference, "red", "b", tuple(members), {})
    with pytest.raises(ValueError, match=f"pair 3: {lost} is not"):
        write_cirr(tmp_path, "val", [pair], {name: name for name in "abc"})
