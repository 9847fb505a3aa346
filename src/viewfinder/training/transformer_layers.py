"""Layers of the transformers of Fashion IQ (Wu et al., CVPR 2021), as its published code builds them. In torch.

Norm comes before attention and before the two linear layers, which have a ReLU in between; norms divide by the unbiased
deviation. Axes: b sequences, t query positions, l key positions, w width, n heads, v width of a head. Masks are True
where a position may be attended to; each query position must see at least one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, relu, scaled_dot_product_attention

EPS = 1e-6

Activation = Callable[[Tensor], Tensor]


class KeysValues(NamedTuple):
    """What attention needs of key positions; kept, so that they need not be computed again."""

    keys_bnlv: Float[Tensor, "b n l v"]
    values_bnlv: Float[Tensor, "b n l v"]

    def then(self, later: KeysValues) -> KeysValues:
        """These positions, followed by later ones."""
        return KeysValues(*(torch.cat(both, dim=2) for both in zip(self, later, strict=True)))

    def of(self, rows: Int[Tensor, " r"]) -> KeysValues:
        """The same for some sequences, each as often as it is named."""
        return KeysValues(self.keys_bnlv[rows], self.values_bnlv[rows])


class Norm(nn.Module):
    """`alpha * (x - mean) / (deviation + 1e-6) + bias`, with the unbiased deviation over the last axis."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, rows: Float[Tensor, "*b w"]) -> Float[Tensor, "*b w"]:
        """The formula above; not layer norm, which takes the biased deviation."""
        centred = rows - rows.mean(dim=-1, keepdim=True)
        # torch's own std takes ten times as long; at 0 the gradient of a norm is 0, that of a root not finite.
        deviation = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / math.sqrt(rows.shape[-1] - 1)
        return torch.addcmul(self.bias, self.alpha, centred / (deviation + EPS))


