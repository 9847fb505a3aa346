"""ChatSearcher's network (Sec. 4.1): pictures and words in one sequence, a head for words and one for pictures.

The language model inside is a randomly initialised or a published one, with adapters or whole. Pictures are read as a
global token and the perceiver's slots for their regions. In torch.

Axes: b sequences, l positions, h width of a position, n pictures, c those in the sequences, one after the other, g
width of a raw whole vector, x the width read of it, r regions, e width of a raw one, y the width read of it, t slots, w
width of a slot, s width of a sentence vector, v pieces that can be written, d width of the vectors that pictures are
found by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import linear, normalize, pad
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    Blip2QFormerConfig,
    Blip2QFormerModel,
    LlamaConfig,
    LlamaModel,
)

from viewfinder.encoders.checkpoint_parts import load_tokenizer, load_whole
from viewfinder.encoders.checkpoint_sources import (
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.batches import SequenceBatch
from viewfinder.retrievers.chatsearcher.loss import FeatureQueue
from viewfinder.retrievers.chatsearcher.sequence import TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import (
    LORA_ALPHA,
    MAX_AGE,
    ChatSearcherLossSettings,
    ChatSearcherSettings,
    LoraSettings,
)
from viewfinder.retrievers.shared.blip2 import (
    QFormerWithTokens,
    check_weight_sizes,
    read_blip2_config,
    read_blip2_weights,
)
from viewfinder.training.layers import PictureInput, PictureKind

SPECIAL = 2
"""[IMG] and [/IMG], which are written in addition to the pieces."""

ADAPTED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""Name endings of the linear maps that get adapters."""

LLAMA_LIKE = ("llama", "mistral", "qwen2")
"""Model types that compute as transformers' `LlamaModel` does, with or without biases of queries, keys and values."""

ROTARY = ("default", "linear", "llama3")
"""Kinds of rotary positions whose frequencies do not depend on a text's length, and which do not scale attention."""


@dataclass(frozen=True, eq=False)
class CausalLanguageModel:
    """A causal language model."""

    model: Any  # transformers' `LlamaModel`, or one that is built like it
    head: nn.Linear | None  # scores the pieces; None: their own vectors do
    tokenizer: TokenizerRecord  # splits texts into its pieces


def draw_language_model(settings: ChatSearcherSettings, tokenizer: TokenizerRecord) -> CausalLanguageModel:
    """A small, untrained one."""
    config = LlamaConfig(
        vocab_size=tokenizer.count,
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.key_heads,
        intermediate_size=settings.hidden,
        max_position_embeddings=settings.longest,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        # 0.02 is for widths of thousands; at small widths everything would look alike for long.
        initializer_range=settings.width**-0.5 if settings.width < 1024 else 0.02,
        bos_token_id=tokenizer.begin,
        eos_token_id=tokenizer.end,
    )
    return CausalLanguageModel(LlamaModel(config), None, tokenizer)


@torch.no_grad()
def add_special_pieces(language: CausalLanguageModel) -> tuple[Any, nn.Linear | None]:
    """Its model and head with rows for [IMG] and [/IMG], which start near the mean of the others."""

    def grow(rows_vh: torch.Tensor) -> torch.Tensor:
        # A little apart, or the two would stay the same.
        apart_kh = torch.randn(SPECIAL, rows_vh.shape[1]) * rows_vh.std()
        return torch.cat([rows_vh, rows_vh.mean(dim=0, keepdim=True) + apart_kh])

    model, head = language.model, language.head
    rows_vh = grow(model.embed_tokens.weight)
    model.embed_tokens = nn.Embedding(len(rows_vh), rows_vh.shape[1], _weight=rows_vh)
    model.config.vocab_size = len(rows_vh)
    if head is not None:
        scores_vh = grow(head.weight)
        head = nn.Linear(scores_vh.shape[1], len(scores_vh), bias=False)
        head.weight.copy_(scores_vh)
    return model, head


