import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.fashion_iq import (
    SPECIAL_WORDS,
    FashionIQ,
    FashionPair,
    build_caption_vocabulary,
    fashion_kinds,
    join_captions,
    read_fashion_iq,
    read_shuffled,
    shuffle_first_pictures,
    write_fashion_iq,
    write_shuffled,
)
from viewfinder.data.files import Dropped
from viewfinder.errors import BadInput, UnknownName

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = [pytest.mark.data, pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")]
FASHION_IQ = SHARED / "fashion-iq"

PAIRS = [FashionPair("B2", "B1", ("is red", "Longer sleeves.")), FashionPair("B3", "B2", ("is blue",))]


class TestRealData:
    pytestmark = needs_data

    def test_there_are_three_kinds_with_three_splits_each(self) -> None:
        splits = ("test", "train", "val")
        assert fashion_kinds(FASHION_IQ) == {"dress": splits, "shirt": splits, "toptee": splits}

    @pytest.mark.parametrize(
        ("kind", "pairs", "galleries", "empty"),
        [
            ("dress", (5985, 2017, 2024), (11452, 3817, 3818), (0, 0, 0)),
            ("shirt", (5988, 2038, 2038), (19036, 6346, 6346), (0, 1, 1)),
            ("toptee", (6027, 1961, 2056), (16121, 5373, 5374), (12, 2, 0)),
        ],
    )
    def test_sizes_of_pairs_and_galleries(
        self, kind: str, pairs: tuple[int, ...], galleries: tuple[int, ...], empty: tuple[int, ...]
    ) -> None:
        for i, split in enumerate(("train", "val", "test")):
            found, report = read_fashion_iq(FASHION_IQ, kind, split)
            assert (report.expected, len(found.pairs), len(found.gallery)) == (pairs[i], pairs[i], galleries[i])
            assert {pair.target is None for pair in found.pairs} == {split == "test"}
            assert [drop.reason for drop in report.dropped] == ["empty caption"] * empty[i]
            assert Counter(len(pair.captions) for pair in found.pairs) == Counter({2: pairs[i] - empty[i], 1: empty[i]})

    @pytest.mark.parametrize(("kind", "size"), [("dress", 2628), ("shirt", 3089), ("toptee", 2902)])
    def test_the_gallery_of_candidates_and_targets_is_smaller(self, kind: str, size: int) -> None:
        found, _ = read_fashion_iq(FASHION_IQ, kind, "val")
        assert len(found.union()) == size
        assert set(found.union()) < set(found.gallery)

    def test_captions_have_five_words_and_a_few_more_than_eight(self) -> None:
        for kind in ("dress", "shirt", "toptee"):
            pairs = read_fashion_iq(FASHION_IQ, kind, "train")[0].pairs
            words = [len(caption.split()) for pair in pairs for caption in pair.captions]
            assert 5.2 < sum(words) / len(words) < 5.6
            assert 0.05 < sum(count > 8 for count in words) / len(words) < 0.08

    def test_the_first_pair_is_as_published(self) -> None:
        pair = read_fashion_iq(FASHION_IQ, "dress", "train")[0].pairs[0]
        assert (pair.target, pair.candidate) == ("B008BHCT58", "B003FGW7MK")
        assert join_captions(pair.captions) == "Is solid black with no sleeves and is black with straps"

    def test_the_vocabulary_of_val_begins_with_the_words_of_its_first_caption(self) -> None:
        pairs = read_fashion_iq(FASHION_IQ, "dress", "val")[0].pairs
        words = build_caption_vocabulary(caption for pair in pairs for caption in pair.captions)
        assert words.words[5:12] == ("is", "shiny", "and", "silver", "with", "shorter", "sleeves")
        assert words.encode("is and <unk> qwertz")[0:2] == (5, 7)


def _folder(folder: Path, **options: Any) -> Path:
    usual = {"kind": "boots", "split": "val", "pairs": PAIRS, "gallery": ["B3", "B1", "B2", "B4"], "attributes": {}}
    write_fashion_iq(folder, **(usual | options))
    return folder


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    words = [["boots"], ["floral", "plain"], [], ["long"], [], ["summer"]]
    found, report = read_fashion_iq(_folder(tmp_path, attributes={"B1": words}), "boots", "val")
    attributes = {"B1": (("boots",), ("floral", "plain"), (), ("long",), (), ("summer",))}
    assert found == FashionIQ("boots", "val", tuple(PAIRS), ("B3", "B1", "B2", "B4"), attributes)
    assert (report.expected, report.found, report.dropped) == (2, 2, ())
    assert found.union() == ("B3", "B1", "B2")
    assert fashion_kinds(tmp_path) == {"boots": ("val",)}


def test_pairs_of_the_test_split_need_no_target(tmp_path: Path) -> None:
    secret = [FashionPair(None, "B1", ("is red",))]
    assert read_fashion_iq(_folder(tmp_path, split="test", pairs=secret), "boots", "test")[0].pairs == tuple(secret)
    with pytest.raises(BadInput, match=r"cap\.boots\.val\.json: \[0\]: field 'target' is needed \(str\)"):
        read_fashion_iq(_folder(tmp_path, pairs=secret), "boots", "val")


@pytest.mark.parametrize("name", ["asin2attr.boots.val.json", "attributes/asin2attr.boots.val.json"])
def test_a_product_with_two_records_of_attributes_has_them_merged(tmp_path: Path, name: str) -> None:
    file = _folder(tmp_path) / name
    file.parent.mkdir(exist_ok=True)
    twice = [["a"], [""], ["b", "c"], [], [], ["d"], ["a"], [], ["c", "e"], [], ["f"], []]
    file.write_text(json.dumps({"B1": twice}))
    attributes = read_fashion_iq(tmp_path, "boots", "val")[0].attributes
    assert attributes == {"B1": (("a",), (), ("b", "c", "e"), (), ("f",), ("d",))}


@pytest.mark.parametrize("types", [[], [["a"]] * 5, "dress", [["a"], 3, [], [], [], []]])
def test_attributes_of_the_wrong_form_are_named(tmp_path: Path, types: Any) -> None:
    (_folder(tmp_path) / "asin2attr.boots.val.json").write_text(json.dumps({"B1": types}))
    with pytest.raises(BadInput, match=r"asin2attr\.boots\.val\.json: B1"):
        read_fashion_iq(tmp_path, "boots", "val")


def test_an_empty_caption_costs_only_itself(tmp_path: Path) -> None:
    pairs = [FashionPair("B2", "B1", (" ", " is red"))]
    found, report = read_fashion_iq(_folder(tmp_path, pairs=pairs), "boots", "val")
    assert found.pairs == (FashionPair("B2", "B1", (" is red",)),)
    assert report.dropped == (Dropped("cap.boots.val.json: [0], captions[0]", "empty caption"),)


@pytest.mark.parametrize(
    ("pair", "field"), [(FashionPair("B9", "B1", ()), "target"), (FashionPair("B1", "B9", ()), "candidate")]
)
def test_a_product_outside_the_gallery_is_named(tmp_path: Path, pair: FashionPair, field: str) -> None:
    where = rf"cap\.boots\.val\.json: \[2\], field '{field}': B9 is not among the 4 of the gallery"
    with pytest.raises(BadInput, match=where):
        read_fashion_iq(_folder(tmp_path, pairs=[*PAIRS, pair]), "boots", "val")


def test_an_unknown_kind_or_split_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"cap\.boots\.dev\.json: no such file.*there are: cap\.boots\.val\.json"):
        read_fashion_iq(_folder(tmp_path), "boots", "dev")
    (tmp_path / "image_splits" / "split.boots.val.json").unlink()
    with pytest.raises(UnknownName, match=r"split\.boots\.val\.json: no such file.*there are: none"):
        read_fashion_iq(tmp_path, "boots", "val")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    file = _folder(tmp_path) / "captions" / "cap.boots.val.json"
    file.write_text(file.read_text()[:-9])
    with pytest.raises(BadInput, match=r"cap\.boots\.val\.json, line \d+, column \d+: damaged JSON"):
        read_fashion_iq(tmp_path, "boots", "val")
    file.write_text('[{"target": "B1", "candidate": "B2", "captions": "red"}]')
    with pytest.raises(BadInput, match=r"cap\.boots\.val\.json: \[0\], field 'captions': a list of texts is needed"):
        read_fashion_iq(tmp_path, "boots", "val")


