"""Training the relative captioner: OUT/best.safetensors, and in OUT/attributes the attributes that it reads.

It lives with the retrievers because it is trained as they are, and because one of them is trained with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from viewfinder.data.fashion_iq import CaptionVocabulary, build_caption_vocabulary
from viewfinder.encoders.tags import SYSTEM as ATTRIBUTES
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.metrics import bleu, cider_d, rouge_l
from viewfinder.retrievers.fashioniq.attribute_training import train_attributes
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training import (
    Card,
    TrainingJob,
    TrainingResult,
    TrainingSettings,
    draw_epochs,
    load_preset,
    read_card,
    seed_all,
)
from viewfinder.training.layers import AttributeHead
from viewfinder.training.presets import check_settings
from viewfinder.users.captioner.captioner import END, PAD, START, SYSTEM, Captioner, caption_texts, decode_greedily
from viewfinder.users.captioner.network import CaptionerNetwork, make_captioner
from viewfinder.users.captioner.settings import CaptionerModel
from viewfinder.weights import check_card

PRESETS = Path(__file__).with_name("captioner.toml")

SmoothingOver = Literal["all", "others"]

MAX_PAIRS_AT_ONCE = 128
"""How many pairs validation captions at once."""


@dataclass(frozen=True, kw_only=True)
class CaptionerPreset:
    """A table of captioner.toml.

    Attributes:
        kinds: kinds of the data to learn from, as its files name them; empty: all of them, in one network.
        smoothing, smoothing_over: what share of a label goes to other words, and to which: to "all" alike, including
            the right one, or to all "others" (published).
        attributes: how the attributes are trained if no file is named, a table of attributes.toml.
        selects: the validation figure by which the best weights are chosen; the published one is BLEU-3.
    """

    model: CaptionerModel
    training: TrainingSettings
    kinds: tuple[str, ...] = ()
    batch: int = 64  # captions a step; each caption of a pair is an example of its own
    smoothing: float = 0.0
    smoothing_over: SmoothingOver = "all"
    attribute_file: str = ""  # trained attributes to read; "" trains them first, if the model reads any
    attributes: str = "lab"
    selects: Literal["bleu3", "cider", "loss"] = "bleu3"

    def __post_init__(self) -> None:
        check_settings(self, "at least 1", "batch")
        check_settings(self, "at least 0 and below 1", "smoothing")


class TrainingStopped(ViewfinderError):
    """A training that another one needs was asked to stop; `fitted` says how far it got."""

    def __init__(self, fitted: TrainingResult) -> None:
        super().__init__("stopped while the simulated user was trained; go on with --resume")
        self.fitted = fitted


def load_simulator(plan: TrainPlan, named: str, preset: str, kinds: tuple[str, ...]) -> Captioner:
    """The simulated user a retriever is trained with, who says how a wanted picture differs: the captioner of the file
    `named`; or one trained first in OUT/captioner, on these kinds (empty: every kind there is).

    Raises:
        TrainingStopped: its training was asked to stop.
        BadInput, UnknownName, EncoderMismatch: as `train_captioner`, or the file cannot be used.
    """
    if not named:
        plan.notify("training the simulated user")
    captioner = Captioner.load(_find_or_train(plan, named, train_captioner, SYSTEM, preset, kinds))
    captioner.check(plan.encoder.raw_version)
    plan.note_weights(captioner.trained_on)
    return captioner


def train_captioner(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training.

    Raises:
        BadInput, UnknownName, EncoderMismatch: the data or preset cannot be used.
    """
    preset = load_preset(PRESETS, plan.preset, CaptionerPreset, plan.overrides)
    if plan.start is not None:
        raise BadInput("--start: a captioner is trained from the beginning, or goes on by --resume; leave --start out")
    try:
        predictor = None
        if preset.model.attributes:
            predictor = load_predictor(plan, preset.attribute_file, preset.attributes, preset.kinds, "captioner")
    except TrainingStopped as stopped:
        return replace(stopped.fitted, best=plan.out / "best.safetensors", figures={})  # there is none yet
    garments = {split: read_garments(plan, split, preset.kinds) for split in ("train", "val")}
    for split, found in garments.items():
        if not len(found.pairs):
            raise BadInput(f"{plan.data[0]}: no pairs with relative captions to learn from among its {split} pictures")
    seen = garments["train"]
    words = build_caption_vocabulary(caption for several in seen.pairs.captions for caption in several)
    seed_all(plan.seed)
    network = _make_network(preset.model, seen, words, predictor)
    train, val = (make_caption_examples(found, words, preset.model) for found in garments.values())
    known = {
        "model": asdict(preset.model),
        "vocabulary": list(words.words),
        "labels": [] if predictor is None else list(predictor.labels),
        "kinds": list(seen.kinds),
    }
    card = Card(system=SYSTEM, preset=plan.preset, encoder=seen.raw_version, settings=known)
    return plan.fit(
        TrainingJob(
            network=network,
            batches=draw_epochs(len(train.words_el), preset.batch, lambda rows_b, rng: train.batch(rows_b)),
            loss=partial(_measure_loss, smoothing=preset.smoothing, over=preset.smoothing_over),
            settings=preset.training,
            card=card,
            validate=partial(measure_captions, examples=val, garments=garments["val"], words=words),
            selects=preset.selects,
            higher=preset.selects != "loss",
        )
    )


