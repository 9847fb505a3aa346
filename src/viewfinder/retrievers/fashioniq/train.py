"""Training a retriever of Fashion IQ: OUT/best.safetensors, and what `training.fit` says lies beside it.

OUT/captioner/     the simulated user that the retriever is trained with, where the preset names no file
OUT/attributes/    the attributes that it reads, where neither the simulated user nor the preset brings any
OUT/supervised/, OUT/policy/   the two stages, where there are two

Policy improvement: after supervised training, learn which picture is worth showing (Guo et al. 2018,
model-based policy improvement).

A frozen copy of the network names its nearest pictures. Each of them is shown to the simulated user, and from there the
copy holds the talk to its end. The one after which the target ranks best is what the network is to come near to, rather
than to random ones, beside the target itself. How pictures look stays as it is. In torch.

Axes: b talks, k candidates, o random pictures, c choices (the best candidate, and random pictures), n garments of the
kind that the talks are about, h numbers of a query and of a picture's vector.
"""

from __future__ import annotations

import copy
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
from torch.nn.functional import cross_entropy

from viewfinder.encoders.attributes import AttributePredictor
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.fashioniq.captioner_training import TrainingStopped, load_predictor, load_simulator
from viewfinder.retrievers.fashioniq.dialogues import (
    FeedbackDialogues,
    GarmentKind,
    Places,
    SimulateFeedback,
    dialogue_batches,
    garment_kinds,
    make_feedback,
    measure_rollouts,
    move_kind,
    other_kinds_pictures,
    rank_percentile,
    roll_out,
    rollout_loss,
    target_ranks,
)
from viewfinder.retrievers.fashioniq.garments import Garments, read_garments
from viewfinder.retrievers.fashioniq.loss import likeness
from viewfinder.retrievers.fashioniq.network import NO_WORD, FeedbackNetwork, RecurrentRetriever
from viewfinder.retrievers.fashioniq.settings import Model, PolicySettings, Preset
from viewfinder.retrievers.shared.network import WordNumbers, WordVectors, read_word_table
from viewfinder.retrievers.shared.numpy_network import split_words
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import (
    Card,
    Constant,
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
        from viewfinder.retrievers.fashioniq.network import RecurrentRetriever

        network = RecurrentRetriever(model, raw_width, words, labels)
    else:
        from viewfinder.retrievers.fashioniq.network import CompositionRetriever

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


def improve_policy(plan: TrainPlan, preset: Preset, material: FashionIqTrainingData) -> TrainingResult:
    """The second stage, in OUT/policy, from the network as it is; validated as the first."""
    first, policy = make_job(plan, preset, material), preset.policy
    frozen = copy.deepcopy(material.network).requires_grad_(False).eval()

    @cache
    def on(device: torch.device) -> tuple[GarmentKind, ...]:
        frozen.to(device)
        return tuple(move_kind(shelf, device) for shelf in material.train)

    def lost(module: nn.Module, talks: FeedbackDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        assert isinstance(module, RecurrentRetriever) and isinstance(frozen, RecurrentRetriever)
        return policy_loss(module, frozen, on(module.log_scale.device)[talks.shelf], talks, policy)

    settings = replace(
        first.settings, learning_rate=policy.learning_rate, epochs=policy.epochs, steps=None, schedule=Constant()
    )
    second = replace(
        first,
        batches=dialogue_batches(material.train, replace(preset, batch=policy.batch)),
        loss=lost,
        settings=settings,
        trainable=_trains_policy,
    )
    return plan.fit(second, plan.out / "policy")


def _trains_policy(name: str) -> bool:
    """Whether a parameter is trained: what looks at pictures is not."""
    return not name.startswith("looks.") and name != "log_scale"


def policy_loss(
    network: RecurrentRetriever,
    frozen: RecurrentRetriever,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    policy: PolicySettings,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of talks, summed over turns; and "percentile", the mean of P over turns, as they find their targets.

    After every turn the best candidate is shown (published): talks are those that the network is to learn to hold.
    """
    size, turns = talks.given_bt.shape
    state, frozen_state = network.begin(size), frozen.begin(size)
    shown_b, seen_b = talks.shown_b, talks.seen_b
    lost, percentiles = [], []
    with torch.no_grad():
        gallery_nh = frozen.looks.projected(shelf.read_nx)
    for turn in range(turns):
        with torch.no_grad():
            feedback = make_feedback(frozen, shelf, talks, turn, shown_b, seen_b)
            frozen_state, frozen_bh = frozen.step(frozen_state, feedback)
            nearness_bn = likeness(frozen_bh, gallery_nh, frozen.looks.compare)
            candidates_bk = nearness_bn.topk(min(policy.candidates, len(shelf)), dim=1).indices
            ranks_bk = try_candidates(frozen, shelf, talks, turn, frozen_state, candidates_bk)
            best_b = candidates_bk.gather(1, ranks_bk.argmin(dim=1, keepdim=True))[:, 0]
        state, queries_bh = network.step(state, feedback)
        others_bo = torch.randint(len(shelf), (size, policy.negatives), device=best_b.device)
        choices_bch = gallery_nh[torch.cat([best_b[:, None], others_bo], dim=1)]
        lost.append(choice_loss(queries_bh, choices_bch, gallery_nh[talks.targets_b], policy.temperature))
        scores_bn = likeness(queries_bh.detach(), gallery_nh, network.looks.compare)
        percentiles.append(rank_percentile(target_ranks(scores_bn, talks.targets_b), len(shelf)).mean())
        shown_b, seen_b = best_b, torch.ones_like(seen_b)
    return torch.stack(lost).sum(), {"percentile": torch.stack(percentiles).mean()}


def try_candidates(
    frozen: RecurrentRetriever,
    shelf: GarmentKind,
    talks: FeedbackDialogues,
    turn: int,
    state_bh: Float[Tensor, "b h"],
    candidates_bk: Int[Tensor, "b k"],
) -> Int[Tensor, "b k"]:
    """How the target ranks in the turns after this one, summed, where a candidate is shown now.

    As published talks are held for one turn more than they have, so that what is shown last counts too.
    """
    turns, count = talks.given_bt.shape[1], candidates_bk.shape[1]
    rest = [min(later, turns - 1) for later in range(turn + 1, turns + 1)]
    shown = talks._replace(seen_b=torch.ones_like(talks.seen_b), words_btl=talks.words_btl[:, rest])
    shown = shown._replace(given_bt=talks.given_bt[:, rest], wanted_bt=talks.wanted_bt[:, rest])
    each = FeedbackDialogues(talks.shelf, *(part.repeat_interleave(count, dim=0) for part in shown[1:]))
    each = each._replace(shown_b=candidates_bk.flatten())
    held = roll_out(frozen, shelf, each, exclude_shown=False, state=state_bh.repeat_interleave(count, dim=0))
    return torch.stack([target_ranks(found.scores_bn, each.targets_b) for found in held]).sum(dim=0).view(-1, count)


def choice_loss(
    queries_bh: Float[Tensor, "b h"],
    choices_bch: Float[Tensor, "b c h"],
    targets_bh: Float[Tensor, "b h"],
    temperature: float,
) -> Float[Tensor, ""]:
    """Cross-entropy of the first choice over -d^2 / temperature, plus d^2 to the target; means over talks.

    d^2 is the squared distance of the query (Guo et al. 2018, and their code for the second term).
    """
    logits_bc = -(queries_bh[:, None] - choices_bch).square().sum(dim=-1) / temperature
    first_b = torch.zeros(len(queries_bh), dtype=torch.long, device=queries_bh.device)
    to_target_b = (queries_bh - targets_bh).square().sum(dim=-1)
    return cross_entropy(logits_bc, first_b) + to_target_b.mean()