def add_lora(model: nn.Module, lora: LoraSettings) -> None:
    """Adds adapters to the linear maps of all layers, by peft; the output is unchanged until they have learnt.

    Only the adapters need gradients afterwards. A map becomes W + alpha / rank * B A (Hu et al. 2021), by
    the names `q_proj.base_layer.weight`, `q_proj.lora_A.default.weight` and `q_proj.lora_B.default.weight`.
    """
    from peft import LoraConfig, inject_adapter_in_model

    settings: Any = LoraConfig  # which says that alpha is whole, and divides it by the rank alone
    inject_adapter_in_model(settings(r=lora.rank, lora_alpha=LORA_ALPHA, target_modules=list(ADAPTED)), model)


def load_pretrained_language(settings: ChatSearcherSettings) -> CausalLanguageModel:
    """The language model in the folder or .gguf file, or of the hub name, that the settings name; single precision.

    Raises:
        BadInput: nothing there, weights or tokeniser missing, or something that is not built like Llama.
    """
    path = Path(settings.language).expanduser()
    if path.suffix.lower() != ".gguf":
        source = find_checkpoint(settings.language)
    elif path.is_file():
        source = CheckpointSource(path.stem, path.resolve().parent, gguf=path.name)
    else:
        raise BadInput(f"there is no language model {path}: give a .gguf file, a model folder or a hub name")
    with explain_failures(source, "the configuration"), silence_transformers():
        config: Any = AutoConfig.from_pretrained(source.location, **source.options)
    if differs := _find_difference(config):
        likes = f"give a model of type {', '.join(LLAMA_LIKE)}, such as SmolLM2, Vicuna or Mistral"
        raise BadInput(f"{source.called}: {differs}, and only what computes as Llama does can search; {likes}")
    places = config.max_position_embeddings
    most = min(places, getattr(config, "sliding_window", None) or places)
    if settings.longest > most:
        raise BadInput(f"{source.called}: reads {most} pieces at most; --set model.longest={most}")
    tokenizer = load_tokenizer(source, eos="a piece for the end of a text")
    causal = load_whole(AutoModelForCausalLM, source, "the weights", "a causal language model", config=config)
    if len(tokenizer) > config.vocab_size:  # the tokeniser has pieces without vectors in the model
        with silence_transformers():
            causal.resize_token_embeddings(len(tokenizer))
    table, head = causal.get_input_embeddings(), causal.get_output_embeddings()
    end = tokenizer.eos_token_id
    begin = end if tokenizer.bos_token_id is None else tokenizer.bos_token_id  # for Qwen2, the end of the previous text
    record = TokenizerRecord(tokenizer.backend_tokenizer.to_str(), begin, end, len(table.weight))
    return CausalLanguageModel(causal.model, None if head.weight is table.weight else head, record)


def _find_difference(config: Any) -> str:
    """How a model differs from Llama; "" if it does not."""
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


MAX_PICTURES_AT_ONCE = 512
"""How many pictures' raw regions are held in single precision at a time."""

FIRST_TEMPERATURE = 0.07
"""The initial temperature of the loss over pictures; the paper does not give it."""

SIZES = {
    "perceiver_width": "hidden_size",
    "perceiver_layers": "num_hidden_layers",
    "perceiver_heads": "num_attention_heads",
    "perceiver_hidden": "intermediate_size",
    "cross_every": "cross_attention_frequency",
}
"""Settings, and their names in transformers' configuration of a Q-Former."""

PICTURE = ("crossattention.attention.key", "crossattention.attention.value")
"""Ends of the names of the maps by which the Q-Former reads a picture's numbers."""


class PictureFeatures(NamedTuple):
    """Pictures before anything trainable: the same throughout a training. Regions are in half precision."""

    whole_nx: Float32[Tensor, "n x"]
    regions_nry: Float16[Tensor, "n r y"]

    def select(self, rows_c: Int[Tensor, " c"]) -> PictureFeatures:
        """The inputs of some pictures."""
        return PictureFeatures(self.whole_nx[rows_c], self.regions_nry[rows_c])


