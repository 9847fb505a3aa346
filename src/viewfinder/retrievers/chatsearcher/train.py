"""Training ChatSearcher: up to four stages, one after the other (Sec. 4.3; the last is ours).

OUT/language/, OUT/alignment/, OUT/instruction/, OUT/comparison/    the stages (`training.fit` says what lies there)
OUT/best.safetensors    the network after the last of them, with the chosen bias

Axes: p positions where writing is learnt, q target pictures, n pictures of the gallery, k answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn.functional import pad

from viewfinder.data.chatsearch import TextItem
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.batches import SentenceLookup, SequenceBatch, StageExamples, asks_about_picture
from viewfinder.retrievers.chatsearcher.comparison import fit_comparison
from viewfinder.retrievers.chatsearcher.loss import (
    FeaturePool,
    combine_losses,
    excluded_negatives,
    picture_loss,
    symmetric_picture_loss,
    word_loss,
)
from viewfinder.retrievers.chatsearcher.network import (
    CausalLanguageModel,
    ChatSearcherNetwork,
    InputSizes,
    PictureFeatures,
    add_lora,
    draw_language_model,
    load_perceiver,
    load_pretrained_language,
    read_picture_features,
)
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenizerRecord, train_tokenizer
from viewfinder.retrievers.chatsearcher.settings import (
    MIN_TEMPERATURE,
    STAGES,
    ChatSearcherLossSettings,
    ChatSearcherPreset,
    ChatSearcherSettings,
    Stage,
)
from viewfinder.retrievers.chatsearcher.training_data import TrainingData, read_training_data
from viewfinder.retrievers.shared.network import DEPTH, target_ranks
from viewfinder.retrievers.shared.train_plan import TrainPlan, check_start_sentences, read_preset
from viewfinder.training import Card, TrainingJob, TrainingResult, load_network, load_preset, save_network, seed_all
from viewfinder.training.layers import sample_regions
from viewfinder.training.presets import read_card_settings

SYSTEM = "chatsearcher"
PRESETS = Path(__file__).with_name("presets.toml")

MAX_MEASURED_PICTURES = 512
"""How many pictures' regions determine the principal components of regions."""

MAX_VALIDATED = 200
"""How many examples of a kind are measured at most: evenly spread, so of all data sets."""

COMPARING = ("match.", "pointer.")
"""Beginnings of the names of the parameters that train in the stage "comparison" alone."""

MAX_VALIDATED_AT_ONCE = 64
"""How many examples are measured at a time."""

