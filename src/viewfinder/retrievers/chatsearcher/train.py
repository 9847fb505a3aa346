"""What validation measures of ChatSearcher, and how much it is to lean to pictures. In torch.

Axes: q pictures that are looked for, n pictures among which, k answers.

Training ChatSearcher: up to three stages, one after the other (Sec. 4.3).

OUT/language/, OUT/alignment/, OUT/instruction/     the stages (`training.fit` says what lies there)
OUT/best.safetensors                                the network after the last of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor, nn

from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers.chatsearcher.batches import SentenceLookup, SequenceBatch, StageExamples
from viewfinder.retrievers.chatsearcher.language_model import CausalLanguageModel, draw_language_model
from viewfinder.retrievers.chatsearcher.loss import (
    FeaturePool,
    combine_losses,
    excluded_negatives,
    picture_loss,
    symmetric_picture_loss,
    word_loss,
)
from viewfinder.retrievers.chatsearcher.network import (
    ChatSearcherNetwork,
    InputSizes,
    PictureFeatures,
    read_picture_features,
)
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenizerRecord, train_tokenizer
from viewfinder.retrievers.chatsearcher.settings import STAGES, LossSettings, ModelSettings, Preset, Stage
from viewfinder.retrievers.chatsearcher.training_data import TrainingData, read_training_data
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import (
    Card,
    TrainingJob,
    TrainingResult,
    build_settings,
    load_network,
    load_preset,
    save_network,
    seed_all,
)
from viewfinder.training.picture_layers import sample_regions

DEPTH = 10
"""Validation's recall is that among so many."""

MOST = 200
"""Lessons of a kind that are measured, the first ones."""

AT_ONCE = 64

Roll = Callable[[ChatSearcherNetwork, PictureFeatures, SequenceBatch], tuple[Tensor, dict[str, Tensor]]]


@dataclass(frozen=True, eq=False)
class ValidationExamples:
    """The lessons that a stage is measured on, in batches of one kind."""

    course: StageExamples
    kinds: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(
        stage: Stage, val: TrainingData, codec: SequenceCodec, longest: int, sentences: SentenceLookup | None
    ) -> ValidationExamples:
        """Of a stage.

        Raises:
            BadInput: there are no lessons.
        """
        first = {kind: lessons[:MOST] for kind, lessons in val.lessons.items()}
        course = StageExamples.of(stage, first, codec, val.rows, longest, sentences)
        numbers, kinds = iter(range(len(course.lessons))), []
        for kind, count in course.counts.items():
            own = [next(numbers) for _ in range(count)]
            kinds += [(kind, tuple(own[at : at + AT_ONCE])) for at in range(0, count, AT_ONCE)]
        return ValidationExamples(course, tuple(kinds))


def validate_stage(
    network: ChatSearcherNetwork, looks: PictureFeatures, exam: ValidationExamples, roll: Roll
) -> dict[str, float]:
    """The loss, and R@10 of the last picture of every lesson among all those that are wanted, as mean over kinds."""
    queries: dict[str, list[Tensor]] = {}
    rows: dict[str, list[Tensor]] = {}
    losses = []
    for kind, numbers in exam.kinds:
        batch = _on(network, exam.course.batch(np.array(numbers)))
        loss, _ = roll(network, looks, batch)
        losses.append(float(loss) * len(numbers))
        last_q = _last_wanted(batch)
        if len(last_q):
            states_ph = network(batch, looks.of(batch.rows_c)).flatten(0, 1)
            queries.setdefault(kind, []).append(network.queries(states_ph[batch.cls_c[last_q] - 1]))
            rows.setdefault(kind, []).append(batch.rows_c[last_q])
    figures = {"loss": sum(losses) / max(len(exam.course.lessons), 1)}
    if not rows:
        return figures
    gallery_n = torch.unique(torch.cat([row for some in rows.values() for row in some]))  # sorted
    pictures_nd = network.pictures(looks.whole_nx[gallery_n])
    for kind, found in queries.items():
        figures[f"recall_{kind}"] = recall_among(
            torch.cat(found) @ pictures_nd.T, torch.searchsorted(gallery_n, torch.cat(rows[kind]))
        )
    of_kinds = [figure for name, figure in figures.items() if name.startswith("recall_")]
    return {**figures, "recall": sum(of_kinds) / len(of_kinds)}