class Attention(nn.Module):
    """Multi-head attention by scaled dot products."""

    def __init__(self, width: int, heads: int, share: float = 0.0) -> None:
        super().__init__()
        self.heads, self.share = heads, share
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def seen(self, tokens_blw: Float[Tensor, "b l w"]) -> KeysValues:
        """Keys and values of tokens that may be attended to."""
        return KeysValues(self._by_head(self.key(tokens_blw)), self._by_head(self.value(tokens_blw)))

    def forward(
        self, tokens_btw: Float[Tensor, "b t w"], seen: KeysValues, mask: Bool[Tensor, ...] | None = None
    ) -> Float[Tensor, "b t w"]:
        """What each token gathers from the visible positions; the mask is (t l) or (b t l)."""
        mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
        query_bntv = self._by_head(self.query(tokens_btw))
        share = self.share if self.training else 0.0
        found_bntv = scaled_dot_product_attention(
            query_bntv, seen.keys_bnlv, seen.values_bnlv, attn_mask=mask, dropout_p=share
        )
        gathered_btw: Tensor = self.out(found_bntv.transpose(1, 2).flatten(-2))
        return gathered_btw

    def _by_head(self, tokens_blw: Float[Tensor, "b l w"]) -> Float[Tensor, "b n l v"]:
        head = tokens_blw.shape[-1] // self.heads
        return tokens_blw.view(*tokens_blw.shape[:-1], self.heads, head).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear maps with an activation in between, followed by dropout in training."""

    def __init__(
        self, width_in: int, hidden: int, width_out: int, activation: Activation = relu, share: float = 0.0
    ) -> None:
        super().__init__()
        self.activation, self.share = activation, share
        self.inner = nn.Linear(width_in, hidden)
        self.outer = nn.Linear(hidden, width_out)

    def forward(self, rows: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        """Maps every row by itself."""
        mapped: Tensor = self.outer(dropout(self.activation(self.inner(rows)), self.share, self.training))
        return mapped


class EncoderLayer(nn.Module):
    """Tokens attend to one another, then each goes through two linear layers."""

    def __init__(self, width: int, heads: int, hidden: int, share: float = 0.0) -> None:
        super().__init__()
        self.share = share
        self.before_attention, self.before_layers = Norm(width), Norm(width)
        self.attention = Attention(width, heads, share)
        self.layers = FeedForward(width, hidden, width, share=share)

    def step(
        self, tokens_btw: Float[Tensor, "b t w"], earlier: KeysValues | None, mask: Bool[Tensor, ...] | None
    ) -> tuple[Float[Tensor, "b t w"], KeysValues]:
        """New tokens, which also attend to earlier ones; and all that later ones may attend to."""
        normed_btw = self.before_attention(tokens_btw)
        own = self.attention.seen(normed_btw)
        seen = own if earlier is None else earlier.then(own)
        tokens_btw = tokens_btw + dropout(self.attention(normed_btw, seen, mask), self.share, self.training)
        mapped_btw = self.layers(self.before_layers(tokens_btw))
        return tokens_btw + dropout(mapped_btw, self.share, self.training), seen


class Encoder(nn.Module):
    """Layers one on another, and a last norm."""

    def __init__(self, width: int, layers: int, heads: int, hidden: int, share: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(width, heads, hidden, share) for _ in range(layers))
        self.last = Norm(width)

    def forward(
        self, tokens_blw: Float[Tensor, "b l w"], mask: Bool[Tensor, ...] | None = None
    ) -> Float[Tensor, "b l w"]:
        """Whole sequences; the mask is (l l) or (b l l)."""
        return self.step(tokens_blw, None, mask)[0]

    def step(
        self,
        tokens_btw: Float[Tensor, "b t w"],
        earlier: Sequence[KeysValues] | None = None,
        mask: Bool[Tensor, ...] | None = None,
    ) -> tuple[Float[Tensor, "b t w"], tuple[KeysValues, ...]]:
        """Tokens that follow earlier ones, and what to pass on as `earlier`, an entry a layer.

        With a mask that lets no token attend to later steps, the outputs are those of the whole sequence. The mask is
        (t l) or (b t l), l counting earlier tokens and these.
        """
        kept: list[KeysValues] = []
        for at, layer in enumerate(self.layers):
            assert isinstance(layer, EncoderLayer)
            tokens_btw, seen = layer.step(tokens_btw, None if earlier is None else earlier[at], mask)
            kept.append(seen)
        return self.last(tokens_btw), tuple(kept)


class DecoderLayer(nn.Module):
    """Words attend to earlier words, then to the encoded tokens, then each goes through two linear layers."""

    def __init__(self, width: int, heads: int, hidden: int, share: float = 0.0) -> None:
        super().__init__()
        self.share = share
        self.before_words, self.before_memory, self.before_layers = Norm(width), Norm(width), Norm(width)
        self.words = Attention(width, heads, share)
        self.memory = Attention(width, heads, share)
        self.layers = FeedForward(width, hidden, width, share=share)

    def step(
        self,
        words_btw: Float[Tensor, "b t w"],
        memory: KeysValues,
        earlier: KeysValues | None,
        mask: Bool[Tensor, ...] | None,
    ) -> tuple[Float[Tensor, "b t w"], KeysValues]:
        """New words after earlier ones, and all that later ones may attend to; the mask is for words, (t l)."""
        normed_btw = self.before_words(words_btw)
        own = self.words.seen(normed_btw)
        seen = own if earlier is None else earlier.then(own)
        words_btw = words_btw + dropout(self.words(normed_btw, seen, mask), self.share, self.training)
        gathered_btw = self.memory(self.before_memory(words_btw), memory)
        words_btw = words_btw + dropout(gathered_btw, self.share, self.training)
        mapped_btw = self.layers(self.before_layers(words_btw))
        return words_btw + dropout(mapped_btw, self.share, self.training), seen


class Decoder(nn.Module):
    """Layers one on another, and a last norm."""

    def __init__(self, width: int, layers: int, heads: int, hidden: int, share: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(width, heads, hidden, share) for _ in range(layers))
        self.last = Norm(width)

    def seen(self, memory_blw: Float[Tensor, "b l w"]) -> tuple[KeysValues, ...]:
        """The keys and values of encoded tokens for every layer; the same for every word."""
        return tuple(layer.memory.seen(memory_blw) for layer in self.layers if isinstance(layer, DecoderLayer))

    def step(
        self,
        words_btw: Float[Tensor, "b t w"],
        memory: Sequence[KeysValues],
        earlier: Sequence[KeysValues] | None = None,
    ) -> tuple[Float[Tensor, "b t w"], tuple[KeysValues, ...]]:
        """Words that follow earlier ones, none attending to later ones, and what to pass on as `earlier`."""
        before = 0 if earlier is None else earlier[0].keys_bnlv.shape[2]
        mask_tl = causal_mask(before + words_btw.shape[1], words_btw.device)[before:]
        kept: list[KeysValues] = []
        for at, layer in enumerate(self.layers):
            assert isinstance(layer, DecoderLayer)
            words_btw, seen = layer.step(words_btw, memory[at], None if earlier is None else earlier[at], mask_tl)
            kept.append(seen)
        return self.last(words_btw), tuple(kept)


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "length length"]:
    """The causal mask: each position attends to itself and to earlier ones."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def sinusoid_positions(length: int, width: int, *, published: bool = True) -> Float[Tensor, "length width"]:
    """Position vectors: sines at even numbers i, cosines at odd ones, of `place / 10000^(e / width)`.

    Usually e is i for the sine at i and for the cosine at i + 1. The published code has 2 i and 2 (i + 1), so that its
    wavelengths grow twice as fast.
    """
    places_l1 = torch.arange(length, dtype=torch.float64)[:, None]
    number_w = torch.arange(width, dtype=torch.float64)
    exponent_w = 2 * number_w if published else number_w - number_w % 2
    angle_lw = places_l1 * torch.exp(-exponent_w / width * math.log(10000.0))
    return torch.where(number_w % 2 == 0, angle_lw.sin(), angle_lw.cos()).float()


def add_positions(tokens_blw: Float[Tensor, "b l w"], places_lw: Float[Tensor, "l w"] | None) -> Float[Tensor, "b l w"]:
    """Tokens times the root of their width, plus their position vectors if there are any."""
    scaled_blw = tokens_blw * math.sqrt(tokens_blw.shape[-1])
    return scaled_blw if places_lw is None else scaled_blw + places_lw
