from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, BackTo, Like, Question, Reject, Say, Turn
from viewfinder.encoders.features import Features
from viewfinder.evaluation import SearchDialogue, Task, replay_task
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.retrievers import Retriever
from viewfinder.session.session import Session
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves

NAMES = [f"{top}-{bottom}" for top in COLOURS for bottom in COLOURS]
DIALOGUES: dict[str, tuple[Turn, ...]] = {
    "green-blue": (Say("green over blue"), Say("blue"), Say("not red")),
    "red-red": (Say("something red"), Like("red-green", "red"), Reject(("red-blue",), "")),
    "white-black": (Like("white-white"), Answer(Question("is it black?"), "yes"), Reject((), "green")),
}


def colours(copies: int = 1) -> Pictures:
    """Every pair of colours, `copies` times under other names."""
    encoder = ColourEncoder()
    keys = sorted(f"{name}{'+' * copy}" for name in NAMES for copy in range(copies))
    looks = [key.rstrip("+").split("-") for key in keys]
    seen = encoder.pictures([draw_halves(top, bottom) for top, bottom in looks], regions=True)
    assert seen.regions_brd is not None
    rows = {key: row for row, key in enumerate(keys)}
    raw = Features(tuple(rows), seen.global_bd, encoder.raw_version, seen.regions_brd.astype(np.float16))
    return Pictures(tuple(keys), encoder.project(seen.global_bd), encoder, raw=raw)


def task(gallery: tuple[str, ...], dialogues: dict[str, tuple[Turn, ...]] = DIALOGUES) -> Task:
    told = tuple(SearchDialogue(target, target, turns) for target, turns in dialogues.items())
    return Task("test", "", "all", gallery, told, ("R@1",))


def live_bounds(pictures: Pictures, retriever: Retriever[Any], dialogue: SearchDialogue) -> list[tuple[int, int]]:
    """The slow, obvious way: a session as a person has it."""
    gallery = pictures.gallery()
    session = Session(gallery, retriever, None, memo=ByteCache(2))
    found = []
    for turn in dialogue.turns:
        session.take(turn)
        if not isinstance(turn, BackTo):  # going back has no rank
            found.append(session.rank_bounds(dialogue.target))
    return found


@pytest.mark.parametrize("system", ["composer", "clip-t", "clip-i", "clip-ti", "random"])
def test_replayed_ranks_are_those_of_a_live_session(system: str) -> None:
    pictures = colours(copies=2)
    asked = task(pictures.keys)
    # A bare "none of these" means what was shown, and a replay shows nothing: it is not in these dialogues.
    table = replay_task(asked, pictures.gallery(), load_system(system))
    for row, dialogue in enumerate(asked.dialogues):
        live = live_bounds(pictures, load_system(system), dialogue)
        assert list(zip(table.best_st[row], table.worst_st[row], strict=True)) == live


@pytest.mark.parametrize("compare", ["late_interaction", "rank_fusion"])
def test_replayed_ranks_of_region_queries_are_those_of_a_live_session(
    looking: Callable[..., Retriever[Any]], compare: str
) -> None:
    pictures, retriever = colours(copies=2), looking(compare=compare)
    asked = task(pictures.keys, {**DIALOGUES, "blue-white": (Say("blue"), BackTo(0), Say("blue over white"))})
    table = replay_task(asked, pictures.gallery(), retriever)
    for row, dialogue in enumerate(asked.dialogues):
        live = live_bounds(pictures, retriever, dialogue)
        judged = ~np.isnan(table.best_st[row])
        assert list(zip(table.best_st[row, judged], table.worst_st[row, judged], strict=True)) == live


def test_ranks_are_fused_among_the_tasks_gallery_alone(looking: Callable[..., Retriever[Any]]) -> None:
    few = ("blue-blue", "green-green", "green-red", "red-red")
    dialogues: dict[str, tuple[Turn, ...]] = {"green-red": (Say("red"), Say("green"))}
    retriever = looking(compare="rank_fusion")
    among_all = replay_task(task(few, dialogues), colours().gallery(), retriever)
    alone = replay_task(task(few, dialogues), colours().gallery(few), retriever)
    # By "red": red-red, green-red, then the others; by "green": green-green, green-red, then the others: 2 + 2 against
    # 1 + 3 or more, so the picture of both colours comes first or ties.
    assert (among_all.best_st[0, 1], among_all.worst_st[0, 1]) == (alone.best_st[0, 1], alone.worst_st[0, 1])
    assert among_all.best_st[0, 1] == 0