def recall_among(scores_qn: Float[Tensor, "q n"], right_q: Tensor, depth: int = DEPTH) -> float:
    """The share of queries whose picture is among the best."""
    own_q1 = scores_qn.gather(1, right_q[:, None])
    # Not "more than": a network whose numbers are none must not seem to find everything.
    better_q = (~(scores_qn <= own_q1)).sum(dim=1)
    return float((better_q < depth).double().mean())


@torch.no_grad()
def choose_picture_bias(
    network: ChatSearcherNetwork, looks: PictureFeatures, exam: ValidationExamples, default: float
) -> float:
    """What to add to the score of [IMG] so that answers begin with pictures where those of validation do.

    It is measured at the beginning of every answer; answers in pictures and in words weigh alike.
    """
    found = [
        _margins(network, looks, _on(network, exam.course.batch(np.array(numbers))), exam.course.codec)
        for _, numbers in exam.kinds
    ]
    margins_k = torch.cat([margins for margins, _ in found]).double().cpu().numpy()
    shows_k = torch.cat([shows for _, shows in found]).cpu().numpy()
    return best_threshold(margins_k[shows_k], margins_k[~shows_k]) if 0 < shows_k.sum() < len(shows_k) else default


def best_threshold(shows_i: Float64[np.ndarray, " i"], says_j: Float64[np.ndarray, " j"]) -> float:
    """What to add so that as many of the first as possible are at least 0, and as many of the second below.

    >>> threshold(np.array([-1.0, 2.0]), np.array([-5.0, -3.0]))
    2.0
    """
    marks = np.unique(np.concatenate([shows_i, says_j]))
    between = np.concatenate([[marks[0] - 1], (marks[1:] + marks[:-1]) / 2, [marks[-1] + 1]])
    right = [(shows_i >= mark).mean() + (says_j < mark).mean() for mark in between]
    return -float(between[int(np.argmax(right))])


def _margins(
    network: ChatSearcherNetwork, looks: PictureFeatures, batch: SequenceBatch, codec: SequenceCodec
) -> tuple[Float[Tensor, " k"], Bool[Tensor, " k"]]:
    """How much better [IMG] is than any other piece, where an answer of a batch begins; whether it does with [IMG]."""
    states_blh = network(batch, looks.of(batch.rows_c))
    before_bl = torch.nn.functional.pad(batch.learnt_bl[:, :-1], (1, 0))
    begins_bl = batch.learnt_bl & ~before_bl & _is_new_answer(batch, codec)
    at_k = begins_bl.flatten().nonzero().flatten()
    scores_kv = network.words(states_blh.flatten(0, 1)[at_k - 1])
    own_k = scores_kv[:, codec.img].clone()
    scores_kv[:, codec.img] = -torch.inf
    return own_k - scores_kv.amax(dim=1), batch.numbers_bl.flatten()[at_k] == codec.img


def _is_new_answer(batch: SequenceBatch, codec: SequenceCodec) -> Bool[Tensor, "b l"]:
    """Not where only the slots of a picture lie before."""
    after_slots_bl = torch.zeros_like(batch.learnt_bl)
    inside = torch.tensor([codec.cls, *codec.slots], device=batch.numbers_bl.device)
    after_slots_bl[:, 1:] = torch.isin(batch.numbers_bl[:, :-1], inside)
    ends_bl = torch.zeros_like(batch.learnt_bl)
    ends_bl[:, 1:] = batch.numbers_bl[:, :-1] == codec.end
    return ~after_slots_bl & ~ends_bl


def _last_wanted(batch: SequenceBatch) -> Tensor:
    """Of each sequence the last picture that is looked for."""
    wanted_q = batch.wanted_c.nonzero().flatten()
    sequence_q = batch.cls_c[wanted_q] // batch.numbers_bl.shape[1]
    is_last_q = torch.ones_like(sequence_q, dtype=torch.bool)
    is_last_q[:-1] = sequence_q[:-1] != sequence_q[1:]
    return wanted_q[is_last_q]


