"""Training a dialogue encoder: OUT/best.safetensors, and beside it what `training.fit` lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.metrics import score_bounds
from viewfinder.retrievers.chatir.batches import ChatirBatch, ChatirBatches, SentenceTensors, TokenTensors
from viewfinder.retrievers.chatir.loss import dialogue_retrieval_loss
from viewfinder.retrievers.chatir.network import (
    DialogueEncoder,
    SentenceDialogueEncoder,
    TextModel,
    TokenDialogueEncoder,
    build_text_encoder,
    load_text_model,
)
from viewfinder.retrievers.chatir.settings import MASKED_SHARE, ChatirLossSettings, ChatirPreset
from viewfinder.retrievers.shared.network import DEPTH
from viewfinder.retrievers.shared.picture_dialogues import (
    PictureDialogues,
    join_picture_dialogues,
    read_picture_dialogues,
)
from viewfinder.retrievers.shared.train_plan import TrainPlan, check_start_sentences, read_preset
from viewfinder.training import Card, TrainingJob, TrainingResult, gather_with_gradient, load_network, seed_all

SYSTEM = "chatir"
PRESETS = Path(__file__).with_name("presets.toml")

MAX_PICTURES_AT_ONCE = 1024
"""How many pictures' vectors are computed together."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset, start = read_preset(plan, PRESETS, ChatirPreset)
    if start is None and preset.model.reads == "sentences":
        # A round that training never read could not be read later.
        preset = replace(preset, model=replace(preset.model, rounds=min(preset.model.rounds, preset.rounds)))
    network, card, train, val = prepare_training(plan, preset, start)
    contrasts = preset.loss.kind == "contrastive"
    return plan.fit(
        TrainingJob(
            network=network,
            batches=partial(train.epoch, preset.batch),
            loss=partial(_measure_loss, settings=preset.loss),
            settings=preset.training,
            card=card,
            validate=partial(validate_encoder, preset=preset, batches=val),
            selects=preset.selects,
            higher=preset.selects == "recall",
            trainable=lambda name: contrasts if name == "log_scale" else network.trains(name),
            may_leave_unused=True,
        )
    )


