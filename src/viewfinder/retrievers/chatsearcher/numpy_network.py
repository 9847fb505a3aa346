"""`network.ChatSearcherNetwork` without torch, its language model piece by piece, with a cache of what was read.

Arrays are named as in the torch modules; tests compare the two.

Axes of the language model: l positions read now, s all positions, including those read before, h width of a position,
n heads of queries, k heads of keys, e = n / k queries that share a key, m = e l, v width of a head, r = v / 2, f hidden
width of a layer, q and o width of all heads.

Axes of what a query points back at: c pictures and texts, d width of a query.

Axes of its input: p = 1 + t positions of a picture (the global token, its slots), g width of a raw vector, r regions,
e width of a raw one, k texts whose vectors are read, s width of one, v pieces that can be written, n pictures, d width
of the vectors that pictures are found by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.encoders.base import unit_rows
from viewfinder.retrievers.chatsearcher.settings import LORA_ALPHA, MAX_AGE, ChatSearcherSettings, LoraSettings
from viewfinder.retrievers.shared import numpy_network as shared


@dataclass(frozen=True, kw_only=True)
class LanguageShape:
    """The sizes that the weights do not tell by themselves; `eps` is added to the mean square in norms."""

    layers: int
    heads: int
    key_heads: int
    head_dim: int
    eps: float
    tied: bool


@dataclass(frozen=True, eq=False)
class Layer:
    """The maps of a layer; those with the same input are side by side."""

    first_norm_h: Float32[np.ndarray, " h"]
    asks_hq: Float32[np.ndarray, "h q"]
    asks_q: Float32[np.ndarray, " q"] | None
    gathers_oh: Float32[np.ndarray, "o h"]
    second_norm_h: Float32[np.ndarray, " h"]
    opens_hf: Float32[np.ndarray, "h _2f"]
    closes_fh: Float32[np.ndarray, "f h"]


@dataclass(frozen=True, eq=False)
class NumpyLanguageModel:
    """A language model in numpy."""

    shape: LanguageShape
    layers: tuple[Layer, ...]
    norm_h: Float32[np.ndarray, " h"]
    frequencies_r: Float32[np.ndarray, " r"]


@dataclass(frozen=True, eq=False)
class CacheSegment:
    """Keys and values of positions that were read at once, for all layers."""

    keys: Float32[np.ndarray, "layers k places v"]
    values: Float32[np.ndarray, "layers k places v"]

    def __len__(self) -> int:
        return int(self.keys.shape[2])


@dataclass(frozen=True, eq=False)
class KeyValueCache:
    """The keys and values of all positions read so far. It never changes: its continuations share it."""

    segments: tuple[CacheSegment, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def shorter(self, places: int) -> KeyValueCache:
        """Without the newest positions, which must be from the last reading."""
        *before, last = self.segments
        kept = len(last) - places
        if not kept:
            return KeyValueCache(tuple(before))
        # Copies: a view would keep all of the segment alive.
        return KeyValueCache((*before, CacheSegment(last.keys[:, :, :kept].copy(), last.values[:, :, :kept].copy())))


EMPTY_CACHE = KeyValueCache()


def build_language_model(arrays: shared.Arrays, shape: LanguageShape, lora: LoraSettings) -> NumpyLanguageModel:
    """The language model among a network's arrays, its adapters folded in."""
    whole = _Folded(arrays, lora)
    layers = []
    for at in range(shape.layers):
        name, attention = f"language.layers.{at}", f"language.layers.{at}.self_attn"
        asking = [f"{attention}.{part}_proj" for part in "qkv"]
        layers.append(
            Layer(
                whole[f"{name}.input_layernorm.weight"],
                whole.side_by_side(*asking),
                whole.biases(*asking),
                whole.side_by_side(f"{attention}.o_proj"),
                whole[f"{name}.post_attention_layernorm.weight"],
                whole.side_by_side(f"{name}.mlp.gate_proj", f"{name}.mlp.up_proj"),
                whole.side_by_side(f"{name}.mlp.down_proj"),
            )
        )
    return NumpyLanguageModel(shape, tuple(layers), whole["language.norm.weight"], whole["frequencies"])


