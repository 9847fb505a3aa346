"""Training a retriever of Fashion IQ: OUT/best.safetensors, and what `training.fit` says lies beside it.

OUT/captioner/     the simulated user that the retriever is trained with, where the preset names no file
OUT/attributes/    the attributes that it reads, where neither the simulated user nor the preset brings any
OUT/supervised/, OUT/policy/   the two stages, where there are two
"""

from __future__ import annotations

import math
import shutil
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.fashioniq.captioning import TrainingStopped, load_predictor, load_simulator
from viewfinder.retrievers.fashioniq.feedback import NO_WORD, FeedbackNetwork
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.fashioniq.rollouts import measure_rollouts, rollout_loss
from viewfinder.retrievers.fashioniq.settings import Model, Preset
from viewfinder.retrievers.fashioniq.shelves import (
    FeedbackDialogues,
    GarmentKind,
    Places,
    SimulateFeedback,
    dialogue_batches,
    garment_kinds,
    move_kind,
    other_kinds_pictures,
)
from viewfinder.retrievers.shared.network import WordNumbers, WordVectors, read_word_table
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import (
    Card,
    TrainingJob,
    TrainingResult,
    build_settings,
    load_network,
    load_preset,
    seed_all,
)
from viewfinder.training.picture_layers import AttributeHead
from viewfinder.users.captioner.captioner import Captioner
from viewfinder.users.captioner.decoding import caption_texts, decode_greedily

SYSTEM = "fashioniq"
SUPERVISED = "supervised"
PRESETS = Path(__file__).with_name("presets.toml")

