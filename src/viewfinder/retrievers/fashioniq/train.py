"""Training a retriever of Fashion IQ: OUT/best.safetensors, and beside it what `training.fit` lists.

OUT/captioner/     the simulated user that the retriever is trained with, if the preset names no file
OUT/attributes/    the attributes that it reads, if neither the simulated user nor the preset brings any
OUT/supervised/, OUT/policy/   the two stages, if there are two

Axes: b dialogues, k candidates, o random pictures, c choices (the best candidate, and random pictures), n garments of
the kind that the dialogues are about, h width of a query and of a picture's vector.
"""

from __future__ import annotations

import copy
import math
import shutil
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from viewfinder.encoders.tags import AttributePredictor
from viewfinder.retrievers.fashioniq.captioner_training import TrainingStopped, load_predictor, load_simulator
from viewfinder.retrievers.fashioniq.dialogues import (
    FeedbackDialogues,
    GarmentKind,
    Places,
    dialogue_batches,
    garment_kinds,
    make_feedback,
    measure_rollouts,
    move_kinds,
    other_kinds_pictures,
    rank_percentile,
    roll_out,
    rollout_loss,
)
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.fashioniq.loss import score_likeness
from viewfinder.retrievers.fashioniq.network import (
    CompositionRetriever,
    FeedbackNetwork,
    RecurrentRetriever,
    TransformerRetriever,
)
from viewfinder.retrievers.fashioniq.retriever import CUTS
from viewfinder.retrievers.fashioniq.settings import FIRST_SCALE, FashionIqPreset, Model, PolicySettings
from viewfinder.retrievers.shared.network import WordNumbers, WordVectors, read_word_table, target_ranks
from viewfinder.retrievers.shared.numpy_network import NO_WORD
from viewfinder.retrievers.shared.train_plan import TrainPlan, check_start_sentences, read_preset
from viewfinder.training import Card, Constant, TrainingJob, TrainingResult, load_network, seed_all
from viewfinder.training.layers import AttributeHead
from viewfinder.users.captioner.captioner import Captioner, caption_texts, decode_greedily

SYSTEM = "fashioniq"
SUPERVISED = "supervised"
PRESETS = Path(__file__).with_name("presets.toml")

MAX_PICTURES_AT_ONCE = 1024
"""How many pictures are read together."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset, start = read_preset(plan, PRESETS, FashionIqPreset)
    try:
        data = read_training_data(plan, preset, start)
    except TrainingStopped as stopped:
        return stopped.fitted
    job = make_job(preset, data)
    if not preset.policy.epochs:
        return plan.fit(job)
    first = plan.fit(job, plan.out / SUPERVISED)
    if first.ended == "asked":
        return first
    load_network(first.best, data.network, system=SYSTEM, encoder=data.card.encoder)
    second = plan.fit(make_policy_job(job, preset, data), plan.out / "policy")
    if second.ended == "asked":
        return second
    shutil.copyfile(second.best, plan.out / "best.safetensors")
    return replace(second, best=plan.out / "best.safetensors")


def make_job(preset: FashionIqPreset, data: FashionIqTrainingData) -> TrainingJob:
    """The training of dialogues with a simulated user, or of recorded pairs."""

    def loss(network: FeedbackNetwork, dialogues: FeedbackDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        kinds = move_kinds(data.train, network.log_scale.device)
        others_mx = other_kinds_pictures(kinds, dialogues, preset.strangers)
        total, figures = rollout_loss(network, kinds[dialogues.kind], dialogues, preset, others_mx)
        scale = {"scale": network.log_scale.detach().exp()} if preset.loss.kind == "contrastive" else {}
        return total, {**figures, **scale}

    def validate(network: FeedbackNetwork) -> dict[str, float]:
        return measure_rollouts(network, move_kinds(data.val, network.log_scale.device), preset)

    return TrainingJob(
        network=data.network,
        batches=dialogue_batches(data.train, preset),
        loss=loss,
        settings=preset.training,
        card=data.card,
        validate=validate,
        selects=preset.selects,
        higher=True,
        trainable=lambda name: name != "log_scale" or preset.loss.kind == "contrastive",
        may_leave_unused=True,
    )


# -- the training data


@dataclass(frozen=True, eq=False)
class FashionIqTrainingData:
    """The initial network, its card, and the garments of both splits by kind."""

    network: FeedbackNetwork
    card: Card
    train: tuple[GarmentKind, ...]
    val: tuple[GarmentKind, ...]


def read_training_data(plan: TrainPlan, preset: FashionIqPreset, start: Card | None) -> FashionIqTrainingData:
    """The data of a plan, and the network for it: randomly initialised, or from the plan's start.

    Raises as `train_system`; and TrainingStopped: training a simulated user or attributes was asked to stop.
    """
    garments = {split: read_garments(plan, split, preset.kinds) for split in ("train", "val")}
    seen, raw_version = garments["train"], garments["train"].raw_version
    captioner = _read_user(plan, preset, seen)
    predictor = _read_predictor(plan, preset, captioner) if start is None else None
    if start is None:
        labels, vocabulary = predictor.labels if predictor else (), _list_words(preset.model, seen, captioner)
    else:
        labels, vocabulary = tuple(start.settings["labels"]), tuple(start.settings["vocabulary"])
    table_vs, version = read_word_table(preset.model, vocabulary, plan.sentences)
    if plan.start is not None and start is not None:
        check_start_sentences(plan.start, start, version)
    seed_all(plan.seed)
    words = WordVectors(preset.model, table_vs, len(vocabulary))
    network = make_network(preset.model, seen.raw_ng.shape[1], words, len(labels))
    if start is None:
        # What is not trained is set from the training pictures; then the scale that scores start with.
        network.looks.input.measure(np.asarray(seen.raw_ng))
        with torch.no_grad():
            network.log_scale.fill_(math.log(FIRST_SCALE))
        if predictor is not None:
            network.attributes = AttributeHead.from_predictor(predictor)
    else:
        assert plan.start is not None
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
    reads = WordNumbers(vocabulary, preset.model.most_words, CUTS[preset.model.tokens])
    train, val = (
        _read_kinds(garments[split], network, preset.model.attributes, reads, captioner) for split in ("train", "val")
    )
    return FashionIqTrainingData(network, card, train, val)


def _read_user(plan: TrainPlan, preset: FashionIqPreset, seen: Garments) -> Captioner | None:
    """The simulated user of a training; None: it uses recorded pairs alone, or there are none."""
    if preset.simulator == "recorded" or not len(seen.pairs):
        return None
    kinds = tuple(seen.kinds[kind] for kind in np.unique(seen.kind_n[seen.pairs.target_p]))
    return load_simulator(plan, preset.simulator, preset.captioner, kinds)


def _read_predictor(plan: TrainPlan, preset: FashionIqPreset, captioner: Captioner | None) -> AttributePredictor | None:
    """The predictor of the attributes that the network reads, by default the simulated user's; None: it reads none."""
    if not preset.model.attributes:
        return None
    if captioner is not None and captioner.predictor is not None and not preset.attribute_file:
        return captioner.predictor
    return load_predictor(plan, preset.attribute_file, preset.attributes, preset.kinds, "retriever")


