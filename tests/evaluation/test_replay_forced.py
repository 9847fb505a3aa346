"""Systems that may answer in words show pictures when they are measured: replayed, and with a user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viewfinder.conversation import Say
from viewfinder.evaluation.plan import SearchDialogue, Task
from viewfinder.evaluation.replay import RankTable, replay_task
from viewfinder.evaluation.simulate import simulate_dialogues
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.testing import COLOURS, ColourEncoder, tiny_snapshot
from viewfinder.users import Screen

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS]
GALLERY = Gallery(tiny_snapshot(LOOKS), ColourEncoder())
SAID = (Say("something red"), Say("is it red over blue?"))
TARGET = LOOKS.index(("red", "blue"))


class Wondering:
    """Says the same to whoever searches."""

    name = "wondering"

    def reply(self, wanted: str, screen: Screen) -> Say | None:
        return SAID[screen.round] if screen.round < len(SAID) else None


def task() -> Task:
    dialogue = SearchDialogue("one", f"p{TARGET:03}", SAID)
    return Task("test", "", "all", tuple(GALLERY.snapshot.ids), (dialogue,), ("R@1",), rounds=2)


def ranks(table: RankTable) -> list[float]:
    return [float(rank) for rank in table.worst_st[0]]


def test_recorded_dialogues_rank_what_a_question_asks_for(talker: Callable[..., Any]) -> None:
    words = talker(-100.0)
    said, asked = ranks(replay_task(task(), GALLERY, words))
    assert [said, asked] == ranks(replay_task(task(), GALLERY, Composer()))
    assert asked < said  # in words, the second turn would have changed nothing
    assert (words.picture_bias, words.written) == (-100.0, [])


def test_users_have_pictures_for_an_answer(talker: Callable[..., Any]) -> None:
    table, [held] = simulate_dialogues(task(), GALLERY, talker(-100.0), Wondering())
    assert ranks(table) == ranks(replay_task(task(), GALLERY, Composer()))
    assert held.conversation.nodes[2].shown != held.conversation.nodes[1].shown
