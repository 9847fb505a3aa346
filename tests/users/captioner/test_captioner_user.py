"""The simulated user that compares in the words of a captioner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from viewfinder import testing
from viewfinder.conversation import Like, Question, Say
from viewfinder.data.fashion_iq import SPECIAL_WORDS
from viewfinder.encoders import load_encoder
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.training import Card, save_network
from viewfinder.users import Screen, SimulatedUser, load_user
from viewfinder.users.captioner.captioner import Captioner
from viewfinder.users.captioner.network import CaptionerNetwork

Make = Callable[..., CaptionerNetwork]

RAW: dict[str, np.ndarray] = {
    f"images/{key}.jpg": row for key, row in zip("abcd", np.random.default_rng(2).standard_normal((4, 6)), strict=True)
}


def vectors(keys: Sequence[str]) -> np.ndarray:
    return np.stack([RAW[key] for key in keys])


@pytest.fixture
def file(tmp_path: Path, make: Make) -> Path:
    """A captioner of drawn weights."""
    network = make()
    words = [*SPECIAL_WORDS, "is", "n't", "red", "darker"]
    settings = {"model": asdict(network.settings), "vocabulary": words, "labels": ["cotton", "floral", "long", "plain"]}
    card = Card(system="captioner", preset="lab", encoder="raw-6", settings=settings)
    save_network(tmp_path / "one.safetensors", network, card)
    return tmp_path / "one.safetensors"


def screen(*shown: str, number: int = 1) -> Screen:
    return Screen(tuple(f"images/{key}.jpg" for key in shown), None, number)


def test_it_likes_the_first_picture_and_says_how_the_wanted_one_differs(tmp_path: Path, file: Path) -> None:
    user = load_user("captioner", tmp_path, model=str(file), decoding="greedy", vectors=vectors)
    assert isinstance(user, SimulatedUser) and user.name == "captioner"
    expected = Captioner.load(file).captions(vectors(["images/b.jpg"]), vectors(["images/a.jpg"]), "greedy")[0]
    assert expected
    assert user.reply("images/a.jpg", screen("b", "a", number=0)) == Like("images/b.jpg", expected)
    assert user.reply("images/a.jpg", screen("a", "b")) is None


def test_it_may_look_at_more_and_likes_the_likest(tmp_path: Path, file: Path) -> None:
    """By the cosine of raw vectors."""
    user = load_user("captioner", tmp_path, model=str(file), vectors=vectors, looks_at=3)
    wanted_g = RAW["images/a.jpg"]
    likest = max("bcd", key=lambda key: wanted_g @ RAW[f"images/{key}.jpg"] / np.linalg.norm(RAW[f"images/{key}.jpg"]))
    said = user.reply("images/a.jpg", screen("b", "c", "d", number=0))
    assert isinstance(said, Like) and said.picture == f"images/{likest}.jpg"


def test_it_compares_whatever_is_asked_unless_told_to_answer(tmp_path: Path, file: Path) -> None:
    asked = Question("Is it red?")
    at = Screen(("images/b.jpg",), asked, 0)
    comparing = load_user("captioner", tmp_path, model=str(file), vectors=vectors)
    assert isinstance(comparing.reply("images/a.jpg", at), Like)
    answering = load_user("captioner", tmp_path, model=str(file), vectors=vectors, policy="mixed")
    assert not isinstance(answering.reply("images/a.jpg", at), Like)


def test_with_nothing_shown_it_says_a_caption_or_else_attributes(tmp_path: Path, file: Path) -> None:
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,A red shirt .\n")
    user = load_user("captioner", tmp_path, model=str(file), vectors=vectors)
    assert user.reply("images/a.jpg", screen(number=0)) == Say("A red shirt")
    predictor = Captioner.load(file).predictor
    assert predictor is not None
    expected = ", ".join(predictor.words(vectors(["images/b.jpg"]), 3)[0])
    assert user.reply("images/b.jpg", screen(number=0)) == Say(expected)


def test_what_it_cannot_say_anything_of_is_named(tmp_path: Path, file: Path, make: Make) -> None:
    network = make(attributes=0)
    settings = {"model": asdict(network.settings), "vocabulary": [*SPECIAL_WORDS, *"abcd"], "labels": []}
    save_network(file, network, Card(system="captioner", preset="lab", encoder="raw-6", settings=settings))
    user = load_user("captioner", tmp_path, model=str(file), vectors=vectors)
    with pytest.raises(UnknownName, match="a: nobody has captioned this picture"):
        user.reply("images/a.jpg", screen(number=0))


def test_samples_differ_from_seed_to_seed_and_not_from_dialogue_to_dialogue(tmp_path: Path, file: Path) -> None:
    def dialogue(seed: int) -> list[object]:
        user = load_user("captioner", tmp_path, model=str(file), vectors=vectors, decoding="sampled", seed=seed)
        return [user.reply(f"images/{key}.jpg", screen("a", number=0)) for key in "bcd"]

    assert dialogue(1) == dialogue(1) != dialogue(2)


def test_settings_that_cannot_be_are_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(BadInput, match="decoding=loud: captions are decoded by one of greedy, beam, sampled"):
        load_user("captioner", tmp_path, model=str(file), decoding="loud", vectors=vectors)
    with pytest.raises(UnknownName, match="the user 'captioner' has no setting mood"):
        load_user("captioner", tmp_path, model=str(file), mood="bad", vectors=vectors)
    with pytest.raises(EncoderMismatch, match="trained on vectors of 'raw-6', not 'starter"):
        load_user("captioner", tmp_path, model=str(file))


def test_without_vectors_it_sees_with_the_starter(tmp_path: Path, make: Make) -> None:
    """Real pictures, read and computed; they are found by every name that files use."""
    testing.tiny_pictures(tmp_path / "images", 3)
    first, second, _ = sorted(path.name for path in (tmp_path / "images").iterdir())
    network = make(raw_width=2560, attributes=0)
    settings = {"model": asdict(network.settings), "vocabulary": [*SPECIAL_WORDS, *"abcd"], "labels": []}
    card = Card(system="captioner", preset="lab", encoder=load_encoder("starter").raw_version, settings=settings)
    save_network(tmp_path / "one.safetensors", network, card)
    user = load_user("captioner", tmp_path, model=str(tmp_path / "one.safetensors"))
    by_key = user.reply(f"images/{first}", Screen((f"images/{second}",), None, 0))
    by_stem = user.reply(Path(first).stem, Screen((Path(second).stem,), None, 0))
    assert isinstance(by_key, Like) and isinstance(by_stem, Like) and by_key.text == by_stem.text != ""
