"""Contrastive training of the shipped head (InfoNCE).

Starts from the closed form of `fit` and adds a residual network on either side and a vector for every word of a
lexicon, so that step 0 is the closed form itself; held-out pictures decide when to stop, possibly after 0 epochs. In
torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.starter.encoder import MAX_WORDS, Head, Residual, head_input, words_of
from viewfinder.encoders.starter.fit import CaptionedVectors, RefineSettings, add_bank
from viewfinder.metrics import mean_reciprocal_rank, target_ranks

SAME_TEXT = 0.999
"""Cosine above which two captions say the same."""

MIN_TEXTS = 3
"""A word must be in this many texts to have a vector."""


def rank_held_out(head: Head, kind: CaptionedVectors) -> float:
    """The mean reciprocal rank of the picture that each caption is about, among all of the kind."""
    pictures_nd = head.pictures(kind.raw_vnr[0])
    scores_mn = head.sentences(kind.captions_ms, kind.texts) @ pictures_nd.T - head.background(pictures_nd)
    return mean_reciprocal_rank(target_ranks(scores_mn, kind.owners_m))


def train_head(
    start: Head,
    kinds: Sequence[CaptionedVectors],
    settings: RefineSettings,
    *,
    epochs: int | None = None,
    judge: Callable[[int, Head], None] | None = None,
) -> Head:
    """Trains the closed form `start` on these kinds, of which the first defines the scaling of picture features.

    Args:
        epochs: where to cut the schedule of `settings.epochs`.
        judge: called with the head after every epoch, beginning with 0.
    """
    towers = _Towers(start, kinds, settings)
    shelves = [_Shelf(kind, towers, settings) for kind in kinds]
    optimiser, schedule = _make_optimiser(towers, settings, sum(shelf.batches for shelf in shelves))
    generator = torch.Generator().manual_seed(settings.seed)
    if judge is not None:
        judge(0, towers.head())
    towers.train()
    for epoch in range(1, 1 + (settings.epochs if epochs is None else epochs)):
        for batch in _mix_batches(shelves, generator):
            with torch.autocast("cpu", torch.bfloat16, enabled=_multiplies_in_16_bits()):
                pictures_bd, texts_td = towers.visual(batch.pictures_bx), towers.texts(batch.texts_ts, batch.words_tl)
            scale = towers.log_scale.exp()
            loss = contrastive_loss(texts_td, pictures_bd, holds_tb=batch.holds_tb, scale=scale)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()
        if judge is not None:
            judge(epoch, towers.head())
    return towers.head()


def contrastive_loss(texts_td: Tensor, pictures_bd: Tensor, *, holds_tb: Tensor, scale: Tensor) -> Tensor:
    """Symmetric InfoNCE (Radford et al. 2021), where a text may hold for several pictures of the batch.

    `holds_tb[i, j]` is 1 where text i holds for picture j; all such pictures are equally correct.
    """
    logits_tb = scale * texts_td @ pictures_bd.T
    by_text = functional.cross_entropy(logits_tb, holds_tb / holds_tb.sum(dim=1, keepdim=True))
    by_picture = functional.cross_entropy(logits_tb.T, holds_tb.T / holds_tb.T.sum(dim=1, keepdim=True))
    return (by_text + by_picture) / 2


def lexicon_of(kinds: Sequence[CaptionedVectors], size: int) -> tuple[str, ...]:
    """The `size` words that are in most texts of the kinds, in at least `MIN_TEXTS`; most frequent first."""
    counts = Counter(word for kind in kinds for text in kind.texts for word in set(words_of(text)))
    frequent = sorted((-count, word) for word, count in counts.items() if count >= MIN_TEXTS)
    return tuple(word for _, word in frequent[:size])


class _Tower(nn.Module):
    """unit(linear(x) + outer(relu(inner(x))) + beside), the second term starting at zero."""

    def __init__(self, linear_xd: np.ndarray, bias_d: np.ndarray, dropout: float, settings: RefineSettings) -> None:
        super().__init__()
        width_in, width_out = linear_xd.shape
        self.dropout, self.hidden_dropout = dropout, settings.hidden_dropout
        self.linear = nn.Linear(width_in, width_out)
        self.inner = nn.Linear(width_in, settings.hidden)
        self.outer = nn.Linear(settings.hidden, width_out)
        with torch.no_grad():
            self.linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(linear_xd.T)))
            self.linear.bias.copy_(torch.from_numpy(np.ascontiguousarray(bias_d)))
            self.outer.weight.zero_()
            self.outer.bias.zero_()

    def forward(self, x_nx: Tensor, beside_nd: Tensor | float = 0.0) -> Tensor:
        seen_nx = functional.dropout(x_nx, self.dropout, self.training)
        hidden_nh = functional.dropout(functional.relu(self.inner(seen_nx)), self.hidden_dropout, self.training)
        return functional.normalize((self.linear(seen_nx) + self.outer(hidden_nh) + beside_nd).float(), dim=-1)

    def numbers(self) -> tuple[np.ndarray, np.ndarray, Residual]:
        """Weight and bias of the linear map, and the residual beside it."""
        found = {name: value.numpy().copy() for name, value in self.state_dict().items()}
        residual = Residual(found["inner.weight"].T, found["inner.bias"], found["outer.weight"].T, found["outer.bias"])
        return found["linear.weight"].T, found["linear.bias"], residual


class _Towers(nn.Module):
    """The two sides as torch modules, and their conversion back into a `Head`."""

    def __init__(self, head: Head, kinds: Sequence[CaptionedVectors], settings: RefineSettings) -> None:
        super().__init__()
        self._start, self._kinds, self._settings = head, kinds, settings
        visual_nx = head_input(kinds[0].raw_vnr[0])
        self.centre_x = visual_nx.mean(axis=0)
        self.scale_x = visual_nx.std(axis=0) + 1e-3
        torch.manual_seed(settings.seed)
        gain = float(np.linalg.norm(visual_nx @ head.visual_xd + head.visual_bias_d, axis=1).mean())
        linear_xd = head.visual_xd * self.scale_x[:, None] / gain
        bias_d = (head.visual_bias_d + self.centre_x @ head.visual_xd) / gain
        self.visual = _Tower(linear_xd, bias_d, settings.dropout, settings)
        # Sentence vectors have unit length; the square root of their width brings each number near 1.
        self._sentence_gain = np.sqrt(head.sentence_sd.shape[0])
        said_ms = unit_rows(kinds[0].captions_ms - head.sentence_mean_s)
        said = float(np.linalg.norm(said_ms @ head.sentence_sd, axis=1).mean())
        sentence_sd = head.sentence_sd / self._sentence_gain / said
        self.sentence = _Tower(sentence_sd, np.zeros(head.width), settings.dropout / 5, settings)
        self.lexicon = lexicon_of(kinds, settings.lexicon)
        self.places = {word: place for place, word in enumerate(self.lexicon, 1)}
        # Row 0 stands for no word: it pads texts and replaces words that are dropped in training.
        self.words = nn.Embedding(1 + len(self.lexicon), head.width, padding_idx=0)
        with torch.no_grad():
            self.words.weight[1:].normal_(std=0.01)
        self.log_scale = nn.Parameter(torch.tensor(float(np.log(1 / settings.temperature))))

    def texts(self, texts_ts: Tensor, words_tl: Tensor) -> Tensor:
        """Unit vectors (t d) of texts from their sentence vectors and the places of their words."""
        if self.training and self.lexicon:
            words_tl = words_tl * (torch.rand(words_tl.shape) > self._settings.word_dropout)
        return self.sentence(texts_ts, self.words(words_tl).sum(dim=1) if self.lexicon else 0.0)  # type: ignore[no-any-return]

    def visual_features(self, raw_nr: Float[np.ndarray, "n r"]) -> Tensor:
        return torch.from_numpy((head_input(raw_nr) - self.centre_x) / self.scale_x).float()

    def sentence_features(self, captions_ms: Float[np.ndarray, "m s"]) -> Tensor:
        return torch.from_numpy(unit_rows(captions_ms - self._start.sentence_mean_s) * self._sentence_gain).float()

    def word_places(self, texts: Sequence[str], count: int) -> Tensor:
        """Indices of the known words of each text, padded with 0; for `count` texts without words, nothing."""
        places_tl = np.zeros((count, MAX_WORDS if self.lexicon and texts else 0), np.int64)
        if places_tl.size:
            for row, text in enumerate(texts):
                known = [self.places[word] for word in words_of(text)[:MAX_WORDS] if word in self.places]
                places_tl[row, : len(known)] = known
        return torch.from_numpy(places_tl)

    def head(self) -> Head:
        """The trained head, with the scaling of the inputs folded back into the first layers."""
        linear_xd, bias_d, residual = self.visual.numbers()
        text_sd, text_bias_d, text_residual = self.sentence.numbers()
        visual_xd, inner_xh = linear_xd / self.scale_x[:, None], residual.inner_xh / self.scale_x[:, None]
        head = replace(
            self._start,
            visual_xd=visual_xd,
            visual_bias_d=bias_d - self.centre_x @ visual_xd,
            sentence_sd=text_sd * self._sentence_gain,
            names_mix=0.0,  # the class names' share helps only with few captions; training has absorbed it
            visual_residual=replace(
                residual, inner_xh=inner_xh, inner_bias_h=residual.inner_bias_h - self.centre_x @ inner_xh
            ),
            sentence_residual=replace(
                text_residual,
                inner_xh=text_residual.inner_xh * self._sentence_gain,
                outer_bias_d=text_residual.outer_bias_d + text_bias_d,
            ),
            lexicon=self.lexicon,
            lexicon_wd=self.words.weight.detach().numpy()[1:].copy() if self.lexicon else None,
        )
        return add_bank(head, self._kinds, self._settings.bank)


@dataclass(frozen=True)
class _Batch:
    """Pictures (b x), texts as sentence vectors (t s) and words (t l), and which text holds for which picture (t b)."""

    pictures_bx: Tensor
    texts_ts: Tensor
    words_tl: Tensor
    holds_tb: Tensor


class _Shelf:
    """A kind prepared for batches: captions, now and then replaced by a label that holds."""

    def __init__(self, kind: CaptionedVectors, towers: _Towers, settings: RefineSettings) -> None:
        self._settings = settings
        self._views_vnx = torch.stack([towers.visual_features(raw_nr) for raw_nr in kind.raw_vnr])
        self._captions = len(kind.captions_ms)
        labelled = kind.labels_ls is not None and kind.holds_nl is not None and settings.labels > 0
        labels_ls = kind.labels_ls if labelled and kind.labels_ls is not None else kind.captions_ms[:0]
        said_ts = np.concatenate([kind.captions_ms, labels_ls])
        texts = (*kind.texts, *kind.labels[: len(labels_ls)]) if kind.texts else ()
        self._texts_ts, self._words_tl = towers.sentence_features(said_ts), towers.word_places(texts, len(said_ts))
        self._holds_nl = None if not labelled or kind.holds_nl is None else torch.from_numpy(kind.holds_nl).float()
        self._own_nc = _captions_of(kind)
        self._described_n = torch.from_numpy(np.flatnonzero((self._own_nc >= 0).any(axis=1)))
        self._size = min(settings.batch, len(self._described_n))
        self.batches = max(int(kind.weight * (len(self._described_n) // self._size)), 1)

    def epoch(self, generator: torch.Generator) -> Iterator[_Batch]:
        """The batches of an epoch, in a new order, each picture in one of its views with some of its captions."""
        order_n = self._described_n[torch.randperm(len(self._described_n), generator=generator)]
        for rows_b in order_n[: self.batches * self._size].split(self._size):  # type: ignore[no-untyped-call]
            yield self._make_batch(rows_b, generator)

    def _make_batch(self, rows_b: Tensor, generator: torch.Generator) -> _Batch:
        own_bc = torch.from_numpy(self._own_nc)[rows_b]
        # Captions of each picture in a random order, missing ones last.
        order_bc = (torch.rand(own_bc.shape, generator=generator) + (own_bc < 0)).argsort(dim=1)
        own_bc = own_bc.gather(1, order_bc)[:, : self._settings.captions]
        there_bc = own_bc >= 0
        at_t, text_t = there_bc.nonzero()[:, 0], own_bc[there_bc]
        own_tb = functional.one_hot(at_t, len(rows_b)).float()
        texts_ts = self._texts_ts[text_t]
        likeness_tt = (texts_ts @ texts_ts.T) / texts_ts.shape[1]
        holds_tb = ((likeness_tt > SAME_TEXT).float() @ own_tb).clamp(max=1).maximum(own_tb)
        if self._holds_nl is not None:
            # Some captions are replaced by a label of the same picture, which holds for every picture that has it.
            held_bl = self._holds_nl[rows_b]
            held_tl = held_bl[at_t]
            label_t = torch.multinomial(held_tl + 1e-9, 1, generator=generator)[:, 0]
            chance_t = torch.rand(len(at_t), generator=generator)
            labelled_t = (chance_t < self._settings.labels) & (held_tl.sum(dim=1) > 0)
            text_t = torch.where(labelled_t, self._captions + label_t, text_t)
            holds_tb = torch.where(labelled_t[:, None], held_bl[:, label_t].T, holds_tb)
        view_b = torch.randint(len(self._views_vnx), (len(rows_b),), generator=generator)
        pictures_bx = self._views_vnx[view_b, rows_b]
        return _Batch(pictures_bx, self._texts_ts[text_t], self._words_tl[text_t], holds_tb)


def _captions_of(kind: CaptionedVectors) -> np.ndarray:
    """The rows of each picture's captions (n c), padded with -1."""
    count_n = np.bincount(kind.owners_m, minlength=len(kind))
    own_nc = np.full((len(kind), count_n.max()), -1)
    order_m = np.argsort(kind.owners_m, kind="stable")
    own_nc[np.arange(own_nc.shape[1]) < count_n[:, None]] = order_m
    return own_nc


def _mix_batches(shelves: Sequence[_Shelf], generator: torch.Generator) -> Iterator[_Batch]:
    """The batches of all shelves, mixed."""
    of_k = torch.repeat_interleave(torch.tensor([shelf.batches for shelf in shelves]))
    batches = [shelf.epoch(generator) for shelf in shelves]
    for at in of_k[torch.randperm(len(of_k), generator=generator)].tolist():
        yield next(batches[at])


def _make_optimiser(
    towers: _Towers, settings: RefineSettings, batches: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """AdamW with weight decay on matrices only, on a one-cycle schedule."""
    parameters = list(towers.parameters())
    groups = [
        {"params": [one for one in parameters if one.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [one for one in parameters if one.ndim < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.learning_rate, total_steps=settings.epochs * batches, pct_start=0.1
    )
    return optimiser, schedule


def _multiplies_in_16_bits() -> bool:
    """Whether this processor multiplies bfloat16 natively, about four times as fast as float32."""
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())
