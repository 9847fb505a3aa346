"""Refining a head by contrast (InfoNCE), for collections that bring thousands of captions of their own.

Starts from the closed form of `fit` and adds a residual network on either side, so that step 0 is the closed form
itself; a tenth of the pictures, held out, says after how many epochs to stop, 0 included. In torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from viewfinder.encoders.starter.encoder import Head, Residual, head_input, unit_rows
from viewfinder.encoders.starter.fit import CaptionedVectors, FitSettings, fit_head
from viewfinder.metrics import mean_reciprocal_rank, target_ranks

SAME_TEXT = 0.999
"""Cosine above which two captions say the same."""

ReportEpoch = Callable[[int, float], None]
"""Told after every epoch: its number and the held-out mean reciprocal rank."""


@dataclass(frozen=True, kw_only=True)
class RefineSettings:
    """The numbers of the refinement, chosen on the held-out tenth of product photos."""

    hidden: int = 768
    epochs: int = 40
    batch: int = 512
    learning_rate: float = 3e-4
    weight_decay: float = 0.05
    dropout: float = 0.3
    temperature: float = 0.05
    labels: float = 0.4  # share of captions that make way for a label
    held_out: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class RefinedHead:
    """A head chosen on held-out pictures, and the mean reciprocal rank there of each candidate."""

    head: Head
    chosen: str
    held_out: dict[str, float]


def refine_head(
    shipped: Head,
    kind: CaptionedVectors,
    closed_form: FitSettings,
    settings: RefineSettings | None = None,
    report: ReportEpoch | None = None,
) -> RefinedHead:
    """The best of three heads for one collection: the shipped one, the closed form, the closed form refined.

    They are compared on a tenth of the pictures that none of them has seen; the winner is then fitted on all.
    """
    settings = settings or RefineSettings()
    order_n = np.random.default_rng(settings.seed).permutation(len(kind))
    held = max(int(len(kind) * settings.held_out), 1)
    examined, rest = kind.of(np.sort(order_n[:held])), kind.of(np.sort(order_n[held:]))
    by_epoch: list[float] = []

    def judge(epoch: int, towers: _Towers) -> None:
        by_epoch.append(_held_out(towers.head(), examined))
        if report is not None:
            report(epoch, by_epoch[-1])

    _train(fit_head([rest], closed_form), rest, settings, settings.epochs, judge)
    best = int(np.argmax(by_epoch))
    held_out = {"shipped": _held_out(shipped, examined), "closed form": by_epoch[0], "refined": by_epoch[best]}
    if held_out["shipped"] >= by_epoch[best]:
        return RefinedHead(shipped, "shipped", held_out)
    start = fit_head([kind], closed_form)
    if best == 0:
        return RefinedHead(start, "closed form", held_out)
    # The one-cycle schedule is that of the full run, cut at the same epoch, so that both runs are alike.
    return RefinedHead(_train(start, kind, settings, best, None).head().rounded(), "refined", held_out)


def _held_out(head: Head, kind: CaptionedVectors) -> float:
    pictures_nd = head.pictures(kind.raw_vnr[0])
    scores_mn = head.sentences(kind.captions_ms) @ pictures_nd.T - head.background(pictures_nd)
    return mean_reciprocal_rank(target_ranks(scores_mn, kind.owners_m))


class _Tower(nn.Module):
    """unit(linear(x) + outer(relu(inner(x)))), the second term starting at zero."""

    def __init__(self, linear_xd: np.ndarray, bias_d: np.ndarray, hidden: int, dropout: float) -> None:
        super().__init__()
        width_in, width_out = linear_xd.shape
        self.dropout = dropout
        self.linear = nn.Linear(width_in, width_out)
        self.inner = nn.Linear(width_in, hidden)
        self.outer = nn.Linear(hidden, width_out)
        with torch.no_grad():
            self.linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(linear_xd.T)))
            self.linear.bias.copy_(torch.from_numpy(np.ascontiguousarray(bias_d)))
            self.outer.weight.zero_()
            self.outer.bias.zero_()

    def forward(self, x_nx: Tensor) -> Tensor:
        seen_nx = functional.dropout(x_nx, self.dropout, self.training)
        hidden_nh = functional.dropout(functional.relu(self.inner(seen_nx)), self.dropout, self.training)
        return functional.normalize(self.linear(seen_nx) + self.outer(hidden_nh), dim=-1)

    def numbers(self) -> tuple[np.ndarray, np.ndarray, Residual]:
        """Weight and bias of the linear map, and the residual beside it."""
        found = {name: value.numpy().copy() for name, value in self.state_dict().items()}
        residual = Residual(found["inner.weight"].T, found["inner.bias"], found["outer.weight"].T, found["outer.bias"])
        return found["linear.weight"].T, found["linear.bias"], residual


class _Towers(nn.Module):
    """The two sides as torch modules, and their way back into a `Head`."""

    def __init__(self, head: Head, visual_nx: Float[np.ndarray, "n x"], settings: RefineSettings) -> None:
        super().__init__()
        self._start = head
        self.centre_x = visual_nx.mean(axis=0)
        self.scale_x = visual_nx.std(axis=0) + 1e-3
        torch.manual_seed(settings.seed)
        gain = float(np.linalg.norm(visual_nx @ head.visual_xd + head.visual_bias_d, axis=1).mean())
        linear_xd = head.visual_xd * self.scale_x[:, None] / gain
        bias_d = (head.visual_bias_d + self.centre_x @ head.visual_xd) / gain
        self.visual = _Tower(linear_xd, bias_d, settings.hidden, settings.dropout)
        # Sentence vectors have unit length; the square root of their width brings each number near 1.
        self._sentence_gain = np.sqrt(head.sentence_sd.shape[0])
        sentence_sd = head.sentence_sd / self._sentence_gain
        self.sentence = _Tower(sentence_sd, np.zeros(head.width), settings.hidden, settings.dropout / 3)
        self.log_scale = nn.Parameter(torch.tensor(float(np.log(1 / settings.temperature))))

    def visual_features(self, raw_nr: Float[np.ndarray, "n r"]) -> Tensor:
        return torch.from_numpy((head_input(raw_nr) - self.centre_x) / self.scale_x).float()

    def sentence_features(self, captions_ms: Float[np.ndarray, "m s"]) -> Tensor:
        return torch.from_numpy(unit_rows(captions_ms - self._start.sentence_mean_s) * self._sentence_gain).float()

    def head(self) -> Head:
        """The trained numbers, with the scaling of the inputs folded back into the first layers."""
        linear_xd, bias_d, residual = self.visual.numbers()
        text_sd, text_bias_d, text_residual = self.sentence.numbers()
        visual_xd, inner_xh = linear_xd / self.scale_x[:, None], residual.inner_xh / self.scale_x[:, None]
        return replace(
            self._start,
            visual_xd=visual_xd,
            visual_bias_d=bias_d - self.centre_x @ visual_xd,
            sentence_sd=text_sd * self._sentence_gain,
            names_mix=0.0,  # the class names' share was a crutch for few captions; training has taken it in
            visual_residual=replace(
                residual, inner_xh=inner_xh, inner_bias_h=residual.inner_bias_h - self.centre_x @ inner_xh
            ),
            sentence_residual=replace(
                text_residual,
                inner_xh=text_residual.inner_xh * self._sentence_gain,
                outer_bias_d=text_residual.outer_bias_d + text_bias_d,
            ),
        )


def _train(
    head: Head,
    kind: CaptionedVectors,
    settings: RefineSettings,
    epochs: int,
    judge: Callable[[int, _Towers], None] | None,
) -> _Towers:
    """One run of `epochs` epochs of a schedule laid out for `settings.epochs`."""
    towers = _Towers(head, head_input(kind.raw_vnr[0]), settings)
    batches = _Batches(kind, towers, settings)
    optimiser = torch.optim.AdamW(towers.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=settings.epochs * batches.count, pct_start=0.1
    )
    if judge is not None:
        judge(0, towers)
    towers.train()
    for epoch in range(1, epochs + 1):
        for pictures_bx, texts_bs, holds_bb in batches.epoch():
            texts_bd, pictures_bd = towers.sentence(texts_bs), towers.visual(pictures_bx)
            loss = contrastive_loss(texts_bd, pictures_bd, holds_bb=holds_bb, scale=towers.log_scale.exp())
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        if judge is not None:
            judge(epoch, towers)
    return towers


class _Batches:
    """Batches of pictures and texts: captions, and in their place now and then a label that holds."""

    def __init__(self, kind: CaptionedVectors, towers: _Towers, settings: RefineSettings) -> None:
        self._views = torch.stack([towers.visual_features(raw_nr) for raw_nr in kind.raw_vnr])
        self._texts_ms = towers.sentence_features(kind.captions_ms)
        self._owners_m = torch.from_numpy(kind.owners_m)
        self._size = min(settings.batch, len(self._owners_m))
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._label_share = settings.labels
        self._labels: tuple[Tensor, Tensor] | None = None
        if kind.labels_ls is not None and kind.holds_nl is not None:
            self._labels = towers.sentence_features(kind.labels_ls), torch.from_numpy(kind.holds_nl).float()
        self.count = len(self._owners_m) // self._size

    def epoch(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Pictures (b x), texts (b s), and which text holds for which picture (b b)."""
        order_m = torch.randperm(len(self._owners_m), generator=self._generator)
        for rows_b in order_m[: self.count * self._size].split(self._size):  # type: ignore[no-untyped-call]
            owners_b = self._owners_m[rows_b]
            view_b = torch.randint(len(self._views), (self._size,), generator=self._generator)
            texts_bs = self._texts_ms[rows_b]
            likeness_bb = (texts_bs @ texts_bs.T) / texts_bs.shape[1]
            holds_bb = ((likeness_bb > SAME_TEXT) | (owners_b[:, None] == owners_b[None, :])).float()
            if self._labels is not None and self._label_share:
                # Some captions make way for a label of the same picture, which holds for every picture that has it.
                labels_ls, holds_nl = self._labels
                held_bl = holds_nl[owners_b]
                label_b = torch.multinomial(held_bl + 1e-9, 1, generator=self._generator)[:, 0]
                chance_b = torch.rand(len(owners_b), generator=self._generator)
                labelled_b1 = ((chance_b < self._label_share) & (held_bl.sum(dim=1) > 0))[:, None]
                texts_bs = torch.where(labelled_b1, labels_ls[label_b], texts_bs)
                holds_bb = torch.where(labelled_b1, held_bl[:, label_b].T, holds_bb)
            yield self._views[view_b, owners_b], texts_bs, holds_bb


def contrastive_loss(texts_bd: Tensor, pictures_bd: Tensor, *, holds_bb: Tensor, scale: Tensor) -> Tensor:
    """Symmetric InfoNCE (Radford et al. 2021), where a text may hold for several pictures of the batch.

    `holds_bb[i, j]` is 1 where text i holds for picture j; all that hold are equally right answers.
    """
    logits_bb = scale * texts_bd @ pictures_bd.T
    by_text = functional.cross_entropy(logits_bb, holds_bb / holds_bb.sum(dim=1, keepdim=True))
    by_picture = functional.cross_entropy(logits_bb.T, holds_bb.T / holds_bb.T.sum(dim=1, keepdim=True))
    return (by_text + by_picture) / 2
