"""What ChatSearcher begins with that others have published: a language model, and the Q-Former of BLIP-2. In torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from viewfinder.encoders.checkpoints import (
    TOKENIZER_FILES,
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.language import CausalLanguageModel
from viewfinder.retrievers.chatsearcher.looks import Perceiver
from viewfinder.retrievers.chatsearcher.pieces import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import ModelSettings
from viewfinder.retrievers.shared.blip2 import (
    QFormerWithTokens,
    check_weight_sizes,
    read_blip2_config,
    read_blip2_weights,
)

LLAMA_LIKE = ("llama", "mistral", "qwen2")
"""Model types that compute as transformers' `LlamaModel` does, with or without biases of queries, keys and values."""

ROTARY = ("default", "linear", "llama3")
"""Kinds of rotary positions whose frequencies are the same for texts of all lengths, and scale no attention."""

PICTURE = ("crossattention.attention.key", "crossattention.attention.value")
"""Ends of the names of the maps by which the Q-Former reads a picture's numbers."""


@dataclass(frozen=True)
class LanguageSource(CheckpointSource):
    """Where a language model is: as a checkpoint, or a .gguf file of the folder."""

    gguf: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of every `from_pretrained`."""
        return {**super().options, **({} if self.gguf is None else {"gguf_file": self.gguf})}

    @property
    def called(self) -> str:
        """What the user knows it by."""
        return self.location if self.gguf is None else str(Path(self.location) / self.gguf)

    @property
    def way_out(self) -> str:
        """What the user can do when something cannot be loaded."""
        if self.folder is not None:
            return "give a .gguf file, or a complete folder, as save_pretrained of model and tokenizer write it"
        return super().way_out


def load_pretrained_language(settings: ModelSettings) -> CausalLanguageModel:
    """The language model in the folder or .gguf file, or of the hub name, that the settings name; single precision.

    Raises:
        BadInput: nothing there, weights or tokeniser that are missing, or something that is not built like Llama.
    """
    source = _found(settings.language)
    with explain_failures(source, f"the configuration of {source.called}"), silence_transformers():
        config: Any = AutoConfig.from_pretrained(source.location, **source.options)
    _check(source, config, settings.longest)
    cuts, (begin, end) = _tokeniser(source)
    with explain_failures(source, f"the weights of {source.called}"), silence_transformers():
        load: Callable[..., Any] = AutoModelForCausalLM.from_pretrained
        causal, report = load(
            source.location, **source.options, config=config, dtype=torch.float32, output_loading_info=True
        )
    if missing := sorted(report["missing_keys"]):
        raise BadInput(
            f"{source.called}: {len(missing)} weights are missing ({missing[0]}, ...); give a checkpoint of a causal "
            "language model"
        )
    if len(cuts) > config.vocab_size:  # it was given pieces that the model has no vectors for yet
        with silence_transformers():
            causal.resize_token_embeddings(len(cuts))
    table, head = causal.get_input_embeddings(), causal.get_output_embeddings()
    tied = head.weight is table.weight
    known = TokenizerRecord(cuts.backend_tokenizer.to_str(), begin, end, len(table.weight))
    return CausalLanguageModel(causal.model, None if tied else head, known)


@torch.no_grad()
def load_perceiver(name_or_path: str, perceiver: Perceiver) -> None:
    """Fills a perceiver with BLIP-2's weights in a folder or of a name on the hub, as far as it has the same parts.

    What maps a picture's numbers to keys and values, and the norm before it, are BLIP-2's only where its pictures have
    as many numbers as regions are read by; else they stay as they were drawn, as the places of regions do.

    Raises:
        BadInput: nothing there, something else, weights that are missing, or sizes that are not the perceiver's.
    """
    source = find_checkpoint(name_or_path)
    config = read_blip2_config(source, "weights of BLIP-2, such as Salesforce/blip2-itm-vit-g")
    config.qformer_config.use_qformer_text_input = False  # no text is read here: what is for texts is left out
    check_weight_sizes(source, _sizes(config.qformer_config, config.num_query_tokens), _sizes_of(perceiver))
    published = read_blip2_weights(QFormerWithTokens, source, config, "Blip2ForConditionalGeneration")
    same_pictures = config.vision_config.hidden_size == perceiver.qformer.config.encoder_hidden_size
    perceiver.queries.copy_(published.query_tokens[0])
    theirs = published.qformer.state_dict()
    if same_pictures:
        perceiver.norm.load_state_dict(published.vision_model["post_layernorm"].state_dict())
    else:
        own = perceiver.qformer.state_dict()
        theirs |= {name: own[name] for name in theirs if name.rpartition(".")[0].endswith(PICTURE)}
    perceiver.qformer.load_state_dict(theirs)


def _found(name_or_path: str) -> LanguageSource:
    """Where the named language model is.

    Raises:
        BadInput: there is no such file or folder, and it cannot be a name.
    """
    path = Path(name_or_path).expanduser()
    if path.suffix.lower() != ".gguf":
        found = find_checkpoint(name_or_path)
        return LanguageSource(found.name, found.folder)
    if not path.is_file():
        raise BadInput(f"there is no language model {path}: give a .gguf file, a model folder or a hub name")
    return LanguageSource(path.stem, path.resolve().parent, gguf=path.name)


def _check(source: LanguageSource, config: Any, longest: int) -> None:
    """Raises BadInput where a configuration is of something that does not compute as Llama does."""
    if differs := _difference(config):
        raise BadInput(
            f"{source.called}: {differs}, and only what computes as Llama does can search; give a model of type "
            f"{', '.join(LLAMA_LIKE)}, such as SmolLM2, Vicuna or Mistral"
        )
    window = getattr(config, "sliding_window", None)
    most = min(config.max_position_embeddings, window or config.max_position_embeddings)
    if longest > most:
        raise BadInput(f"{source.called}: reads {most} pieces at most; --set model.longest={most}")


def _difference(config: Any) -> str:
    """What a model does otherwise than Llama; "" if nothing."""
    if config.model_type not in LLAMA_LIKE:
        return f"is of type {config.model_type!r}"
    if getattr(config, "attention_bias", False) or getattr(config, "mlp_bias", False):
        return "has biases where Llama has none"
    if config.hidden_act != "silu":
        return f"has the activation {config.hidden_act!r}"
    rotary = config.rope_parameters
    if rotary["rope_type"] not in ROTARY or rotary.get("partial_rotary_factor", 1.0) != 1.0:
        return f"has rotary positions of its own ({rotary['rope_type']!r})"
    return ""


def _tokeniser(source: LanguageSource) -> tuple[Any, tuple[int, int]]:
    """The tokenizer, and the numbers of the pieces before a talk and after an answer.

    Raises:
        BadInput: there is none, or none that is read from one file and knows an end.
    """
    with explain_failures(source, f"the tokeniser of {source.called}"), silence_transformers():
        if source.gguf is None and not any(source.file(name) for name in TOKENIZER_FILES):
            # transformers would make an empty one, which cuts every text alike.
            raise BadInput(
                f"{source.called}: has no tokeniser (none of {', '.join(TOKENIZER_FILES)}): {source.way_out}"
            )
        found: Any = AutoTokenizer.from_pretrained(source.location, **source.options)
    if not found.is_fast or found.eos_token_id is None:
        raise BadInput(
            f"{source.called}: its tokeniser has no tokenizer.json, or no piece for the end of a text: {source.way_out}"
        )
    # Where nothing begins a text (Qwen2), what ends the one before does.
    begin = found.eos_token_id if found.bos_token_id is None else found.bos_token_id
    return found, (begin, found.eos_token_id)


def _sizes(qformer: Any, tokens: int) -> dict[str, int]:
    """The sizes of a Q-Former, by the names that settings have for them."""
    return {
        "perceiver_width": qformer.hidden_size,
        "perceiver_layers": qformer.num_hidden_layers,
        "perceiver_heads": qformer.num_attention_heads,
        "perceiver_hidden": qformer.intermediate_size,
        "cross_every": qformer.cross_attention_frequency,
        "tokens": tokens,
    }


def _sizes_of(perceiver: Perceiver) -> dict[str, int]:
    return _sizes(perceiver.qformer.config, len(perceiver.queries))
