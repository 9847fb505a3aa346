"""Dialogues with a simulated user, held in training and validation: the picture shown next is the one found last.

A dialogue is about one kind of garments, which are numbered within it. In torch. Axes: n garments of a kind, x width
that a network reads of a picture, a attributes, p recorded pairs, c sentences, l words, b dialogues, t turns, m
pictures of other kinds, h width of a query and of a picture's vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.fashion_iq import join_captions, shuffle_first_pictures
from viewfinder.errors import BadInput
from viewfinder.retrievers.fashioniq.garments import Garments
from viewfinder.retrievers.fashioniq.loss import feedback_turn_loss, score_likeness
from viewfinder.retrievers.fashioniq.network import Feedback, FeedbackNetwork
from viewfinder.retrievers.fashioniq.settings import FashionIqPreset
from viewfinder.retrievers.shared.network import DEPTH, WordNumbers, target_ranks
from viewfinder.retrievers.shared.numpy_network import NO_WORD
from viewfinder.training import Batches
from viewfinder.training.batches import count_processes

Places = Int[Tensor, " b"]
"""A garment of each dialogue, by its number within the kind."""

SimulateFeedback = Callable[[Int[Tensor, " b"], Int[Tensor, " b"]], Int[Tensor, "b l"]]
"""A simulated user, shown the first garments and wanting the second (rows of `Garments`), answers in word numbers."""

MAX_DIALOGUES_AT_ONCE = 128
"""How many dialogues validation holds at a time."""

TOLD = (1, 3, 5)
"""Turns whose figures validation reports, as the paper's tables do."""

FIRST_PICTURES = 0
"""The seed of the first pictures in validation."""


@dataclass(frozen=True, eq=False)
class SentenceTable:
    """Sentences about each of several things (garments, or pairs): those about thing i start at `first_n[i]`."""

    words_cl: Int[Tensor, "c l"]
    first_n: Int[Tensor, " n"]
    count_n: Int[Tensor, " n"]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], words: WordNumbers) -> SentenceTable:
        """The sentences in `texts` about each thing; there may be none."""
        count_n = torch.tensor([len(some) for some in texts], dtype=torch.long)
        words_cl = words([text for some in texts for text in some])
        # The last row is for things without a sentence.
        return cls(torch.nn.functional.pad(words_cl, (0, 0, 0, 1)), count_n.cumsum(0) - count_n, count_n)

    def sentences(self, things_b: Places, which_b: Places) -> Int[Tensor, "b l"]:
        """Sentence 0, 1, ... about some things; after the last it starts again."""
        count_b = self.count_n[things_b]
        row_b = self.first_n[things_b] + which_b % count_b.clamp_min(1)
        return self.words_cl[torch.where(count_b > 0, row_b, -1)]


@dataclass(frozen=True, eq=False)
class GarmentKind:
    """The garments of one kind.

    Attributes:
        target_p, candidate_p: recorded pairs.
        says: the simulated user that says how the wanted garment differs; None: descriptions of the wanted one instead.
    """

    kind: str  # its name
    row_n: Int[Tensor, " n"]  # which rows of `Garments` they are
    read_nx: Float[Tensor, "n x"]  # what the network's `looks.input` reads of their pictures
    attributes_na: Int[Tensor, "n a"]  # their predicted attributes, by number
    target_p: Int[Tensor, " p"]
    candidate_p: Int[Tensor, " p"]
    recorded: SentenceTable  # what people said of each pair, see `pair_wordings`
    described: SentenceTable  # descriptions of each garment on its own
    says: SimulateFeedback | None

    def __len__(self) -> int:
        return len(self.row_n)


def garment_kinds(
    garments: Garments,
    read_nx: Float[Tensor, "n x"],
    attributes_na: Int[Tensor, "n a"],
    words: WordNumbers,
    says: SimulateFeedback | None,
) -> tuple[GarmentKind, ...]:
    """The garments of a split by kind; users are simulated only for kinds with recorded pairs."""
    recorded, kinds = garments.pairs, []
    pair_kind_p = garments.kind_n[recorded.target_p]
    for number, kind in enumerate(garments.kinds):
        rows, pairs = garments.gallery_of(number), np.flatnonzero(pair_kind_p == number)
        # Rows ascend, so a row's insertion point is its position among them.
        target_p, candidate_p = (
            torch.from_numpy(np.searchsorted(rows, rows_p[pairs]))
            for rows_p in (recorded.target_p, recorded.candidate_p)
        )
        kinds.append(
            GarmentKind(
                kind=kind,
                row_n=torch.from_numpy(rows),
                read_nx=read_nx[rows],
                attributes_na=attributes_na[rows],
                target_p=target_p,
                candidate_p=candidate_p,
                recorded=SentenceTable.of([pair_wordings(recorded.captions[pair]) for pair in pairs], words),
                described=SentenceTable.of([garments.descriptions[row] for row in rows], words),
                says=says if len(pairs) else None,
            )
        )
    return tuple(kinds)