def test_subset_ranks_of_region_queries_count_the_subset_alone(looking: Callable[..., Retriever[Any]]) -> None:
    dialogue = SearchDialogue("a", "red-red", (Say("red"),), among=("red-red", "blue-blue"), leaves_out=("red-green",))
    table = replay_task(Task("t", "", "all", tuple(NAMES), (dialogue,), ("R@1",)), colours().gallery(), looking())
    assert table.subset_best_st is not None
    assert (table.subset_best_st[0, 0], table.best_st[0, 0]) == (0, 0)


def test_only_the_tasks_gallery_is_ranked() -> None:
    pictures = colours()
    few = ("red-red", "green-blue", "white-black")
    table = replay_task(task(few), pictures.gallery(), load_system("composer"))
    assert table.gallery_size == 3
    assert table.worst_st.max() <= 2


def test_copies_of_the_target_tie_with_it() -> None:
    table = replay_task(
        task(colours(3).keys, {"red-red": (Say("red over red"),)}), colours(3).gallery(), load_system("clip-t")
    )
    assert (table.best_st[0, 0], table.worst_st[0, 0]) == (0, 2)


def test_going_back_says_nothing_new_and_forgets_what_came_since() -> None:
    turns = (Say("green over blue"), BackTo(0), Say("red over red"))
    table = replay_task(task(tuple(NAMES), {"red-red": turns}), colours().gallery(), load_system("composer"))
    alone = replay_task(
        task(tuple(NAMES), {"red-red": (Say("red over red"),)}), colours().gallery(), load_system("composer")
    )
    assert table.best_st.shape == (1, 2)
    assert table.best_st[0, 1] == alone.best_st[0, 0] == 0


def test_a_shorter_dialogue_has_no_rank_for_turns_it_lacks() -> None:
    dialogues: dict[str, tuple[Turn, ...]] = {"red-red": (Say("red"),), "green-blue": (Say("green"), Say("blue"))}
    table = replay_task(task(tuple(NAMES), dialogues), colours().gallery(), load_system("composer"))
    assert np.isnan(table.best_st).tolist() == [[False, True], [False, False]]


def test_each_turn_may_have_a_target_of_its_own() -> None:
    dialogue = SearchDialogue("a", "red-red", (Say("green over blue"), Say("red over red")), ("green-blue", "red-red"))
    asked = Task("test", "", "all", tuple(NAMES), (dialogue,), ("R@1",))
    table = replay_task(asked, colours().gallery(), load_system("clip-t"))
    assert table.best_st[0, 0] == 0


def test_subset_ranks_count_the_subset_alone_and_leave_the_reference_out() -> None:
    dialogue = SearchDialogue(
        "a", "red-red", (Like("red-green", "red"),), among=("red-red", "blue-blue"), leaves_out=("red-green",)
    )
    asked = Task("test", "", "all", tuple(NAMES), (dialogue,), ("R_subset@1",))
    table = replay_task(asked, colours().gallery(), load_system("clip-i"))
    assert table.subset_best_st is not None
    assert table.subset_best_st[0, 0] == 0
    unlike = replay_task(
        Task("t", "", "all", tuple(NAMES), (SearchDialogue("a", "red-red", dialogue.turns),), ("R@1",)),
        colours().gallery(),
        load_system("clip-i"),
    )
    assert unlike.worst_st[0, 0] == table.worst_st[0, 0] + 1  # the reference itself came first


def test_random_choice_finds_as_much_as_chance() -> None:
    dialogues: dict[str, tuple[Turn, ...]] = {name: tuple(Say(f"turn {turn}") for turn in range(5)) for name in NAMES}
    table = replay_task(task(tuple(NAMES), dialogues), colours().gallery(), load_system("random", seed=3))
    assert abs(table.best_st.mean() / (len(NAMES) - 1) - 0.5) < 0.05
