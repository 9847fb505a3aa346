from __future__ import annotations

from dataclasses import replace

from viewfinder.conversation import BackTo, Like, Reject, Say
from viewfinder.evaluation import SearchDialogue, Task


def task(*dialogues: SearchDialogue, gallery: tuple[str, ...] = ("a", "b", "c")) -> Task:
    return Task("test", "", "all", gallery, dialogues, ("R@1",))


def test_pictures_are_renamed_everywhere() -> None:
    dialogue = SearchDialogue(
        "1", "a", (Like("b", "red"), Reject(("c",))), ("b", "a"), among=("a", "b"), leaves_out=("b",)
    )
    renamed = task(dialogue).renamed({"a": "A", "b": "B", "c": "C"})
    [found] = renamed.dialogues
    assert renamed.gallery == ("A", "B", "C")
    assert found == SearchDialogue(
        "1", "A", (Like("B", "red"), Reject(("C",))), ("B", "A"), among=("A", "B"), leaves_out=("B",)
    )


def test_captions_follow_their_pictures_to_new_names() -> None:
    described = replace(task(), captions={"a": "a dog", "b": "a cat", "lost": "a bird"})
    assert described.renamed({"a": "A", "b": "B", "c": "C"}).captions == {"A": "a dog", "B": "a cat"}


def test_a_dialogue_that_names_a_lost_picture_goes() -> None:
    renamed = task(SearchDialogue("1", "a", (Like("b"),)), SearchDialogue("2", "a", (Say("x"),))).renamed(
        {"a": "a", "c": "c"}
    )
    assert [dialogue.id for dialogue in renamed.dialogues] == ["2"]
    assert renamed.gallery == ("a", "c")


def test_a_target_outside_the_gallery_goes() -> None:
    assert not task(SearchDialogue("1", "d", (Say("x"),))).renamed({"a": "a", "d": "d"}).dialogues


def test_going_back_is_not_judged() -> None:
    assert SearchDialogue("1", "a", (Say("x"), BackTo(0), Say("y"))).judged == 2


def test_the_title_leaves_out_what_is_empty() -> None:
    assert task().title == "test, all"
