"""MAI's network (Chen et al., "MAI: A Multi-turn Aggregation-Iteration Model", ICLR 2025, Sec. 4.2). In torch.

One Q-Former (BLIP-2, Li et al. 2023) reads everything: a picture with its caption (BSA), then a modification (MSA).
A dialogue goes from picture to picture: at turn n the user is at picture n (0 is the reference) and says what to
change. In its last turn it may look back.

Axes: b pictures or dialogues, p pictures of a dialogue, n turns, t tokens, l words or places of a text, s = t + l, h
width of a token or place, i tokens of a picture, z width of one, d width of a query's or a picture's vector, k vectors
of a picture (1, or as many as tokens).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import Blip2QFormerConfig
from transformers.models.blip_2.modeling_blip_2 import Blip2QFormerLayer, Blip2QFormerModel, Blip2TextEmbeddings

from viewfinder.retrievers.mai.inputs import EmbeddedTexts, ImageTokens, PictureComponents, PieceInput, WordInput
from viewfinder.retrievers.mai.memory import MemoryState, make_memory
from viewfinder.retrievers.mai.settings import Model, Treatment
from viewfinder.retrievers.mai.texts import SavedTokeniser
from viewfinder.retrievers.shared.blip2 import QFormerWithTokens
from viewfinder.retrievers.shared.network import WordVectors


class SkippingLayer(Blip2QFormerLayer):
    """A layer that skips cross-attention if there is no picture; the stock one raises an error there.

    Without a picture all places, including tokens, go through the layers for text (SPRC, as published).
    """

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        query_length: int = 0,
        **kwargs: Any,
    ) -> Tensor:
        """Like the stock layer; `query_length` is ignored without a picture."""
        length = 0 if encoder_hidden_states is None else query_length
        found: Tensor = super().forward(
            hidden_states, attention_mask, encoder_hidden_states, encoder_attention_mask, length, **kwargs
        )
        return found


class QFormer(Blip2QFormerModel):
    """Tokens and a text that attend to each other; if there is a picture, tokens also attend to it."""

    def __init__(self, config: Blip2QFormerConfig) -> None:
        super().__init__(config)
        self.encoder.layer = nn.ModuleList(SkippingLayer(config, at) for at in range(config.num_hidden_layers))
        self.post_init()

    def read(
        self,
        places_bsh: Float[Tensor, "b s h"],
        there_bs: Bool[Tensor, "b s"],
        tokens: int = 0,
        image_biz: Float[Tensor, "b i z"] | None = None,
    ) -> Float[Tensor, "b s h"]:
        """All places after all layers.

        Args:
            places_bsh: the tokens, then the text.
            there_bs: False where there is nothing to attend to.
            tokens: how many of the places are tokens, which attend to the picture.
            image_biz: the picture; None: there is none.
        """
        hidden_bsh: Tensor = self.dropout(self.layernorm(places_bsh))
        faint = torch.finfo(hidden_bsh.dtype).min
        mask_b11s = torch.zeros_like(there_bs, dtype=hidden_bsh.dtype).masked_fill(~there_bs, faint)[:, None, None]
        for layer in self.encoder.layer:
            hidden_bsh = layer(hidden_bsh, mask_b11s, image_biz, None, tokens)
        return hidden_bsh


class Blip2Weights(QFormerWithTokens):
    """BLIP-2's weights for retrieval: `Blip2ForImageTextRetrieval` without its picture tower."""

    def __init__(self, config: Any) -> None:
        """`config`: a `Blip2Config`."""
        super().__init__(config)
        width, projection = config.qformer_config.hidden_size, config.image_text_hidden_size
        self.embeddings = Blip2TextEmbeddings(config.qformer_config)
        self.vision_projection = nn.Linear(width, projection)
        self.text_projection = nn.Linear(width, projection)
        self.post_init()


def qformer_config(settings: Model, image_width: int) -> Blip2QFormerConfig:
    """The configuration of a randomly initialised Q-Former; `image_width`: z."""
    return Blip2QFormerConfig(
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.hidden,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.dropout,
        cross_attention_frequency=settings.cross_every,
        encoder_hidden_size=image_width,
        use_qformer_text_input=True,
        # BERT's 0.02 is for width 768; at small widths everything would look alike for long.
        initializer_range=settings.width**-0.5,
    )


class FusedTokens(NamedTuple):
    """The result of reading a turn: its tokens, and the state at the beginning of its text."""

    tokens_bth: Float[Tensor, "b t h"]
    first_bh: Float[Tensor, "b h"]