class Perceiver(nn.Module):
    """The Q-Former of BLIP-2 without a text: N slots that look at the regions of a picture (Sec. 4.1).

    Where a region lies is learnt: unlike a transformer's patches, regions of a convolution do not carry it.
    """

    def __init__(self, settings: ChatSearcherSettings, regions: int, region_width: int) -> None:
        """`regions`: r; `region_width`: y."""
        super().__init__()
        width = settings.perceiver_width
        self.queries = nn.Parameter(torch.randn(settings.tokens, width) * width**-0.5)
        self.positions = nn.Parameter(torch.zeros(regions, region_width))
        self.norm = nn.LayerNorm(region_width)
        config = Blip2QFormerConfig(
            **{theirs: getattr(settings, own) for own, theirs in SIZES.items()},
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            encoder_hidden_size=region_width,
            # BERT's 0.02 is for width 768; at small widths everything would look alike for long.
            initializer_range=width**-0.5 if width < 768 else 0.02,
        )
        self.qformer = Blip2QFormerModel(config)

    def forward(self, regions_cry: Float[Tensor, "c r y"]) -> Float[Tensor, "c t w"]:
        """The slots after attending to the regions."""
        seen_cry = self.norm(regions_cry + self.positions)
        slots_ctw = self.queries.expand(len(regions_cry), *self.queries.shape)
        found: Tensor = self.qformer(slots_ctw, encoder_hidden_states=seen_cry).last_hidden_state
        return found


class Match(nn.Module):
    """Whether a text fits a picture (ours): the products of some numbers of both, and what follows from them: at first
    nothing.

    A small language model does not learn from some thousand photographs to compare what it reads with what it sees;
    two linear maps do, if nothing stands between them.
    """

    def __init__(self, numbers: int, sentence: int, seen: int, width: int) -> None:
        """`numbers`: of both that are multiplied; `sentence`, `seen`: s and x; `width`: h."""
        super().__init__()
        self.text = nn.Linear(sentence, numbers)
        self.picture = nn.Linear(seen, numbers)
        self.out = nn.Linear(numbers, width)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def products(self, sentences_ks: Float[Tensor, "k s"], whole_kx: Float[Tensor, "k x"]) -> Float[Tensor, "k _m"]:
        """Of texts and pictures, pair by pair."""
        products_km: Tensor = self.text(sentences_ks) * self.picture(whole_kx)
        return products_km

    def forward(self, sentences_ks: Float[Tensor, "k s"], whole_kx: Float[Tensor, "k x"]) -> Float[Tensor, "k h"]:
        """The vectors that are added at the texts' positions."""
        found_kh: Tensor = self.out(self.products(sentences_ks, whole_kx))
        return found_kh