Tensors = TypeVar("Tensors", SequenceBatch, PictureFeatures)
BatchLoss = Callable[[ChatSearcherNetwork, PictureFeatures, SequenceBatch], tuple[Tensor, dict[str, Tensor]]]


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training.

    With weights to start from, only the stages after theirs are trained; the last two can be trained again.

    Raises:
        BadInput, UnknownName, EncoderMismatch: the data, preset or start cannot be used.
    """
    preset, start = read_stages(plan)
    prepared = prepare_training(plan, preset, start)
    for stage in preset.stages:
        if stage.name == "comparison" and prepared.sentences is not None:
            seed_all(plan.seed)  # the same after an interruption
            whole_nx = prepared.features["train"].whole_nx
            fit_comparison(prepared.network, prepared.train, whole_nx, prepared.sentences, plan.notify)
        fitted = plan.fit(stage_job(plan, preset, prepared, stage), plan.out / stage.name)
        if fitted.ended == "asked":
            return fitted
        load_network(fitted.best, prepared.network, system=SYSTEM, encoder=prepared.train.raw_version)
    # The network again, with the bias that best tells dialogues about a picture from searches.
    network, stage = prepared.network.eval(), preset.stages[-1]
    card = replace(prepared.card(plan, stage), figures=dict(fitted.figures), trained_on=plan.list_training())
    if stage.name in ("instruction", "comparison"):
        measured = ValidationExamples.of(stage, prepared.val, prepared.codec, preset.model.longest, prepared.sentences)
        features = _move_tensors(network.log_temperature.device, prepared.features["val"])
        bias = choose_picture_bias(network, features, measured, default=0.0)
        card = replace(card, settings={**card.settings, "leaning": bias})
    best = plan.out / "best.safetensors"
    save_network(best, network, card)
    return replace(fitted, best=best)


def read_stages(plan: TrainPlan) -> tuple[ChatSearcherPreset, Card | None]:
    """The preset of a plan with the stages that it trains, and the card of the weights to start from.

    Weights that compare nothing yet can learn it; all else of their model stays. Raises BadInput: there is no stage.
    """
    preset, start = read_preset(plan, PRESETS, ChatSearcherPreset)
    if start is None and preset.model.compares and preset.comparison is None:
        lacks = "has no stage comparison, in which match and points are learnt; --preset modern has one"
        raise BadInput(f"preset {plan.preset}: {lacks}")
    if start is not None:
        aligned = STAGES.index(start.settings["stage"]) >= STAGES.index("alignment")
        preset = replace(preset, language=None, alignment=None if aligned else preset.alignment)
        if preset.model.says and preset.comparison is not None:
            before, wanted = preset.model, load_preset(PRESETS, plan.preset, ChatSearcherPreset, plan.overrides).model
            model = replace(before, match=before.match or wanted.match, points=before.points or wanted.points)
            preset = replace(preset, model=model)
    if not preset.stages:
        raise BadInput(f"preset {plan.preset}: has no stage to train")
    return preset, start


# -- the training data


@dataclass(frozen=True, eq=False)
class PreparedTraining:
    """The initial network, its card, and the training and validation data."""

    network: ChatSearcherNetwork
    codec: SequenceCodec
    known: dict[str, Any]
    train: TrainingData
    val: TrainingData
    features: dict[str, PictureFeatures]
    sentences: SentenceLookup | None

    def card(self, plan: TrainPlan, stage: Stage) -> Card:
        """The card of the network after a stage."""
        known = {**self.known, "stage": stage.name}
        return Card(system=SYSTEM, preset=plan.preset, encoder=self.train.raw_version, settings=known)


def prepare_training(plan: TrainPlan, preset: ChatSearcherPreset, start: Card | None) -> PreparedTraining:
    """The data of a plan, and its network: randomly initialised, or the plan's start. Raises as `train_system`."""
    model = preset.model
    # Before the data, so that errors are reported early.
    published = load_pretrained_language(model) if model.language else None
    train, val = read_training_data(plan, "train", preset), read_training_data(plan, "val", preset)
    if published is not None:
        tokenizer = published.tokenizer
    elif start is not None:
        tokenizer = TokenizerRecord(**start.settings["tokeniser"])
    else:
        plan.notify("learning the pieces of texts")
        every_turn = ("USER:", "ASSISTANT:") * len(train.rows)  # so that what every turn contains becomes few pieces
        texts = (text for some in train.examples.values() for one in some for text in one.texts)
        tokenizer = train_tokenizer(chain(every_turn, texts), model.pieces)
    sentences, width, version = _make_sentence_lookup(plan, model, (train, val))
    if plan.start is not None and start is not None:
        check_start_sentences(plan.start, start, version)
    seed_all(plan.seed)
    language = published or draw_language_model(model, tokenizer)
    before = model if start is None else read_card_settings(ChatSearcherSettings, start)
    network = _build_network(plan, preset, train, language, width, before)
    known = {
        "model": asdict(model),
        "loss": asdict(preset.loss),
        "image_first": preset.image_first,
        "asks_best": preset.asks_best,
        "leaning": 0.0,
        "tokeniser": asdict(tokenizer),
        "language": network.shape,
        "sentences_version": version,
    }
    region_input = network.region_input if model.tokens else None
    features = {
        split: read_picture_features(network.whole_input, region_input, data.raw_ng, data.regions_nre)
        for split, data in (("train", train), ("val", val))
    }
    codec = SequenceCodec(tokenizer, model.tokens, says=model.says)
    return PreparedTraining(network, codec, known, train, val, features, sentences)