def pair_wordings(captions: Sequence[str]) -> tuple[str, ...]:
    """The wordings of a pair with two captions: "1 and 2", "2 and 1", "1", "2" (CLIP4Cir, Baldrati et al. 2022)."""
    return tuple(join_captions(order) for order in (captions, captions[::-1], captions[:1], captions[-1:]))


class FeedbackDialogues(NamedTuple):
    """Dialogues about one kind (by its number), before the first turn."""

    kind: int
    targets_b: Places  # the wanted garments
    shown_b: Places  # the garments shown first, where `seen_b`; else the dialogue begins without a picture
    seen_b: Bool[Tensor, " b"]
    others_bt: Int[Tensor, "b t"]  # garments that each turn tells the target from
    words_btl: Int[Tensor, "b t l"]  # what is said, where `given_bt`; else a simulated user speaks
    given_bt: Bool[Tensor, "b t"]
    attributed_b: Bool[Tensor, " b"]  # whether attributes are read


def dialogue_batches(
    kinds: Sequence[GarmentKind], preset: FashionIqPreset
) -> Callable[[int, int], Batches[FeedbackDialogues]]:
    """The batches of a `TrainingJob`: an epoch has as many dialogues as there are garments, rounded down to whole
    batches; targets are drawn with replacement.

    Raises:
        BadInput: there are fewer garments than a batch has dialogues, or the processes cannot share a batch.
    """
    count, size = sum(map(len, kinds)), preset.batch
    if count < size or size % count_processes():
        raise BadInput(
            f"a batch of {size} does not go with {count} garments and {count_processes()} process(es); change batch"
        )

    def batches(epoch: int, seed: int) -> Batches[FeedbackDialogues]:
        def make(numbers_b: Int[np.ndarray, " b"]) -> FeedbackDialogues:
            rng = np.random.default_rng([seed, epoch, int(numbers_b[0])])
            return draw_dialogues(kinds, preset, len(numbers_b), rng)

        return Batches(np.arange(count - count % size), size // count_processes(), make)

    return batches


def draw_dialogues(
    kinds: Sequence[GarmentKind], preset: FashionIqPreset, size: int, rng: np.random.Generator
) -> FeedbackDialogues:
    """Dialogues about a kind drawn in proportion to its number of garments."""
    sizes = np.array([len(kind) for kind in kinds])
    number = int(rng.choice(len(kinds), p=sizes / sizes.sum()))
    kind, turns = kinds[number], preset.turns
    targets_b, shown_b, which_b = (_draw_numbers(rng, count, size) for count in (len(kind), len(kind), 2**31))
    others_bt = _draw_numbers(rng, len(kind), size, turns)
    begins_b, attributed_b = torch.from_numpy(rng.random((2, size)))
    recorded_b = begins_b < (1.0 if preset.simulator == "recorded" else preset.recorded)
    recorded_b &= len(kind.target_p) > 0
    if len(kind.target_p):
        pairs_b = _draw_numbers(rng, len(kind.target_p), size)
        targets_b = torch.where(recorded_b, kind.target_p[pairs_b], targets_b)
        shown_b = torch.where(recorded_b, kind.candidate_p[pairs_b], shown_b)
    described_b = (begins_b >= preset.recorded) & (begins_b < preset.recorded + preset.described)
    described_b &= ~recorded_b & (kind.described.count_n[targets_b] > 0)
    # What is said when no user is simulated.
    described = (kind.described.sentences(targets_b, which_b + turn) for turn in range(turns))
    words_btl = torch.stack(list(described), dim=1)
    if len(kind.target_p):
        words_btl[:, 0] = torch.where(recorded_b[:, None], kind.recorded.sentences(pairs_b, which_b), words_btl[:, 0])
    given_bt = torch.full((size, turns), kind.says is None)
    given_bt[:, 0] |= recorded_b | described_b
    read_b = attributed_b >= preset.attribute_dropout
    return FeedbackDialogues(number, targets_b, shown_b, ~described_b, others_bt, words_btl, given_bt, read_b)


def other_kinds_pictures(
    kinds: Sequence[GarmentKind], dialogues: FeedbackDialogues, count: int
) -> Float[Tensor, "m x"] | None:
    """The network's input for about `count` pictures of kinds other than the dialogues', some of each, or None.

    They are derived from what was drawn for the dialogues, so nothing more is drawn.
    """
    others = [kind for number, kind in enumerate(kinds) if number != dialogues.kind]
    if not others or not count:
        return None
    drawn_m = dialogues.others_bt.flatten()[: math.ceil(count / len(others))]
    return torch.cat([kind.read_nx[drawn_m % len(kind)] for kind in others])


def validation_dialogues(kinds: Sequence[GarmentKind], preset: FashionIqPreset) -> Iterator[FeedbackDialogues]:
    """The dialogues of validation, grouped by kind: every garment is wanted once, and a fixed other one is
    shown first. If training uses recorded pairs alone, these are the dialogues, and both captions are said."""
    for number, kind in enumerate(kinds):
        if preset.simulator == "recorded" and len(kind.target_p):
            targets_b, shown_b = kind.target_p, kind.candidate_p
            first_bl = kind.recorded.sentences(torch.arange(len(targets_b)), torch.zeros_like(targets_b))
            words_btl = first_bl[:, None].expand(-1, preset.turns, -1)
        else:
            targets_b = torch.arange(len(kind))
            shown_b = torch.tensor(shuffle_first_pictures(len(kind), FIRST_PICTURES))
            turns_t = [torch.full_like(targets_b, turn) for turn in range(preset.turns)]
            words_btl = torch.stack([kind.described.sentences(targets_b, turn_b) for turn_b in turns_t], dim=1)
        given_b = torch.full_like(targets_b, kind.says is None or preset.simulator == "recorded").bool()
        yield FeedbackDialogues(
            kind=number,
            targets_b=targets_b,
            shown_b=shown_b,
            seen_b=torch.ones_like(given_b),
            others_bt=targets_b[:, None].expand(-1, preset.turns),
            words_btl=words_btl,
            given_bt=given_b[:, None].expand(-1, preset.turns),
            attributed_b=torch.ones_like(given_b),
        )


@lru_cache(maxsize=4)
def move_kinds(kinds: tuple[GarmentKind, ...], device: torch.device) -> tuple[GarmentKind, ...]:
    """The garments of all kinds with their tensors on a device; they are moved once."""
    found = []
    for kind in kinds:
        moved: dict[str, Any] = {}
        for name, value in vars(kind).items():
            if isinstance(value, SentenceTable):
                moved[name] = SentenceTable(*(table.to(device) for table in vars(value).values()))
            elif isinstance(value, Tensor):
                moved[name] = value.to(device)
        found.append(replace(kind, **moved))
    return tuple(found)


def _draw_numbers(rng: np.random.Generator, count: int, *shape: int) -> Int[Tensor, ...]:
    """Random integers below `count`."""
    return torch.from_numpy(rng.integers(count, size=shape))


# -- held with a simulated user


class RolloutTurn(NamedTuple):
    """The result of a turn: queries, and how near the pictures of the kind are to them (without gradients). Those that
    must not be shown again are infinitely far, except the target, which may still be found."""

    queries_bh: Float[Tensor, "b h"]
    scores_bn: Float[Tensor, "b n"]


def roll_out(
    network: FeedbackNetwork, kind: GarmentKind, dialogues: FeedbackDialogues, *, exclude_shown: bool, state: Any = None
) -> Iterator[RolloutTurn]:
    """The dialogues turn by turn; after each the best picture is shown, even if it is the target (published).

    The pictures of the kind are embedded once, with the present weights; their vectors get no gradients, those of
    the shown pictures do. Dialogues that continue others begin with their `state`.
    """
    with torch.no_grad():
        gallery_nh = network.looks.project_input(kind.read_nx)
    state = network.begin(len(dialogues.shown_b)) if state is None else state
    shown_b, seen_b = dialogues.shown_b, dialogues.seen_b
    place_n = torch.arange(len(kind), device=shown_b.device)
    wanted_bn = place_n == dialogues.targets_b[:, None]
    passed_bn = torch.zeros(len(shown_b), len(kind), dtype=torch.bool, device=shown_b.device)
    for turn in range(dialogues.words_btl.shape[1]):
        state, queries_bh = network.step(state, make_feedback(network, kind, dialogues, turn, shown_b, seen_b))
        scores_bn = score_likeness(queries_bh.detach(), gallery_nh, network.looks.compare)
        if exclude_shown:
            passed_bn = passed_bn | ((place_n == shown_b[:, None]) & seen_b[:, None])
        yield RolloutTurn(queries_bh, scores_bn.masked_fill(passed_bn & ~wanted_bn, -torch.inf))
        shown_b = scores_bn.masked_fill(passed_bn, -torch.inf).argmax(dim=1)
        seen_b = torch.ones_like(seen_b)


def make_feedback(
    network: FeedbackNetwork,
    kind: GarmentKind,
    dialogues: FeedbackDialogues,
    turn: int,
    shown_b: Places,
    seen_b: Bool[Tensor, " b"],
) -> Feedback:
    """A turn as the network reads it: what is said of the shown pictures (by a simulated user if nothing is given), and
    the vectors of these pictures."""
    words_bl = dialogues.words_btl[:, turn]
    asked_a = (~dialogues.given_bt[:, turn]).nonzero()[:, 0]
    if len(asked_a) and kind.says is not None:
        rows = (kind.row_n[places_b[asked_a]] for places_b in (shown_b, dialogues.targets_b))
        words_bl = words_bl.index_copy(0, asked_a, kind.says(*rows).to(words_bl.device))
    attributes_ba = kind.attributes_na[shown_b].masked_fill(~(dialogues.attributed_b & seen_b)[:, None], NO_WORD)
    return Feedback(words_bl, attributes_ba, network.looks.project_input(kind.read_nx[shown_b]), seen_b)


def rollout_loss(
    network: FeedbackNetwork,
    kind: GarmentKind,
    dialogues: FeedbackDialogues,
    preset: FashionIqPreset,
    strangers_mx: Float[Tensor, "m x"] | None = None,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of dialogues, summed over turns; "percentile", the mean of P over turns, how well they find targets;
    and "percentile_sum", its sum, by which the published code judges whether training improves.

    `strangers_mx`: pictures of other kinds that the targets are told from, if the loss is contrastive.
    """
    strangers_mh = None if strangers_mx is None else network.looks.project_input(strangers_mx)
    lost, percentiles = [], []
    for turn, found in enumerate(roll_out(network, kind, dialogues, exclude_shown=preset.exclude_shown)):
        others_bh = network.looks.project_input(kind.read_nx[dialogues.others_bt[:, turn]])
        targets_bh = network.looks.project_input(kind.read_nx[dialogues.targets_b])
        rows = (found.queries_bh, targets_bh, others_bh, dialogues.targets_b)
        lost.append(feedback_turn_loss(preset.loss, network.looks.compare, network.log_scale, *rows, strangers_mh))
        percentiles.append(rank_percentile(target_ranks(found.scores_bn, dialogues.targets_b), len(kind)).mean())
    percentile_t = torch.stack(percentiles)
    return torch.stack(lost).sum(), {"percentile": percentile_t.mean(), "percentile_sum": percentile_t.sum()}


def measure_rollouts(
    network: FeedbackNetwork, kinds: Sequence[GarmentKind], preset: FashionIqPreset
) -> dict[str, float]:
    """The figures of validation, as means over its dialogues: "percentile", the mean over turns of P = 1 - rank /
    garments of the kind, and "recall", that of Recall@10; and both after turns 1, 3 and 5."""
    ranks_t: list[list[Tensor]] = [[] for _ in range(preset.turns)]
    percentiles_t: list[list[Tensor]] = [[] for _ in range(preset.turns)]
    for whole in validation_dialogues(kinds, preset):
        kind = kinds[whole.kind]
        for at in range(0, len(whole.shown_b), MAX_DIALOGUES_AT_ONCE):
            dialogues = FeedbackDialogues(whole.kind, *(part[at : at + MAX_DIALOGUES_AT_ONCE] for part in whole[1:]))
            for turn, found in enumerate(roll_out(network, kind, dialogues, exclude_shown=preset.exclude_shown)):
                ranks_t[turn].append(target_ranks(found.scores_bn, dialogues.targets_b))
                percentiles_t[turn].append(rank_percentile(ranks_t[turn][-1], len(kind)))
    figures_t = {
        "percentile": [float(torch.cat(some).double().mean()) for some in percentiles_t],
        "recall": [float((torch.cat(some) < DEPTH).double().mean()) for some in ranks_t],
    }
    means = {name: sum(by_turn) / preset.turns for name, by_turn in figures_t.items()}
    named = [(name, turn) for name in figures_t for turn in TOLD if turn <= preset.turns]
    return means | {f"{name}_{turn}": figures_t[name][turn - 1] for name, turn in named}


def rank_percentile(ranks_b: Int[Tensor, " b"], pictures: int) -> Float[Tensor, " b"]:
    """P = 1 - rank / pictures, from 0 to 1."""
    return 1 - ranks_b / pictures