def _list_words(model: Model, seen: Garments, captioner: Captioner | None) -> tuple[str, ...]:
    """All words of the training texts and of the simulated user, sorted."""
    spoken = () if captioner is None else captioner.vocabulary.words
    texts = chain(chain.from_iterable(seen.pairs.captions), chain.from_iterable(seen.descriptions), spoken)
    return tuple(sorted({word for text in texts for word in CUTS[model.tokens](text)}))


def make_network(model: Model, raw_width: int, words: WordVectors, labels: int) -> FeedbackNetwork:
    """A network by its settings, randomly initialised; with room for `labels` attributes if there are any."""
    kinds: dict[str, Any] = {"transformer": TransformerRetriever, "recurrent": RecurrentRetriever}
    network: FeedbackNetwork = kinds.get(model.kind, CompositionRetriever)(model, raw_width, words, labels)
    if labels:
        network.attributes = AttributeHead(labels, raw_width)
    return network


def _read_kinds(
    garments: Garments, network: FeedbackNetwork, attributes: int, words: WordNumbers, captioner: Captioner | None
) -> tuple[GarmentKind, ...]:
    """The garments of a split by kind; what never changes in a training is computed once."""
    raw_ng = torch.from_numpy(np.asarray(garments.raw_ng))
    parts, head = (
        [raw_ng[at : at + MAX_PICTURES_AT_ONCE] for at in range(0, len(raw_ng), MAX_PICTURES_AT_ONCE)],
        network.attributes,
    )
    with torch.no_grad():
        read_nx = torch.cat([network.looks.input(part) for part in parts])
        attributes_na = torch.full((len(raw_ng), attributes), NO_WORD)
        if head is not None:
            attributes_na = torch.cat([head.top(part, attributes) for part in parts])
    says = None if captioner is None else partial(simulate_feedback, captioner, raw_ng, words)
    return garment_kinds(garments, read_nx, attributes_na, words, says)


def simulate_feedback(
    captioner: Captioner, raw_ng: Float[Tensor, "n g"], words: WordNumbers, shown_b: Places, wanted_b: Places
) -> Int[Tensor, "b l"]:
    """The feedback of a simulated user who is shown the first garments and wants the second, in known words."""
    network = captioner.network.to(shown_b.device)
    pairs = (raw_ng[rows_b.cpu()].to(shown_b.device) for rows_b in (shown_b, wanted_b))
    return words(caption_texts(decode_greedily(network, *pairs), captioner.vocabulary.words))


# -- policy improvement


