"""Which folders may be added over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.server.jobs.manager import find_folder_below
from viewfinder.server.problems import Problem


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, ...]:
    """photos/2019/summer and scans, beside a folder that is nobody's business and one named alike."""
    for name in ("photos/2019/summer", "scans", "private", "photos-of-mine"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "photos", tmp_path / "scans"


def _refused(root: int, folder: str, roots: tuple[Path, ...]) -> str:
    with pytest.raises(Problem) as caught:
        find_folder_below(root, folder, roots)
    assert caught.value.status == 422
    assert str(roots[0].parent) not in caught.value.detail
    return caught.value.kind


def test_a_folder_below_a_root_and_the_root_itself_are_taken(roots: tuple[Path, ...]) -> None:
    assert find_folder_below(0, "2019/summer", roots) == roots[0] / "2019" / "summer"
    assert find_folder_below(1, "", roots) == roots[1]
    assert find_folder_below(0, "2019/../2019/summer/.", roots) == roots[0] / "2019" / "summer"


@pytest.mark.parametrize("folder", ["..", "../private", "2019/../../private", "../photos-of-mine", "/etc", "//etc"])
def test_what_lies_elsewhere_is_refused(folder: str, roots: tuple[Path, ...]) -> None:
    assert _refused(0, folder, roots) == "outside-roots"


def test_a_link_out_of_the_root_is_refused_and_one_that_stays_is_followed(roots: tuple[Path, ...]) -> None:
    (roots[0] / "out").symlink_to(roots[0].parent / "private")
    (roots[0] / "deep").symlink_to(roots[0] / "2019" / "summer")
    assert _refused(0, "out", roots) == "outside-roots"
    assert find_folder_below(0, "deep", roots) == roots[0] / "2019" / "summer"


def test_a_root_that_is_a_link_stands_for_what_it_leads_to(roots: tuple[Path, ...], tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(roots[0])
    assert find_folder_below(0, "2019", (tmp_path / "linked",)) == roots[0] / "2019"


@pytest.mark.parametrize("folder", ["2020", "a\0b", "x" * 5000, "\ud800"])
def test_a_folder_that_is_not_there_or_cannot_be_is_said_to_be_absent(folder: str, roots: tuple[Path, ...]) -> None:
    assert _refused(0, folder, roots) == "no-such-folder"


def test_links_in_a_circle_are_refused(roots: tuple[Path, ...]) -> None:
    (roots[0] / "a").symlink_to(roots[0] / "b")
    (roots[0] / "b").symlink_to(roots[0] / "a")
    assert _refused(0, "a", roots) == "no-such-folder"


@pytest.mark.parametrize("root", [-1, 2, 1000])
def test_a_root_that_was_not_given_is_unknown(root: int, roots: tuple[Path, ...]) -> None:
    assert _refused(root, "", roots) == "unknown-root"


def test_without_roots_the_answer_says_how_to_give_one() -> None:
    with pytest.raises(Problem, match="--root DIR"):
        find_folder_below(0, "", ())