def _build_network(
    plan: TrainPlan,
    preset: ChatSearcherPreset,
    seen: TrainingData,
    language: CausalLanguageModel,
    sentence: int,
    before: ChatSearcherSettings,
) -> ChatSearcherNetwork:
    """A network for the training's vectors, with statistics measured on them; or the plan's start, with `before`."""
    model = preset.model
    regions, region = (0, 1) if seen.regions_nre is None else seen.regions_nre.shape[1:]
    sizes = InputSizes(seen.raw_ng.shape[1], regions, region, sentence)
    network = ChatSearcherNetwork(before, preset.loss, sizes, language)
    if model.lora.rank:
        add_lora(network.language, model.lora)
    if plan.start is not None:
        load_network(plan.start, network, system=SYSTEM, encoder=seen.raw_version)
        network.compare(match=model.match, points=model.points)
        return network
    network.whole_input.measure(seen.raw_ng)
    if model.tokens:
        assert seen.regions_nre is not None
        network.region_input.measure(sample_regions(seen.regions_nre, MAX_MEASURED_PICTURES))
    if model.perceiver:
        load_perceiver(model.perceiver, network.perceiver)
    return network


def _make_sentence_lookup(
    plan: TrainPlan, model: ChatSearcherSettings, data: tuple[TrainingData, ...]
) -> tuple[SentenceLookup | None, int, str]:
    """The function that gives sentence vectors of what users say, if they are read; their width and version."""
    if not model.says:
        return None, 1, ""
    said = {
        " ".join(item.text for item in turn.items if isinstance(item, TextItem))
        for one in data
        for examples in one.examples.values()
        for example in examples
        for turn in example.turns
        if turn.role == "user"
    } - {""}
    vectors = plan.sentences(sorted(said))
    return (lambda texts: vectors.matrix_ns[vectors.rows(texts)]), vectors.matrix_ns.shape[1], vectors.version


# -- a stage


def stage_job(plan: TrainPlan, preset: ChatSearcherPreset, prepared: PreparedTraining, stage: Stage) -> TrainingJob:
    """The training of one stage."""
    network, codec = prepared.network, prepared.codec
    known = prepared.train.examples
    if stage.name == "comparison" and not preset.model.points:
        known = {kind: tuple(filter(asks_about_picture, some)) for kind, some in known.items()}
    examples = StageExamples.of(stage, known, codec, prepared.train.rows, preset.model.longest, prepared.sentences)
    measured = ValidationExamples.of(stage, prepared.val, codec, preset.model.longest, prepared.sentences)
    # Whether the language model is frozen, except for the vectors of its new pieces.
    held = stage.name != "language" and (stage.trains != "all" or preset.model.lora.rank > 0)
    if held and stage.training.weight_decay:
        raise BadInput(
            f"{stage.name}.training.weight_decay: 0 is needed where pieces of the language model stay as they are"
        )
    network.holds_pieces = held

    features_on = cache(lambda device, split: _move_tensors(device, prepared.features[split]))

    def loss(network: ChatSearcherNetwork, batch: SequenceBatch) -> tuple[Tensor, dict[str, Tensor]]:
        return batch_loss(network, features_on(batch.numbers_bl.device, "train"), batch, preset.loss)

    def validate(network: ChatSearcherNetwork) -> dict[str, float]:
        features = features_on(network.log_temperature.device, "val")
        return validate_stage(network, features, measured, partial(batch_loss, settings=preset.loss))

    finds = stage.name != "language"
    return TrainingJob(
        network=network,
        batches=partial(examples.epoch, stage),
        loss=loss,
        settings=stage.training,
        card=prepared.card(plan, stage),
        validate=validate,
        selects="recall" if finds else "loss",
        higher=finds,
        trainable=partial(is_trained, preset, stage),
        before_step=(lambda module: network.rescale_new_pieces()) if stage.trains == "projectors" else None,
        may_leave_unused=True,
    )


