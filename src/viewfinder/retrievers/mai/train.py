"""What MAI begins with that others have published: a tokeniser, and the Q-Former of BLIP-2. In torch.

Training MAI: OUT/best.safetensors, and what `training.fit` says lies beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AutoTokenizer

from viewfinder.encoders.checkpoints import (
    TOKENIZER_FILES,
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.errors import BadInput, EncoderMismatch
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
from viewfinder.retrievers.mai.settings import MOST_SCALE, LossSettings, Model, Preset
from viewfinder.retrievers.mai.texts import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.mai.transactions import (
    DialogueSampler,
    TrainingTransactions,
    read_training_transactions,
    transaction_vocabulary,
)
from viewfinder.retrievers.shared.blip2 import check_weight_sizes, read_blip2_config, read_blip2_weights
from viewfinder.retrievers.shared.network import WordNumbers, WordVectors, read_word_table
from viewfinder.retrievers.shared.train_plan import TrainPlan, read_start_card
from viewfinder.training import (
    Batches,
    Card,
    TrainingJob,
    TrainingResult,
    load_network,
    load_preset,
    seed_all,
    shuffled,
)
from viewfinder.training.picture_layers import sample_regions
from viewfinder.training.presets import read_card_settings

WANTED = "weights of BLIP-2 for image-text retrieval, such as Salesforce/blip2-itm-vit-g"


def load_tokeniser(name_or_path: str) -> SavedTokeniser:
    """The tokeniser in a folder, or of a name on the hub.

    Raises:
        BadInput: there is none, or none with a tokenizer.json, [CLS] and [SEP].
    """
    folder = Path(name_or_path).expanduser()
    source = CheckpointSource(folder.resolve().name, folder) if folder.is_dir() else find_checkpoint(name_or_path)
    with explain_failures(source, "the tokeniser"), silence_transformers():
        if source.folder is not None and not any((source.folder / name).is_file() for name in TOKENIZER_FILES):
            # transformers would make an empty one, which cuts every text alike.
            raise BadInput(
                f"{source.location}: has no tokeniser (none of {', '.join(TOKENIZER_FILES)}); give another folder"
            )
        found: Any = AutoTokenizer.from_pretrained(source.location, **source.options)
    if not found.is_fast or found.cls_token_id is None or found.sep_token_id is None:
        raise BadInput(
            f"{source.location}: its tokeniser has no tokenizer.json with [CLS] and [SEP]; give one like BERT's"
        )
    return SavedTokeniser(found.backend_tokenizer.to_str(), found.cls_token_id, found.sep_token_id)


def load_blip2(settings: Model, tokeniser: SavedTokeniser) -> Blip2Weights:
    """BLIP-2's weights in the folder, or of the name on the hub, that the settings name; in single precision.

    Raises:
        BadInput: nothing there, something else, weights that are missing, or sizes that are not those of the settings.
    """
    source = find_checkpoint(settings.qformer)
    config = read_blip2_config(source, WANTED)
    _check(source, config, settings)
    _check_texts(source, config.qformer_config, settings, tokeniser)
    return read_blip2_weights(Blip2Weights, source, config, "Blip2ForImageTextRetrieval")


@torch.no_grad()
def copy_blip2_weights(network: MaiNetwork, published: Blip2Weights) -> None:
    """Fills a network with BLIP-2's weights, as far as it has the same parts.

    What a picture's numbers are mapped by, the prompts, what is carried, and what targets are projected by are new
    (published); but SPRC projects targets as BLIP-2 does its pictures.
    """
    text, known = network.text, published.embeddings
    assert isinstance(text, PieceInput)
    pieces_vh = known.word_embeddings.weight[: len(text.pieces.weight)]
    text.pieces.weight[: len(pieces_vh)] = pieces_vh  # pieces that were added later have no vector there
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


def _check(source: CheckpointSource, config: Any, settings: Model) -> None:
    """Raises BadInput where a configuration is of something else, or of other sizes."""
    if not config.qformer_config.use_qformer_text_input:
        raise BadInput(f"{source.location}: is a Q-Former that reads no text; give {WANTED}")
    there = blip2_sizes(config)
    check_weight_sizes(source, there, {name: _size(settings, name) for name in there})


def _check_texts(source: CheckpointSource, config: Any, settings: Model, tokeniser: SavedTokeniser) -> None:
    """Raises BadInput where a tokeniser has more pieces, or texts more places, than weights have vectors for."""
    pieces, places = PieceTokenizer(tokeniser, settings.most_words).trained, longest_text(settings)
    if config.vocab_size < pieces:
        raise BadInput(
            f"{source.location}: knows {config.vocab_size} pieces, and the tokeniser {settings.tokeniser} has "
            f"{pieces}; give the one that belongs to it"
        )
    if config.max_position_embeddings < places:
        raise BadInput(
            f"{source.location}: texts have {config.max_position_embeddings} places, and most_words with prompts are "
            f"{places}; set less of either"
        )


def blip2_sizes(config: Any) -> dict[str, int]:
    """The sizes that BLIP-2's weights fix, by the names that settings have for them."""
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


