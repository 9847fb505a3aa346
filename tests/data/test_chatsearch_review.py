from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.chatsearch import (
    ChatSample,
    ChatTurn,
    ImageItem,
    Review,
    TextItem,
    Verdict,
    add_review,
    apply_reviews,
    read_reviews,
    review_file,
)
from viewfinder.errors import BadInput

TURNS = (ChatTurn("user", (ImageItem("ref.jpg"), TextItem("the same, but at night"))),)


def _sample(name: str) -> ChatSample:
    return ChatSample(name, "iChat", (ChatTurn("user", (ImageItem("ref.jpg"), TextItem("as it was"))),), "target.jpg")


def test_the_journal_lies_beside_the_dialogues() -> None:
    assert review_file(Path("a/mChat_test.jsonl")) == Path("a/mChat_test.review.jsonl")


def test_nothing_is_decided_before_there_is_a_journal(tmp_path: Path) -> None:
    assert read_reviews(tmp_path / "none.review.jsonl") == {}


def test_decisions_come_back_as_they_were_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "x.review.jsonl"
    made = [Review("a", "accepted", by="anna"), Review("b", "rejected", note="dull"), Review("c", "rewritten", TURNS)]
    for review in made:
        add_review(file, review)
    assert list(read_reviews(file).values()) == made


def test_the_last_decision_about_a_dialogue_counts(tmp_path: Path) -> None:
    file = tmp_path / "x.review.jsonl"
    for review in (Review("a", "accepted"), Review("b", "accepted"), Review("a", "rejected")):
        add_review(file, review)
    assert [(name, review.verdict) for name, review in read_reviews(file).items()] == [
        ("b", "accepted"),
        ("a", "rejected"),
    ]


@given(cut=st.integers(0, 400), note=st.text(max_size=20))
def test_wherever_a_crash_cuts_the_file_every_earlier_decision_is_kept(
    tmp_path_factory: pytest.TempPathFactory, cut: int, note: str
) -> None:
    file = tmp_path_factory.mktemp("reviews") / "x.review.jsonl"
    add_review(file, Review("a", "rewritten", TURNS, note))
    acknowledged = len(file.read_bytes())
    add_review(file, Review("b", "rejected", note=note))
    file.write_bytes(file.read_bytes()[: acknowledged + cut])
    add_review(file, Review("c", "accepted"))
    found = read_reviews(file)
    assert found["a"] == Review("a", "rewritten", TURNS, note)
    assert [*found][-1] == "c"


def test_a_line_cut_short_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.review.jsonl"
    add_review(file, Review("a", "accepted"))
    file.write_bytes(file.read_bytes() + b'{"id": "b", "verd')
    told: list[str] = []
    assert [*read_reviews(file, notify=told.append)] == ["a"]
    assert len(told) == 1
    assert 'cut short and does not count ({"id": "b", "verd)' in told[0]


def test_a_whole_last_line_without_its_end_counts(tmp_path: Path) -> None:
    file = tmp_path / "x.review.jsonl"
    file.write_text('{"id": "a", "verdict": "accepted"}', encoding="utf-8")
    add_review(file, Review("b", "rejected"))
    assert [*read_reviews(file)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{oops}", "line 1, column 2: damaged JSON"),
        ('{"id": "a", "verdict": "fine"}', "line 1, verdict: one of accepted, rejected, rewritten is needed"),
        ('{"id": "a", "verdict": "rewritten"}', "line 1: field 'turns' is needed"),
        ('{"id": "a", "verdict": "rewritten", "turns": []}', "line 1, turns: the last turn must be the user's"),
        ('{"verdict": "accepted"}', "line 1: field 'id' is needed"),
        ('{"id": "a", "verdict": "accepted", "note": 3}', "line 1: field 'note' is needed"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    file = tmp_path / "x.review.jsonl"
    file.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"x\.review\.jsonl") as caught:
        read_reviews(file)
    assert complaint in str(caught.value)


def test_only_a_rewritten_dialogue_has_new_turns() -> None:
    cases: list[tuple[Verdict, Any]] = [("accepted", TURNS), ("rejected", TURNS), ("rewritten", ())]
    for verdict, turns in cases:
        with pytest.raises(BadInput, match="review of a: the new turns belong to the verdict 'rewritten'"):
            Review("a", verdict, turns)


def test_new_turns_end_with_the_user() -> None:
    with pytest.raises(BadInput, match="review of a: the last turn must be the user's"):
        Review("a", "rewritten", (ChatTurn("assistant", (TextItem("hello"),)),))


def test_what_was_accepted_and_rewritten_is_kept_in_the_order_of_the_dialogues() -> None:
    samples = [_sample(name) for name in "abcd"]
    reviews = {
        "d": Review("d", "accepted"),
        "b": Review("b", "rewritten", TURNS),
        "a": Review("a", "rejected"),
        "elsewhere": Review("elsewhere", "accepted"),
    }
    kept = apply_reviews(samples, reviews)
    assert [sample.id for sample in kept] == ["b", "d"]
    assert kept[0].turns == TURNS
    assert kept[1] == samples[3]
