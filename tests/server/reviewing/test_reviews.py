from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from viewfinder.data.chatsearch import ChatTurn, ImageItem, Review, TextItem, Verdict, read_reviews, review_file
from viewfinder.errors import BadInput
from viewfinder.server.problems import Problem
from viewfinder.studies.reviewing.reviews import Reviews, open_reviews


@pytest.fixture
def reviews(dialogues: Path) -> Iterator[Reviews]:
    with open_reviews(dialogues, None, print) as opened:
        yield opened


def reworded(reviews: Reviews, name: str, last: str) -> Review:
    sample, _ = reviews.sample(name)
    turns = (*sample.turns[:-1], ChatTurn("user", (TextItem(last),)))
    return Review(name, "rewritten", turns)


def test_dialogues_come_in_the_order_of_their_file_with_what_was_decided(reviews: Reviews) -> None:
    reviews.decide(Review("m-3", "rejected"), None)
    assert [sample.id for sample, _ in reviews.all()] == ["m-1", "m-2", "m-3", "t-1", "t-2", "i/1"]
    assert [review and review.verdict for _, review in reviews.all()] == [None, None, "rejected", None, None, None]


def test_a_decision_is_in_the_journal_when_it_is_answered(reviews: Reviews, dialogues: Path) -> None:
    reviews.decide(Review("m-1", "accepted", note="fine"), None)
    assert read_reviews(review_file(dialogues)) == {"m-1": Review("m-1", "accepted", note="fine")}


def test_what_is_decided_is_there_when_the_file_is_opened_again(dialogues: Path) -> None:
    rounds: list[tuple[Verdict, Verdict | None]] = [("accepted", None), ("rejected", "accepted")]
    for verdict, before in rounds:
        with open_reviews(dialogues, None, print) as opened:
            known = opened.sample("m-1")[1]
            assert (known and known.verdict) == before
            opened.decide(Review("m-1", verdict), before)
    with open_reviews(dialogues, None, print) as opened:
        assert opened.sample("m-1")[1] == Review("m-1", "rejected")


def test_who_saw_an_older_decision_is_told_of_the_newer(reviews: Reviews) -> None:
    reviews.decide(Review("m-1", "accepted", by="anna"), None)
    with pytest.raises(Problem, match="anna has decided about this dialogue in the meantime: accepted") as caught:
        reviews.decide(Review("m-1", "rejected"), None)
    assert caught.value.status == 409
    assert reviews.sample("m-1")[1] == Review("m-1", "accepted", by="anna")


def test_of_many_who_decide_at_once_one_does(reviews: Reviews) -> None:
    refused: list[Problem] = []

    def decide(number: int) -> None:
        try:
            reviews.decide(Review("m-1", "accepted", by=str(number)), None)
        except Problem as problem:
            refused.append(problem)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 7
    assert len(review_file(reviews.file).read_text(encoding="utf-8").splitlines()) == 1


def test_other_words_are_kept_in_place_of_the_old(reviews: Reviews) -> None:
    review = reworded(reviews, "m-2", "but green below")
    reviews.decide(review, None)
    reviews.decide(Review("t-1", "accepted"), None)
    reviews.decide(Review("t-2", "rejected"), None)
    kept = reviews.kept()
    assert [sample.id for sample in kept] == ["m-2", "t-1"]
    assert kept[0] == replace(reviews.sample("m-2")[0], turns=review.turns)


def test_a_rewriting_keeps_speakers_and_pictures(reviews: Reviews) -> None:
    first, second, last = reviews.sample("m-1")[0].turns
    silent = ChatTurn("assistant", (TextItem("like this?"),))
    other = ChatTurn("assistant", (TextItem("like this?"), ImageItem("images/other.png")))
    for turns in ((first, silent, last), (first, other, last), (first, last), (last,)):
        with pytest.raises(BadInput, match="dialogue m-1: only words can be rewritten"):
            reviews.decide(Review("m-1", "rewritten", turns), None)
    shown = ChatTurn("assistant", tuple(item for item in second.content if isinstance(item, ImageItem)))
    reviews.decide(Review("m-1", "rewritten", (first, shown, last)), None)


def test_a_rewriting_that_changes_nothing_is_refused(reviews: Reviews) -> None:
    with pytest.raises(BadInput, match="this is what it says already; accept it"):
        reviews.decide(Review("m-1", "rewritten", reviews.sample("m-1")[0].turns), None)


def test_only_pictures_that_are_named_are_given(reviews: Reviews, dialogues: Path) -> None:
    name = reviews.sample("m-1")[0].target
    assert reviews.picture(name) == dialogues.parent.parent / name
    for other in ("chatsearch/made_train.jsonl", "images/../images/0.png", "/etc/passwd", "images/none.png"):
        with pytest.raises(Problem, match="there is no picture"):
            reviews.picture(other)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", "images/../../secret.png"])
def test_a_picture_that_is_named_outside_the_folder_is_not_given(reviews: Reviews, name: str) -> None:
    samples = [replace(sample, target=name) for sample, _ in reviews.all()]
    with pytest.raises(Problem, match="there is no picture"):
        Reviews(reviews.file, reviews.images, samples, {}).picture(name)


def test_two_processes_do_not_review_the_same_file(reviews: Reviews, dialogues: Path) -> None:
    assert reviews.all()
    with (
        pytest.raises(BadInput, match="another `viewfinder review` has this file open"),
        open_reviews(dialogues, None, print),
    ):
        pass


def test_pictures_that_are_not_there_are_told_and_all_of_them_refused(dialogues: Path, tmp_path: Path) -> None:
    told: list[str] = []
    next((tmp_path / "data" / "images").iterdir()).unlink()
    with open_reviews(dialogues, None, told.append):
        pass
    assert len(told) == 1
    assert "1 of the pictures are not there" in told[0]
    with (
        pytest.raises(BadInput, match="name their folder with --images"),
        open_reviews(dialogues, tmp_path, told.append),
    ):
        pass


def test_a_line_that_a_crash_cut_short_is_told(dialogues: Path) -> None:
    review_file(dialogues).write_text('{"id": "m-1", "verdict": "accepted"}\n{"id": "m-2", "ver', encoding="utf-8")
    told: list[str] = []
    with open_reviews(dialogues, None, told.append) as opened:
        assert opened.sample("m-1")[1] == Review("m-1", "accepted")
        opened.decide(Review("m-2", "rejected"), None)
    assert "cut short" in told[0]
    assert [*read_reviews(review_file(dialogues))] == ["m-1", "m-2"]


def test_a_file_without_dialogues_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("", encoding="utf-8")
    with (
        pytest.raises(BadInput, match="no dialogue is in this file"),
        open_reviews(tmp_path / "none.jsonl", None, print),
    ):
        pass