def _size(settings: Model, name: str) -> int:
    return settings.read_width if name == "image_width" else int(getattr(settings, name))


SYSTEM = "mai"
PRESETS = Path(__file__).with_name("presets.toml")

AT_ONCE = 256
"""Pictures, or talks, that validation reads together."""

DEPTH = 10
"""Validation's recall is that among so many."""

REGIONS = 4096
"""Pictures whose regions tell the principal components of regions."""


def train(plan: TrainPlan) -> TrainingResult:
    """Train as the plan says; what was interrupted goes on with `plan.resume`.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data, preset or start that cannot serve.
    """
    preset = load_preset(PRESETS, plan.preset, Preset, plan.overrides)
    start = read_start_card(plan)
    if start is not None:
        preset = replace(preset, model=read_card_settings(Model, start))
    return plan.fit(make_job(plan, preset, read_training_data(plan, preset, start)))


@dataclass(frozen=True, eq=False)
class MaiTrainingData:
    """A network as it begins, its card, and what is learnt from and measured on."""

    network: MaiNetwork
    card: Card
    train: DialogueSampler
    val: DialogueSampler
    shelves: dict[str, CaptionedGallery]


def read_training_data(plan: TrainPlan, preset: Preset, start: Card | None) -> MaiTrainingData:
    """The data of a plan, and the network over it: drawn, or as the plan's start has it.

    Raises:
        BadInput, UnknownName, EncoderMismatch: data or start that cannot serve.
    """
    model = preset.model
    tokeniser = _tokeniser(model, start)
    # Before the data, so that what is wrong is told soon.
    published = load_blip2(model, tokeniser) if tokeniser and model.qformer and start is None else None
    found = {split: read_training_transactions(plan, split, preset) for split in ("train", "val")}
    seen = found["train"]
    texts = _words(plan, model, seen, start) if tokeniser is None else _pieces(model, tokeniser)
    seed_all(plan.seed)
    regions, region_width = (0, 1) if seen.regions_nre is None else seen.regions_nre.shape[1:]
    network = MaiNetwork(model, seen.raw_ng.shape[1], region_width, texts.make())
    if start is None:
        regions_nre = seen.regions_nre
        network.images.measure(seen.raw_ng, None if regions_nre is None else sample_regions(regions_nre, REGIONS))
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
        **texts.card,
    }
    card = Card(system=SYSTEM, preset=plan.preset, encoder=seen.raw_version, settings=known)
    train, val = (DialogueSampler.of(found[split], texts.reads) for split in ("train", "val"))
    shelves = {
        split: CaptionedGallery(_looks(network, found[split]), drawer.captions_nl)
        for split, drawer in (("train", train), ("val", val))
    }
    return MaiTrainingData(network, card, train, val, shelves)


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """How texts are read.

    Attributes:
        make: what the network is given; it may draw.
        reads: texts to numbers of words, or of pieces.
        card: what a search needs to read alike.
    """

    make: Callable[[], WordVectors | SavedTokeniser]
    reads: Callable[[Sequence[str]], Int[Tensor, "c l"]]
    card: Mapping[str, Any]


