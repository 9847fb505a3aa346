"""Training a dialogue encoder: OUT/best.safetensors, and what `training.fit` says lies beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn

from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.metrics import score_bounds
from viewfinder.retrievers.chatir.batches import (
    ChatirBatch,
    ChatirBatches,
    DialogueTensors,
    SentenceTensors,
    TokenTensors,
)
from viewfinder.retrievers.chatir.loss import dialogue_retrieval_loss
from viewfinder.retrievers.chatir.network import (
    DialogueEncoder,
    SentenceDialogueEncoder,
    TokenDialogueEncoder,
    encode_all_pictures,
    load_text_model,
    measure_picture_space,
    restore_text_model,
    set_initial_scale,
)
from viewfinder.retrievers.chatir.settings import LossSettings, ModelSettings, Preset
from viewfinder.retrievers.shared.picture_dialogues import PictureDialogues, join_picture_dialogues
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import (
    Card,
    TrainingJob,
    TrainingResult,
    build_settings,
    gather_with_gradient,
    load_network,
    load_preset,
    seed_all,
)

SYSTEM = "chatir"
PRESETS = Path(__file__).with_name("presets.toml")
DEPTH = 10
"""Validation's recall is that among so many."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        preset = replace(preset, model=build_settings(ModelSettings, start.settings["model"]))
    elif preset.model.reads == "sentences":
        # A round that was never read in training could not be read later.
        preset = replace(preset, model=replace(preset.model, rounds=min(preset.model.rounds, preset.rounds)))
    material = prepare_training(plan, preset, start)
    return plan.fit(
        TrainingJob(
            network=material.network,
            batches=material.train.epochs(preset.batch),
            loss=partial(_lost, settings=preset.loss),
            settings=replace(preset.training, seed=plan.seed),
            card=material.card,
            validate=partial(validate_encoder, preset=preset, batches=material.val),
            selects=preset.selects,
            higher=preset.selects == "recall",
            trainable=partial(_trains, material.network, preset),
            may_leave_unused=True,
        ),
    )


def _lost(module: nn.Module, batch: ChatirBatch, *, settings: LossSettings) -> tuple[Tensor, Mapping[str, Tensor]]:
    """The loss of a batch among the batches of all processes."""
    assert isinstance(module, DialogueEncoder)
    talks_bd, pictures_bd = _vectors(module, batch)
    loss = dialogue_retrieval_loss(module, settings, gather_with_gradient(talks_bd), gather_with_gradient(pictures_bd))
    return loss, {"scale": module.log_scale.detach().exp()} if settings.kind == "contrastive" else {}


def _vectors(network: DialogueEncoder, batch: ChatirBatch) -> tuple[Float[Tensor, "b d"], Float[Tensor, "b d"]]:
    """The vectors of a batch's talks and pictures; those of pictures that stay as they are come with it."""
    talks_bd = network.read(*batch.said)
    return talks_bd, network.look(batch.seen_bx) if network.settings.image == "learned" else batch.seen_bx


def _trains(network: DialogueEncoder, preset: Preset, name: str) -> bool:
    """Whether a parameter is trained."""
    if name == "log_scale":
        return preset.loss.kind == "contrastive" and preset.loss.learned_scale
    return network.trains(name)


def validate_encoder(module: nn.Module, *, preset: Preset, batches: ChatirBatches) -> dict[str, float]:
    """What validation measures: each talk is looked for among the pictures of all of them, after every round.

    "loss" is that of batches, its mean over all lengths of a talk; "recall" likewise is the mean of Recall@10, "first"
    and "last" are that before any round and after all, "hits" the share that was among the first ten at any time.
    """
    assert isinstance(module, DialogueEncoder)
    device = module.log_scale.device
    lost, found = [], []
    for rounds in range(min(preset.rounds, batches.longest) + 1):
        talks, pictures = [], []
        for given in batches.fixed(rounds, preset.batch):
            batch = ChatirBatch(given.seen_bx.to(device), tuple(said.to(device) for said in given.said))
            talks_bd, pictures_bd = _vectors(module, batch)
            talks.append(talks_bd)
            pictures.append(pictures_bd)
            lost.append((float(dialogue_retrieval_loss(module, preset.loss, talks_bd, pictures_bd)), len(talks_bd)))
        found.append(_among_first((torch.cat(talks) @ torch.cat(pictures).T).float().cpu().numpy()))
    found_rd = np.stack(found)
    recall_r = found_rd.mean(axis=1)
    return {
        "loss": float(np.average([loss for loss, _ in lost], weights=[size for _, size in lost])),
        "recall": float(recall_r.mean()),
        "first": float(recall_r[0]),
        "last": float(recall_r[-1]),
        "hits": float(found_rd.any(axis=0).mean()),
    }


def _among_first(scores_dn: Float[np.ndarray, "n n"]) -> Bool[np.ndarray, " n"]:
    """Which talks have their picture, that of the same number, among the first ten; ties count half."""
    best_d, worst_d = score_bounds(scores_dn, np.arange(len(scores_dn)))
    return np.asarray((best_d + worst_d) / 2 < DEPTH)


