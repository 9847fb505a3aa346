"""What `benchmarks/photographs.py` learns from and what it searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from photographs import LEARN, SEQUENCES, TESTS, list_pictures, of_test

from viewfinder.conversation import Say
from viewfinder.data import CaptionedPicture
from viewfinder.data.splits import part_of
from viewfinder.evaluation.plan import SearchDialogue, Task

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def write_set(folder: Path, captions: dict[str, int]) -> None:
    (folder / "images").mkdir(parents=True)
    rows = [f"{name},{name} said {number}" for name, count in captions.items() for number in range(count)]
    (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]), encoding="utf-8")
    for name in captions:
        (folder / "images" / name).touch()


@pytest.fixture
def lists(tmp_path: Path) -> dict[str, list[CaptionedPicture]]:
    """Sixty photographs, every third of which has one caption only, and sixty places."""
    write_set(tmp_path / "flickr8k", {f"{number}.jpg": 5 if number % 3 else 1 for number in range(60)})
    write_set(tmp_path / SEQUENCES, {f"ADE_{number}.jpg": 5 for number in range(60)})
    return list_pictures(tmp_path)


def names(pictures: list[CaptionedPicture]) -> set[str]:
    return {picture.path.name for picture in pictures}


def test_no_picture_that_a_test_searches_is_learnt_from(lists: dict[str, list[CaptionedPicture]]) -> None:
    learnt = names(lists[LEARN])
    assert learnt and learnt.isdisjoint(names(lists["photographs"]) | names(lists["sequences"]))


@pytest.mark.data
@pytest.mark.skipif(not (SHARED / "flickr8k").is_dir(), reason="../shared/data is not there")
def test_no_real_photograph_that_is_learnt_from_is_in_a_test_s_gallery() -> None:
    lists = list_pictures(SHARED)
    learnt = {Path(name).stem for name in names(lists[LEARN])}
    assert len(learnt) > 5000
    for test in TESTS:
        assert learnt.isdisjoint(Path(name).stem for name in names(lists[test]))


def test_learnt_is_from_photographs_with_five_captions_and_from_no_place(
    lists: dict[str, list[CaptionedPicture]],
) -> None:
    wanted = {f"{number}.jpg" for number in range(60) if number % 3 and part_of(f"{number}.jpg") != "report"}
    assert names(lists[LEARN]) == wanted


def test_sequences_are_searched_for_among_all_places_and_the_photographs_of_the_other_test(
    lists: dict[str, list[CaptionedPicture]],
) -> None:
    places = {f"ADE_{number}.jpg" for number in range(60)}
    assert names(lists["sequences"]) == names(lists["photographs"]) | places
    assert len(lists["sequences"]) == len(names(lists["sequences"]))


@pytest.mark.parametrize(("test", "held"), [("photographs", ["2.jpg", "ADE_1.jpg"]), ("sequences", ["ADE_1.jpg"])])
def test_dialogues_have_five_turns_and_those_of_sequences_are_about_places(test: str, held: list[str]) -> None:
    said = {"1.jpg": 1, "2.jpg": 5, "ADE_1.jpg": 5, "ADE_2.jpg": 4}
    dialogues = tuple(SearchDialogue(name, name, (Say("a dog"),) * turns) for name, turns in said.items())
    task = of_test(Task("captions", "", "all", tuple(said), dialogues, ()), test)
    assert [dialogue.id for dialogue in task.dialogues] == held and task.gallery == tuple(said)