class MaiNetwork(nn.Module):
    """The passes through the Q-Former, and their projections.

    `log_scale` is the logarithm of the factor on cosines in the loss.
    """

    def __init__(self, settings: Model, raw_width: int, region_width: int, words: WordVectors | SavedTokeniser) -> None:
        """`raw_width`, `region_width`: of a picture's raw vector and of a raw region; `words`: of texts."""
        super().__init__()
        self.settings = settings
        width, projection = settings.width, settings.projection
        self.images = ImageTokens(settings, raw_width, region_width, settings.read_width)
        self.text: WordInput | PieceInput = (
            PieceInput(settings, words) if isinstance(words, SavedTokeniser) else WordInput(settings, words)
        )
        self.learned = nn.Parameter(torch.randn(settings.tokens, width) * 0.02)
        self.prompts = nn.Parameter(torch.randn(settings.prompts, width) * 0.02)
        self.qformer = QFormer(qformer_config(settings, settings.read_width))
        self.memory = make_memory(settings)
        self.text_project = nn.Linear(width, projection)
        self.target_project = nn.Linear(width, projection)
        if settings.query == "fused":
            self.fused = nn.Linear(width, width)
            self.fused_norm = nn.LayerNorm(width)
        self.log_scale = nn.Parameter(torch.zeros(()))

    def fuse(
        self, tokens_bth: Float[Tensor, "b t h"], text: EmbeddedTexts, image_biz: Float[Tensor, "b i z"] | None
    ) -> FusedTokens:
        """Tokens and a text that attend to each other, and the tokens to the picture, if there is one.

        With a picture and its caption this is the bimodal semantic aggregation (BSA), with a modification alone the
        modification semantic aggregation (MSA).
        """
        count = tokens_bth.shape[1]
        places_bsh = torch.cat([tokens_bth, text.places_blh], dim=1)
        there_bs = nn.functional.pad(text.there_bl, (count, 0), value=True)
        found_bsh = self.qformer.read(places_bsh, there_bs, count, image_biz)
        return FusedTokens(found_bsh[:, :count], found_bsh[:, count])

    def encode_texts(self, words_bl: Int[Tensor, "b l"]) -> tuple[Float[Tensor, "b p h"], Float[Tensor, "b d"]]:
        """Texts on their own: the prompts read with them (SPRC), and their vectors (m_n, c_n of Eq. 9)."""
        found_blh = self.qformer.read(*self.text(words_bl, self.prompts))
        vectors_bd = normalize(self.text_project(found_blh[:, 0]), dim=-1)
        return found_blh[:, 1 : 1 + self.settings.prompts], vectors_bd

    def encode_queries(self, fused: FusedTokens) -> Float[Tensor, "b d"]:
        """The query: the state at the start of the modification; or the tokens (t_n^r, paper)."""
        state_bh = fused.first_bh
        if self.settings.query == "fused":
            state_bh = self.fused_norm(self.fused(fused.tokens_bth.mean(dim=1)))
        return normalize(self.text_project(state_bh), dim=-1)

    def encode_pictures(self, seen: PictureComponents, captions_bl: Int[Tensor, "b l"]) -> Float[Tensor, "b k d"]:
        """Vectors of pictures, t_n^tg: the learned tokens after BSA, of captions only if the settings read them."""
        if not self.settings.captions:
            captions_bl = captions_bl[:, :0]
        learned_bth, image_biz = self.learned.expand(len(captions_bl), -1, -1), self.images(seen)
        if self.settings.targets == "official":  # not even an empty text, which has places of its own
            there_bt = torch.ones(learned_bth.shape[:2], dtype=torch.bool, device=learned_bth.device)
            state_bkh = self.qformer.read(learned_bth, there_bt, self.settings.tokens, image_biz)
        else:
            found = self.fuse(learned_bth, self.text(captions_bl), image_biz)
            state_bkh = found.tokens_bth if self.settings.stages == "sprc" else found.first_bh[:, None]
        return normalize(self.target_project(state_bkh), dim=-1)


NOWHERE = -1
"""Stands in place of a picture's place: the dialogue goes back to none."""


class ModificationDialogues(NamedTuple):
    """Dialogues of the same number of turns.

    Attributes:
        pictures_bp: the pictures in the order of the turns, by their rows; the last is the one wanted in the end.
        seen_bp: whether a picture is seen when it is named: not if it is only described.
    """

    pictures_bp: Int[Tensor, "b p"]
    words_bnl: Int[Tensor, "b n l"]  # what is said at each, as word numbers
    seen_bp: Bool[Tensor, "b p"]
    captioned_bp: Bool[Tensor, "b p"]  # whether its caption is read, when it is named and when it is the target
    back_b: Int[Tensor, " b"]  # the place of the picture to which the last turn goes back; `NOWHERE`: to none
    recalled_bp: Bool[Tensor, "b p"]  # which pictures, or captions of pictures, the last turn recalls
    recall_bl: Int[Tensor, "b l"]  # the captions of what is recalled as one text, as word numbers
    drawn_b: Int[Tensor, " b"]  # an earlier place for each dialogue, for the treatment "random"

    @property
    def turns(self) -> int:
        """How many turns each has."""
        return self.words_bnl.shape[1]


class CaptionedGallery(NamedTuple):
    """All pictures that dialogues are about, and their captions as word numbers."""

    pictures: PictureComponents
    captions_nl: Int[Tensor, "n l"]

    def captions(self, rows_b: Int[Tensor, " b"], read_b: Bool[Tensor, " b"]) -> Int[Tensor, "b l"]:
        """The captions of some pictures, empty where they are not read."""
        return self.captions_nl[rows_b] * read_b[:, None]