def _measure_loss(
    network: DialogueEncoder, batch: ChatirBatch, *, settings: ChatirLossSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a batch among the batches of all processes."""
    dialogues_bd, pictures_bd = map(gather_with_gradient, _encode_batch(network, batch))
    loss = dialogue_retrieval_loss(settings, network.log_scale, dialogues_bd, pictures_bd)
    return loss, {"scale": network.log_scale.detach().exp()} if settings.kind == "contrastive" else {}


def _encode_batch(network: DialogueEncoder, batch: ChatirBatch) -> tuple[Float[Tensor, "b d"], Float[Tensor, "b d"]]:
    """The vectors of a batch's dialogues and pictures; frozen picture vectors come with the batch."""
    learned = network.settings.image == "learned"
    pictures_bd = network.encode_pictures(batch.pictures_bx) if learned else batch.pictures_bx
    return network.encode_dialogues(*batch.dialogues), pictures_bd


def validate_encoder(network: DialogueEncoder, *, preset: ChatirPreset, batches: ChatirBatches) -> dict[str, float]:
    """The figures of validation: each dialogue looks for its picture among those of all dialogues, after every round.

    "loss" is the batch loss, averaged over all lengths of a dialogue; "recall" is Recall@10, averaged likewise;
    "first" and "last" are Recall@10 before any round and after all, "hits" the share that was among the first ten at
    any time. Ties count half.
    """
    device = network.log_scale.device
    losses, sizes, found = [], [], []
    for rounds in range(min(preset.rounds, batches.longest) + 1):
        dialogues, pictures = [], []
        for given in batches.fixed(rounds, preset.batch):
            batch = ChatirBatch(given.pictures_bx.to(device), tuple(part.to(device) for part in given.dialogues))
            dialogues_bd, pictures_bd = _encode_batch(network, batch)
            dialogues.append(dialogues_bd)
            pictures.append(pictures_bd)
            losses.append(float(dialogue_retrieval_loss(preset.loss, network.log_scale, dialogues_bd, pictures_bd)))
            sizes.append(len(dialogues_bd))
        scores_dn = (torch.cat(dialogues) @ torch.cat(pictures).T).float().cpu().numpy()
        best_d, worst_d = score_bounds(scores_dn, np.arange(len(scores_dn)))
        found.append((best_d + worst_d) / 2 < DEPTH)
    found_rd = np.stack(found)
    recall_r = found_rd.mean(axis=1)
    return {
        "loss": float(np.average(losses, weights=sizes)),
        "recall": float(recall_r.mean()),
        "first": float(recall_r[0]),
        "last": float(recall_r[-1]),
        "hits": float(found_rd.any(axis=0).mean()),
    }


# -- the training data


def prepare_training(
    plan: TrainPlan, preset: ChatirPreset, start: Card | None
) -> tuple[DialogueEncoder, Card, ChatirBatches, ChatirBatches]:
    """The initial network, its card, and the dialogues of both splits. Raises as `train_system`."""
    sets = [
        join_picture_dialogues([read_picture_dialogues(plan, folder, split, preset.dialogues) for folder in plan.data])
        for split in ("train", "val")
    ]
    shared, raw_pg = preset.model.image == "shared", sets[0].raw_ng
    seen = [one.raw_ng for one in sets]
    if shared:
        seen = [np.ascontiguousarray(plan.encoder.project(raw_ng), np.float32) for raw_ng in seen]
        preset = replace(preset, model=replace(preset.model, image_width=seen[0].shape[1]))
    seed_all(plan.seed)
    reading = (
        _read_tokens(preset, start, sets) if preset.model.reads == "tokens" else _read_sentences(preset, plan, sets)
    )
    network = reading.network
    encoder = plan.encoder.version if shared else sets[0].raw_version
    settings: dict[str, Any] = {
        "model": asdict(preset.model),
        "loss": asdict(preset.loss),
        "mask": preset.mask,
        "sentences_version": reading.version,
        "space": plan.encoder.version if shared else None,
        "text": reading.text,
    }
    if start is None or plan.start is None:
        network.measure_pictures(raw_pg, plan.encoder)
    else:
        check_start_sentences(plan.start, start, reading.version)
        load_network(plan.start, network, system=SYSTEM, encoder=encoder)
    train, val = (
        ChatirBatches(one, said, _encode_frozen(network, known_px), preset.rounds, preset.mask, preset.unasked)
        for one, said, known_px in zip(sets, reading.tensors, seen, strict=True)
    )
    card = Card(system=SYSTEM, preset=plan.preset, encoder=encoder, settings=settings)
    return network, card, train, val


@dataclass(frozen=True)
class _Reading:
    """A network that has learnt nothing yet, what it reads in both splits, and what its card says of how it reads."""

    network: DialogueEncoder
    tensors: Sequence[SentenceTensors | TokenTensors]
    version: str = ""
    text: dict[str, Any] | None = None


def _read_tokens(preset: ChatirPreset, start: Card | None, sets: Sequence[PictureDialogues]) -> _Reading:
    """By the text model of the preset, or that of the checkpoint it starts from."""
    model = preset.model
    if start is None:
        text = load_text_model(model.text_model, model.keep_layers)
    else:
        record = start.settings["text"]  # its weights come with the checkpoint
        text = TextModel(build_text_encoder(record["config"]), record["tokenizer"], record["mark"], record["mask"])
    config: Any = text.network.config
    if model.most_tokens > (longest := int(config.max_position_embeddings)):
        raise BadInput(f"most_tokens is {model.most_tokens}; {model.text_model} reads {longest} at most")
    network = TokenDialogueEncoder(model, sets[0].raw_ng.shape[1], text.network)
    if text.projection is not None and text.projection.weight.shape == network.out.weight.shape:
        network.out.load_state_dict(text.projection.state_dict())
    tensors = [
        TokenTensors(one, text, model, share) for one, share in zip(sets, _list_hidden_shares(preset), strict=True)
    ]
    return _Reading(network, tensors, text=text.record())


def _read_sentences(preset: ChatirPreset, plan: TrainPlan, sets: Sequence[PictureDialogues]) -> _Reading:
    """By the vectors of the plan's frozen sentence encoder."""
    tensors = [
        SentenceTensors(one, plan.sentences, preset.model.rounds, share)
        for one, share in zip(sets, _list_hidden_shares(preset), strict=True)
    ]
    network = SentenceDialogueEncoder(preset.model, sets[0].raw_ng.shape[1], tensors[0].width)
    return _Reading(network, tensors, tensors[0].version)


def _list_hidden_shares(preset: ChatirPreset) -> tuple[float, float]:
    """The share of words that are hidden in training and in validation."""
    return (MASKED_SHARE if preset.mask == "tokens" else 0.0, 0.0)


def _encode_frozen(network: DialogueEncoder, pictures_px: Float[np.ndarray, "p x"]) -> Float[Tensor, "p _"]:
    """Frozen vectors, computed once; as they are where the network learns to encode pictures."""
    pictures_py = torch.from_numpy(pictures_px)
    if network.settings.image == "learned":
        return pictures_py
    device = network.log_scale.device
    runs = (pictures_py[at : at + MAX_PICTURES_AT_ONCE] for at in range(0, len(pictures_py), MAX_PICTURES_AT_ONCE))
    with torch.no_grad():
        return torch.cat([network.encode_pictures(run.to(device)) for run in runs])
