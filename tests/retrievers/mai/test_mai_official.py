"""What the settings called official compute, against slow arithmetic written after the published code.

One dialogue at a time, in double precision, each place by itself. Without a picture all places go through the layers
for text; with one, tokens look at it in every other layer and go through layers of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Int
from torch import Tensor

from viewfinder.retrievers.mai.network import (
    NOWHERE,
    CaptionedGallery,
    MaiNetwork,
    ModificationDialogues,
    encode_dialogues,
)
from viewfinder.retrievers.mai.numpy_network import numpy_choose_places
from viewfinder.retrievers.mai.settings import Combination, MaiLossSettings, Model
from viewfinder.retrievers.mai.train import dialogue_loss
from viewfinder.testing import RAW_WIDTH

Make = Callable[[Model], MaiNetwork]
TOKENS, HEADS, WORDS, PICTURES = 3, 2, 18, 9
SMALL: dict[str, Any] = {
    "width": 12, "layers": 3, "heads": HEADS, "hidden": 16, "tokens": TOKENS, "prompts": 2, "projection": 8,
    "components": 5, "most_words": 6,
}  # fmt: skip
SPRC: dict[str, Any] = {"stages": "sprc", "captions": False, "memory": "none", "targets": "official"}
EPS = 1e-12


class Slow:
    """The published passes with the weights of a network."""

    def __init__(self, network: MaiNetwork) -> None:
        self.network = network
        self.arrays = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}

    def linear(self, name: str, row_h: np.ndarray) -> np.ndarray:
        """A linear layer."""
        return np.asarray(self.arrays[f"{name}.weight"] @ row_h + self.arrays[f"{name}.bias"])

    def norm(self, name: str, row_h: np.ndarray) -> np.ndarray:
        """A layer norm."""
        centred = row_h - row_h.mean()
        scaled = centred / math.sqrt(float((centred**2).mean()) + EPS)
        return np.asarray(scaled * self.arrays[f"{name}.weight"] + self.arrays[f"{name}.bias"])

    def attend(self, name: str, rows: list[np.ndarray], seen: list[np.ndarray]) -> list[np.ndarray]:
        """What each row gathers, head by head, added to it."""
        found = []
        for row in rows:
            query, gathered = self.linear(f"{name}.attention.query", row), []
            each = len(query) // HEADS
            keys = [self.linear(f"{name}.attention.key", one) for one in seen]
            values = [self.linear(f"{name}.attention.value", one) for one in seen]
            for head in (slice(at * each, (at + 1) * each) for at in range(HEADS)):
                weights = [math.exp(float(query[head] @ key[head]) / math.sqrt(each)) for key in keys]
                gathered.append(sum(w * value[head] for w, value in zip(weights, values, strict=True)) / sum(weights))
            told = self.linear(f"{name}.output.dense", np.concatenate(gathered))
            found.append(self.norm(f"{name}.output.LayerNorm", told + row))
        return found

    def feed(self, name: str, kind: str, row: np.ndarray) -> np.ndarray:
        """The two linear layers of a place, which is added."""
        inside = self.linear(f"{name}.intermediate{kind}.dense", row)
        curved = np.array([x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in inside])
        told = self.linear(f"{name}.output{kind}.dense", curved)
        return self.norm(f"{name}.output{kind}.LayerNorm", told + row)

    def read(
        self, tokens: list[np.ndarray], text: list[np.ndarray], image: list[np.ndarray] | None
    ) -> list[np.ndarray]:
        """All places after all layers."""
        rows = [self.norm("qformer.layernorm", row) for row in (*tokens, *text)]
        for at in range(3):
            name = f"qformer.encoder.layer.{at}"
            rows = self.attend(f"{name}.attention", rows, rows)
            if image is None:
                rows = [self.feed(name, "", row) for row in rows]
                continue
            own, others = rows[: len(tokens)], rows[len(tokens) :]
            if at % 2 == 0:
                own = self.attend(f"{name}.crossattention", own, image)
            rows = [*(self.feed(name, "_query", row) for row in own), *(self.feed(name, "", row) for row in others)]
        return rows

    def unit(self, name: str, row: np.ndarray) -> np.ndarray:
        """A projected row of length 1."""
        found = self.linear(name, row)
        return np.asarray(found / np.linalg.norm(found))

    def parameter(self, name: str) -> list[np.ndarray]:
        """Learned tokens, or prompts."""
        return [*self.arrays[name]]

    def text(self, words_l: Int[Tensor, " l"], *, prompts: bool = False) -> list[np.ndarray]:
        """The places of a text, those of the prompts after the first one."""
        there_l = words_l[words_l != 0][None]
        with torch.no_grad():
            found = self.network.text(there_l, self.network.prompts if prompts else None)
        return [*found.places_blh[0].double().numpy()]

    def image(self, gallery: CaptionedGallery, row: int) -> list[np.ndarray]:
        """A picture's tokens."""
        with torch.no_grad():
            return [*self.network.images(gallery.pictures.take(torch.tensor([row])))[0].double().numpy()]