AT_ONCE = 1024
"""Pictures that are read together."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        preset = replace(preset, model=build_settings(type(preset.model), start.settings["model"]))
    try:
        material = read_training_data(plan, preset, start)
    except TrainingStopped as stopped:
        return stopped.fitted
    first = plan.fit(make_job(plan, preset, material), plan.out / SUPERVISED if preset.policy.epochs else plan.out)
    if not preset.policy.epochs or first.ended == "asked":
        return first
    from viewfinder.retrievers.fashioniq.policy import improve_policy

    load_network(first.best, material.network, system=SYSTEM, encoder=material.card.encoder)
    second = improve_policy(plan, preset, material)
    if second.ended == "asked":
        return second
    shutil.copyfile(second.best, plan.out / "best.safetensors")
    return replace(second, best=plan.out / "best.safetensors")


def make_job(plan: TrainPlan, preset: Preset, material: FashionIqTrainingData) -> TrainingJob:
    """The training of talks with a simulated user, or of recorded pairs."""

    @cache
    def on(device: torch.device, shelves: tuple[GarmentKind, ...]) -> tuple[GarmentKind, ...]:
        return shelves if device.type == "cpu" else tuple(move_kind(shelf, device) for shelf in shelves)

    def lost(module: nn.Module, talks: FeedbackDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        assert isinstance(module, FeedbackNetwork)
        shelves = on(module.log_scale.device, material.train)
        others_mx = other_kinds_pictures(shelves, talks, preset.strangers)
        loss, figures = rollout_loss(module, shelves[talks.shelf], talks, preset, others_mx)
        scale = {"scale": module.log_scale.detach().exp()} if preset.loss.kind == "contrastive" else {}
        return loss, {**figures, **scale}

    def validate(module: nn.Module) -> dict[str, float]:
        assert isinstance(module, FeedbackNetwork)
        return measure_rollouts(module, on(module.log_scale.device, material.val), preset)

    return TrainingJob(
        network=material.network,
        batches=dialogue_batches(material.train, preset),
        loss=lost,
        settings=replace(preset.training, seed=plan.seed),
        card=material.card,
        validate=validate,
        selects=preset.selects,
        higher=True,
        trainable=partial(_trains, preset),
        may_leave_unused=True,
    )


def _trains(preset: Preset, name: str) -> bool:
    """Whether a parameter is trained."""
    return name != "log_scale" or (preset.loss.kind == "contrastive" and preset.loss.learned_scale)


# -- what is learnt from


@dataclass(frozen=True, eq=False)
class FashionIqTrainingData:
    """A network as it begins, its card, and the garments of both splits by kind."""

    network: FeedbackNetwork
    card: Card
    train: tuple[GarmentKind, ...]
    val: tuple[GarmentKind, ...]


def read_training_data(plan: TrainPlan, preset: Preset, start: Card | None) -> FashionIqTrainingData:
    """The data of a plan, and the network over it: drawn, or as the plan's start has it.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data or start that cannot serve.
        Stopped: the training of a simulated user or of attributes was asked to stop.
    """
    garments = {split: read_garments(plan, split, preset.kinds) for split in ("train", "val")}
    seen, raw_version = garments["train"], garments["train"].raw_version
    captioner = _captioner(plan, preset, seen)
    predictor = _predictor(plan, preset, captioner) if start is None else None
    labels = _labels(predictor) if start is None else start.settings["labels"]
    vocabulary = _vocabulary(seen, captioner) if start is None else tuple(start.settings["vocabulary"])
    table_vs, version = read_word_table(preset.model, vocabulary, plan.sentences)
    seed_all(plan.seed)
    words = WordVectors(preset.model, table_vs, len(vocabulary))
    network = make_network(preset.model, seen.raw_ng.shape[1], words, len(labels))
    if start is None:
        _begin(network, preset, seen, predictor)
    else:
        assert plan.start is not None
        _check_words(plan.start, start, version)
        load_network(plan.start, network, system=SYSTEM, encoder=raw_version)
    known = {
        "model": asdict(preset.model),
        "loss": asdict(preset.loss),
        "labels": list(labels),
        "vocabulary": list(vocabulary),
        "sentences_version": version,
        "kinds": list(seen.kinds),
        "exclude_shown": preset.exclude_shown,
    }
    card = Card(system=SYSTEM, preset=plan.preset, encoder=raw_version, settings=known)
    reads = WordNumbers(vocabulary, preset.model.most_words)
    train, val = (
        _shelves(garments[split], network, preset.model.attributes, reads, captioner) for split in ("train", "val")
    )
    return FashionIqTrainingData(network, card, train, val)


def make_network(model: Model, raw_width: int, words: WordVectors, labels: int) -> FeedbackNetwork:
    """A network as its settings say, its weights drawn; with room for `labels` attributes if there are any."""
    network: FeedbackNetwork
    if model.kind == "transformer":
        from viewfinder.retrievers.fashioniq.network import TransformerRetriever

        network = TransformerRetriever(model, raw_width, words, labels)
    elif model.kind == "recurrent":
        from viewfinder.retrievers.fashioniq.recurrent import RecurrentRetriever

        network = RecurrentRetriever(model, raw_width, words, labels)
    else:
        from viewfinder.retrievers.fashioniq.composition import CompositionRetriever

        network = CompositionRetriever(model, raw_width, words, labels)
    if labels:
        network.attributes = AttributeHead(labels, raw_width)
    return network


def _begin(network: FeedbackNetwork, preset: Preset, garments: Garments, predictor: AttributePredictor | None) -> None:
    """Sets what does not train by the pictures of the training set, and the scale that scores begin with."""
    network.looks.input.measure(np.asarray(garments.raw_ng))
    with torch.no_grad():
        network.log_scale.fill_(math.log(preset.loss.scale))
    if predictor is not None:
        network.attributes = AttributeHead.from_predictor(predictor)


def _captioner(plan: TrainPlan, preset: Preset, garments: Garments) -> Captioner | None:
    """Who simulates users, where anybody does."""
    if preset.simulator == "recorded" or not len(garments.pairs):
        return None
    kinds = tuple(garments.kinds[kind] for kind in np.unique(garments.kind_n[garments.pairs.target_p]))
    return load_simulator(plan, preset.simulator, preset.captioner, kinds)


def _predictor(plan: TrainPlan, preset: Preset, captioner: Captioner | None) -> AttributePredictor | None:
    """What tells the attributes of pictures, where the network reads any: the simulated user's, if it has one.

    Raises:
        Stopped, BadInput, EncoderMismatch: as `predictor_of`.
    """
    if not preset.model.attributes:
        return None
    if not preset.attribute_file and captioner is not None and captioner.predictor is not None:
        return captioner.predictor
    return load_predictor(plan, preset.attribute_file, preset.kinds, "retriever")


def _labels(predictor: AttributePredictor | None) -> tuple[str, ...]:
    return () if predictor is None else predictor.labels


def _vocabulary(garments: Garments, captioner: Captioner | None) -> tuple[str, ...]:
    """All words that are said in training: recorded, in descriptions, by the simulated user."""
    spoken = () if captioner is None else captioner.vocabulary.words
    texts = chain(chain.from_iterable(garments.pairs.captions), chain.from_iterable(garments.descriptions), spoken)
    return tuple(sorted({word for text in texts for word in split_words(text)}))


def _shelves(
    garments: Garments, network: FeedbackNetwork, attributes: int, words: WordNumbers, captioner: Captioner | None
) -> tuple[GarmentKind, ...]:
    """The garments of a split by kind, with what never changes in a training computed once."""
    raw_ng = torch.from_numpy(np.asarray(garments.raw_ng))
    parts, head = [raw_ng[at : at + AT_ONCE] for at in range(0, len(raw_ng), AT_ONCE)], network.attributes
    with torch.no_grad():
        read_nx = torch.cat([network.looks.input(part) for part in parts])
        attributes_na = torch.full((len(raw_ng), attributes), NO_WORD)
        if head is not None:
            attributes_na = torch.cat([head.top(part, attributes) for part in parts])
    says = None if captioner is None else simulate_with(captioner, raw_ng, words)
    return garment_kinds(garments, read_nx, attributes_na, words, says)


def simulate_with(captioner: Captioner, raw_ng: Float[Tensor, "n g"], words: WordNumbers) -> SimulateFeedback:
    """A simulated user who says the likeliest words, in those that a retriever knows."""

    def says(shown_b: Places, wanted_b: Places) -> Int[Tensor, "b l"]:
        network = captioner.network.to(shown_b.device)
        pairs = (raw_ng[rows_b.cpu()].to(shown_b.device) for rows_b in (shown_b, wanted_b))
        return words(caption_texts(decode_greedily(network, *pairs), captioner.vocabulary.words))

    return says


def _check_words(file: Path, start: Card, version: str) -> None:
    before = start.settings["sentences_version"]
    if before != version:
        raise EncoderMismatch(
            f"{file}: reads words as sentence vectors of {before!r}, and this encoder's are {version!r}; use the "
            "encoder it was trained with"
        )
