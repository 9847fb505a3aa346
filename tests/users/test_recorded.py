"""Users that repeat recorded dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from viewfinder.conversation import Answer, Say
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue, read_dialogues
from viewfinder.errors import UnknownName
from viewfinder.users import (
    RecordedUser,
    Screen,
    SimulatedUser,
    dialogue_turns,
)

DIALOGUE = make_dialogue("a.jpg", "a dog on a sofa", [Round("is it big?", "no"), Round("What colour is it?", "brown")])
CHATIR = Path(__file__).resolve().parents[3] / "shared" / "data" / "chatir"


def test_a_dialogue_is_said_turn_by_turn_whatever_is_shown() -> None:
    user = RecordedUser({"a.jpg": dialogue_turns(DIALOGUE)})
    said = [user.reply("a.jpg", Screen(("a.jpg",), None, at)) for at in range(4)]
    assert said[0] == Say("a dog on a sofa")
    assert [(turn.question.text, turn.text) for turn in said if isinstance(turn, Answer)] == [
        ("is it big?", "no"),
        ("What colour is it?", "brown"),
    ]
    assert said[3] is None and isinstance(user, SimulatedUser)


def test_any_list_of_turns_can_be_replayed() -> None:
    user = RecordedUser({"a.jpg": [Say("a dog")]})
    assert user.reply("a.jpg", Screen((), None, 0)) == Say("a dog")
    with pytest.raises(UnknownName, match=r"b\.jpg: no dialogue about this picture was recorded; there are 1"):
        user.reply("b.jpg", Screen((), None, 0))


def test_a_rewritten_dialogue_is_said_as_whole_queries() -> None:
    dialogue = Dialogue("a.jpg", "a dog", (), ("a dog", "a big dog"), rewritten=True)
    assert dialogue_turns(dialogue) == (Say("a dog"), Say("a big dog"))


def test_half_rounds_are_taken_as_they_are() -> None:
    turns = dialogue_turns(make_dialogue("a.jpg", "a dog", [Round("", "on a sofa"), Round("is it big?", "")]))
    assert turns[1] == Say("on a sofa")
    assert isinstance(turns[2], Answer) and turns[2].text == "don't know"


@pytest.mark.data
@pytest.mark.skipif(not CHATIR.is_dir(), reason="../shared/data/chatir is not there")
def test_released_dialogues_are_replayed_word_for_word() -> None:
    file = next(file for file in sorted((CHATIR / "dialogues").glob("*.json")) if "HUMAN" in file.name.upper())
    dialogues = read_dialogues(file)[0][:50]
    user = RecordedUser({dialogue.image: dialogue_turns(dialogue) for dialogue in dialogues})
    for dialogue in dialogues:
        said = [user.reply(dialogue.image, Screen((), None, at)) for at in range(12)]
        assert said[0] == Say(dialogue.caption) and said[11] is None and None not in said[:11]