def _words(plan: TrainPlan, model: Model, seen: TrainingTransactions, start: Card | None) -> TrainingTexts:
    """By words: those of the training, or those of the weights that are begun with."""
    vocabulary = transaction_vocabulary(seen) if start is None else tuple(start.settings["vocabulary"])
    table_vs, version = read_word_table(model, vocabulary, plan.sentences)
    if start is not None and plan.start is not None:
        _check_words(plan.start, start, version)
    card = {"vocabulary": list(vocabulary), "sentences_version": version}
    return TrainingTexts(
        partial(WordVectors, model, table_vs, len(vocabulary)), WordNumbers(vocabulary, model.most_words), card
    )


def _pieces(model: Model, tokeniser: SavedTokeniser) -> TrainingTexts:
    """By the pieces of a tokeniser, which the card has whole."""
    pieces = PieceTokenizer(tokeniser, model.most_words)

    def reads(texts: Sequence[str]) -> Int[Tensor, "c l"]:
        return torch.from_numpy(pieces.numbers(texts))

    return TrainingTexts(lambda: tokeniser, reads, {"tokeniser": asdict(tokeniser)})


def _tokeniser(model: Model, start: Card | None) -> SavedTokeniser | None:
    """The tokeniser that the settings name, or that of the weights that are begun with; None: words are read."""
    if model.words != "pieces":
        return None
    return load_tokeniser(model.tokeniser) if start is None else SavedTokeniser(**start.settings["tokeniser"])