def make_policy_job(first: TrainingJob, preset: FashionIqPreset, data: FashionIqTrainingData) -> TrainingJob:
    """Model-based policy improvement (Guo et al. 2018), after supervised training: which picture is worth showing.

    A frozen copy of the network names its nearest pictures. Each of them is shown to the simulated user, and from there
    the copy holds the dialogue to its end. The network learns to come near the one after which the target ranks best,
    rather than random ones, and near the target itself. The vectors of pictures do not change.
    """
    policy = preset.policy
    frozen: Any = copy.deepcopy(data.network).requires_grad_(False).eval()

    def loss(network: RecurrentRetriever, dialogues: FeedbackDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        device = network.log_scale.device
        kind = move_kinds(data.train, device)[dialogues.kind]
        return policy_loss(network, frozen.to(device), kind, dialogues, policy)

    rate, epochs = policy.learning_rate, policy.epochs
    return replace(
        first,
        batches=dialogue_batches(data.train, replace(preset, batch=policy.batch)),
        loss=loss,
        settings=replace(first.settings, learning_rate=rate, epochs=epochs, steps=None, schedule=Constant()),
        trainable=lambda name: not name.startswith("looks.") and name != "log_scale",
    )


def policy_loss(
    network: RecurrentRetriever,
    frozen: RecurrentRetriever,
    kind: GarmentKind,
    dialogues: FeedbackDialogues,
    policy: PolicySettings,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of dialogues, summed over turns; and "percentile", the mean of P over turns: how well they find targets.

    After every turn the best candidate is shown (published): these are the dialogues the network should learn to hold.
    """
    size, turns = dialogues.given_bt.shape
    state, frozen_state = network.begin(size), frozen.begin(size)
    shown_b, seen_b = dialogues.shown_b, dialogues.seen_b
    lost, percentiles = [], []
    with torch.no_grad():
        gallery_nh = frozen.looks.project_input(kind.read_nx)
    for turn in range(turns):
        with torch.no_grad():
            feedback = make_feedback(frozen, kind, dialogues, turn, shown_b, seen_b)
            frozen_state, frozen_bh = frozen.step(frozen_state, feedback)
            nearness_bn = score_likeness(frozen_bh, gallery_nh, frozen.looks.compare)
            candidates_bk = nearness_bn.topk(min(policy.candidates, len(kind)), dim=1).indices
            ranks_bk = try_candidates(frozen, kind, dialogues, turn, frozen_state, candidates_bk)
            best_b = candidates_bk.gather(1, ranks_bk.argmin(dim=1, keepdim=True))[:, 0]
        state, queries_bh = network.step(state, feedback)
        others_bo = torch.randint(len(kind), (size, policy.negatives), device=best_b.device)
        choices_bch = gallery_nh[torch.cat([best_b[:, None], others_bo], dim=1)]
        lost.append(choice_loss(queries_bh, choices_bch, gallery_nh[dialogues.targets_b], policy.temperature))
        scores_bn = score_likeness(queries_bh.detach(), gallery_nh, network.looks.compare)
        percentiles.append(rank_percentile(target_ranks(scores_bn, dialogues.targets_b), len(kind)).mean())
        shown_b, seen_b = best_b, torch.ones_like(seen_b)
    return torch.stack(lost).sum(), {"percentile": torch.stack(percentiles).mean()}


def try_candidates(
    frozen: RecurrentRetriever,
    kind: GarmentKind,
    dialogues: FeedbackDialogues,
    turn: int,
    state_bh: Float[Tensor, "b h"],
    candidates_bk: Int[Tensor, "b k"],
) -> Int[Tensor, "b k"]:
    """How the target ranks in the turns after this one, summed, if a candidate is shown now.

    As published, dialogues are held for one extra turn, so that what is shown last counts too.
    """
    turns, count = dialogues.given_bt.shape[1], candidates_bk.shape[1]
    rest = [min(later, turns - 1) for later in range(turn + 1, turns + 1)]
    words_btl, given_bt = dialogues.words_btl[:, rest], dialogues.given_bt[:, rest]
    shown = dialogues._replace(seen_b=torch.ones_like(dialogues.seen_b), words_btl=words_btl, given_bt=given_bt)
    each = FeedbackDialogues(dialogues.kind, *(part.repeat_interleave(count, dim=0) for part in shown[1:]))
    each = each._replace(shown_b=candidates_bk.flatten())
    held = roll_out(frozen, kind, each, exclude_shown=False, state=state_bh.repeat_interleave(count, dim=0))
    return torch.stack([target_ranks(found.scores_bn, each.targets_b) for found in held]).sum(dim=0).view(-1, count)


def choice_loss(
    queries_bh: Float[Tensor, "b h"],
    choices_bch: Float[Tensor, "b c h"],
    targets_bh: Float[Tensor, "b h"],
    temperature: float,
) -> Float[Tensor, ""]:
    """Cross-entropy of the first choice over -d^2 / temperature, plus d^2 to the target; means over dialogues.

    d^2 is the squared distance of the query (Guo et al. 2018, and their code for the second term).
    """
    logits_bc = -(queries_bh[:, None] - choices_bch).square().sum(dim=-1) / temperature
    first_b = torch.zeros(len(queries_bh), dtype=torch.long, device=queries_bh.device)
    to_target_b = (queries_bh - targets_bh).square().sum(dim=-1)
    return cross_entropy(logits_bc, first_b) + to_target_b.mean()