def _on(network: ChatSearcherNetwork, batch: SequenceBatch) -> SequenceBatch:
    return SequenceBatch(*(tensor.to(network.log_temperature.device) for tensor in batch))


SYSTEM = "chatsearcher"
PRESETS = Path(__file__).with_name("presets.toml")

REGIONS = 512
"""Pictures whose regions tell the principal components of regions."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    With weights to begin with, only the stages after theirs are trained; after the last one, it once more.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        preset = _after(replace(preset, model=build_settings(ModelSettings, start.settings["model"])), start)
    if not preset.stages:
        raise BadInput(f"preset {plan.preset}: has no stage to train")
    prepared = prepare_training(plan, preset, start)
    for stage in preset.stages:
        fitted = plan.fit(stage_job(plan, preset, prepared, stage), plan.out / stage.name)
        if fitted.ended == "asked":
            return fitted
        load_network(fitted.best, prepared.network, system=SYSTEM, encoder=prepared.train.raw_version)
    return _finished(plan, preset, prepared, fitted)


def _after(preset: Preset, start: Card) -> Preset:
    """The preset with the stages after that of the weights that are begun with; the last one in any case."""
    aligned = STAGES.index(start.settings["stage"]) >= STAGES.index("alignment")
    return replace(preset, language=None, alignment=None if aligned else preset.alignment)


@dataclass(frozen=True, eq=False)
class PreparedTraining:
    """A network as it begins, what its card says of it, and what is learnt from and measured on."""

    network: ChatSearcherNetwork
    codec: SequenceCodec
    known: dict[str, Any]
    train: TrainingData
    val: TrainingData
    looks: dict[str, PictureFeatures]
    sentences: SentenceLookup | None


def prepare_training(plan: TrainPlan, preset: Preset, start: Card | None) -> PreparedTraining:
    """The data of a plan, and the network over it: drawn, or as the plan's start has it.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data or start that cannot serve.
    """
    model = preset.model
    # Before the data, so that what is wrong is told soon.
    named = _named(model)
    kinds = tuple(dict.fromkeys(kind for stage in preset.stages for kind in stage.mixture.shares))
    found = {
        split: read_training_data(
            plan,
            split,
            kinds,
            regions=model.tokens > 0,
            picture_first=preset.picture_first,
            image_first=preset.image_first,
            seed=plan.seed,
        )
        for split in ("train", "val")
    }
    seen = found["train"]
    tokeniser = _tokeniser(plan, model, seen, start) if named is None else named.tokeniser
    sentences, width, version = _sentences(plan, model, found)
    if plan.start is not None and start is not None:
        _check_sentences(plan.start, start, version)
    seed_all(plan.seed)
    network = _network(plan, preset, seen, named or draw_language_model(model, tokeniser), width)
    codec = SequenceCodec(tokeniser, model.tokens, says=model.says, learns_end=preset.loss.learns_end)
    known = {
        "model": asdict(model),
        "loss": asdict(preset.loss),
        "image_first": preset.image_first,
        "unpicked": preset.unpicked,
        "leaning": preset.leaning,
        "tokeniser": asdict(tokeniser),
        "language": network.shape,
        "sentences_version": version,
    }
    region_input = network.region_input if model.tokens else None
    looks = {
        split: read_picture_features(network.whole_input, region_input, some.raw_ng, some.regions_nre)
        for split, some in found.items()
    }
    return PreparedTraining(network, codec, known, seen, found["val"], looks, sentences)


def _network(
    plan: TrainPlan, preset: Preset, seen: TrainingData, language: CausalLanguageModel, sentence: int
) -> ChatSearcherNetwork:
    """A network over the training's vectors, measured by them; or as the plan's start has it."""
    model = preset.model
    regions, region = (0, 1) if seen.regions_nre is None else seen.regions_nre.shape[1:]
    network = ChatSearcherNetwork(
        model, preset.loss, InputSizes(seen.raw_ng.shape[1], regions, region, sentence), language
    )
    if model.lora.rank:
        from viewfinder.retrievers.chatsearcher.language_model import add_lora

        add_lora(network.language, model.lora)
    if plan.start is not None:
        load_network(plan.start, network, system=SYSTEM, encoder=seen.raw_version)
        return network
    _measure(network, seen)
    if model.perceiver:
        from viewfinder.retrievers.chatsearcher.network import load_perceiver

        load_perceiver(model.perceiver, network.perceiver)
    return network


def stage_job(plan: TrainPlan, preset: Preset, prepared: PreparedTraining, stage: Stage) -> TrainingJob:
    """The training of one stage."""
    network, codec = prepared.network, prepared.codec
    course = StageExamples.of(
        stage, prepared.train.lessons, codec, prepared.train.rows, preset.model.longest, prepared.sentences
    )
    exam = ValidationExamples.of(stage, prepared.val, codec, preset.model.longest, prepared.sentences)

    @cache
    def on(device: torch.device, split: str) -> PictureFeatures:
        return PictureFeatures(*(part.to(device) for part in prepared.looks[split]))

    def lost(module: nn.Module, batch: SequenceBatch) -> tuple[Tensor, dict[str, Tensor]]:
        assert isinstance(module, ChatSearcherNetwork)
        return batch_loss(module, on(batch.numbers_bl.device, "train"), batch, preset.loss)

    def validate(module: nn.Module) -> dict[str, float]:
        assert isinstance(module, ChatSearcherNetwork)
        device = module.log_temperature.device
        return validate_stage(module, on(device, "val"), exam, partial(batch_loss, settings=preset.loss))

    finds = stage.name != "language"
    if _holds_language(preset, stage) and stage.training.weight_decay:
        raise BadInput(
            f"{stage.name}.training.weight_decay: 0 is needed where pieces of the language model stay as they are"
        )
    network.holds_pieces = _holds_language(preset, stage)
    return TrainingJob(
        network=network,
        batches=lambda epoch, seed: course.epoch(stage, epoch, seed),
        loss=lost,
        settings=replace(stage.training, seed=plan.seed),
        card=_card(plan, prepared, stage),
        validate=validate,
        selects="recall" if finds else "loss",
        higher=finds,
        trainable=partial(is_trained, preset, stage),
        before_step=_before_step(stage),
        may_leave_unused=True,
    )


def is_trained(preset: Preset, stage: Stage, name: str) -> bool:
    """Whether a parameter is trained in a stage; see `Stage.trains`."""
    if stage.name == "language":
        return name.startswith(("language.", "text_head."))
    if name.startswith("language.layers.") or name == "language.norm.weight":
        return stage.trains == "all" and (not preset.model.lora.rank or "lora_" in name)
    if name.startswith("perceiver."):
        return stage.trains != "projectors"
    return True


def _holds_language(preset: Preset, stage: Stage) -> bool:
    """Whether the language model stays as it is, but for the vectors of its new pieces."""
    return stage.name != "language" and (stage.trains != "all" or preset.model.lora.rank > 0)


def _before_step(stage: Stage) -> Callable[[nn.Module], None] | None:
    if stage.trains != "projectors":
        return None

    def rescale(module: nn.Module) -> None:
        assert isinstance(module, ChatSearcherNetwork)
        module.rescale_new_pieces()

    return rescale


def batch_loss(
    network: ChatSearcherNetwork, looks: PictureFeatures, batch: SequenceBatch, settings: LossSettings
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss of a batch and its parts; in training, its pictures go into the queue."""
    some = looks.of(batch.rows_c)
    states_ph = network(batch, some).flatten(0, 1)
    at_p = word_places(network, batch)
    words = word_loss(network.words(states_ph[at_p - 1]), batch.numbers_bl.flatten()[at_p])
    right_q = batch.wanted_c.nonzero().flatten()
    queries_qd = network.queries(states_ph[batch.cls_c[right_q] - 1])
    own = FeaturePool(some.whole_nx, batch.rows_c)
    pool = network.queue.joined(*own) if settings.negatives == "queue" else own
    out_qn = excluded_negatives(right_q, pool.rows_n, copies=settings.mask_copies)
    temperature = network.log_temperature.exp().clamp_min(settings.least_temperature)
    compare = symmetric_picture_loss if settings.negatives == "symmetric" else picture_loss
    pictures = compare(queries_qd @ network.pictures(pool.whole_nx).T, right_q, out_qn, temperature)
    if network.training:
        network.queue.enqueue(*own)
    loss = combine_losses(settings, words, len(at_p), pictures, len(right_q))
    figures = {"words": words.detach(), "pictures": pictures.detach(), "temperature": temperature.detach()}
    return loss, figures


