"""The way of dialogues through the network: which picture each turn reads, what is carried, and what is recalled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from viewfinder.retrievers.mai.inputs import PictureComponents
from viewfinder.retrievers.mai.network import (
    NOWHERE,
    CaptionedGallery,
    FusedTokens,
    MaiNetwork,
    ModificationDialogues,
    encode_dialogues,
    recall_pictures,
    select_reference,
)
from viewfinder.retrievers.mai.settings import MemoryKind, Model, Treatment
from viewfinder.testing import RAW_WIDTH

Make = Callable[[Model], MaiNetwork]

SMALL: dict[str, Any] = {
    "width": 12, "heads": 2, "hidden": 16, "tokens": 3, "prompts": 2, "projection": 8, "components": 5,
    "region_components": 2, "image": "both", "most_words": 4,
}  # fmt: skip
PICTURES, WORDS = 10, 18


def model_of(stages: str = "two", **options: Any) -> Model:
    return Model(**SMALL | {"stages": stages, "captions": stages == "two"} | options)


def shelf_of(made: MaiNetwork) -> CaptionedGallery:
    """Ten pictures at random, with captions of two to four words."""
    chance = torch.Generator().manual_seed(2)
    raw_ng = torch.randn(PICTURES, RAW_WIDTH, generator=chance)
    regions_nre = torch.randn(PICTURES, 4, 3, generator=chance).half()
    captions_nl = torch.randint(1, WORDS + 1, (PICTURES, 4), generator=chance)
    captions_nl[::2, 2:] = 0
    return CaptionedGallery(made.images.components(raw_ng.numpy(), regions_nre.numpy()), captions_nl)


def dialogues_of(back: list[int], recalls: list[list[int]], turns: int = 3) -> ModificationDialogues:
    """A dialogue for each: where it goes back to, and what it recalls. Talk k is about pictures k, k + 1, ..."""
    chance, count = torch.Generator().manual_seed(3), len(back)
    recalled_bp = torch.tensor([[place in places for place in range(turns + 1)] for places in recalls])
    recall_bl = torch.randint(1, WORDS + 1, (count, 4), generator=chance) * recalled_bp.any(dim=1)[:, None]
    return ModificationDialogues(
        pictures_bp=(torch.arange(count)[:, None] + torch.arange(turns + 1)) % PICTURES,
        words_bnl=torch.randint(0, WORDS + 1, (count, turns, 4), generator=chance).sort(dim=2, descending=True).values,
        seen_bp=torch.ones(count, turns + 1, dtype=torch.bool),
        captioned_bp=torch.ones(count, turns + 1, dtype=torch.bool),
        back_b=torch.tensor(back),
        recalled_bp=recalled_bp,
        recall_bl=recall_bl,
        drawn_b=torch.arange(count) % 2,
    )


def queries(made: MaiNetwork, dialogues: ModificationDialogues) -> Float[Tensor, "n b d"]:
    with torch.no_grad():
        return torch.stack([turned.queries_bd for turned in encode_dialogues(made, shelf_of(made), dialogues)])


LINE = CaptionedGallery(
    PictureComponents(torch.arange(10.0)[:, None], torch.zeros(10, 1, 0)), torch.arange(100, 110)[:, None]
)
"""Picture k is the number k, and its caption the word 100 + k."""


def read_of(dialogues: ModificationDialogues, turn: int, treatment: Treatment) -> list[tuple[float, int]]:
    """What is read of each dialogue at a turn: the picture's number, and its caption's."""
    looks, captions_bl = select_reference(LINE, dialogues, turn, treatment)
    return list(zip(looks.whole_bx[:, 0].tolist(), captions_bl[:, 0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("treatment", "last"),
    [
        ("replace", [(0, 100), (2, 102), (4, 104)]),  # the first picture; the second; where it is
        ("ignore", [(2, 102), (3, 103), (4, 104)]),
        ("random", [(0, 100), (2, 102), (4, 104)]),  # what was drawn: the first, and the second
        ("blend", [(1, 100), (2.5, 102), (4, 104)]),  # (0 + 2) / 2 and (2 + 3) / 2
    ],
)
def test_the_last_turn_reads_the_picture_it_goes_back_to(treatment: Treatment, last: list[tuple[float, int]]) -> None:
    dialogues = dialogues_of([0, 1, NOWHERE], [[], [], []])
    assert read_of(dialogues, 2, treatment) == last
    assert read_of(dialogues, 0, treatment) == [(0, 100), (1, 101), (2, 102)]
    assert read_of(dialogues, 1, treatment) == [(1, 101), (2, 102), (3, 103)]


def test_random_goes_where_was_drawn_not_where_was_said() -> None:
    dialogues = dialogues_of([1, 0], [[], []])
    assert read_of(dialogues, 2, "replace") == [(1, 101), (1, 101)]
    assert read_of(dialogues, 2, "random") == [(0, 100), (2, 102)]


def test_of_what_is_not_seen_zeros_are_read_and_of_what_is_not_captioned_nothing() -> None:
    dialogues = dialogues_of([0, 0, NOWHERE], [[], [], []])
    dialogues.seen_bp[0, 0], dialogues.captioned_bp[1, 0], dialogues.seen_bp[2, 2] = False, False, False
    assert read_of(dialogues, 2, "replace") == [(0, 100), (1, 0), (0, 104)]
    looks, _ = select_reference(
        CaptionedGallery(PictureComponents(torch.ones(10, 2), torch.ones(10, 3, 2)), LINE.captions_nl),
        dialogues,
        2,
        "replace",
    )
    assert looks.regions_bry.amax(dim=(1, 2)).tolist() == [0.0, 1.0, 0.0]
    assert looks.whole_bx.amax(dim=1).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "options",
    [{"memory": kind} for kind in get_args(MemoryKind)]
    + [{"rollback": treatment} for treatment in ("ignore", "random", "blend")]
    + [{"recall": "pictures"}, {"stages": "one"}, {"stages": "sprc"}, {"query": "fused"}, {"image": "whole"}]
    + [{"combination": "official_fc"}, {"combination": "official_fiq"}, {"stages": "sprc", "captions": True}],
    ids=str,
)
def test_a_batch_is_each_dialogue_alone(network_of: Make, options: dict[str, Any]) -> None:
    made = network_of(model_of(**options))
    dialogues = dialogues_of([NOWHERE, 0, 1], [[0, 1], [], []])
    dialogues.seen_bp[2, 0], dialogues.captioned_bp[0, 1] = False, False
    together_nbd = queries(made, dialogues)
    for dialogue in range(3):
        alone_n1d = queries(made, ModificationDialogues(*(part[dialogue : dialogue + 1] for part in dialogues)))
        assert torch.allclose(together_nbd[:, dialogue], alone_n1d[:, 0], atol=1e-4)


def passes(made: MaiNetwork, dialogues: ModificationDialogues) -> Callable[..., FusedTokens]:
    """Reads by hand: tokens, a text by its words, and a picture of all dialogues by its place, or none."""
    shelf = shelf_of(made)

    def read(tokens_bth: Tensor, words_bl: Tensor, place: int | None) -> FusedTokens:
        image = None if place is None else made.images(shelf.pictures.take(dialogues.pictures_bp[:, place]))
        return made.fuse(tokens_bth, made.text(words_bl), image)

    return read


@torch.no_grad()
def test_a_turn_in_two_stages_reads_the_caption_with_the_picture_then_what_is_said(network_of: Make) -> None:
    made = network_of(model_of(memory="concatenation"))
    dialogues = dialogues_of([NOWHERE] * 2, [[], []], turns=2)
    read, captions_nl, learned = passes(made, dialogues), shelf_of(made).captions_nl, made.learned.expand(2, -1, -1)
    first = read(learned, captions_nl[dialogues.pictures_bp[:, 0]], 0).tokens_bth
    second = read(torch.cat([learned, first], dim=1), captions_nl[dialogues.pictures_bp[:, 1]], 1).tokens_bth
    expected = [made.encode_queries(read(first, dialogues.words_bnl[:, 0], None))]
    expected.append(made.encode_queries(read(second, dialogues.words_bnl[:, 1], None)))
    assert torch.allclose(queries(made, dialogues), torch.stack(expected), atol=1e-6)


@torch.no_grad()
def test_a_turn_in_one_stage_reads_what_is_said_with_the_picture(network_of: Make) -> None:
    """SPRC reads it once more, without the picture."""
    dialogues = dialogues_of([NOWHERE] * 2, [[], []], turns=2)
    for stages in ("one", "sprc"):
        made = network_of(model_of(stages, memory="concatenation"))
        read, learned = passes(made, dialogues), made.learned.expand(2, -1, -1)
        first = read(learned, dialogues.words_bnl[:, 0], 0)
        second = read(torch.cat([learned, first.tokens_bth], dim=1), dialogues.words_bnl[:, 1], 1)
        if stages == "sprc":
            first, second = (
                read(one.tokens_bth, dialogues.words_bnl[:, n], None) for n, one in enumerate((first, second))
            )
        expected = torch.stack([made.encode_queries(first), made.encode_queries(second)])
        assert torch.allclose(queries(made, dialogues), expected, atol=1e-6)


@torch.no_grad()
def test_earlier_captions_are_recalled_as_one_text_without_a_picture(network_of: Make) -> None:
    made = network_of(model_of(memory="none"))
    dialogues = dialogues_of([NOWHERE] * 2, [[0, 1], []], turns=2)
    read, captions_nl = passes(made, dialogues), shelf_of(made).captions_nl
    tokens_bth = read(made.learned.expand(2, -1, -1), captions_nl[dialogues.pictures_bp[:, 1]], 1).tokens_bth
    again = read(tokens_bth, dialogues.recall_bl, None).tokens_bth
    with_recall, without = (
        made.encode_queries(read(some, dialogues.words_bnl[:, 1], None)) for some in (again, tokens_bth)
    )
    found_nbd = queries(made, dialogues)
    assert torch.allclose(found_nbd[1, 0], with_recall[0], atol=1e-5)
    assert torch.allclose(found_nbd[1, 1], without[1], atol=1e-5)
    assert not torch.allclose(with_recall[0], without[0], atol=1e-3)


@torch.no_grad()
def test_earlier_pictures_are_recalled_one_after_the_other(network_of: Make) -> None:
    """The first of three recalls two, the second one of them, the third none."""
    made = network_of(model_of(memory="none", recall="pictures"))
    dialogues = dialogues_of([NOWHERE] * 3, [[0, 1], [1], []])
    read, captions_nl = passes(made, dialogues), shelf_of(made).captions_nl

    def tokens_after(tokens_bth: Tensor, place: int) -> Tensor:
        return read(tokens_bth, captions_nl[dialogues.pictures_bp[:, place]], place).tokens_bth

    none = tokens_after(made.learned.expand(3, -1, -1), 2)
    second, both = tokens_after(none, 1), tokens_after(tokens_after(none, 0), 1)
    expected = [made.encode_queries(read(some, dialogues.words_bnl[:, 2], None)) for some in (both, second, none)]
    found_bd = queries(made, dialogues)[2]
    for dialogue in range(3):
        assert torch.allclose(found_bd[dialogue], expected[dialogue][dialogue], atol=1e-5)


@torch.no_grad()
def test_only_what_is_known_of_earlier_pictures_is_recalled(network_of: Make) -> None:
    """Neither picture nor caption of the first is there: what is read is that of a picture of zeros."""
    made = network_of(model_of(memory="none", recall="pictures"))
    dialogues = dialogues_of([NOWHERE], [[0]])
    dialogues.seen_bp[0, 0] = dialogues.captioned_bp[0, 0] = False
    tokens_bth = made.learned.expand(1, -1, -1)
    nothing = PictureComponents(*(torch.zeros_like(part) for part in shelf_of(made).pictures.take(torch.tensor([0]))))
    expected = made.fuse(tokens_bth, made.text(torch.zeros(1, 0, dtype=torch.long)), made.images(nothing)).tokens_bth
    assert torch.allclose(recall_pictures(made, shelf_of(made), dialogues, tokens_bth), expected, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("unread", ["no captions are read", "there are none"])
def test_a_recall_without_captions_changes_nothing(network_of: Make, unread: str) -> None:
    made = network_of(model_of(captions=unread == "there are none"))
    dialogues = dialogues_of([NOWHERE], [[0, 1]])
    if unread == "there are none":
        dialogues = dialogues._replace(recall_bl=torch.zeros_like(dialogues.recall_bl))
    assert torch.equal(
        recall_pictures(made, shelf_of(made), dialogues, made.learned.expand(1, -1, -1)), made.learned.expand(1, -1, -1)
    )


@pytest.mark.parametrize("kind", get_args(MemoryKind))
def test_the_first_picture_reaches_the_last_query_where_something_is_carried(
    network_of: Make, kind: MemoryKind
) -> None:
    made, dialogues = network_of(model_of(memory=kind)), dialogues_of([NOWHERE], [[]])
    other = dialogues._replace(pictures_bp=dialogues.pictures_bp.clone())
    other.pictures_bp[0, 0] = 7
    assert torch.equal(queries(made, dialogues)[2], queries(made, other)[2]) == (kind == "none")


@pytest.mark.parametrize(("stages", "carried"), [("two", False), ("one", True), ("sprc", True)])
def test_what_was_said_first_is_carried_where_it_is_read_with_the_picture(
    network_of: Make, stages: str, carried: bool
) -> None:
    """In two stages the tokens that are carried are those before the modification (published)."""
    made, dialogues = network_of(model_of(stages)), dialogues_of([NOWHERE], [[]])
    other = dialogues._replace(words_bnl=dialogues.words_bnl.clone())
    other.words_bnl[0, 0] = torch.tensor([5, 6, 7, 8])
    before, after = queries(made, dialogues), queries(made, other)
    assert not torch.allclose(before[0], after[0], atol=1e-3)
    assert (not torch.equal(before[2], after[2])) == carried


def test_captions_play_no_role_where_they_are_not_read(network_of: Make) -> None:
    dialogues = dialogues_of([0, NOWHERE], [[], [0]])
    unread = dialogues._replace(captioned_bp=torch.zeros_like(dialogues.captioned_bp))
    for captions in (True, False):
        made = network_of(model_of(captions=captions, recall="pictures"))
        assert torch.equal(queries(made, dialogues), queries(made, unread)) != captions


def test_gradients_go_back_through_what_is_carried(network_of: Make) -> None:
    made, dialogues = network_of(model_of(memory="mio")), dialogues_of([NOWHERE] * 4, [[]] * 4)
    shelf = shelf_of(made)
    first = dialogues.pictures_bp[:, 0]
    looks = PictureComponents(shelf.pictures.whole_bx.clone().requires_grad_(), shelf.pictures.regions_bry)
    pictures_bp = torch.stack([first, *(torch.full_like(first, 9) for _ in range(3))], dim=1)
    changed = dialogues._replace(pictures_bp=pictures_bp)
    *_, last = encode_dialogues(made, CaptionedGallery(looks, shelf.captions_nl), changed)
    torch.autograd.backward(last.queries_bd.sum())
    assert looks.whole_bx.grad is not None
    assert bool(looks.whole_bx.grad[first].any())


def test_what_is_heard_of_modifications_can_be_changed_on_the_way(network_of: Make) -> None:
    made, dialogues = network_of(model_of(memory="none")), dialogues_of([NOWHERE] * 2, [[], []])
    silent = dialogues._replace(words_bnl=torch.zeros_like(dialogues.words_bnl))
    emptied = [
        turned.queries_bd
        for turned in encode_dialogues(made, shelf_of(made), dialogues, lambda _: made.text(silent.words_bnl[:, 0]))
    ]
    assert torch.equal(torch.stack(emptied), queries(made, silent))
