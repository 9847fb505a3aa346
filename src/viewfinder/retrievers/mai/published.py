"""The published parts that MAI starts from: a tokeniser, and the Q-Former of BLIP-2. In torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from viewfinder.encoders.checkpoints import CheckpointSource, find_checkpoint, load_tokenizer
from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.inputs import PieceInput, longest_text
from viewfinder.retrievers.mai.network import Blip2Weights, MaiNetwork
from viewfinder.retrievers.mai.settings import Model
from viewfinder.retrievers.mai.texts import PieceTokenizer, SavedTokeniser
from viewfinder.retrievers.shared.blip2 import check_weight_sizes, read_blip2_config, read_blip2_weights

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
