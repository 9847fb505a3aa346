"""Fitting `Match` and `Pointer`, which compare texts with pictures, before the last stage of a training. In torch.

A language model of this size passes on little of what a sentence vector says, and does not learn from some thousand
photographs to compare it with what it sees. Linear maps do, if nothing stands between them.
Axes: n pictures, x width that is read of one, d width of what they are found by, k texts, s width of a vector of one,
p pairs, b pairs of a batch, m numbers of a match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, dropout, normalize
from torch.optim import AdamW

from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.chatsearcher.batches import SentenceLookup
from viewfinder.retrievers.chatsearcher.loss import excluded_negatives, symmetric_picture_loss
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, Match, Pointer
from viewfinder.retrievers.chatsearcher.training_data import TrainingData

BATCH, RATE, DROPOUT = 512, 1e-3, 0.2
"""Of both; chosen on validation photographs."""

MATCH_EPOCHS, POINTER_EPOCHS = 6, 10
POINTER_TEMPERATURE = 0.05


def fit_comparison(
    network: ChatSearcherNetwork,
    data: TrainingData,
    whole_nx: Float[Tensor, "n x"],
    sentences: SentenceLookup,
    notify: Callable[[str], None],
) -> None:
    """Fits a network's match and pointer, as far as it has them and they add nothing yet."""
    judged, described = list_judged(data), list_described(data)
    if network.settings.match and judged and not network.match.out.weight.any():
        notify(f"comparing texts with pictures: {len(judged):,} questions answered by yes or no")
        fit_match(network.match.requires_grad_(True), whole_nx, judged, sentences)  # the stages before held it
    if network.settings.points and described and not network.pointer.asks.weight.any():
        notify(f"comparing texts with pictures: {len(described):,} searches")
        with torch.no_grad():
            pictures_nd = network.encode_pictures(whole_nx)
        fit_pointer(network.pointer.requires_grad_(True), pictures_nd, described, sentences)


class JudgedPair(NamedTuple):
    """A question about a picture (by its row) that is answered by yes or no."""

    text: str
    row: int
    fits: bool


def list_judged(data: TrainingData) -> list[JudgedPair]:
    """All such questions of a training, each about the last picture before it."""
    found = []
    for example in data.examples.get("visual", ()):
        seen: str | None = None
        for asked, answer in pairwise(example.turns):
            seen = next((item.image for item in reversed(asked.items) if isinstance(item, ImageItem)), seen)
            said, told = ([item.text for item in turn.items if isinstance(item, TextItem)] for turn in (asked, answer))
            if seen is not None and asked.role == "user" and told in (["yes"], ["no"]):
                found.append(JudgedPair(" ".join(said), data.rows[seen], told == ["yes"]))
    return found


def list_described(data: TrainingData) -> list[tuple[str, int]]:
    """The captions by which pictures are asked for in a training, each with the row of its picture."""
    found = []
    for example in data.examples.get("requests", ()):
        *_, asked, answer = example.turns
        said = " ".join(item.text for item in asked.items if isinstance(item, TextItem))
        found += [(said, data.rows[item.image]) for item in answer.items if isinstance(item, ImageItem)]
    return found


def fit_pointer(
    pointer: Pointer,
    pictures_nd: Float[Tensor, "n d"],
    pairs: Sequence[tuple[str, int]],
    sentences: SentenceLookup,
) -> None:
    """Lets a pointer's map of texts find their pictures, before it learns what to ask for (symmetric InfoNCE)."""
    texts_ks = torch.from_numpy(np.asarray(sentences([text for text, _ in pairs]), np.float32))
    row_k = torch.tensor([row for _, row in pairs])
    temperature = torch.tensor(POINTER_TEMPERATURE)
    optimiser = AdamW(pointer.said.parameters(), lr=RATE)
    for _ in range(POINTER_EPOCHS):
        for at_b in torch.split(torch.randperm(len(pairs)), BATCH):
            found_bd = normalize(pointer.read_texts(dropout(texts_ks[at_b], DROPOUT)), dim=1)
            own_b = torch.arange(len(at_b))
            out_bb = excluded_negatives(own_b, row_k[at_b])
            optimiser.zero_grad()
            scores_bb = found_bd @ pictures_nd[row_k[at_b]].T
            torch.autograd.backward(symmetric_picture_loss(scores_bb, own_b, out_bb, temperature))
            optimiser.step()


def fit_match(
    match: Match, whole_nx: Float[Tensor, "n x"], pairs: Sequence[JudgedPair], sentences: SentenceLookup
) -> None:
    """Lets the sum of a match's products tell yes from no, before the language model learns what to make of them."""
    texts = list(dict.fromkeys(one.text for one in pairs))
    place = {text: at for at, text in enumerate(texts)}
    vectors_ks = torch.from_numpy(np.asarray(sentences(texts), np.float32))
    text_p, row_p = (torch.tensor(rows) for rows in zip(*((place[one.text], one.row) for one in pairs), strict=True))
    fits_p = torch.tensor([float(one.fits) for one in pairs])
    optimiser = AdamW(match.parameters(), lr=RATE)
    for _ in range(MATCH_EPOCHS):
        for at_b in torch.split(torch.randperm(len(pairs)), BATCH):
            seen_bx = dropout(whole_nx[row_p[at_b]], DROPOUT)
            products_bm = match.products(vectors_ks[text_p[at_b]], seen_bx)
            scores_b = products_bm.sum(dim=1) / math.sqrt(products_bm.shape[1])
            optimiser.zero_grad()
            torch.autograd.backward(binary_cross_entropy_with_logits(scores_b, fits_p[at_b]))
            optimiser.step()