class Pointer(nn.Module):
    """Points back at texts and pictures (ours): a query adds their vectors, as far as it asks for each.

    The weights are a softmax over the products with what the state asks for, plus a learnt number for each age and
    kind; nothing at all has the score 0. A small language model passes on little of what a sentence vector says.
    """

    def __init__(self, width: int, sentence: int, seen: int, retrieval: int) -> None:
        """`width`: h; `sentence`, `seen`: s (0 if texts have no vectors) and x; `retrieval`: d."""
        super().__init__()
        self.asks = nn.Linear(width, retrieval, bias=False)
        self.shown = nn.Linear(seen, retrieval, bias=False)
        if sentence:
            self.said = nn.Linear(sentence, retrieval, bias=False)
        self.ages = nn.Parameter(torch.zeros(2, MAX_AGE + 1))
        nn.init.zeros_(self.asks.weight)
        nn.init.zeros_(self.shown.weight)

    def read_texts(self, sentences_ks: Float[Tensor, "k s"]) -> Float[Tensor, "k d"]:
        """The vectors of texts."""
        texts_kd: Tensor = self.said(sentences_ks * math.sqrt(sentences_ks.shape[1]))
        return texts_kd

    def forward(
        self, states_qh: Float[Tensor, "q h"], at_q: Int[Tensor, " q"], batch: SequenceBatch, pictures: PictureFeatures
    ) -> Float[Tensor, "q d"]:
        """The vectors that are added to the queries at the positions `at_q`, counted through all sequences."""
        length = batch.numbers_bl.shape[1]
        points_nd, at_n = self.shown(pictures.whole_nx), batch.cls_c
        kind_n = torch.zeros_like(at_n)
        if hasattr(self, "said"):
            points_nd = torch.cat([points_nd, self.read_texts(batch.sentences_ks)])
            at_n, kind_n = torch.cat([at_n, batch.said_k]), torch.cat([kind_n, torch.ones_like(batch.said_k)])
        order_n = at_n.argsort()
        points_nd, at_n, kind_n = points_nd[order_n], at_n[order_n], kind_n[order_n]
        seen_qn = (at_n < at_q[:, None]) & (at_n >= (at_q - at_q % length)[:, None])
        age_qn = (seen_qn.flip(1).cumsum(1).flip(1) - 1).clamp(0, MAX_AGE)
        scores_qn = self.asks(states_qh) @ points_nd.T / math.sqrt(points_nd.shape[1]) + self.ages[kind_n, age_qn]
        weights_qn = torch.softmax(pad(scores_qn.masked_fill(~seen_qn, -torch.inf), (0, 1)), dim=1)[:, :-1]
        pointed_qd: Tensor = weights_qn @ points_nd
        return pointed_qd


@torch.no_grad()
def read_picture_features(
    whole: PictureInput,
    region: PictureInput | None,
    raw_ng: Float[np.ndarray, "n g"],
    regions_nre: Float16[np.ndarray, "n r e"] | None,
) -> PictureFeatures:
    """All pictures of a training as they are read; without a perceiver (None) no regions."""
    found = []
    for at in range(0, len(raw_ng), MAX_PICTURES_AT_ONCE):
        some = slice(at, at + MAX_PICTURES_AT_ONCE)
        whole_nx = whole(torch.from_numpy(np.array(raw_ng[some], np.float32)))
        regions_nry = torch.zeros(len(whole_nx), 0, 0)
        if region is not None:
            assert regions_nre is not None
            regions_nry = region(torch.from_numpy(np.asarray(regions_nre[some], np.float32)))
        found.append(PictureFeatures(whole_nx, regions_nry.half()))
    return PictureFeatures(*(torch.cat(parts) for parts in zip(*found, strict=True)))


@torch.no_grad()
def load_perceiver(name_or_path: str, perceiver: Perceiver) -> None:
    """Fills a perceiver with BLIP-2's weights from a folder or a name on the hub, where both have the same parts.

    The maps from a picture's numbers to keys and values, and the norm before them, are BLIP-2's only if its pictures
    have the width that regions are read by; else they keep their random values, as the positions of regions do.

    Raises:
        BadInput: nothing there, something else, missing weights, or sizes that are not the perceiver's.
    """
    source = find_checkpoint(name_or_path)
    config = read_blip2_config(source, "weights of BLIP-2, such as Salesforce/blip2-itm-vit-g")
    config.qformer_config.use_qformer_text_input = False  # no text is read here: the parts for texts are left out
    theirs, own = (
        {name: getattr(qformer, size) for name, size in SIZES.items()} | {"tokens": tokens}
        for qformer, tokens in (
            (config.qformer_config, config.num_query_tokens),
            (perceiver.qformer.config, len(perceiver.queries)),
        )
    )
    check_weight_sizes(source, theirs, own)
    published = read_blip2_weights(QFormerWithTokens, source, config, "Blip2ForConditionalGeneration")
    same_pictures = config.vision_config.hidden_size == perceiver.qformer.config.encoder_hidden_size
    perceiver.queries.copy_(published.query_tokens[0])
    weights = published.qformer.state_dict()
    if same_pictures:
        perceiver.norm.load_state_dict(published.vision_model["post_layernorm"].state_dict())
    else:
        drawn = perceiver.qformer.state_dict()
        weights |= {name: drawn[name] for name in weights if name.rpartition(".")[0].endswith(PICTURE)}
    perceiver.qformer.load_state_dict(weights)