def make_job(plan: TrainPlan, preset: Preset, material: MaiTrainingData) -> TrainingJob:
    """The training of talks, every turn of which is learnt from."""

    @cache
    def on(device: torch.device, split: str) -> CaptionedGallery:
        shelf = material.shelves[split]
        return CaptionedGallery(
            PictureComponents(*(part.to(device) for part in shelf.looks)), shelf.captions_nl.to(device)
        )

    def batches(epoch: int, seed: int) -> Batches[ModificationDialogues]:
        def make(rows_b: Int[np.ndarray, " b"]) -> ModificationDialogues:
            return material.train.draw(rows_b, preset, np.random.default_rng([seed, epoch, int(rows_b[0])]))

        return shuffled(len(material.train), preset.batch, make, epoch=epoch, seed=seed)

    def lost(module: nn.Module, talks: ModificationDialogues) -> tuple[Tensor, dict[str, Tensor]]:
        assert isinstance(module, MaiNetwork)
        loss = dialogue_loss(module, on(module.log_scale.device, "train"), talks, preset.loss)
        return loss, {"scale": module.log_scale.detach().exp()}

    def validate(module: nn.Module) -> dict[str, float]:
        assert isinstance(module, MaiNetwork)
        shelf = on(module.log_scale.device, "val")
        figures = measure_recall(module, shelf, material.val)
        if not preset.caption_dropout:
            return figures
        bare = measure_recall(module, shelf.without_captions(), material.val.without_captions())
        return {**figures, **{f"bare_{name}": figure for name, figure in bare.items()}}

    return TrainingJob(
        network=material.network,
        batches=batches,
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
    return name != "log_scale" or preset.loss.learned_scale


def dialogue_loss(
    network: MaiNetwork, shelf: CaptionedGallery, talks: ModificationDialogues, settings: LossSettings
) -> Float[Tensor, ""]:
    """The loss of talks, summed over turns. What does not hang on the way of a talk is read for all turns at once."""
    targets = encode_targets(network, shelf, talks, settings)
    scale = network.log_scale.exp().clamp_max(MOST_SCALE)

    def heard(text: EmbeddedTexts) -> EmbeddedTexts:
        return text._replace(places_blh=add_noise(text.places_blh, settings.noise))

    turns = zip(encode_dialogues(network, shelf, talks, heard), targets.of_turns(talks.turns), strict=True)
    return torch.stack([modification_turn_loss(settings, scale, *pair) for pair in turns]).sum()


def encode_targets(
    network: MaiNetwork, shelf: CaptionedGallery, talks: ModificationDialogues, settings: LossSettings
) -> TurnTargets:
    """What the queries of all turns are compared with."""
    terms = frozenset(settings.terms)
    rows_c, captioned_c = talks.pictures_bp[:, 1:].flatten(), talks.captioned_bp[:, 1:].flatten()
    captions_cl = shelf.captions(rows_c, captioned_c)
    pictures_ckd = network.pictures(shelf.looks.of(rows_c), captions_cl)
    modifications_cd, captions_cd, prompts_cph = None, None, None
    if network.settings.stages == "sprc":
        prompts_cph, modifications_cd = network.prompted(talks.words_bnl.flatten(0, 1))
    elif terms & {"modification_target", "modification_caption"}:
        modifications_cd = network.vector(talks.words_bnl.flatten(0, 1))
    if terms & {"query_caption", "modification_caption"}:
        captions_cd = network.vector(shelf.captions_nl[rows_c])  # also of those that are read without
    return TurnTargets(pictures_ckd, modifications_cd, captions_cd, prompts_cph)


def measure_recall(network: MaiNetwork, shelf: CaptionedGallery, drawer: DialogueSampler) -> dict[str, float]:
    """What validation measures: R@10 among all its pictures, as mean over turns, by turn, and of either setting."""
    count = len(shelf.captions_nl)
    rows = [torch.arange(at, min(at + AT_ONCE, count)) for at in range(0, count, AT_ONCE)]
    pictures_nkd = torch.cat([network.pictures(shelf.looks.of(some), shelf.captions_nl[some]) for some in rows])
    found: list[Tensor] = []
    for at in range(0, len(drawer), AT_ONCE):
        talks = drawer.talks(np.arange(at, min(at + AT_ONCE, len(drawer))))
        ranks = [
            rank_targets(turned.queries_bd, pictures_nkd, talks.pictures_bp[:, turn + 1])
            for turn, turned in enumerate(encode_dialogues(network, shelf, talks))
        ]
        found.append(torch.stack(ranks, dim=1))
    there_st = (torch.cat(found) < DEPTH).double()
    back_s, recalls_s = drawer.back_s != NOWHERE, drawer.recalled_sp.any(dim=1)
    settings = {"rollback": there_st[back_s, -1], "combination": there_st[recalls_s, -1]}
    return {
        "recall": float(there_st.mean()),
        **{f"recall_{turn}": float(hits_s.mean()) for turn, hits_s in enumerate(there_st.T, start=1)},
        "recall_last": float(there_st[:, -1].mean()),
        **{f"recall_{name}": float(hits_s.mean()) for name, hits_s in settings.items() if len(hits_s)},
    }


def rank_targets(
    queries_bd: Float[Tensor, "b d"], pictures_nkd: Float[Tensor, "n k d"], targets_b: Int[Tensor, " b"]
) -> Int[Tensor, " b"]:
    """How many pictures are more like each query than its target; of several vectors the best counts."""
    scores_bn = torch.einsum("bd,nkd->bnk", queries_bd, pictures_nkd).amax(dim=-1)
    # Not "more than": a network whose numbers are none must not seem to find everything.
    return (~(scores_bn <= scores_bn.gather(1, targets_b[:, None]))).sum(dim=1)


def _looks(network: MaiNetwork, transactions: TrainingTransactions) -> PictureComponents:
    """What is read of all pictures of a split, computed once."""
    found = []
    for at in range(0, len(transactions.raw_ng), AT_ONCE):
        regions = None if transactions.regions_nre is None else transactions.regions_nre[at : at + AT_ONCE]
        found.append(network.images.looks(transactions.raw_ng[at : at + AT_ONCE], regions))
    return PictureComponents(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def _check_words(file: Path, start: Card, version: str) -> None:
    before = start.settings["sentences_version"]
    if before != version:
        raise EncoderMismatch(
            f"{file}: reads words as sentence vectors of {before!r}, and this encoder's are {version!r}; use the "
            "encoder it was trained with"
        )
