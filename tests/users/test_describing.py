"""What is said of a picture, sentence by sentence."""

from __future__ import annotations

import pytest

from viewfinder.data.truth import PictureTruth
from viewfinder.errors import UnknownName
from viewfinder.users import Describer, SentenceDescriber, caption_sentences, truth_sentences

CAPTIONS = {"a.jpg": ("one", "two", "three", "four"), "b.jpg": ()}


def test_captions_are_said_one_after_the_other_and_then_again() -> None:
    sayer = SentenceDescriber(caption_sentences(CAPTIONS))
    said = [sayer.describe("a.jpg") for _ in range(8)]
    assert isinstance(sayer, Describer)
    assert sorted(said[:4]) == sorted(CAPTIONS["a.jpg"]) and said[4:] == said[:4]


def test_the_seed_chooses_the_order() -> None:
    orders = {tuple(caption_sentences(CAPTIONS, seed=seed)("a.jpg")) for seed in range(10)}
    assert len(orders) > 3
    assert caption_sentences(CAPTIONS, seed=1)("a.jpg") == caption_sentences(CAPTIONS, seed=1)("a.jpg")


@pytest.mark.parametrize("picture", ["b.jpg", "c.jpg"])
def test_a_picture_without_captions_is_named(picture: str) -> None:
    with pytest.raises(UnknownName, match=rf"{picture}: nobody has captioned this picture"):
        SentenceDescriber(caption_sentences(CAPTIONS)).describe(picture)


def test_a_scene_is_described_from_its_truth(beach: PictureTruth) -> None:
    said = truth_sentences({"beach.jpg": beach})("beach.jpg")
    assert said[0] == "a large black dog on the beach"
    assert {"a beach by day", "two dogs, a car and a kite", "a red striped car in the lower right"} <= set(said)
    assert {"two dogs, one brown and one black", "a brown dog left of a red car"} <= set(said)
    assert len(set(said)) == len(said)


def test_an_article_is_described_without_its_name(dress: PictureTruth) -> None:
    said = truth_sentences({"dress.jpg": dress})("dress.jpg")
    assert said[0] == "a navy blue dress"
    assert set(said[1:]) == {
        "it is striped",
        "it is made of cotton",
        "it has long sleeves",
        "it is for women",
        "it has a belt",
    }


def test_an_article_of_which_only_the_name_is_known_is_called_by_it() -> None:
    assert truth_sentences({"1": PictureTruth("1", title="Old Lamp")})("1") == ["Old Lamp"]