@dataclass(frozen=True)
class InputSizes:
    """Input sizes: raw whole vectors, regions and their raw vectors, sentence vectors."""

    raw: int
    regions: int
    region: int
    sentence: int


class ChatSearcherNetwork(nn.Module):
    """One language model over words and pictures.

    `language` is a transformers `LlamaModel`; `text_head` exists only if it is not the pieces' own vectors. With
    `holds_pieces` the vectors of all pieces but [IMG] and [/IMG] are frozen.
    """

    def __init__(
        self,
        settings: ChatSearcherSettings,
        loss: ChatSearcherLossSettings,
        sizes: InputSizes,
        language: CausalLanguageModel,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.language: Any
        self.language, self.text_head = add_special_pieces(language)
        width = self.language.config.hidden_size
        self.register_buffer("frequencies", self.language.rotary_emb.inv_freq.detach().clone())
        # Principal components of a raw vector or, with 0 components, all its numbers on one scale.
        whole: PictureKind = "whitened" if settings.components else "standardised"
        self.whole_input = PictureInput(whole, sizes.raw, settings.components)
        seen = self.whole_input.width
        self.cls = nn.Linear(seen, width)
        if settings.tokens:
            region: PictureKind = "whitened" if settings.region_components else "standardised"
            self.region_input = PictureInput(region, sizes.region, settings.region_components)
            self.perceiver = Perceiver(settings, sizes.regions, self.region_input.width)
            self.slots = nn.Linear(settings.perceiver_width, width)
        if settings.says:
            self.said = nn.Linear(sizes.sentence, width)
        self.visual_head = nn.Linear(width, settings.retrieval, bias=False)
        self.queue_head = nn.Linear(seen, settings.retrieval, bias=False)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(FIRST_TEMPERATURE)))
        self.queue = FeatureQueue(loss.queue, seen)
        self.holds_pieces = False
        self.compare(match=settings.match, points=settings.points)
        for table_vh in self.piece_tables:
            hook: Any = table_vh.register_hook
            hook(self._mask_gradient)

    def compare(self, *, match: int, points: bool) -> None:
        """Adds what compares texts with pictures, as far as it is not there: a match, a pointer."""
        sentence, seen = self.said.in_features if self.settings.says else 0, self.whole_input.width
        if match and not hasattr(self, "match"):
            self.match = Match(match, sentence, seen, self.cls.out_features)
        if points and not hasattr(self, "pointer"):
            self.pointer = Pointer(self.cls.out_features, sentence, seen, self.settings.retrieval)
        self.settings = replace(self.settings, match=match, points=points)

    @property
    def written(self) -> int:
        """v: the pieces, [IMG] and [/IMG]."""
        return int(self.language.embed_tokens.weight.shape[0])

    @property
    def shape(self) -> dict[str, Any]:
        """The sizes of the language model that a search needs beside its weights (`LanguageShape`)."""
        config = self.language.config
        heads = config.num_attention_heads
        return {
            "layers": config.num_hidden_layers,
            "heads": heads,
            "key_heads": config.num_key_value_heads,
            "head_dim": getattr(config, "head_dim", None) or config.hidden_size // heads,
            "eps": config.rms_norm_eps,
            "tied": self.text_head is None,
        }

    @property
    def piece_tables(self) -> list[nn.Parameter]:
        """The pieces' vectors, and those of a text head of its own; the last rows are of [IMG] and [/IMG]."""
        return [self.language.embed_tokens.weight, *([] if self.text_head is None else [self.text_head.weight])]

    @torch.no_grad()
    def rescale_new_pieces(self) -> None:
        """Brings the vectors of [IMG] and [/IMG] to the mean length of the others (FROMAGe's code)."""
        for table_vh in self.piece_tables:
            length = table_vh[:-SPECIAL].norm(dim=1).mean()
            table_vh[-SPECIAL:] *= length / table_vh[-SPECIAL:].norm(dim=1, keepdim=True)

    def _mask_gradient(self, gradient_vh: Tensor) -> Tensor:
        """The gradient of the pieces' vectors; if they are frozen, only that of [IMG] and [/IMG]."""
        if not self.holds_pieces:
            return gradient_vh
        return torch.cat([torch.zeros_like(gradient_vh[:-SPECIAL]), gradient_vh[-SPECIAL:]])

    def forward(self, batch: SequenceBatch, pictures: PictureFeatures) -> Float[Tensor, "b l h"]:
        """The state at every position; `pictures`: the batch's, in its order.

        No position attends to later ones, so the padding at the end needs no mask.
        """
        places_blh = self.embed(batch, pictures)
        found: Tensor = self.language(inputs_embeds=places_blh, use_cache=False).last_hidden_state
        return found

    def embed(self, batch: SequenceBatch, pictures: PictureFeatures) -> Float[Tensor, "b l h"]:
        """The input at every position."""
        table_vh = self.language.embed_tokens.weight
        places_blh = nn.functional.embedding(batch.numbers_bl.clamp_max(len(table_vh) - 1), table_vh)
        flat_ph = places_blh.flatten(0, 1)
        flat_ph = flat_ph.index_copy(0, batch.cls_c, self.cls(pictures.whole_nx))
        if self.settings.tokens and len(batch.cls_c):
            slots_cth = self.slots(self.perceiver(pictures.regions_nry.float()))
            at_ct = batch.cls_c[:, None] + 1 + torch.arange(self.settings.tokens, device=batch.cls_c.device)
            flat_ph = flat_ph.index_copy(0, at_ct.flatten(), slots_cth.flatten(0, 1))
        if self.settings.says:
            said_kh = self.said(batch.sentences_ks)
            if self.settings.match:
                last_kx = pad(pictures.whole_nx, (0, 0, 0, 1))[batch.before_k]  # zeros where there is none
                fits_kh = self.match(batch.sentences_ks, last_kx)
                said_kh = said_kh + fits_kh * (batch.before_k >= 0)[:, None]
            flat_ph = flat_ph.index_copy(0, batch.said_k, said_kh)
        return flat_ph.view_as(places_blh)

    def score_pieces(self, states_ph: Float[Tensor, "p h"]) -> Float[Tensor, "p v"]:
        """Scores of the next piece."""
        weight_vh = self.language.embed_tokens.weight if self.text_head is None else self.text_head.weight
        return linear(states_ph, weight_vh)

    def search_from(
        self,
        states_ph: Float[Tensor, "p h"],
        at_q: Int[Tensor, " q"],
        batch: SequenceBatch,
        pictures: PictureFeatures,
    ) -> Float[Tensor, "q d"]:
        """The queries of some positions of [IMG], given the states at all positions of a batch; `pictures`: its own."""
        states_qh = states_ph[at_q]
        if not self.settings.points:
            return self.encode_queries(states_qh)
        return self.encode_queries(states_qh, self.pointer(states_qh, at_q, batch, pictures))

    def encode_queries(
        self, states_qh: Float[Tensor, "q h"], pointed_qd: Float[Tensor, "q d"] | None = None
    ) -> Float[Tensor, "q d"]:
        """States at [IMG] as unit vectors (Eq. 2), with what they point back at."""
        queries_qd: Tensor = self.visual_head(states_qh)
        return normalize(queries_qd if pointed_qd is None else queries_qd + pointed_qd, dim=-1)

    def encode_pictures(self, whole_nx: Float[Tensor, "n x"]) -> Float[Tensor, "n d"]:
        """Pictures as unit vectors (Eq. 2)."""
        return normalize(self.queue_head(whole_nx), dim=-1)