def word_places(network: ChatSearcherNetwork, batch: SequenceBatch) -> Int[Tensor, " p"]:
    """The places, counted through the batch, of what is learnt to be written, pictures not among it."""
    is_word_bl = batch.learnt_bl & (batch.numbers_bl < network.written)
    return is_word_bl.flatten().nonzero().flatten()


def _finished(plan: TrainPlan, preset: Preset, prepared: PreparedTraining, fitted: TrainingResult) -> TrainingResult:
    """Writes the network once more, with the leaning that tells talks about a picture from searches best."""
    known = dict(prepared.known)
    network = prepared.network.eval()
    if preset.stages[-1].name == "instruction":
        exam = ValidationExamples.of(
            preset.stages[-1], prepared.val, prepared.codec, preset.model.longest, prepared.sentences
        )
        device = network.log_temperature.device
        looks = PictureFeatures(*(part.to(device) for part in prepared.looks["val"]))
        known["leaning"] = choose_picture_bias(network, looks, exam, preset.leaning)
    card = replace(_card(plan, prepared, preset.stages[-1]), settings={**known, "stage": preset.stages[-1].name})
    best = plan.out / "best.safetensors"
    save_network(best, network, replace(card, figures=dict(fitted.figures)))
    return replace(fitted, best=best)