def gallery_of(network: MaiNetwork) -> CaptionedGallery:
    """Pictures at random, with captions of two words."""
    chance = torch.Generator().manual_seed(2)
    raw_ng = torch.randn(PICTURES, RAW_WIDTH, generator=chance)
    captions_nl = torch.randint(1, WORDS + 1, (PICTURES, 6), generator=chance)
    captions_nl[:, 2:] = 0
    return CaptionedGallery(network.images.components(raw_ng.numpy(), None), captions_nl)


def dialogues_of(turns: int, recalled: tuple[int, ...] = (), count: int = 3) -> ModificationDialogues:
    """Dialogue b is about pictures 2b, 2b + 1, ...; texts have three words, recalls six."""
    chance, places = torch.Generator().manual_seed(3), turns + 1
    words_bnl = torch.randint(1, WORDS + 1, (count, turns, 6), generator=chance)
    words_bnl[:, :, 3:] = 0
    recalled_bp = torch.tensor([[place in recalled for place in range(places)]] * count)
    recall_bl = torch.randint(1, WORDS + 1, (count, 6), generator=chance) * recalled_bp.any(dim=1)[:, None]
    all_bp = torch.ones(count, places, dtype=torch.bool)
    return ModificationDialogues(
        (2 * torch.arange(count)[:, None] + torch.arange(places)) % PICTURES, words_bnl, all_bp, all_bp.clone(),
        torch.full((count,), NOWHERE), recalled_bp, recall_bl, torch.zeros(count, dtype=torch.long),
    )  # fmt: skip


@torch.no_grad()
def test_official_targets_of_sprc_are_what_learned_tokens_see_in_a_picture_without_any_text(network_of: Make) -> None:
    network = network_of(Model(**SMALL, **SPRC))
    gallery, slow = gallery_of(network), Slow(network)
    found_nkd = network.encode_pictures(gallery.pictures, gallery.captions_nl)
    for row in range(PICTURES):
        tokens = slow.read(slow.parameter("learned"), [], slow.image(gallery, row))
        expected_kd = [slow.unit("target_project", token) for token in tokens]
        np.testing.assert_allclose(found_nkd[row].numpy(), expected_kd, atol=1e-5)
    # An empty text has a place of its own, which tokens look at: another vector, as it was before.
    network.settings = Model(**SMALL, **SPRC | {"targets": "text"})
    assert not np.allclose(network.encode_pictures(gallery.pictures, gallery.captions_nl), found_nkd, atol=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.4, 0.4)], ids=["Fashion IQ", "CIRR"])