class _Folded:
    """Arrays by name; for a map with adapters W + alpha / rank * B A (Hu et al. 2021)."""

    def __init__(self, arrays: Mapping[str, np.ndarray], lora: LoraSettings) -> None:
        self._arrays, self._lora = arrays, lora

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._arrays:
            return np.asarray(self._arrays[name], np.float32)
        module = name.removesuffix(".weight")
        up, down = (self._arrays[f"{module}.lora_{part}.default.weight"] for part in "BA")
        scale = np.float32(LORA_ALPHA / self._lora.rank)
        return np.asarray(self._arrays[f"{module}.base_layer.weight"] + scale * (up @ down), np.float32)

    def biases(self, *modules: str) -> Float32[np.ndarray, " q"] | None:
        """Side by side; None if there are none."""
        names = [name for module in modules for name in (f"{module}.bias", f"{module}.base_layer.bias")]
        found = [self._arrays[name] for name in names if name in self._arrays]
        return np.concatenate(found).astype(np.float32) if len(found) == len(modules) else None

    def side_by_side(self, *modules: str) -> Float32[np.ndarray, "i o"]:
        """Maps with the same input as one map."""
        return np.ascontiguousarray(np.concatenate([self[f"{module}.weight"] for module in modules]).T)


def read_places(
    language: NumpyLanguageModel, places_lh: Float32[np.ndarray, "l h"], cache: KeyValueCache = EMPTY_CACHE
) -> tuple[Float32[np.ndarray, "l h"], KeyValueCache]:
    """`LlamaModel` on positions that follow those of the cache: their states, and the extended cache."""
    turned = rotary_angles(language.frequencies_r, len(cache), len(places_lh))
    keys, values = [], []
    for at, layer in enumerate(language.layers):
        normed_lh = rms_norm(places_lh, layer.first_norm_h, language.shape.eps)
        query_kmv, key_klv, value_klv = _project_heads(layer, language.shape, normed_lh, turned)
        key_ksv = np.concatenate([*(part.keys[at] for part in cache.segments), key_klv], axis=1)
        value_ksv = np.concatenate([*(part.values[at] for part in cache.segments), value_klv], axis=1)
        places_lh = places_lh + _gather_values(query_kmv, key_ksv, value_ksv, len(places_lh)) @ layer.gathers_oh
        # `LlamaMLP`, down(silu(gate) * up), where 1 / (1 + e^-x) is by tanh, which cannot overflow.
        gate_lf, up_lf = np.split(
            rms_norm(places_lh, layer.second_norm_h, language.shape.eps) @ layer.opens_hf, 2, axis=1
        )
        inner_lf = gate_lf * (np.float32(0.5) + np.float32(0.5) * np.tanh(gate_lf * np.float32(0.5))) * up_lf
        places_lh = places_lh + inner_lf @ layer.closes_fh
        keys.append(key_klv)
        values.append(value_klv)
    states_lh = rms_norm(places_lh, language.norm_h, language.shape.eps)
    return states_lh, KeyValueCache((*cache.segments, CacheSegment(np.stack(keys), np.stack(values))))


Rotation = tuple[Float32[np.ndarray, "l 1 r"], Float32[np.ndarray, "l 1 r"]]


def rotary_angles(frequencies_r: Float32[np.ndarray, " r"], first: int, count: int) -> Rotation:
    """Cosines and sines of the angles that rotate positions (Su et al. 2021), `first` being the first position."""
    angles_l1r = np.arange(first, first + count, dtype=np.float32)[:, None, None] * frequencies_r
    return np.cos(angles_l1r), np.sin(angles_l1r)


def rotate_heads(heads_lnv: Float32[np.ndarray, "l n v"], turned: Rotation) -> Float32[np.ndarray, "l n v"]:
    """Rotates every number of the first half of a head with its counterpart in the second half."""
    cosines, sines = turned
    one, other = np.split(heads_lnv, 2, axis=-1)
    return np.concatenate([one * cosines - other * sines, other * cosines + one * sines], axis=-1)


def rms_norm(
    rows_lh: Float32[np.ndarray, "l h"], weight_h: Float32[np.ndarray, " h"], eps: float
) -> Float32[np.ndarray, "l h"]:
    """`LlamaRMSNorm`."""
    mean_l1 = np.einsum("lh,lh->l", rows_lh, rows_lh)[:, None] / np.float32(rows_lh.shape[1])
    return np.asarray(rows_lh / np.sqrt(mean_l1 + np.float32(eps)) * weight_h, np.float32)