class EncodedTurns(NamedTuple):
    """The result of a turn: the query, the tokens after reading its modification, and those that saw its picture."""

    queries_bd: Float[Tensor, "b d"]
    fused: FusedTokens
    seen_bth: Float[Tensor, "b t h"]


def encode_dialogues(
    network: MaiNetwork,
    gallery: CaptionedGallery,
    dialogues: ModificationDialogues,
    change: Callable[[EmbeddedTexts], EmbeddedTexts] = lambda text: text,
) -> Iterator[EncodedTurns]:
    """The dialogues turn by turn; `change`: applied to modifications (noise, in training)."""
    memory, settings = network.memory, network.settings
    carried: MemoryState = None
    for turn in range(dialogues.turns):
        tokens_bth = memory.tokens(carried, network.learned.expand(len(dialogues.back_b), -1, -1))
        modification = change(network.text(dialogues.words_bnl[:, turn]))
        reference, captions_bl = select_reference(gallery, dialogues, turn, settings.rollback)
        image_biz = network.images(reference)
        if settings.two_stages:
            begun_bth, first = tokens_bth, network.text(captions_bl if settings.captions else captions_bl[:, :0])
            tokens_bth = seen_bth = network.fuse(begun_bth, first, image_biz).tokens_bth  # BSA
            if settings.stages == "two":
                carried = memory.after(carried, seen_bth)  # MIO
            # MSA reads the tokens of BSA unchanged, as in the published code; in the paper those that MIO kept.
            if turn == dialogues.turns - 1:
                if settings.combination != "seen":
                    kept_bth = begun_bth if settings.combination == "official_fc" else memory.tokens(carried, begun_bth)
                    tokens_bth = torch.where((dialogues.recall_bl != 0).any(dim=1)[:, None, None], kept_bth, tokens_bth)
                tokens_bth = recall_pictures(network, gallery, dialogues, tokens_bth)
        if settings.stages == "two":
            fused = network.fuse(tokens_bth, modification, None)  # MSA
        else:
            fused = network.fuse(tokens_bth, modification, image_biz)
            seen_bth = fused.tokens_bth
            carried = memory.after(carried, seen_bth)
            if settings.stages == "sprc":
                fused = network.fuse(seen_bth, modification, None)
        yield EncodedTurns(network.encode_queries(fused), fused, seen_bth)


def select_reference(
    gallery: CaptionedGallery, dialogues: ModificationDialogues, turn: int, treatment: Treatment
) -> tuple[PictureComponents, Int[Tensor, "b l"]]:
    """The pictures that a turn is read with, and their captions: those it is about, or those it goes back to.

    The last turn of a dialogue that goes back reads, by `treatment` (table 9): the earlier picture ("replace"), the one
    it is about ("ignore"), any of the earlier ones ("random"), the mean of both ("blend").
    """
    place_b = torch.full_like(dialogues.back_b, turn)
    goes_b = (dialogues.back_b != NOWHERE) & (turn == dialogues.turns - 1)
    if treatment != "ignore":
        place_b = torch.where(goes_b, dialogues.drawn_b if treatment == "random" else dialogues.back_b, place_b)
    here_b = torch.arange(len(place_b), device=place_b.device)
    rows_b = dialogues.pictures_bp[here_b, place_b]
    seen = gallery.pictures.take(rows_b, dialogues.seen_bp[here_b, place_b])
    if treatment == "blend":
        seen = seen.blend(gallery.pictures.take(dialogues.pictures_bp[:, turn]), goes_b)
    return seen, gallery.captions(rows_b, dialogues.captioned_bp[here_b, place_b])


def recall_pictures(
    network: MaiNetwork, gallery: CaptionedGallery, dialogues: ModificationDialogues, tokens_bth: Float[Tensor, "b t h"]
) -> Float[Tensor, "b t h"]:
    """The tokens after recalling earlier pictures: as one text of their captions, or one picture after another."""
    if not bool(dialogues.recalled_bp.any()):
        return tokens_bth
    if network.settings.recall == "captions":
        some_b = (dialogues.recall_bl != 0).any(dim=1)
        if not network.settings.captions or not bool(some_b.any()):
            return tokens_bth
        read = network.fuse(tokens_bth[some_b], network.text(dialogues.recall_bl[some_b]), None)
        return tokens_bth.index_put((some_b,), read.tokens_bth)
    for place in range(dialogues.turns):
        some_b = dialogues.recalled_bp[:, place]
        if not bool(some_b.any()):
            continue
        rows_b = dialogues.pictures_bp[some_b, place]
        captions_bl = gallery.captions(rows_b, dialogues.captioned_bp[some_b, place] & network.settings.captions)
        image = network.images(gallery.pictures.take(rows_b, dialogues.seen_bp[some_b, place]))
        read = network.fuse(tokens_bth[some_b], network.text(captions_bl), image)
        tokens_bth = tokens_bth.index_put((some_b,), read.tokens_bth)
    return tokens_bth
