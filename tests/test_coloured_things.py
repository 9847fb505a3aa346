"""How the colours of things are counted: what captions give a colour to, and the first ten of a library."""

from __future__ import annotations

from pathlib import Path

import pytest
from coloured_things import Asked, ask_pairs, find_pairs, list_right, write_table
from PIL import Image, ImageDraw

import viewfinder

CAPTIONS = {
    "red-0.png": ["A red ball on the ground.", "A ball."],
    "red-1.png": ["Somebody left a big red ball here."],
    "red-2.png": ["A ball on a red carpet."],
    "blue-0.png": ["A blue and white ball."],
    "blue-1.png": ["The ball is blue."],
}


@pytest.mark.parametrize(
    ("caption", "pairs"),
    [
        ("A man in a red T-shirt", {("red", "shirt")}),
        ("a black and white dog beside silver vans", {("black", "dog"), ("white", "dog"), ("grey", "car")}),
        ("a short haired brown puppy", {("brown", "dog")}),
        ("a red brick wall", set()),  # the bricks are
        ("a man in red runs past a dog", set()),
    ],
)
def test_a_colour_belongs_to_the_thing_behind_it(caption: str, pairs: set[tuple[str, str]]) -> None:
    assert find_pairs(caption) == pairs


def test_one_caption_of_several_is_enough_and_what_most_have_comes_first() -> None:
    right = list_right(CAPTIONS)
    assert list(right) == ["red ball", "blue ball", "red floor", "white ball"]
    assert right["red ball"] == {"red-0.png", "red-1.png"}
    assert right["blue ball"] == {"blue-0.png"}


def test_pairs_that_enough_pictures_have_are_asked_for(tmp_path: Path) -> None:
    for at in range(20):
        colour = ("red", "blue", "green", "yellow")[at % 4]
        picture = Image.new("RGB", (96, 96), (230, 230, 220))
        ImageDraw.Draw(picture).ellipse((10 + at, 20, 60 + at, 70), fill=colour)
        picture.save(tmp_path / f"{colour}-{at}.png")
    captions = {
        file.name: [f"a {file.name.partition('-')[0]} ball"] if file.stem != "red-0" else ["a ball"]
        for file in tmp_path.glob("*.png")
    }
    library = viewfinder.open(tmp_path / "library.vf")
    library.add(tmp_path)
    asked = {one.pair: one for one in ask_pairs(library, captions, least=5)}
    assert {pair: one.there for pair, one in asked.items()} == {"blue ball": 5, "green ball": 5, "yellow ball": 5}
    for pair, one in asked.items():
        names = [Path(hit.path).name for hit in library.chat(questioner="none").say(pair)]
        assert one.right == sum(name.startswith(pair.split()[0]) for name in names)
    assert sum(one.right for one in asked.values()) > 3 * 10 / 4  # better than any ten of them


def test_the_table_says_what_there_could_be() -> None:
    table = write_table([Asked("red car", 4, 3, "found"), Asked("black dog", 83, 10, "unsure")])
    assert table.splitlines() == [
        " 3 of  4  red car               4 there  found",
        "10 of 10  black dog            83 there  unsure",
        "13 of 14  in all, 2 pairs",
    ]
