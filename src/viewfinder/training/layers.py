"""Layers that systems and simulated users share. In torch.

What networks read of a picture's raw vector, by frozen numbers: scales, components, attributes. Axes: b or p pictures,
g width of a raw vector, x the width read of it, k labels.

The transformers of Fashion IQ (Wu et al., CVPR 2021), as its published code builds them: norm comes before attention
and before the two linear layers, which have a ReLU in between; norms divide by the unbiased deviation. Axes: b
sequences, t query positions, l key positions, w width, n heads, v width of a head. Masks are True where a position may
be attended to; each query position must see at least one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, linear, pad, relu, scaled_dot_product_attention

PictureKind = Literal["raw", "standardised", "whitened"]

FAINT = 1e-4
"""Components whose deviation is below this share of the first one's are left out: they are rounding errors."""


class PictureInput(nn.Module):
    """A raw vector as a network reads it: unchanged, on one scale, or as its principal components.

    Buffers, if `image` needs them: `mean` and `deviation` (g), `components` (g x, half precision).
    """

    def __init__(self, image: PictureKind, raw_width: int, components: int = 256, whitening: float = 0.5) -> None:
        """Changes nothing until it is measured, except components, which are zeros.

        `components` and `whitening` are for "whitened": how many, and how far they are brought to one scale, 0 to 1.
        """
        super().__init__()
        self.image, self.whitening = image, whitening
        self.width = components if image == "whitened" else raw_width
        if image != "raw":
            self.register_buffer("mean", torch.zeros(raw_width))
            self.register_buffer("deviation", torch.ones(raw_width))
        if image == "whitened":
            self.register_buffer("components", torch.zeros(raw_width, components, dtype=torch.float16))

    def measure(self, raw_pg: Float32[np.ndarray, "p g"]) -> None:
        """Sets the buffers from the pictures of the training set."""
        if self.image == "raw":
            return
        mean_g, deviation_g = measure_scale(raw_pg)
        self.get_buffer("mean").copy_(torch.from_numpy(mean_g))
        self.get_buffer("deviation").copy_(torch.from_numpy(deviation_g))
        if self.image == "whitened":
            components_gx = principal_components((raw_pg - mean_g) / deviation_g, self.width, self.whitening)
            self.get_buffer("components").copy_(torch.from_numpy(components_gx))

    def forward(self, raw_bg: Float[Tensor, "*b g"]) -> Float[Tensor, "*b x"]:
        """Raw vectors in the form in which they are read; zeros (no picture) stay zeros."""
        if self.image == "raw":
            return raw_bg
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return standard_bg if self.image == "standardised" else standard_bg @ self.get_buffer("components").float()


def standardise(
    raw_bg: Float[Tensor, "*b g"], mean_g: Float[Tensor, " g"], deviation_g: Float[Tensor, " g"]
) -> Float[Tensor, "*b g"]:
    """Raw vectors on the scale of the training set; zeros (no picture) stay zeros."""
    return (raw_bg - mean_g) / deviation_g * (raw_bg != 0).any(dim=-1, keepdim=True)


def measure_scale(raw_pg: Float32[np.ndarray, "p g"]) -> tuple[Float32[np.ndarray, " g"], Float32[np.ndarray, " g"]]:
    """Mean and deviation of every dimension of raw vectors."""
    mean_g = raw_pg.mean(axis=0, dtype=np.float64).astype(np.float32)
    # A constant dimension carries no information: its deviation must not blow it up.
    deviation_g = np.maximum(raw_pg.std(axis=0), 1e-3 * raw_pg.std() + 1e-12).astype(np.float32)
    return mean_g, deviation_g


