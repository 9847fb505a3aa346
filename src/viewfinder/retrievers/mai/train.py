"""Training MAI, from published parts or anew: OUT/best.safetensors, and beside it what `training.fit` lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from viewfinder.encoders.checkpoint_parts import load_tokenizer
from viewfinder.encoders.checkpoint_sources import CheckpointSource, find_checkpoint
from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.inputs import EmbeddedTexts, PictureComponents, PieceInput, longest_text
from viewfinder.retrievers.mai.loss import TurnTargets, add_noise, modification_turn_loss
from viewfinder.retrievers.mai.network import (
    NOWHERE,
    Blip2Weights,
    CaptionedGallery,
    MaiNetwork,
    ModificationDialogues,
    encode_dialogues,
)
from viewfinder.retrievers.mai.settings import MAX_SCALE, MaiLossSettings, MaiPreset, Model
from viewfinder.retrievers.mai.texts import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.mai.transactions import DialogueSampler, TrainingTransactions, read_training_transactions
from viewfinder.retrievers.shared.blip2 import check_weight_sizes, read_blip2_config, read_blip2_weights
from viewfinder.retrievers.shared.network import DEPTH, WordNumbers, WordVectors, read_word_table, target_ranks
from viewfinder.retrievers.shared.train_plan import TrainPlan, check_start_sentences, read_preset
from viewfinder.training import Card, TrainingJob, TrainingResult, draw_epochs, load_network, seed_all
from viewfinder.training.layers import sample_regions

SYSTEM = "mai"
PRESETS = Path(__file__).with_name("presets.toml")

MAX_READ_AT_ONCE = 256
"""How many pictures, or dialogues, validation reads together."""

MAX_MEASURED_PICTURES = 4096
"""How many pictures' regions determine the principal components of regions."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset, start = read_preset(plan, PRESETS, MaiPreset)
    network, card, samplers, galleries = read_training_data(plan, preset, start)

    @cache
    def gallery(device: torch.device, split: str) -> CaptionedGallery:
        pictures, captions_nl = galleries[split]
        return CaptionedGallery(PictureComponents(*(part.to(device) for part in pictures)), captions_nl.to(device))

    def loss(network: MaiNetwork, dialogues: ModificationDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        found = dialogue_loss(network, gallery(network.log_scale.device, "train"), dialogues, preset.loss)
        return found, {"scale": network.log_scale.detach().exp()}

    def validate(network: MaiNetwork) -> dict[str, float]:
        seen = gallery(network.log_scale.device, "val")
        figures = measure_recall(network, seen, samplers["val"])
        if not preset.caption_dropout:
            return figures
        none_nl, none_sl = torch.zeros_like(seen.captions_nl), torch.zeros_like(samplers["val"].recall_sl)
        bare = measure_recall(network, seen._replace(captions_nl=none_nl), replace(samplers["val"], recall_sl=none_sl))
        return {**figures, **{f"bare_{name}": figure for name, figure in bare.items()}}

    return plan.fit(
        TrainingJob(
            network=network,
            batches=draw_epochs(len(samplers["train"]), preset.batch, partial(samplers["train"].draw, preset)),
            loss=loss,
            settings=preset.training,
            card=card,
            validate=validate,
            selects=preset.selects,
            higher=True,
            trainable=lambda name: name != "log_scale" or preset.loss.learned_scale,
            may_leave_unused=True,
        )
    )


# -- the training data


def read_training_data(
    plan: TrainPlan, preset: MaiPreset, start: Card | None
) -> tuple[MaiNetwork, Card, dict[str, DialogueSampler], dict[str, CaptionedGallery]]:
    """The initial network, its card, and the dialogues and galleries of both splits. Raises as `train_system`."""
    model, tokeniser = preset.model, None
    if model.words == "pieces":
        tokeniser = load_tokeniser(model.tokeniser) if start is None else SavedTokeniser(**start.settings["tokeniser"])
    # Before the data, so that errors are reported early.
    published = load_blip2(model, tokeniser) if tokeniser and model.qformer and start is None else None
    found = {split: read_training_transactions(plan, split, preset) for split in ("train", "val")}
    seen = found["train"]
    reads: Callable[[Sequence[str]], Int[Tensor, "c l"]]  # texts to word or piece numbers
    of_texts: dict[str, Any]
    if tokeniser is not None:
        pieces = PieceTokenizer(tokeniser, model.most_words, model.clean_words)
        reads, of_texts = lambda texts: torch.from_numpy(pieces.numbers(texts)), {"tokeniser": asdict(tokeniser)}
    else:  # words: those of the training, or of the starting weights
        vocabulary = seen.vocabulary() if start is None else tuple(start.settings["vocabulary"])
        table_vs, version = read_word_table(model, vocabulary, plan.sentences)
        if plan.start is not None and start is not None:
            check_start_sentences(plan.start, start, version)
        reads = WordNumbers(vocabulary, model.most_words)
        of_texts = {"vocabulary": list(vocabulary), "sentences_version": version}
    seed_all(plan.seed)
    regions, region_width = (0, 1) if seen.regions_nre is None else seen.regions_nre.shape[1:]
    words = WordVectors(model, table_vs, len(vocabulary)) if tokeniser is None else tokeniser
    network = MaiNetwork(model, seen.raw_ng.shape[1], region_width, words)
    if start is None:
        regions_nre = seen.regions_nre
        network.images.measure(
            seen.raw_ng, None if regions_nre is None else sample_regions(regions_nre, MAX_MEASURED_PICTURES)
        )
        with torch.no_grad():
            network.log_scale.fill_(math.log(preset.loss.scale))
        if published is not None:
            copy_blip2_weights(network, published)
    else:
        assert plan.start is not None
        load_network(plan.start, network, system=SYSTEM, encoder=seen.raw_version)
    known = {
        "model": asdict(model),
        "loss": asdict(preset.loss),
        "regions": regions,
        "exclude_shown": preset.exclude_shown,
        **of_texts,
    }
    card = Card(system=SYSTEM, preset=plan.preset, encoder=seen.raw_version, settings=known)
    samplers = {split: DialogueSampler.of(some, reads) for split, some in found.items()}
    galleries = {
        split: CaptionedGallery(read_components(network, found[split]), sampler.captions_nl)
        for split, sampler in samplers.items()
    }
    return network, card, samplers, galleries


def read_components(network: MaiNetwork, transactions: TrainingTransactions) -> PictureComponents:
    """The network's fixed input for all pictures of a split, computed once."""
    found = []
    for at in range(0, len(transactions.raw_ng), MAX_READ_AT_ONCE):
        regions = None if transactions.regions_nre is None else transactions.regions_nre[at : at + MAX_READ_AT_ONCE]
        found.append(network.images.components(transactions.raw_ng[at : at + MAX_READ_AT_ONCE], regions))
    return PictureComponents(*(torch.cat(parts) for parts in zip(*found, strict=True)))


# -- a step, and validation


def dialogue_loss(
    network: MaiNetwork, gallery: CaptionedGallery, dialogues: ModificationDialogues, settings: MaiLossSettings
) -> Float[Tensor, ""]:
    """L_CCL (Eq. 9): the loss of dialogues, summed over turns.

    What does not depend on a dialogue's course is read for all turns at once.
    """
    targets = encode_targets(network, gallery, dialogues, settings)
    scale = network.log_scale.exp().clamp_max(MAX_SCALE)

    def change(text: EmbeddedTexts) -> EmbeddedTexts:
        return text._replace(places_blh=add_noise(text.places_blh, settings.noise))

    turns = zip(encode_dialogues(network, gallery, dialogues, change), targets.of_turns(dialogues.turns), strict=True)
    return torch.stack([modification_turn_loss(settings, scale, *pair) for pair in turns]).sum()


def encode_targets(
    network: MaiNetwork, gallery: CaptionedGallery, dialogues: ModificationDialogues, settings: MaiLossSettings
) -> TurnTargets:
    """The targets that the queries of all turns are compared with."""
    terms = frozenset(settings.terms)
    rows_c, captioned_c = dialogues.pictures_bp[:, 1:].flatten(), dialogues.captioned_bp[:, 1:].flatten()
    pictures_ckd = network.encode_pictures(gallery.pictures.take(rows_c), gallery.captions(rows_c, captioned_c))
    modifications_cd, captions_cd, prompts_cph = None, None, None
    if network.settings.stages == "sprc":
        prompts_cph, modifications_cd = network.encode_texts(dialogues.words_bnl.flatten(0, 1))
        if settings.alignment == "official":
            prompts_cph = network.prompts.expand_as(prompts_cph)
    elif terms & {"modification_target", "modification_caption"}:
        modifications_cd = network.encode_texts(dialogues.words_bnl.flatten(0, 1))[1]
    if terms & {"query_caption", "modification_caption"}:
        captions_cd = network.encode_texts(gallery.captions_nl[rows_c])[1]  # also for those read without them
    return TurnTargets(pictures_ckd, modifications_cd, captions_cd, prompts_cph)


def measure_recall(network: MaiNetwork, gallery: CaptionedGallery, sampler: DialogueSampler) -> dict[str, float]:
    """The figures of validation: R@10 among all its pictures, averaged over turns, by turn, and for either setting."""
    count = len(gallery.captions_nl)
    rows = [torch.arange(at, min(at + MAX_READ_AT_ONCE, count)) for at in range(0, count, MAX_READ_AT_ONCE)]
    parts = [network.encode_pictures(gallery.pictures.take(some), gallery.captions_nl[some]) for some in rows]
    pictures_nkd, found = torch.cat(parts), []
    for at in range(0, len(sampler), MAX_READ_AT_ONCE):
        dialogues = sampler.recorded(np.arange(at, min(at + MAX_READ_AT_ONCE, len(sampler))))
        ranks = []
        for turn, encoded in enumerate(encode_dialogues(network, gallery, dialogues), start=1):
            # The best of a picture's several vectors counts.
            scores_bn = torch.einsum("bd,nkd->bnk", encoded.queries_bd, pictures_nkd).amax(dim=-1)
            ranks.append(target_ranks(scores_bn, dialogues.pictures_bp[:, turn]))
        found.append(torch.stack(ranks, dim=1))
    there_st = (torch.cat(found) < DEPTH).double()
    back_s, recalls_s = sampler.back_s != NOWHERE, sampler.recalled_sp.any(dim=1)
    settings = {"rollback": there_st[back_s, -1], "combination": there_st[recalls_s, -1]}
    return {
        "recall": float(there_st.mean()),
        **{f"recall_{turn}": float(hits_s.mean()) for turn, hits_s in enumerate(there_st.T, start=1)},
        "recall_last": float(there_st[:, -1].mean()),
        **{f"recall_{name}": float(hits_s.mean()) for name, hits_s in settings.items() if len(hits_s)},
    }


WANTED = "weights of BLIP-2 for image-text retrieval, such as Salesforce/blip2-itm-vit-g"


def load_tokeniser(name_or_path: str) -> SavedTokeniser:
    """The tokeniser in a folder, or with a name on the hub.

    Raises:
        BadInput: there is none, or it lacks a tokenizer.json, [CLS] or [SEP].
    """
    folder = Path(name_or_path).expanduser()
    source = CheckpointSource(folder.resolve().name, folder) if folder.is_dir() else find_checkpoint(name_or_path)
    found = load_tokenizer(source, cls="[CLS]", sep="[SEP]")
    return SavedTokeniser(found.backend_tokenizer.to_str(), found.cls_token_id, found.sep_token_id)


def load_blip2(settings: Model, tokeniser: SavedTokeniser) -> Blip2Weights:
    """BLIP-2's weights from the folder or hub name in the settings, in single precision.

    Raises:
        BadInput: nothing there, something else, missing weights, sizes that are not those of the settings, or
            too few of them for the tokeniser's pieces and the longest text.
    """
    source = find_checkpoint(settings.qformer)
    config = read_blip2_config(source, WANTED)
    if not config.qformer_config.use_qformer_text_input:
        raise BadInput(f"{source.location}: is a Q-Former that reads no text; give {WANTED}")
    there = blip2_sizes(config)
    wanted = {name: getattr(settings, name) for name in there} | {"image_width": settings.read_width}
    check_weight_sizes(source, there, wanted)
    known, places = config.qformer_config, longest_text(settings)
    pieces = PieceTokenizer(tokeniser, settings.most_words).trained
    if known.vocab_size < pieces:
        raise BadInput(
            f"{source.location}: knows {known.vocab_size} pieces, and the tokeniser {settings.tokeniser} has "
            f"{pieces}; give the one that belongs to it"
        )
    if known.max_position_embeddings < places:
        raise BadInput(
            f"{source.location}: texts have {known.max_position_embeddings} places, and most_words with prompts are "
            f"{places}; set less of either"
        )
    return read_blip2_weights(Blip2Weights, source, config, "Blip2ForImageTextRetrieval")


def blip2_sizes(config: Any) -> dict[str, int]:
    """The sizes that BLIP-2's weights fix, by their names in the settings."""
    qformer = config.qformer_config
    return {
        "width": qformer.hidden_size,
        "layers": qformer.num_hidden_layers,
        "heads": qformer.num_attention_heads,
        "hidden": qformer.intermediate_size,
        "cross_every": qformer.cross_attention_frequency,
        "image_width": qformer.encoder_hidden_size,
        "tokens": config.num_query_tokens,
        "projection": config.image_text_hidden_size,
    }


@torch.no_grad()
def copy_blip2_weights(network: MaiNetwork, published: Blip2Weights) -> None:
    """Fills a network with BLIP-2's weights, where both have the same parts.

    The map of a picture's numbers, the prompts, the memory, and the projection of targets are new (published); but
    SPRC projects targets as BLIP-2 does its pictures.
    """
    text, known = network.text, published.embeddings
    assert isinstance(text, PieceInput)
    pieces_vh = known.word_embeddings.weight[: len(text.pieces.weight)]
    text.pieces.weight[: len(pieces_vh)] = pieces_vh  # pieces added later have no vector there
    text.positions.copy_(known.position_embeddings.weight[: len(text.positions)])
    network.learned.copy_(published.query_tokens[0])
    same: list[tuple[nn.Module, nn.Module]] = [
        (network.qformer, published.qformer),
        (network.images.norm, published.vision_model["post_layernorm"]),
        (network.text_project, published.text_projection),
    ]
    if network.settings.stages == "sprc":
        same.append((network.target_project, published.vision_projection))
    for own, theirs in same:
        own.load_state_dict(theirs.state_dict())
