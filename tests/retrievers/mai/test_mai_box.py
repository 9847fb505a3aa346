"""The weights in the box, on photos of products that somebody might have in a shop."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Conversation, Like
from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import Features
from viewfinder.evaluation.pictures import Pictures
from viewfinder.pictures import decode_one
from viewfinder.retrievers.mai.retriever import SHIPPED, load
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all
from viewfinder.session.resolve import resolve_turn

PRODUCTS = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "fashion-products"
EACH = 12
COLOURS = ("Black", "White", "Blue", "Red")


def test_the_weights_in_the_box_are_small() -> None:
    assert SHIPPED.stat().st_size <= 5_000_000


@pytest.fixture(scope="module")
def shop() -> tuple[Gallery, dict[str, str]]:
    """T-shirts for men of four colours, a dozen of each; and the colour of each."""
    if not PRODUCTS.is_dir():
        pytest.skip("../shared/data/fashion-products is not here")
    with (PRODUCTS / "products.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["articleType"], row["gender"]) == ("Tshirts", "Men")]
    shirts = {row["id"]: row["baseColour"] for row in rows if (PRODUCTS / "images" / f"{row['id']}.jpg").is_file()}
    colour_of = {
        key: colour
        for colour in COLOURS
        for key in sorted(key for key, other in shirts.items() if other == colour)[:EACH]
    }
    keys, encoder = tuple(sorted(colour_of)), load_encoder("starter")
    pixels = [decode_one(PRODUCTS / "images" / f"{key}.jpg", encoder.fit).pixels for key in keys]
    raw_ng = np.asarray(encoder.pictures(pixels).global_bd, np.float32)
    raw = Features(tuple(keys), raw_ng, encoder.raw_version)
    return Pictures(keys, encoder.project(raw_ng), encoder, raw=raw).gallery(keys), colour_of


@pytest.mark.data
@pytest.mark.slow
def test_another_colour_finds_that_colour_and_going_back_to_the_first_its_like(
    shop: tuple[Gallery, dict[str, str]],
) -> None:
    gallery, colour_of = shop
    mai = load()
    first = next(key for key, colour in colour_of.items() if colour == "Red")
    second = next(key for key, colour in colour_of.items() if colour == "Black")
    state, dialogue = mai.begin(), Conversation()
    for turn, wanted in [
        (Like(first, "is blue"), "Blue"),
        (Like(second, "is white"), "White"),
        (Like(second, "go back to the first, but in black"), "Black"),
    ]:
        dialogue = dialogue.then(turn)
        state = mai.step(state, resolve_turn(dialogue, dialogue.here, gallery, reads=mai.reads))
        rows = score_all(gallery, mai.query(state)).best(5)
        found = [colour_of[gallery.snapshot.ids[row]] for row in rows.tolist()]
        assert found.count(wanted) >= 4, (turn, found)
    assert [(done.kind, done.turn) for done in mai.query(state).operations] == [("rollback", 1)]