def test_official_losses_of_sprc_are_those_of_slow_arithmetic(network_of: Make, weights: tuple[float, float]) -> None:
    """Best tokens times a scale, of query and of text; the mean token of the first reading against the mean prompt."""
    network = network_of(Model(**SMALL, **SPRC))
    gallery, dialogues, slow = gallery_of(network), dialogues_of(1), Slow(network)
    learned, prompts, queries, texts, aligned = slow.parameter("learned"), slow.parameter("prompts"), [], [], []
    for (row, _), [words_l] in zip(dialogues.pictures_bp.tolist(), dialogues.words_bnl, strict=True):
        first = slow.read(learned, slow.text(words_l), slow.image(gallery, row))[:TOKENS]
        queries.append(slow.unit("text_project", slow.read(first, slow.text(words_l), None)[TOKENS]))
        texts.append(slow.unit("text_project", slow.read([], slow.text(words_l, prompts=True), None)[0]))
        aligned.append((np.mean(first, axis=0) - np.mean(prompts, axis=0)) ** 2)
    targets = [
        [slow.unit("target_project", token) for token in slow.read(learned, [], slow.image(gallery, row))]
        for row in dialogues.pictures_bp[:, 1].tolist()
    ]

    def contrast(vectors: list[np.ndarray]) -> float:
        lost = 0.0
        for at, vector in enumerate(vectors):
            scores = [12.0 * max(float(vector @ token) for token in target) for target in targets]
            lost += math.log(sum(map(math.exp, scores))) - scores[at]
        return lost / len(vectors)

    expected = contrast(queries) + weights[0] * contrast(texts) + weights[1] * float(np.mean(aligned))
    settings = MaiLossSettings(terms=("query_target",), alignment="official", sprc_weights=weights)
    assert float(dialogue_loss(network, gallery, dialogues, settings)) == pytest.approx(expected, abs=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(
    ("combination", "recalled"), [("official_fc", (0, 1)), ("official_fiq", (0, 1, 2)), ("seen", (0, 1))]
)
def test_official_combinations_recall_by_what_mio_kept(
    network_of: Make, combination: Combination, recalled: tuple[int, ...]
) -> None:
    """FC: what was kept of the first two pictures. Fiq: of all three. "seen": the tokens that saw the third."""
    network = network_of(Model(**SMALL, combination=combination))
    gallery, dialogues, slow = gallery_of(network), dialogues_of(3, recalled), Slow(network)
    expected = []
    for rows, words_nl, recall_l in zip(*(dialogues[at] for at in (0, 1, 6)), strict=True):
        kept: list[np.ndarray] = slow.parameter("learned")
        before, tokens = kept, kept
        for turn, row in enumerate(rows[:3].tolist()):
            before = kept
            tokens = slow.read(before, slow.text(gallery.captions_nl[row]), slow.image(gallery, row))[:TOKENS]
            both = np.array([*before, *tokens])
            kept = [*both[numpy_choose_places(both, TOKENS, network.settings.iteration)]] if turn else tokens
        tokens = {"official_fc": before, "official_fiq": kept, "seen": tokens}[combination]
        tokens = slow.read(tokens, slow.text(recall_l), None)[:TOKENS]
        expected.append(slow.unit("text_project", slow.read(tokens, slow.text(words_nl[2]), None)[TOKENS]))
    *_, last = encode_dialogues(network, gallery, dialogues)
    np.testing.assert_allclose(last.queries_bd.numpy(), expected, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("combination", ["official_fc", "official_fiq"])
def test_dialogues_that_combine_nothing_stay_as_they_are(network_of: Make, combination: Combination) -> None:
    network = network_of(Model(**SMALL))
    gallery, dialogues = gallery_of(network), dialogues_of(3)
    as_before = [turn.queries_bd for turn in encode_dialogues(network, gallery, dialogues)]
    network.settings = Model(**SMALL, combination=combination)
    for before, turn in zip(as_before, encode_dialogues(network, gallery, dialogues), strict=True):
        assert torch.equal(before, turn.queries_bd)


@torch.no_grad()
def test_sprc_with_captions_reads_them_where_mai_does(network_of: Make) -> None:
    """Caption and picture first, what is recalled next; then both readings of SPRC. Pictures with their captions."""
    network = network_of(Model(**SMALL, **SPRC | {"captions": True, "targets": "text"}))
    gallery, dialogues, slow = gallery_of(network), dialogues_of(1, (0,)), Slow(network)
    *_, last = encode_dialogues(network, gallery, dialogues)
    found_nkd, learned = network.encode_pictures(gallery.pictures, gallery.captions_nl), slow.parameter("learned")
    for at, row in enumerate(dialogues.pictures_bp[:, 0].tolist()):
        image, words = slow.image(gallery, row), slow.text(dialogues.words_bnl[at, 0])
        captioned = slow.read(learned, slow.text(gallery.captions_nl[row]), image)[:TOKENS]
        expected_kd = [slow.unit("target_project", token) for token in captioned]
        np.testing.assert_allclose(found_nkd[row].numpy(), expected_kd, atol=1e-5)
        tokens = slow.read(captioned, slow.text(dialogues.recall_bl[at]), None)[:TOKENS]
        tokens = slow.read(tokens, words, image)[:TOKENS]
        expected_d = slow.unit("text_project", slow.read(tokens, words, None)[TOKENS])
        np.testing.assert_allclose(last.queries_bd[at].numpy(), expected_d, atol=1e-5)
