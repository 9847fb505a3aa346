"""Garments for training: which pictures and pairs of which folders, and that every vector is the right picture's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.data.splits import split_of
from viewfinder.errors import BadInput, UnknownName
from viewfinder.pictures import decode_one
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder, tiny_pictures

ENCODER = ColourEncoder()
Plan = Callable[..., TrainPlan]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eighteen pictures p00 .. p17: dresses 0 to 3 and shirts 4 to 6 for training, dresses 7 to 9 for validation.

    Dress `ghost` has no picture. What is described is every picture but p03; p15 is described twice.
    """
    folder = tmp_path_factory.mktemp("shop")
    for number, picture in enumerate(tiny_pictures(folder / "images", 18)):
        picture.path.rename(folder / "images" / f"p{number:02}.png")
    pairs = [
        FashionPair("p01", "p00", ("Is red", "has longer sleeves")),
        FashionPair("p02", "ghost", ("is gone",)),
        FashionPair("p03", "p01", ("is  Bluer",)),
    ]
    words = {"p00": [["dress"], ["Floral", "red"], [], [], ["zip"], ["red"]], "p02": [["dress"], [], [], [], [], []]}
    write_fashion_iq(folder, "dress", "train", pairs, ["p00", "p01", "ghost", "p02", "p03"], words)
    write_fashion_iq(folder, "shirt", "train", [FashionPair("p04", "p05", ("is dark",))], ["p06", "p05", "p04"], {})
    write_fashion_iq(folder, "dress", "val", [FashionPair("p07", "p08", ("is new",))], ["p07", "p08", "p09"], {})
    said = [f"p{number:02}.png,Picture {number}\n" for number in range(18) if number != 3]
    (folder / "captions.csv").write_text("image,caption\n" + "".join(said) + "p15.png,Said again\n")
    return folder


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Makes a plan for folders; their vectors are kept beside them."""

    def made(*folders: Path, told: list[str] | None = None) -> TrainPlan:
        return TrainPlan(
            system="attributes", data=folders, preset="lab", out=tmp_path / "out", encoder=ENCODER,
            notify=(told if told is not None else []).append,
        )  # fmt: skip

    return made


def names(garments: Garments) -> list[str]:
    return [Path(key).stem for key in garments.keys]


def test_all_kinds_of_a_split_are_read_one_after_the_other(shop: Path, plan: Plan) -> None:
    garments = read_garments(plan(shop), "train", ())
    assert names(garments) == ["p00", "p01", "p02", "p03", "p06", "p05", "p04"]
    assert garments.kinds == ("dress", "shirt") and garments.kind_n.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert garments.gallery_of(1).tolist() == [4, 5, 6]
    assert garments.raw_version == ENCODER.raw_version and len(garments) == 7


def test_every_vector_is_that_of_its_picture(shop: Path, plan: Plan) -> None:
    garments = read_garments(plan(shop), "train", ())
    pixels = [decode_one(shop / key, ENCODER.fit).pixels for key in garments.keys]
    np.testing.assert_allclose(garments.raw_ng, ENCODER.pictures(pixels).global_bd, atol=1e-6)


def test_pairs_are_rows_and_one_without_a_picture_is_left_out_and_told(shop: Path, plan: Plan) -> None:
    told: list[str] = []
    garments = read_garments(plan(shop, told=told), "train", ())
    pairs = garments.pairs
    found = names(garments)
    assert [found[row] for row in pairs.target_p] == ["p01", "p03", "p04"]
    assert [found[row] for row in pairs.candidate_p] == ["p00", "p01", "p05"]
    assert pairs.captions == (("Is red", "has longer sleeves"), ("is  Bluer",), ("is dark",)) and len(pairs) == 3
    assert f"{shop}, dress, train: 1 pictures have no vectors and are left out" in told
    assert f"{shop}, shirt, train: 3 pictures, 1 pairs" in told


def test_descriptions_and_attribute_words_are_lower_case_and_the_kind_is_no_attribute(shop: Path, plan: Plan) -> None:
    garments = read_garments(plan(shop), "train", ("dress",))
    assert garments.descriptions == (("picture 0",), ("picture 1",), ("picture 2",), ())
    assert garments.labels == (("floral", "red", "zip"), (), (), ())


def test_others_are_what_is_described_and_in_no_gallery_of_any_split(shop: Path, plan: Plan) -> None:
    others = read_garments(plan(shop), "train", ("others",))
    expected = [number for number in range(10, 18) if split_of(f"p{number}") == "train"]
    assert names(others) == [f"p{number}" for number in expected]
    assert others.descriptions[-1] == ("picture 15", "said again") and not len(others.pairs)
    assert others.kinds == ("others",)


def test_folders_with_captions_alone_are_a_kind_of_their_own(shop: Path, plan: Plan, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    pictures = tiny_pictures(photos / "images", 24)
    said = [f"{picture.path.name},A {picture.caption}\n" for picture in pictures]
    (photos / "captions.csv").write_text("image,caption\n" + "".join(said))
    garments = read_garments(plan(shop, photos), "train", ())
    assert garments.kinds == ("dress", "shirt", "photos")
    training = [picture for picture in pictures if split_of(picture.path) == "train"]
    rows = garments.gallery_of(2)
    assert [garments.descriptions[row] for row in rows] == [(f"a {picture.caption}",) for picture in training]
    likeness = (ENCODER.project(garments.raw_ng[rows]) * ENCODER.words([picture.caption for picture in training])).sum(
        1
    )
    assert likeness.min() > 0.9


def test_a_kind_of_two_folders_is_one_gallery(shop: Path, plan: Plan, tmp_path: Path) -> None:
    other = tmp_path / "other"
    tiny_pictures(other / "images", 2)[0].path.rename(other / "images" / "q.png")
    write_fashion_iq(other, "shirt", "train", [FashionPair("q", "q", ("is itself",))], ["q"], {})
    garments = read_garments(plan(shop, other), "train", ("shirt",))
    assert names(garments) == ["p06", "p05", "p04", "q"] and garments.gallery_of(0).tolist() == [0, 1, 2, 3]
    assert garments.pairs.target_p.tolist() == [2, 3]


def test_hidden_targets_give_no_pair(shop: Path, plan: Plan) -> None:
    record = [{"candidate": "p00", "captions": ["is red"]}]
    (shop / "captions" / "cap.dress.test.json").write_text(json.dumps(record))
    (shop / "image_splits" / "split.dress.test.json").write_text('["p00"]')
    assert not len(read_garments(plan(shop), "test", ()).pairs)


def test_what_is_not_there_is_named(shop: Path, plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'hat'; there are: dress, shirt, others"):
        read_garments(plan(shop), "train", ("dress", "hat"))
    with pytest.raises(UnknownName, match="'trial'; there are: train, val, test"):
        read_garments(plan(shop), "trial", ())
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="nothing to learn from here"):
        read_garments(plan(tmp_path / "empty"), "train", ())
