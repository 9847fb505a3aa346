"""Simulated users by name, over folders of data."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.conversation import Answer, Question, Say
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.data.truth import PictureTruth, truth_line
from viewfinder.errors import BadInput, UnknownName
from viewfinder.users import USERS, Screen, SimulatedUser, load_user

START = Screen((), None, 0)


def _world(folder: Path, *truths: PictureTruth) -> Path:
    (folder / "truth.jsonl").write_text("".join(truth_line(truth) + "\n" for truth in truths))
    return folder


def test_the_oracle_of_a_world_talks(tmp_path: Path, beach: PictureTruth, evening: PictureTruth) -> None:
    user = load_user("oracle", _world(tmp_path, beach, evening), policy="answers", seed=4)
    assert isinstance(user, SimulatedUser) and user.name == "oracle"
    assert user.reply("beach.jpg", START) == Say("a large black dog on the beach")
    asked = Question("How many dogs are there?")
    assert user.reply("beach.jpg", Screen(("evening.jpg",), asked, 1)) == Answer(asked, "two")
    assert user.reply("beach.jpg", Screen(("beach.jpg",), asked, 2)) is None


def test_annotations_talk_from_captions(tmp_path: Path) -> None:
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,A black dog .\n")
    user = load_user("annotations", tmp_path)
    assert user.reply("a.jpg", START) == Say("A black dog")
    asked = Question("What colour is the dog?")
    assert user.reply("a.jpg", Screen((), asked, 1)) == Answer(asked, "black")


def test_recorded_dialogues_talk(tmp_path: Path) -> None:
    write_dialogues(tmp_path / "one.json", [make_dialogue("a.jpg", "a dog", [Round("is it big?", "no")])])
    assert load_user("recorded", tmp_path).reply("a.jpg", START) == Say("a dog")
    write_dialogues(tmp_path / "two.json", [make_dialogue("a.jpg", "a cat", [])])
    with pytest.raises(BadInput, match=r"two\.json: a\.jpg has another dialogue already; .*: one, two"):
        load_user("recorded", tmp_path)
    assert load_user("recorded", tmp_path, dialogues="two").reply("a.jpg", START) == Say("a cat")


def test_unknown_names_and_settings_are_answered_with_those_there_are(tmp_path: Path, beach: PictureTruth) -> None:
    with pytest.raises(UnknownName, match="no simulated user is called 'psychic'; there are: annotations, captioner"):
        load_user("psychic", tmp_path)
    with pytest.raises(UnknownName, match="the user 'oracle' has no setting mood; there are: noise, verbosity"):
        load_user("oracle", _world(tmp_path, beach), mood="bad")
    with pytest.raises(BadInput, match=r"noise 2\.0: a chance is from 0 to 1"):
        load_user("oracle", tmp_path, noise=2.0)
    with pytest.raises(UnknownName, match="the user 'recorded' has no setting noise"):
        load_user("recorded", tmp_path, noise=0.5)


@pytest.mark.parametrize("name", sorted(set(USERS) - {"vqa", "captioner"}))
def test_a_folder_that_holds_nothing_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=str(tmp_path)):
        load_user(name, tmp_path)