def load_predictor(plan: TrainPlan, named: str, preset: str, kinds: tuple[str, ...], reader: str) -> AttributePredictor:
    """The attribute predictor: that of the file `named`, or one trained first in OUT/attributes for a `reader`.

    Raises:
        TrainingStopped: its training was asked to stop.
        BadInput, EncoderMismatch: the file cannot be used.
    """
    if not named:
        plan.notify(f"training the attributes that the {reader} reads")
    file = _find_or_train(plan, named, train_attributes, ATTRIBUTES, preset, kinds)
    card = read_card(file)
    check_card(file, card, system=ATTRIBUTES, encoder=plan.encoder.raw_version)
    plan.note_weights(card.trained_on)
    return AttributePredictor.read(file)


def _find_or_train(
    plan: TrainPlan,
    named: str,
    train: Callable[[TrainPlan], TrainingResult],
    system: str,
    preset: str,
    kinds: tuple[str, ...],
) -> Path:
    """The file `named`, or if nothing is named the weights of a training in OUT/`system`.

    Raises:
        TrainingStopped: it was asked to stop.
    """
    if named:
        return Path(named)
    own = (f"kinds={json.dumps(list(kinds), ensure_ascii=False)}",)
    fitted = train(replace(plan, system=system, preset=preset, out=plan.out / system, overrides=own, start=None))
    if fitted.ended == "asked":
        raise TrainingStopped(fitted)
    return fitted.best


def _make_network(
    model: CaptionerModel, garments: Garments, words: CaptionVocabulary, predictor: AttributePredictor | None
) -> CaptionerNetwork:
    """The initial network: random weights, untrained parts set from the training pictures, attributes put in."""
    raw_width = garments.raw_ng.shape[1]
    network = make_captioner(model, raw_width, len(words.words), 0 if predictor is None else len(predictor.labels))
    if model.kind == "transformer":
        # Every matrix is redrawn by Glorot's rule, as published; what stands for nothing stays zeros.
        for module in network.modules():
            for parameter in module.parameters(recurse=False):
                if parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter)
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx])
    network.input.measure(np.asarray(garments.raw_ng))
    if predictor is not None:
        network.attributes = AttributeHead.from_predictor(predictor)
    return network


# -- the training data


class CaptionBatch(NamedTuple):
    """Captions of pairs, whose pictures are raw vectors: <start> and the words; and at every position the next word,
    <end> last. <pad> follows both."""

    shown_bg: Float[Tensor, "b g"]
    wanted_bg: Float[Tensor, "b g"]
    words_bt: Int[Tensor, "b t"]
    goals_bt: Int[Tensor, "b t"]


@dataclass(frozen=True, eq=False)
class CaptionExamples:
    """Captions with the rows of their pictures: every caption of a pair is an example of its own.

    `words_el` are <start>, the words and <end>, <pad> after them.
    """

    raw_ng: Float[Tensor, "n g"]
    shown_e: Int[np.ndarray, " e"]
    wanted_e: Int[np.ndarray, " e"]
    words_el: Int[np.ndarray, "e l"]

    def batch(self, rows_b: Int[np.ndarray, " b"]) -> CaptionBatch:
        """Some examples, padded to the longest of them."""
        words_bl = torch.from_numpy(self.words_el[rows_b])
        words_bl = words_bl[:, : int((words_bl != PAD).sum(dim=1).max())]
        shown_b, wanted_b = (torch.from_numpy(rows_e[rows_b]) for rows_e in (self.shown_e, self.wanted_e))
        said_bt = words_bl[:, :-1].masked_fill(words_bl[:, :-1] == END, PAD)
        return CaptionBatch(self.raw_ng[shown_b], self.raw_ng[wanted_b], said_bt, words_bl[:, 1:])


