"""The pipelines over parts that can be followed by hand: captions are letters, likeness is their distance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from viewfinder.construction.pipelines import (
    FoundPicture,
    ImageTextPair,
    PipelineParts,
    SampleNotMade,
    TwoRounds,
    make_reference_image_sample,
    make_reference_text_samples,
    make_text_sample,
    merge_samples,
)
from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, TextItem

LETTERS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Letters:
    """Writes, finds and describes letters: `a` is as like `b` as they are near."""

    name: str = "letters"
    images: tuple[str, ...] = tuple(LETTERS)

    def write_dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        return said("user", f"about {target.caption}"), said("assistant", "More?"), said("user", "show me")

    def write_instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        return f"from {reference.caption} to {target.caption}"

    def write_two_rounds(self, target: ImageTextPair) -> TwoRounds:
        other = LETTERS[LETTERS.index(target.image) + 1]
        return TwoRounds(f"something like {target.caption}", f"letter {other}", f"rather {target.caption}")

    def find_nearest(self, image: str, most: int) -> list[FoundPicture]:
        others = [FoundPicture(other, 1 - abs(ord(other) - ord(image)) / 20) for other in LETTERS if other != image]
        return sorted(others, key=lambda found: -found.likeness)[:most]

    def find_best(self, text: str, *, without: str) -> FoundPicture:
        return FoundPicture(text.removeprefix("letter "), 0.75)

    def caption(self, image: str) -> str:
        return f"letter {image}"


def said(role: str, text: str, image: str = "") -> ChatTurn:
    items = (TextItem(text), ImageItem(image)) if image else (TextItem(text),)
    return ChatTurn("user" if role == "user" else "assistant", items)


PARTS = PipelineParts(Letters(), Letters(), Letters(), threshold=0.6)
A = ImageTextPair("a", "letter a")


def test_a_text_dialogue_leads_to_its_picture() -> None:
    sample = make_text_sample(3, A, PARTS)
    assert (sample.id, sample.subtask, sample.target) == ("text-000003", "tChat", "a")
    assert sample.source == {"pipeline": "text", "caption_target": "letter a"}


def test_a_target_is_one_of_the_ten_nearest_that_are_like_the_reference_enough() -> None:
    # 0.6 is 8 letters away: b ... i; with another seed another one.
    drawn = {make_reference_image_sample(0, A, replace(PARTS, seed=seed)).target for seed in range(60)}
    assert drawn == set("bcdefghi")
    ten = {make_reference_image_sample(0, A, replace(PARTS, threshold=0.0, seed=seed)).target for seed in range(60)}
    assert ten == set("bcdefghijk")


def test_the_user_shows_the_reference_and_says_the_difference() -> None:
    sample = make_reference_image_sample(0, A, replace(PARTS, threshold=0.95))
    assert sample.turns == (ChatTurn("user", (ImageItem("a"), TextItem("from letter a to letter b"))),)
    assert sample.target == "b"
    assert sample.source == {
        "pipeline": "mdc-i", "caption_ref": "letter a", "caption_target": "letter b", "likeness": 0.95
    }  # fmt: skip


def test_copies_of_the_reference_are_no_targets() -> None:
    assert make_reference_image_sample(0, A, replace(PARTS, threshold=0.9, ceiling=0.94)).target == "c"
    with pytest.raises(SampleNotMade, match="a copy of it"):
        make_reference_image_sample(0, A, replace(PARTS, threshold=0.95, ceiling=0.94))
    with pytest.raises(SampleNotMade, match="like the reference enough"):
        make_reference_image_sample(0, A, replace(PARTS, threshold=0.99))


def test_two_rounds_show_the_picture_that_is_found_for_the_caption_of_the_first() -> None:
    whole, single = make_reference_text_samples(1, A, PARTS, {"mdc-t", "mdc-t-single"})
    first, answer, last = whole.turns
    assert (first, last) == (said("user", "something like letter a"), said("user", "rather letter a"))
    assert answer.role == "assistant" and answer.content[-1] == ImageItem("b")
    assert single.turns == (ChatTurn("user", (ImageItem("b"), TextItem("rather letter a"))),)
    assert [(one.subtask, one.target) for one in (whole, single)] == [("mChat", "a"), ("iChat", "a")]
    assert whole.source["caption_ref"] == "letter b"


def test_only_the_form_that_is_asked_for_is_made() -> None:
    assert [one.id for one in make_reference_text_samples(1, A, PARTS, {"mdc-t-single"})] == ["mdc-t-single-000001"]


def test_a_text_dialogue_goes_on_with_a_sample_that_begins_with_its_picture() -> None:
    texts = [make_text_sample(at, ImageTextPair(name, f"letter {name}"), PARTS) for at, name in enumerate("ab")]
    single = make_reference_image_sample(9, A, replace(PARTS, threshold=0.95))
    [sample] = merge_samples(texts, [single], PARTS)
    assert sample.turns[:3] == texts[0].turns
    assert sample.turns[3].content[-1] == ImageItem("a")
    assert sample.turns[4] == said("user", "from letter a to letter b")
    assert (sample.id, sample.subtask, sample.target) == ("merge-000000", "mChat", "b")
    assert sample.source["of"] == ["text-000000", "mdc-i-000009"]


def test_what_is_drawn_does_not_depend_on_what_else_is_made() -> None:
    texts = [make_text_sample(at, ImageTextPair(name, f"letter {name}"), PARTS) for at, name in enumerate("abc")]
    singles: list[ChatSample] = []
    for at, name in enumerate("abc"):
        own = ImageTextPair(name, f"letter {name}")
        singles += [
            make_reference_image_sample(at, own, PARTS),
            *make_reference_text_samples(at, own, PARTS, {"mdc-t-single"}),
        ]
    together = {sample.id: sample for sample in merge_samples(texts, singles, PARTS)}
    assert [*merge_samples(texts[:1], singles, PARTS)] == [together["merge-000000"]]