# -- what is learnt from


@dataclass(frozen=True, eq=False)
class PreparedTraining:
    """A network as it begins, its card, and the talks of both splits as batches."""

    network: DialogueEncoder
    card: Card
    train: ChatirBatches
    val: ChatirBatches


def prepare_training(plan: TrainPlan, preset: Preset, start: Card | None) -> PreparedTraining:
    """The data of a plan, and the network over it: drawn, or as the plan's start has it.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data or start that cannot serve.
    """
    train, val = (
        join_picture_dialogues([plan.talks(folder, split, preset.dialogues) for folder in plan.data])
        for split in ("train", "val")
    )
    seen = {id(talks): _seen(preset.model, plan.encoder, talks) for talks in (train, val)}
    if preset.model.image == "shared":
        preset = replace(preset, model=replace(preset.model, image_width=seen[id(train)].shape[1]))
    seed_all(plan.seed)
    if preset.model.reads == "tokens":
        made = _tokens(plan, preset, train, val, start)
    else:
        made = _sentences(plan, preset, train, val)
    encoder = plan.encoder.version if preset.model.image == "shared" else train.raw_version
    settings = {"model": asdict(preset.model), "loss": asdict(preset.loss), **made.known}
    card = Card(system=SYSTEM, preset=plan.preset, encoder=encoder, settings=settings)
    if start is None:
        measure_picture_space(made.network, train.raw_ng, plan.encoder)
        set_initial_scale(made.network, preset.loss.scale)
    else:
        assert plan.start is not None
        _check_sentences(plan.start, start, card)
        load_network(plan.start, made.network, system=SYSTEM, encoder=encoder)

    def batches(talks: PictureDialogues, speech: DialogueTensors) -> ChatirBatches:
        known = seen[id(talks)]
        seen_px = (
            torch.from_numpy(known) if preset.model.image == "learned" else encode_all_pictures(made.network, known)
        )
        return ChatirBatches(talks, speech, seen_px, preset.rounds, preset.mask, preset.mask_share, preset.unasked)

    return PreparedTraining(made.network, card, batches(train, made.train), batches(val, made.val))


class _Made(NamedTuple):
    """A network, what reads the talks of both splits for it, and what its card must know of that."""

    network: DialogueEncoder
    train: DialogueTensors
    val: DialogueTensors
    known: dict[str, Any]


def _sentences(plan: TrainPlan, preset: Preset, train: PictureDialogues, val: PictureDialogues) -> _Made:
    speech = SentenceTensors(train, plan.sentences, preset.model.rounds, _hidden(preset))
    network = SentenceDialogueEncoder(preset.model, train.raw_ng.shape[1], speech.width)
    known = {**_known(plan.encoder, preset), "sentences_version": speech.version}
    return _Made(network, speech, SentenceTensors(val, plan.sentences, preset.model.rounds), known)


def _tokens(
    plan: TrainPlan, preset: Preset, train: PictureDialogues, val: PictureDialogues, start: Card | None
) -> _Made:
    model, again = preset.model, None if start is None else start.settings["text"]
    text = load_text_model(model.text_model, model.keep_layers) if again is None else restore_text_model(again)
    if model.most_tokens > (longest := text.longest()):
        raise BadInput(f"most_tokens is {model.most_tokens}; {model.text_model} reads {longest} at most")
    network = TokenDialogueEncoder(model, train.raw_ng.shape[1], text.network)
    if text.projection is not None and text.projection.weight.shape == network.out.weight.shape:
        network.out.load_state_dict(text.projection.state_dict())
    known = {**_known(plan.encoder, preset), "text": text.record()}
    return _Made(network, TokenTensors(train, text, model, _hidden(preset)), TokenTensors(val, text, model), known)


def _hidden(preset: Preset) -> float:
    """The share of words or tokens that training hides."""
    return preset.mask_share if preset.mask == "tokens" else 0.0


def _known(encoder: Encoder, preset: Preset) -> dict[str, Any]:
    """What cards of both ways of reading hold."""
    return {
        "mask": preset.mask,
        "mask_share": preset.mask_share,
        "sentences_version": "",
        "space": encoder.version if preset.model.image == "shared" else None,
        "text": None,
    }


def _seen(model: ModelSettings, encoder: Encoder, talks: PictureDialogues) -> Float32[np.ndarray, "p x"]:
    """What the network looks at: raw vectors, or the encoder's projections of them."""
    if model.image != "shared":
        return talks.raw_ng
    return np.ascontiguousarray(encoder.project(talks.raw_ng), np.float32)


def _check_sentences(file: Path, start: Card, card: Card) -> None:
    before, now = start.settings["sentences_version"], card.settings["sentences_version"]
    if before != now:
        raise EncoderMismatch(
            f"{file}: reads sentence vectors of {before!r}, and this encoder's are {now!r}; use the encoder it was "
            "trained with"
        )
