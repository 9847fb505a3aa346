"""What the shipped gates and systems make of real pictures: of products every kind of turn has its effect, and among
photographs the composer is alone."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from viewfinder.conversation import Answer, Question
from viewfinder.encoders.features.store import Features
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.pictures import AtMost, Limits
from viewfinder.pictures.decode import decode
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.one.gates import ASKED
from viewfinder.retrievers.one.turn_network import NAME
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.worlds.write import write_world

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
PRODUCTS = DATA / "fashion-products"
COLOURS, EACH = ("Red", "Blue", "Black", "White"), 15

pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")]


def see(encoder: StarterEncoder, files: Sequence[Path]) -> Gallery:
    """Real pictures, by file name, as all systems read them."""
    pixels = [decode(file.read_bytes(), limits=Limits(), fit=AtMost(256)).pixels for file in files]
    seen = encoder.pictures(pixels, regions=True)
    assert seen.regions_brd is not None
    keys = tuple(file.name for file in files)
    raw = Features(
        keys, np.asarray(seen.global_bd, np.float32), encoder.raw_version, np.asarray(seen.regions_brd, np.float16)
    )
    vectors_nd = encoder.project(raw.raw_nd).astype(np.float32)
    return Pictures(keys, vectors_nd, encoder, {file.name: str(file) for file in files}, raw=raw).gallery()


@pytest.fixture(scope="module")
def encoder() -> StarterEncoder:
    return StarterEncoder()


@pytest.fixture(scope="module")
def shirts(encoder: StarterEncoder) -> tuple[Gallery, dict[str, str]]:
    """Shirts and T-shirts of four colours, and the colour of each."""
    with (PRODUCTS / "products.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["articleType"] in ("Tshirts", "Shirts")]
    rows = [row for row in rows if (PRODUCTS / "images" / f"{row['id']}.jpg").is_file()]
    colours = {
        f"{row['id']}.jpg": colour
        for colour in COLOURS
        for row in pick_evenly([row for row in rows if row["baseColour"] == colour], EACH)
    }
    return see(encoder, [PRODUCTS / "images" / name for name in sorted(colours)]), colours


def count(colours: dict[str, str], shown: Sequence[str], colour: str) -> int:
    return sum(colours[name] == colour for name in shown)


def test_every_kind_of_turn_has_its_effect_on_products(shirts: tuple[Gallery, dict[str, str]]) -> None:
    gallery, colours = shirts
    session = Session(gallery, load_retriever("one"), None, n=10)
    described = [hit.id for hit in session.say("a red t-shirt")]
    assert count(colours, described, "Red") >= 7
    picked = [hit.id for hit in session.like(described[0], but="but blue")]
    assert described[0] not in picked
    assert count(colours, picked, "Blue") > count(colours, described, "Blue")
    rejected = [hit.id for hit in session.reject(picked[0])]
    assert picked[0] not in rejected
    alone = [hit.id for hit in session.like(rejected[1])]
    assert alone[0] == rejected[1]  # without words, this may well be the one
    back = [hit.id for hit in session.back_to(1)]
    assert back == described
    kept = [hit.id for hit in session.keep("colour", 1)]
    assert count(colours, kept, "Red") >= count(colours, described, "Red") - 1
    own = [hit.id for hit in session.show(PRODUCTS / "images" / rejected[0])]
    assert own != kept


def test_an_answer_has_its_effect_on_products(shirts: tuple[Gallery, dict[str, str]]) -> None:
    gallery, colours = shirts
    session = Session(gallery, load_retriever("one"), None, n=10)
    before = [hit.id for hit in session.say("a t-shirt")]
    answer = Answer(
        Question("What colour is it?", attribute="colour", choices=("red", "blue", "black", "white")), "black"
    )
    after = [hit.id for hit in session.take(answer)]
    assert count(colours, after, "Black") > count(colours, before, "Black")


@pytest.mark.parametrize("colour", COLOURS)
def test_what_words_rule_out_is_found_less_often(shirts: tuple[Gallery, dict[str, str]], colour: str) -> None:
    gallery, colours = shirts
    session = Session(gallery, load_retriever("one"), None, n=10)
    described = [hit.id for hit in session.say("a t-shirt")]
    known = count(colours, described, colour)
    rejected = [hit.id for hit in session.reject(text=colour.lower())]
    at_once = Session(gallery, load_retriever("one"), None, n=10).say(f"a t-shirt, not {colour.lower()}")
    for shown in (rejected, [hit.id for hit in at_once]):
        assert count(colours, shown, colour) <= known


def test_why_sums_to_the_score(shirts: tuple[Gallery, dict[str, str]]) -> None:
    gallery, colours = shirts
    session = Session(gallery, load_retriever("one"), None, n=5)
    session.say("a red t-shirt")
    for hit in session.like(next(iter(colours)), but="with a white collar"):
        assert sum(turn["adds"] for turn in hit.why["turns"]) == pytest.approx(hit.score, abs=1e-4)
        assert sum(entry["adds"] for entry in hit.why["systems"]) == pytest.approx(hit.score, abs=1e-4)
        assert {entry["system"] for entry in hit.why["systems"]} == {"", *ASKED["products"][1:], NAME}


def test_among_scenes_why_shows_where_drilldown_looks(encoder: StarterEncoder, tmp_path: Path) -> None:
    write_world(tmp_path / "scenes", kind="scenes", count=12, seed=1)
    files = sorted((tmp_path / "scenes" / "images").iterdir())
    session = Session(see(encoder, files), load_retriever("one"), None, n=5)
    session.say("a red ball on the grass")
    session.say("a tree beside it")
    for hit in session.say("a yellow sun"):
        assert {entry["system"] for entry in hit.why["systems"]} == {"", *ASKED["scenes"][1:]}
        assert sum(entry["adds"] for entry in hit.why["systems"]) == pytest.approx(hit.score, abs=2e-4)
        [looks] = [entry["adds"] for entry in hit.why["systems"] if entry["system"] == "drilldown"]
        assert sum(slot["adds"] for slot in hit.why["regions"]["slots"]) == pytest.approx(looks, abs=2e-4)
    [why] = session.ranking().why([files[0].name]).values()
    assert [sum(slot["weights"]) for slot in why["regions"]["slots"]] == pytest.approx([1.0] * 3)
    assert len(why["regions"]["boxes"]) == len(why["regions"]["slots"][0]["weights"])


def test_among_photographs_it_finds_what_the_composer_finds(encoder: StarterEncoder) -> None:
    files = pick_evenly(sorted((DATA / "flickr8k" / "images").glob("*.jpg")), 60)
    gallery = see(encoder, files)
    found = []
    for name in ("composer", "one"):
        session = Session(gallery, load_retriever(name), None, n=20)
        session.say("a dog in the water")
        session.like(files[3].name, but="on the grass")
        found.append([(hit.id, hit.score) for hit in session.reject(files[5].name)])
    assert found[0] == found[1]