def is_trained(preset: ChatSearcherPreset, stage: Stage, name: str) -> bool:
    """Whether a parameter is trained in a stage; see `Stage.trains`."""
    if name.startswith(COMPARING) or stage.name == "comparison":
        return name.startswith(COMPARING) and stage.name == "comparison"
    if stage.name == "language":
        return name.startswith(("language.", "text_head."))
    if name.startswith("language.layers.") or name == "language.norm.weight":
        return stage.trains == "all" and (not preset.model.lora.rank or "lora_" in name)
    if name.startswith("perceiver."):
        return stage.trains != "projectors"
    return True


def batch_loss(
    network: ChatSearcherNetwork, features: PictureFeatures, batch: SequenceBatch, settings: ChatSearcherLossSettings
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of a batch (Eq. 1) and its parts; in training, its pictures go into the queue."""
    own_features = features.select(batch.rows_c)
    states_ph = network(batch, own_features).flatten(0, 1)
    is_word_bl = batch.learnt_bl & (batch.numbers_bl < network.written)  # written pieces, not pictures
    at_p = is_word_bl.flatten().nonzero().flatten()
    words = word_loss(network.score_pieces(states_ph[at_p - 1]), batch.numbers_bl.flatten()[at_p])
    right_q = batch.wanted_c.nonzero().flatten()
    queries_qd = network.search_from(states_ph, batch.cls_c[right_q] - 1, batch, own_features)
    own = FeaturePool(own_features.whole_nx, batch.rows_c)
    pool = network.queue.with_batch(*own) if settings.negatives == "queue" else own
    out_qn = excluded_negatives(right_q, pool.rows_n)
    temperature = network.log_temperature.exp().clamp_min(MIN_TEMPERATURE)
    compare = symmetric_picture_loss if settings.negatives == "symmetric" else picture_loss
    pictures = compare(queries_qd @ network.encode_pictures(pool.whole_nx).T, right_q, out_qn, temperature)
    if network.training:
        network.queue.enqueue(*own)
    loss = combine_losses(settings, words, len(at_p), pictures, len(right_q))
    return loss, {"words": words.detach(), "pictures": pictures.detach(), "temperature": temperature.detach()}


# -- validation


@dataclass(frozen=True, eq=False)
class ValidationExamples:
    """The examples a stage is measured on, in batches of one kind."""

    examples: StageExamples
    kinds: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(
        stage: Stage, val: TrainingData, codec: SequenceCodec, longest: int, sentences: SentenceLookup | None
    ) -> ValidationExamples:
        """For a stage; raises BadInput if there are no examples."""
        few = {kind: examples[:: max(-(-len(examples) // MAX_VALIDATED), 1)] for kind, examples in val.examples.items()}
        examples, kinds, first = StageExamples.of(stage, few, codec, val.rows, longest, sentences), [], 0
        for kind, count in examples.counts.items():
            own, first = range(first, first + count), first + count
            kinds += [
                (kind, tuple(own[at : at + MAX_VALIDATED_AT_ONCE])) for at in range(0, count, MAX_VALIDATED_AT_ONCE)
            ]
        return ValidationExamples(examples, tuple(kinds))


def validate_stage(
    network: ChatSearcherNetwork, features: PictureFeatures, measured: ValidationExamples, loss_of: BatchLoss
) -> dict[str, float]:
    """The loss, and R@10 of the last picture of every example among all targets, averaged over kinds."""
    queries: dict[str, list[Tensor]] = {}
    rows: dict[str, list[Tensor]] = {}
    losses = []
    for kind, numbers in measured.kinds:
        batch = _move_tensors(network.log_temperature.device, measured.examples.batch(np.array(numbers)))
        loss, _ = loss_of(network, features, batch)
        losses.append(float(loss) * len(numbers))
        # The last target picture of each sequence.
        wanted_q = batch.wanted_c.nonzero().flatten()
        sequence_q = batch.cls_c[wanted_q] // batch.numbers_bl.shape[1]
        last_q = wanted_q[sequence_q != pad(sequence_q[1:], (0, 1), value=-1)] if len(wanted_q) else wanted_q
        if len(last_q):
            own = features.select(batch.rows_c)
            states_ph, at_q = network(batch, own).flatten(0, 1), batch.cls_c[last_q] - 1
            queries.setdefault(kind, []).append(network.search_from(states_ph, at_q, batch, own))
            rows.setdefault(kind, []).append(batch.rows_c[last_q])
    figures = {"loss": sum(losses) / max(len(measured.examples.examples), 1)}
    if not rows:
        return figures
    gallery_n = torch.unique(torch.cat([row for some in rows.values() for row in some]))  # sorted
    pictures_nd = network.encode_pictures(features.whole_nx[gallery_n])
    recalls = {
        f"recall_{kind}": recall_among(
            torch.cat(found) @ pictures_nd.T, torch.searchsorted(gallery_n, torch.cat(rows[kind]))
        )
        for kind, found in queries.items()
    }
    return {**figures, **recalls, "recall": sum(recalls.values()) / len(recalls)}


def recall_among(scores_qn: Float[Tensor, "q n"], right_q: Tensor, depth: int = DEPTH) -> float:
    """The share of queries whose picture is among the top results."""
    return float((target_ranks(scores_qn, right_q) < depth).double().mean())


@torch.no_grad()
def choose_picture_bias(
    network: ChatSearcherNetwork, features: PictureFeatures, measured: ValidationExamples, default: float
) -> float:
    """The number to add to the score of [IMG] so that answers begin with pictures where those of validation do.

    It is measured at the beginning of every answer: how far [IMG] is ahead of any other piece. Answers in pictures
    and in words weigh alike; `default` if there is only one kind.
    """
    codec = measured.examples.codec
    margins, shows = [], []
    for _, numbers in measured.kinds:
        batch = _move_tensors(network.log_temperature.device, measured.examples.batch(np.array(numbers)))
        states_ph = network(batch, features.select(batch.rows_c)).flatten(0, 1)
        # An answer continues after what is learnt, and after a picture, whose slots are not learnt.
        before_bl = pad(batch.numbers_bl[:, :-1], (1, 0))
        inside = torch.tensor([codec.cls, *codec.slots, codec.end], device=before_bl.device)
        goes_on_bl = pad(batch.learnt_bl[:, :-1], (1, 0)) | torch.isin(before_bl, inside)
        at_k = (batch.learnt_bl & ~goes_on_bl).flatten().nonzero().flatten()
        scores_kv = network.score_pieces(states_ph[at_k - 1])
        own_k = scores_kv[:, codec.img].clone()
        scores_kv[:, codec.img] = -torch.inf
        margins.append(own_k - scores_kv.amax(dim=1))
        shows.append(batch.numbers_bl.flatten()[at_k] == codec.img)
    margins_k = torch.cat(margins).double().cpu().numpy()
    shows_k = torch.cat(shows).cpu().numpy()
    return best_threshold(margins_k[shows_k], margins_k[~shows_k]) if 0 < shows_k.sum() < len(shows_k) else default


def best_threshold(shows_i: Float64[np.ndarray, " i"], says_j: Float64[np.ndarray, " j"]) -> float:
    """The number to add so that as many as possible of the first are at least 0, and of the second below 0.

    >>> best_threshold(np.array([-1.0, 2.0]), np.array([-5.0, -3.0]))
    2.0
    """
    marks = np.unique(np.concatenate([shows_i, says_j]))
    between = np.concatenate([[marks[0] - 1], (marks[1:] + marks[:-1]) / 2, [marks[-1] + 1]])
    right = [(shows_i >= mark).mean() + (says_j < mark).mean() for mark in between]
    return -float(between[int(np.argmax(right))])


def _move_tensors(device: torch.device, tensors: Tensors) -> Tensors:
    return type(tensors)(*(tensor.to(device) for tensor in tensors))
