"""`viewfinder find` on a small library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_json_has_verdict_results_and_time(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", "a red car", "-n", 3, "--library", indexed, "--json")
    assert outcome.code == 0
    assert set(outcome.json) == {"verdict", "results", "elapsed_ms"}
    assert [hit["rank"] for hit in outcome.json["results"]] == [1, 2, 3]
    assert all(set(hit) == {"rank", "id", "path", "score", "match", "why"} for hit in outcome.json["results"])
    scores = [hit["score"] for hit in outcome.json["results"]]
    assert scores == sorted(scores, reverse=True)


def test_people_get_a_line_a_result(viewfinder: Run, indexed: Path) -> None:
    wanted = viewfinder("find", "a red car", "-n", 2, "--library", indexed, "--json").json["results"]
    outcome = viewfinder("find", "a red car", "-n", 2, "--library", indexed)
    assert outcome.out.splitlines()[-1].endswith(wanted[1]["path"])
    assert outcome.out.splitlines()[-2].split()[:2] == ["1", wanted[0]["match"]]


def test_something_that_is_not_there_is_said_so(viewfinder: Run, indexed: Path) -> None:
    query = "the periodic table of elements"
    assert viewfinder("find", query, "--library", indexed, "--json").json["verdict"] == "nothing"
    assert viewfinder("find", query, "--library", indexed).out.startswith("Nothing like that here.")


def test_filters_hold_for_every_result(viewfinder: Run, indexed: Path) -> None:
    where = ["--where", "light=night", "--where", "MAIN_SIZE=large"]
    found = viewfinder("find", "a thing", "-n", 40, *where, "--library", indexed, "--json").json["results"]
    everything = viewfinder("find", "a thing", "-n", 40, "--library", indexed, "--json").json["results"]
    assert 0 < len(found) < len(everything) == 40


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (["colour=red"], "main_colour"),
        (["light=green"], "green"),
        (["light"], "column=value"),
        (["=red"], "column=value"),
        (["light=day", "light=night"], "twice"),
    ],
)
def test_a_bad_filter_is_wrong_use(where: list[str], says: str, viewfinder: Run, indexed: Path) -> None:
    options = [part for condition in where for part in ("--where", condition)]
    outcome = viewfinder("find", "a car", *options, "--library", indexed)
    assert outcome.code == 2
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


def test_words_need_no_quotes(viewfinder: Run, indexed: Path) -> None:
    quoted = viewfinder("find", "a red car", "-n", 3, "--library", indexed, "--json").json["results"]
    bare = viewfinder("find", "a", "red", "-n", 3, "car", "--library", indexed, "--json").json["results"]
    assert bare == quoted


def test_filters_take_alternatives_and_ranges(viewfinder: Run, indexed: Path) -> None:
    def count(condition: str) -> int:
        found = viewfinder("find", "a thing", "-n", 40, "--where", condition, "--library", indexed, "--json")
        return len(found.json["results"])

    assert count("light=day|night") == count("light=day") + count("light=night")
    assert 0 < count("objects=5..") == 40 - count("objects=..4") < 40


def test_values_lists_columns_and_what_is_in_them(viewfinder: Run, indexed: Path) -> None:
    columns = viewfinder("values", "--library", indexed, "--json").json["columns"]
    assert {"light", "main_colour", "format"} <= {one["column"] for one in columns}
    listed = viewfinder("values", "LIGHT", "--library", indexed, "--json").json
    assert listed["column"] == "light"
    assert sum(one["count"] for one in listed["values"]) == 40
    for one in listed["values"]:
        found = viewfinder(
            "find", "a", "-n", 40, "--where", f"light={one['value']}", "--library", indexed, "--json"
        ).json
        assert len(found["results"]) == one["count"]
    told = viewfinder("values", "light", "-n", 1, "--library", indexed).out.splitlines()
    assert told[1].split() == [str(listed["values"][0]["count"]), listed["values"][0]["value"]]
    assert told[-1] == f"and {len(listed['values']) - 1} more"
    assert viewfinder("values", "nothing", "--library", indexed).code == 2


def test_an_image_of_ones_own_finds_itself(viewfinder: Run, indexed: Path, world: Path) -> None:
    picture = world / "images" / "000000000005.jpg"
    best = viewfinder("find", "--like", picture, "--library", indexed, "--json").json["results"][0]
    assert best["path"] == str(picture)


def test_an_image_that_does_not_exist_is_wrong_use(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", "--like", "none.jpg", "--library", indexed)
    assert outcome.code == 2
    assert "none.jpg" in outcome.err


def test_an_image_that_is_none_is_named_with_the_reason(viewfinder: Run, indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jpg").touch()
    outcome = viewfinder("find", "--like", tmp_path / "empty.jpg", "--library", indexed)
    assert outcome.err == f"viewfinder: {tmp_path / 'empty.jpg'}: empty file\n"


def test_an_address_given_as_an_image_is_answered_in_one_line(viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", "--like", "https://example.com/a.jpg", "--library", indexed)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "https://example.com/a.jpg is an address, not a file: download it" in outcome.err


def test_filters_alone_list_pictures_by_date(viewfinder: Run, indexed: Path) -> None:
    """The pictures of this library have no dates: all that meet the filter, by id."""
    listed = viewfinder("find", "--where", "light=night", "-n", 40, "--library", indexed, "--json").json
    searched = viewfinder("find", "a", "--where", "light=night", "-n", 40, "--library", indexed, "--json").json
    assert [hit["id"] for hit in listed["results"]] == sorted(hit["id"] for hit in searched["results"])
    assert listed["verdict"] == "found"
    assert listed["results"][0]["why"] == {"captured": None}
    told = viewfinder("find", "--where", "light=night", "-n", 2, "--library", indexed).out.splitlines()
    assert told[0].split() == ["#", "captured", "path"]
    assert told[1].split() == ["1", listed["results"][0]["path"]]
    refused = viewfinder("find", "--without", "snow", "--where", "light=night", "--library", indexed)
    assert (refused.code, "nothing to look for" in refused.err) == (2, True)


def test_without_lowers_what_was_first(viewfinder: Run, indexed: Path) -> None:
    plain = viewfinder("find", "a car", "--library", indexed, "--json").json["results"]
    without = viewfinder("find", "a car", "--without", "a car", "--library", indexed, "--json").json["results"]
    assert without[0]["score"] < plain[0]["score"]


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_query_is_wrong_use(text: str, viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", text, "--library", indexed)
    assert outcome.code == 2
    assert "nothing to look for" in outcome.err


@pytest.mark.parametrize("text", ["?!", "thanks"])
def test_what_describes_nothing_is_wrong_use(text: str, viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", text, "--library", indexed)
    assert (outcome.code, outcome.out) == (2, "")
    assert "that describes nothing: say what is in the picture" in outcome.err


@pytest.mark.parametrize("text", ["a red car " * 3334, "ein rotes Auto auf der Straße", "道路上的红色汽车", "🚗"])
def test_long_and_foreign_queries_are_answered(text: str, viewfinder: Run, indexed: Path) -> None:
    outcome = viewfinder("find", text, "--library", indexed, "--json")
    assert outcome.code == 0
    assert len(outcome.json["results"]) == 10


def test_a_file_that_has_gone_is_marked(viewfinder: Run, drawn: Callable[[Path, int], Path], tmp_path: Path) -> None:
    folder = drawn(tmp_path / "pictures", 3)
    viewfinder("add", folder, "--library", tmp_path / "library")
    (folder / "0001.png").unlink()
    lines = viewfinder("find", "a colour", "--library", tmp_path / "library").out.splitlines()
    assert [line.endswith("0001.png (not here)") for line in lines].count(True) == 1


def test_an_empty_library_says_how_to_fill_it(viewfinder: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    library = tmp_path / "library"
    assert viewfinder("add", tmp_path / "empty", "--library", library).code == 2
    outcome = viewfinder("find", "a dog", "--library", library)
    assert outcome.code in (1, 2)
    assert "viewfinder add" in outcome.err