def make_caption_examples(garments: Garments, words: CaptionVocabulary, model: CaptionerModel) -> CaptionExamples:
    """The captions of a split's pairs as examples, up to the model's length.

    The beginning of a longer caption is learnt; that it ends there only with `learnt_words`.
    """
    learnt, room = model.learnt_words or None, model.learnt_words + 2 if model.learnt_words else model.most_words + 1
    pairs = garments.pairs
    owners = [pair for pair, captions in enumerate(pairs.captions) for _ in captions]
    said = [caption for captions in pairs.captions for caption in captions]
    words_el = np.full((len(said), room), PAD, np.int64)
    for row, caption in enumerate(said):
        numbers = (START, *words.encode(caption)[:learnt], END)[:room]
        words_el[row, : len(numbers)] = numbers
    raw_ng = torch.from_numpy(np.array(garments.raw_ng, dtype=np.float32))
    return CaptionExamples(raw_ng, pairs.candidate_p[owners], pairs.target_p[owners], words_el)


def smoothed_loss(
    logits_nv: Float[Tensor, "n v"], goals_n: Int[Tensor, " n"], smoothing: float, over: SmoothingOver
) -> Float[Tensor, ""]:
    """Cross-entropy of words, summed, <pad> left out; `smoothing` of each label goes to other words, see the preset."""
    if over == "others":  # torch smooths over all v: of the share it takes, (v - 1) / v goes to others
        smoothing *= logits_nv.shape[1] / (logits_nv.shape[1] - 1)
    return functional.cross_entropy(logits_nv, goals_n, ignore_index=PAD, label_smoothing=smoothing, reduction="sum")


def _measure_loss(
    network: CaptionerNetwork, batch: CaptionBatch, *, smoothing: float = 0.0, over: SmoothingOver = "all"
) -> tuple[Tensor, dict[str, Tensor]]:
    """Cross-entropy of every next word, summed over the batch as published; the mean goes into the log."""
    logits_btv = network.logits(network.see(batch.shown_bg, batch.wanted_bg), batch.words_bt)
    lost = smoothed_loss(logits_btv.flatten(0, 1), batch.goals_bt.flatten(), smoothing, over)
    return lost, {"word_loss": lost.detach() / (batch.goals_bt != PAD).sum()}


# -- validation


def measure_captions(
    network: CaptionerNetwork, *, examples: CaptionExamples, garments: Garments, words: CaptionVocabulary
) -> dict[str, float]:
    """The figures of validation: BLEU-3, BLEU-4, ROUGE-L and CIDEr-D of greedy captions, and the loss per word."""
    device = next(network.parameters()).device
    pairs = garments.pairs
    said: list[str] = []
    for at in range(0, len(pairs), MAX_PAIRS_AT_ONCE):
        rows = slice(at, at + MAX_PAIRS_AT_ONCE)
        shown_bg, wanted_bg = (
            examples.raw_ng[rows_p[rows]].to(device) for rows_p in (pairs.candidate_p, pairs.target_p)
        )
        said += caption_texts(decode_greedily(network, shown_bg, wanted_bg), words.words)
    lost, count = 0.0, 0  # of words, without smoothing
    for at in range(0, len(examples.words_el), MAX_PAIRS_AT_ONCE):
        rows_b = np.arange(at, min(at + MAX_PAIRS_AT_ONCE, len(examples.words_el)))
        batch = CaptionBatch(*(tensor.to(device) for tensor in examples.batch(rows_b)))
        lost += float(_measure_loss(network, batch)[0])
        count += int((batch.goals_bt != PAD).sum())
    bleu_n = bleu(said, pairs.captions)
    return {
        "bleu3": float(bleu_n[2]),
        "bleu4": float(bleu_n[3]),
        "rouge_l": float(rouge_l(said, pairs.captions).mean()),
        "cider": float(cider_d(said, pairs.captions).mean()),
        "loss": lost / count,
    }