def _project_heads(
    layer: Layer, shape: LanguageShape, normed_lh: Float32[np.ndarray, "l h"], turned: Rotation
) -> tuple[Float32[np.ndarray, "k m v"], Float32[np.ndarray, "k l v"], Float32[np.ndarray, "k l v"]]:
    """The queries of positions (those that share a key one after the other), with keys and values."""
    count = len(normed_lh)
    asked_lq = normed_lh @ layer.asks_hq
    if layer.asks_q is not None:
        asked_lq += layer.asks_q
    heads_lnv = asked_lq.reshape(count, -1, shape.head_dim)
    rotated_lnv = rotate_heads(heads_lnv[:, : shape.heads + shape.key_heads], turned)
    query_lkev = rotated_lnv[:, : shape.heads].reshape(count, shape.key_heads, -1, shape.head_dim)
    query_kmv = query_lkev.transpose(1, 2, 0, 3).reshape(shape.key_heads, -1, shape.head_dim)
    query_kmv *= np.float32(shape.head_dim**-0.5)
    key_klv = rotated_lnv[:, shape.heads :].swapaxes(0, 1)
    value_klv = heads_lnv[:, shape.heads + shape.key_heads :].swapaxes(0, 1)
    return query_kmv, key_klv, value_klv


def _gather_values(
    query_kmv: Float32[np.ndarray, "k m v"],
    key_ksv: Float32[np.ndarray, "k s v"],
    value_ksv: Float32[np.ndarray, "k s v"],
    count: int,
) -> Float32[np.ndarray, "l o"]:
    """The values that each of `count` positions gathers from itself and from all positions before it."""
    scores_kms = query_kmv @ key_ksv.swapaxes(1, 2)
    scores_kels = scores_kms.reshape(len(key_ksv), -1, count, key_ksv.shape[1])
    if count > 1:
        # Minus infinity where a position would attend to a later one.
        scores_kels[..., -count:] += np.triu(np.full((count, count), -np.inf, np.float32), k=1)
    found_kmv = shared.softmax(scores_kms) @ value_ksv
    found_kelv = found_kmv.reshape(len(key_ksv), -1, count, value_ksv.shape[-1])
    return np.asarray(found_kelv.transpose(2, 0, 1, 3).reshape(count, -1))


TABLE = "language.embed_tokens.weight"
NORM_EPS = 1e-5
"""The epsilon of torch's norms, except those of the Q-Former and the language model."""


def embed_picture(
    arrays: shared.Arrays,
    settings: ChatSearcherSettings,
    whole_g: Float[np.ndarray, " g"],
    regions_re: Float[np.ndarray, "r e"] | None,
) -> Float32[np.ndarray, "p h"]:
    """A picture as it is read: its global token, then the perceiver's slots for its regions."""
    cls_1h = shared.numpy_linear(arrays, "cls", shared.numpy_picture_input(arrays, "whole_input", whole_g[None]))
    if not settings.tokens:
        return np.asarray(cls_1h, np.float32)
    assert regions_re is not None
    slots_th = shared.numpy_linear(arrays, "slots", perceive_regions(arrays, settings, regions_re))
    return np.concatenate([cls_1h, slots_th]).astype(np.float32)


def perceive_regions(
    arrays: shared.Arrays, settings: ChatSearcherSettings, regions_re: Float[np.ndarray, "r e"]
) -> Float32[np.ndarray, "t w"]:
    """`network.Perceiver` for one picture."""
    regions_1ry = shared.numpy_picture_input(arrays, "region_input", regions_re[None])
    seen_1ry = shared.numpy_layer_norm(arrays, "perceiver.norm", regions_1ry + arrays["perceiver.positions"], NORM_EPS)
    slots_1tw = np.asarray(arrays["perceiver.queries"], np.float32)[None]
    former = shared.QFormerShape(
        "perceiver.qformer", settings.perceiver_layers, settings.perceiver_heads, settings.cross_every
    )
    nothing_1lw = slots_1tw[:, :0]
    found_1tw = shared.numpy_qformer(arrays, former, slots_1tw, nothing_1lw, seen_1ry, range(settings.tokens))
    return np.asarray(found_1tw[0])