def principal_components(rows_pg: Float32[np.ndarray, "p g"], width: int, power: float) -> Float32[np.ndarray, "g d"]:
    """The first principal components of rows of mean 0, each divided by its deviation to the `power`.

    If there are fewer than `width`, the rest is zeros. Signs are chosen so that they do not depend on the machine:
    the largest number of a component is positive.
    """
    count, inputs = rows_pg.shape
    gram = rows_pg.T @ rows_pg if inputs <= count else rows_pg @ rows_pg.T
    values, vectors = np.linalg.eigh(gram)
    values_k, vectors_k = values[::-1][:width], vectors[:, ::-1][:, :width]
    deviation_k = np.sqrt(np.maximum(values_k, 0) / count)
    kept_k = deviation_k > FAINT * deviation_k[0]
    deviation_k, vectors_k = deviation_k[kept_k], vectors_k[:, kept_k]
    if inputs > count:  # eigenvectors of the rows' products: mapped back to the inputs
        vectors_k = rows_pg.T @ vectors_k / (deviation_k * np.sqrt(count))
    signs_k = np.sign(np.take_along_axis(vectors_k, np.abs(vectors_k).argmax(axis=0)[None], axis=0))
    components_gd = np.zeros((inputs, width), np.float32)
    components_gd[:, : kept_k.sum()] = signs_k * vectors_k / deviation_k**power
    return components_gd


def sample_regions(regions_nre: Float16[np.ndarray, "n r e"], most: int) -> Float32[np.ndarray, "p e"]:
    """Regions of about `most` evenly spaced pictures, for `measure`; missing ones are left out."""
    step = -(-len(regions_nre) // most)
    regions_pe = regions_nre[::step].reshape(-1, regions_nre.shape[2]).astype(np.float32)
    return np.asarray(regions_pe[(regions_pe != 0).any(axis=1)])


class AttributeHead(nn.Module):
    """One frozen linear layer over standardised raw vectors.

    Buffers: `mean`, `deviation` (g), `bias` (k), `weight` (k g; in half precision, since it is saved with the network
    that it is part of). `AttributePredictor.of` reads them back.
    """

    def __init__(self, labels: int, raw_width: int) -> None:
        """k `labels`, g `raw_width`; predicts the same for every picture until it is filled."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(raw_width))
        self.register_buffer("deviation", torch.ones(raw_width))
        self.register_buffer("weight", torch.zeros(labels, raw_width, dtype=torch.float16))
        self.register_buffer("bias", torch.zeros(labels))

    @classmethod
    def from_predictor(cls, predictor: Any) -> AttributeHead:
        """An `encoders.tags.AttributePredictor` in torch, except for the rounding of the weights."""
        head = cls(*predictor.weight_kg.shape)
        for name in ("mean_g", "deviation_g", "weight_kg", "bias_k"):
            head.get_buffer(name.partition("_")[0]).copy_(torch.from_numpy(getattr(predictor, name)))
        return head

    def scores(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b k"]:
        """Logits of every label; 0 is a probability of one half."""
        standard_bg = standardise(raw_bg, self.get_buffer("mean"), self.get_buffer("deviation"))
        return linear(standard_bg, self.get_buffer("weight").float(), self.get_buffer("bias"))

    def top(self, raw_bg: Float[Tensor, "b g"], count: int) -> Int[Tensor, "b count"]:
        """Numbers of the likeliest labels, best first: k + 1 for label k, 0 for none.

        There are none beyond the last label, and for zeros (no picture).
        """
        numbers_bk = 1 + self.scores(raw_bg).argsort(dim=1, descending=True, stable=True)[:, :count]
        there_b1 = (raw_bg != 0).any(dim=1, keepdim=True)
        return pad(numbers_bk * there_b1, (0, count - numbers_bk.shape[1]))


EPS = 1e-6

Activation = Callable[[Tensor], Tensor]


class KeysValues(NamedTuple):
    """Keys and values of positions that are attended to; kept, so that they are not computed again."""

    keys_bnlv: Float[Tensor, "b n l v"]
    values_bnlv: Float[Tensor, "b n l v"]

    def then(self, later: KeysValues) -> KeysValues:
        """These positions, followed by later ones."""
        return KeysValues(*(torch.cat(both, dim=2) for both in zip(self, later, strict=True)))

    def of(self, rows: Int[Tensor, " r"]) -> KeysValues:
        """The keys and values of some sequences, each as often as it is named."""
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
        """The values that each token gathers from the positions it may see; the mask is (t l) or (b t l)."""
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


class TokenEncoder(nn.Module):
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