def _card(plan: TrainPlan, prepared: PreparedTraining, stage: Stage) -> Card:
    known = {**prepared.known, "stage": stage.name}
    return Card(system=SYSTEM, preset=plan.preset, encoder=prepared.train.raw_version, settings=known)


def _named(model: ModelSettings) -> CausalLanguageModel | None:
    """The language model that is named; None: one is drawn."""
    if not model.language:
        return None
    from viewfinder.retrievers.chatsearcher.language_model import load_pretrained_language

    return load_pretrained_language(model)


def _tokeniser(plan: TrainPlan, model: ModelSettings, seen: TrainingData, start: Card | None) -> TokenizerRecord:
    """The pieces of the training's texts, or of the weights that are begun with."""
    if start is not None:
        return TokenizerRecord(**start.settings["tokeniser"])
    plan.told("learning the pieces of texts")
    return train_tokenizer(_texts(seen), model.pieces)


def _texts(material: TrainingData) -> Iterator[str]:
    yield from ("USER:", "ASSISTANT:") * len(material.rows)  # few pieces for what every turn has
    yield from material.texts()


def _sentences(
    plan: TrainPlan, model: ModelSettings, found: dict[str, TrainingData]
) -> tuple[SentenceLookup | None, int, str]:
    """What gives sentence vectors of what users say, if they are read; their width and version."""
    if not model.says:
        return None, 1, ""
    said = {
        " ".join(item.text for item in turn.items if hasattr(item, "text"))
        for material in found.values()
        for lessons in material.lessons.values()
        for lesson in lessons
        for turn in lesson.turns
        if turn.role == "user"
    } - {""}
    vectors = plan.sentences(sorted(said))
    return (lambda texts: vectors.matrix_ns[vectors.rows(texts)]), vectors.matrix_ns.shape[1], vectors.version


def _measure(network: ChatSearcherNetwork, seen: TrainingData) -> None:
    """Sets what does not train by the pictures of the training set."""
    network.whole_input.measure(seen.raw_ng)
    if network.settings.tokens:
        assert seen.regions_nre is not None
        network.region_input.measure(sample_regions(seen.regions_nre, REGIONS))


def _check_sentences(file: Path, start: Card, version: str) -> None:
    before = start.settings["sentences_version"]
    if before != version:
        raise EncoderMismatch(
            f"{file}: reads sentence vectors of {before!r}, and this encoder's are {version!r}; use the encoder it was "
            "trained with"
        )