def test_kinds_are_told_from_the_caption_files_without_those_of_cirr(tmp_path: Path) -> None:
    for kind in ("boots", "long.coats", "rc2"):
        _folder(tmp_path, kind=kind)
    assert fashion_kinds(_folder(tmp_path, split="train")) == {"boots": ("train", "val"), "long.coats": ("val",)}
    with pytest.raises(BadInput, match=r"captions: no file here is called like cap.<kind>.<split>.json;"):
        fashion_kinds(tmp_path / "image_splits")


@pytest.mark.parametrize(
    ("captions", "joined"),
    [
        (["is red.", " Longer, "], "Is red and Longer"),
        (["Has a V-neck", "is it blue?"], "Has a v-neck and is it blue"),
        (["is red"], "Is red"),
        ([".", "is red"], "Is red"),
        ([], ""),
    ],
)
def test_captions_are_joined_as_clip4cir_joins_them(captions: list[str], joined: str) -> None:
    assert join_captions(captions) == joined


@given(st.integers(0, 60), st.integers(0, 9))
def test_first_pictures_are_every_picture_once_and_none_for_itself(size: int, seed: int) -> None:
    order = shuffle_first_pictures(size, seed)
    assert sorted(order) == list(range(size))
    assert size == 1 or all(first != target for target, first in enumerate(order))
    assert order == shuffle_first_pictures(size, seed)


def test_first_pictures_are_written_where_the_published_code_reads_them(tmp_path: Path) -> None:
    write_shuffled(tmp_path, "dress", "val", shuffle_first_pictures(40, seed=3))
    file = tmp_path / "data" / "shuffled.dress.val.json"
    assert read_shuffled(file, 40) == shuffle_first_pictures(40, seed=3) != shuffle_first_pictures(40, seed=4)
    with pytest.raises(BadInput, match=r"40 numbers, but the gallery has 41"):
        read_shuffled(file, 41)
    file.write_text("[1, 2, 0, 4]")
    with pytest.raises(BadInput, match=r"shuffled\.dress\.val\.json: \[3\] is 4; it must be 0 to 3"):
        read_shuffled(file, 4)


def test_a_vocabulary_has_what_is_seen_twice_in_the_order_of_first_sight() -> None:
    words = build_caption_vocabulary(["Is red.", "isn't long, is red", "green and RED."])
    # is 3 (of "is", "isn't" as "is" and "n't", "is"), red 3, "." 2; "n't", long, ",", green and and are seen once
    assert words.words == (*SPECIAL_WORDS, "is", "red", ".")
    assert words.encode("Red is green.") == (6, 5, 4, 7)
