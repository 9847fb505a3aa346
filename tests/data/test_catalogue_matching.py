import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data import Ambiguity, match_keys

SOURCES = Path(__file__).resolve().parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCES)}

A, B = Path("/data/a/1.jpg"), Path("/data/b/1.jpg")


@pytest.mark.parametrize("key", ["/data/a/1.jpg", "data/a/1.jpg", "a/1.jpg", "./a/1.jpg", "a\\1.jpg", "a/1"])
def test_a_path_or_the_end_of_one_picks_one_of_two_files_of_one_name(key: str) -> None:
    assert match_keys([key], [A, B]).files == {A: [0]}


@pytest.mark.parametrize("key", ["1.jpg", "1"])
def test_a_key_that_fits_several_files_wholly_means_all_of_them_and_is_reported(key: str) -> None:
    found = match_keys([key], [A, B])
    assert found.files == {A: [0], B: [0]}
    assert found.ambiguous == (Ambiguity(key, 2, (A, B)),)


def test_a_name_is_preferred_to_a_stem() -> None:
    exact, longer = Path("x/1"), Path("x/1.jpg")
    assert match_keys(["1"], [longer, exact]).files == {exact: [0]}


def test_a_stem_with_dots_is_not_cut_twice() -> None:
    paths = [Path("shirt.v1.jpg"), Path("shirt.jpg")]
    assert match_keys(["shirt.v1", "shirt", "shirt.v2"], paths).files == {paths[0]: [0], paths[1]: [1]}


def test_a_path_from_another_machine_means_the_file_that_agrees_furthest() -> None:
    found = match_keys(["/home/ann/a/1.jpg", "C:\\pics\\b\\1.jpg"], [A, B])
    assert found.files == {A: [0], B: [1]}


def test_a_path_from_another_machine_that_fits_two_files_means_none() -> None:
    found = match_keys(["/home/ann/c/1.jpg"], [A, B])
    assert (found.files, found.unmatched) == ({}, (0,))
    assert found.ambiguous == (Ambiguity("/home/ann/c/1.jpg", 2, (A, B)),)


def test_a_row_about_another_folder_does_not_take_a_file_that_has_its_own_row() -> None:
    found = match_keys(["cats/1.jpg", "dogs/1.jpg"], [Path("pics/dogs/1.jpg")])
    assert (found.files, found.unmatched) == ({Path("pics/dogs/1.jpg"): [1]}, (0,))


def test_a_relative_file_is_meant_by_its_full_path() -> None:
    found = match_keys(["/data/a/1.jpg"], [Path("1.jpg"), Path("b/1.jpg")])
    assert found.files == {Path("1.jpg"): [0]}


def test_accents_match_however_they_are_composed() -> None:
    path = Path(unicodedata.normalize("NFD", "pics/café.jpg"))
    assert match_keys([unicodedata.normalize("NFC", "café")], [path]).files == {path: [0]}


@pytest.mark.parametrize("key", ["", "/", ".", "2.jpg", "jpg", "11.jpg", "1.jpg/"])
def test_what_is_no_file_matches_none(key: str) -> None:
    expected = {A: [0]} if key == "1.jpg/" else {}
    assert match_keys([key], [A]).files == expected


PARTS = st.lists(st.sampled_from(["a", "b", "1.jpg", "2.jpg", "2"]), min_size=1, max_size=4)


@given(st.lists(PARTS, max_size=5), st.lists(PARTS, max_size=6))
def test_keys_that_fit_wholly_are_matched_as_slow_obvious_code_does(
    keys: list[list[str]], paths: list[list[str]]
) -> None:
    files = [Path("/", *parts) for parts in paths]
    found = match_keys(["/".join(key) for key in keys], files)
    for position, key in enumerate(keys):
        named = {file for file in files if file.parts[-len(key) :] == tuple(key)}
        if named:
            assert {file for file, positions in found.files.items() if position in positions} == named


# The worst case of each kind: folders needed to tell files apart, and folders that do not exist here.
MANY = """
import time
from pathlib import Path
from viewfinder.data import match_keys
paths = [Path(f"/pics/{i % 97}/{i // 500}/{i % 500}.jpg") for i in range(100_000)]
keys = [f"{i % 97}/{i // 500}/{i % 500}" for i in range(50_000)]
keys += [f"/other/x{i}/{i % 500}.jpg" for i in range(50_000)]
begin = time.process_time()
found = match_keys(keys, paths)
assert found.files[paths[1234]] == [1234]
print(len(found.files), len(found.unmatched), time.process_time() - begin)
"""


@pytest.mark.long
def test_a_hundred_thousand_keys_and_files_take_seconds_not_hours() -> None:
    # In a process of its own, because the type checks of the test run would be most of what is measured.
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    matched, unmatched, seconds = done.stdout.split()
    assert (matched, unmatched) == ("50000", "50000")
    assert float(seconds) < 12