def embed_places(
    arrays: shared.Arrays,
    settings: ChatSearcherSettings,
    numbers_l: Int[np.ndarray, " l"],
    pictures: Sequence[Float32[np.ndarray, "p h"]] = (),
    said_ks: Float[np.ndarray, "k s"] | None = None,
    before_g: Float[np.ndarray, " g"] | None = None,
) -> Float32[np.ndarray, "l h"]:
    """The input at every position (`SequenceCodec` says what the numbers mean).

    `pictures`: `embed_picture` of the shown pictures, in order; `said_ks`: the vectors of texts at SAID, in order;
    `before_g`: the raw vector of the last picture before these, if there is one.
    """
    table_vh = arrays[TABLE]
    cls, said = len(table_vh), len(table_vh) + 1 + settings.tokens
    places_lh = np.asarray(table_vh[np.minimum(numbers_l, cls - 1)], np.float32)
    if pictures:
        places_lh[(numbers_l >= cls) & (numbers_l < said)] = np.concatenate(list(pictures))
    if said_ks is not None:
        texts_ks = np.asarray(said_ks, np.float32)
        places_lh[numbers_l == said] = shared.numpy_linear(arrays, "said", texts_ks)
        if settings.match and before_g is not None:
            seen_1x = shared.numpy_picture_input(arrays, "whole_input", before_g[None])
            products_km = shared.numpy_linear(arrays, "match.text", texts_ks) * shared.numpy_linear(
                arrays, "match.picture", seen_1x
            )
            places_lh[numbers_l == said] += shared.numpy_linear(arrays, "match.out", products_km)
    return places_lh


@dataclass(frozen=True, eq=False)
class Pointed:
    """The pictures and texts that a query can point back at, in order: their vectors, and which of them are texts."""

    points_cd: Float32[np.ndarray, "c d"]
    is_text_c: Bool[np.ndarray, " c"]

    @staticmethod
    def join(parts: Sequence[Pointed]) -> Pointed:
        """One after the other."""
        return Pointed(
            np.concatenate([one.points_cd for one in parts]), np.concatenate([one.is_text_c for one in parts])
        )


def point_at(
    arrays: shared.Arrays,
    settings: ChatSearcherSettings,
    whole_ng: Sequence[Float[np.ndarray, " g"]] = (),
    said_ks: Float[np.ndarray, "k s"] | None = None,
) -> Pointed:
    """`network.Pointer`'s vectors of pictures, and of the texts after them; none without `points`."""
    found = [np.zeros((0, settings.retrieval), np.float32)]
    if settings.points and whole_ng:
        seen_nx = shared.numpy_picture_input(arrays, "whole_input", np.stack(whole_ng))
        found.append(seen_nx @ arrays["pointer.shown.weight"].T)
    if settings.points and said_ks is not None:
        texts_ks = np.asarray(said_ks * math.sqrt(said_ks.shape[1]), np.float32)
        found.append(texts_ks @ arrays["pointer.said.weight"].T)
    points_cd = np.concatenate(found).astype(np.float32)
    return Pointed(points_cd, np.arange(len(points_cd)) >= len(whole_ng))


def score_pieces(arrays: shared.Arrays, state_h: Float32[np.ndarray, " h"]) -> Float32[np.ndarray, " v"]:
    """Scores of the next piece: by a separate head, else by the pieces' own vectors."""
    head_vh = arrays.get("text_head.weight", arrays[TABLE])
    return np.asarray(head_vh @ state_h, np.float32)


def encode_query(
    arrays: shared.Arrays, state_h: Float32[np.ndarray, " h"], pointed: Pointed
) -> Float32[np.ndarray, " d"]:
    """The query of the state at [IMG], of length 1 (Eq. 2), which may point back at what came before."""
    query_d = arrays["visual_head.weight"] @ state_h
    if count := len(pointed.points_cd):
        age_c = np.minimum(np.arange(count)[::-1], MAX_AGE)
        asked_d = arrays["pointer.asks.weight"] @ state_h / np.float32(math.sqrt(len(query_d)))
        scores_c = pointed.points_cd @ asked_d + arrays["pointer.ages"][pointed.is_text_c.astype(int), age_c]
        query_d = query_d + shared.softmax(np.append(scores_c, np.float32(0)))[:-1] @ pointed.points_cd
    return np.asarray(unit_rows(query_d), np.float32)


def encode_pictures(arrays: shared.Arrays, whole_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n d"]:
    """Pictures as unit vectors (Eq. 2); zeros for those of which nothing is known."""
    return np.asarray(
        unit_rows(shared.numpy_picture_input(arrays, "whole_input", whole_ng) @ arrays["queue_head.weight"].T),
        np.float32,
    )
