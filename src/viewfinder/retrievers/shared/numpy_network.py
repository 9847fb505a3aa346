"""The parts of `network` without torch: what a search needs of a trained system, in numpy; and BLIP-2's Q-Former.

Arrays are named as in the torch modules; those of the Q-Former (Li et al. 2023) as in transformers'
`Blip2QFormerModel`, under a name of the system's own.

Axes of the Q-Former: b pictures or conversations, t tokens, l positions of a text (texts that are read together have
one length, so nothing is masked), s = t + l, w of these that are wanted, i tokens of a picture, z width of one, g width
of a raw vector, x the width read of it, h width of a token, n heads, v width of a head.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32

from viewfinder.data.visual_genome import Vocabulary
from viewfinder.encoders.base import unit_rows
from viewfinder.errors import EncoderMismatch
from viewfinder.query import SentenceEncoder
from viewfinder.weights import Card

Arrays = Mapping[str, np.ndarray]

MAX_PICTURES_AT_ONCE = 256
"""How many pictures' regions are held in single precision at a time (36 x 1280 numbers each: 47 MB)."""


def numpy_linear(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n i"]) -> Float[np.ndarray, "*n o"]:
    """A linear map with a bias, as one product whatever the leading axes."""
    flat = rows if rows.ndim < 3 else rows.reshape(-1, rows.shape[-1])
    mapped = flat @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]
    return np.asarray(mapped.reshape(*rows.shape[:-1], mapped.shape[-1]))


def numpy_update_cell(
    arrays: Arrays, name: str, query: Float[np.ndarray, "*m d"], state: Float[np.ndarray, "*m d"]
) -> Float[np.ndarray, "*m d"]:
    """`network.UpdateCell`."""
    gates = ("reset", "keep", "new")
    reset_by, keep_by, new_by = (numpy_linear(arrays, f"{name}.{gate}_query", query) for gate in gates)
    reset_from, keep_from, new_from = (numpy_linear(arrays, f"{name}.{gate}_state", state) for gate in gates)
    keep = numpy_sigmoid(keep_by + keep_from)
    new = np.tanh(new_by + numpy_sigmoid(reset_by + reset_from) * new_from)
    return np.asarray((1 - keep) * new + keep * state, np.float32)


def numpy_read_words(
    arrays: Arrays, name: str, ids: Sequence[int], before_d: Float32[np.ndarray, " d"] | None = None
) -> Float32[np.ndarray, " d"]:
    """`network.WordReader` for one sentence."""
    return numpy_gru(arrays, f"{name}.gru", arrays[f"{name}.embedding.weight"][np.asarray(ids)], before_d)


def numpy_gru(
    arrays: Arrays, name: str, vectors_li: Float[np.ndarray, "l i"], before_d: Float32[np.ndarray, " d"] | None = None
) -> Float32[np.ndarray, " d"]:
    """The state of torch's `GRU` after the last of some vectors; `before_d`: the state before the first."""
    gru = {part: arrays[f"{name}.{part}_l0"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    state_d = np.zeros(gru["weight_hh"].shape[1], np.float32) if before_d is None else before_d
    for input_g in vectors_li @ gru["weight_ih"].T + gru["bias_ih"]:
        state_d = numpy_gru_step(input_g, gru["weight_hh"] @ state_d + gru["bias_hh"], state_d)
    return np.asarray(state_d, np.float32)


def numpy_gru_step(
    from_input: Float[np.ndarray, "*n g"], from_state: Float[np.ndarray, "*n g"], state: Float[np.ndarray, "*n d"]
) -> Float32[np.ndarray, "*n d"]:
    """A GRU's state after one more input, by torch's three maps of the input and of the state (g = 3 d)."""
    reset_in, keep_in, new_in = np.split(from_input, 3, axis=-1)
    reset_by, keep_by, new_by = np.split(from_state, 3, axis=-1)
    keep = numpy_sigmoid(keep_in + keep_by)
    new = np.tanh(new_in + numpy_sigmoid(reset_in + reset_by) * new_by)
    return np.asarray((1 - keep) * new + keep * state, np.float32)


def numpy_project_regions(
    arrays: Arrays, name: str, raw_nke: Float[np.ndarray, "n k e"], *, scaled_by: str | None = None
) -> Float32[np.ndarray, "n k d"]:
    """`network.RegionProjection`; `scaled_by` names the arrays of mean and deviation that are applied first."""
    found_nkd = np.zeros((*raw_nke.shape[:2], len(arrays[f"{name}.bias"])), np.float32)
    for at in range(0, len(raw_nke), MAX_PICTURES_AT_ONCE):
        rows: np.ndarray = np.asarray(raw_nke[at : at + MAX_PICTURES_AT_ONCE], np.float32)
        there = (rows != 0).any(axis=-1, keepdims=True)
        if scaled_by is not None:
            rows = (rows - arrays[f"{scaled_by}_mean"]) / arrays[f"{scaled_by}_deviation"]
        found_nkd[at : at + MAX_PICTURES_AT_ONCE] = unit_rows(numpy_linear(arrays, name, rows)) * there
    return found_nkd


def numpy_sigmoid(x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """1 / (1 + e^-x)."""
    return np.asarray(1 / (1 + np.exp(-x)))


@dataclass(frozen=True, eq=False)
class NumpySentenceReader:
    """Sentences to query vectors: by the words a network knows, or by frozen ones of `sentences_version` ("": none)."""

    arrays: Arrays
    vocabulary: Vocabulary
    sentences_version: str

    def __call__(self, text: str, sentences: SentenceEncoder | None) -> Float32[np.ndarray, " d"]:
        """The query vector of one sentence.

        Raises:
            EncoderMismatch: the session's sentence vectors are of another version.
        """
        if not self.sentences_version:
            return numpy_read_words(self.arrays, "read_words", self.vocabulary.encode(text))
        known = check_sentences(sentences, self.sentences_version)
        hidden_h = np.maximum(numpy_linear(self.arrays, "read_sentences.inner", known.encode([text])[0]), 0.0)
        return np.asarray(numpy_linear(self.arrays, "read_sentences.outer", hidden_h), np.float32)


def check_sentences(sentences: SentenceEncoder | None, version: str) -> SentenceEncoder:
    """A session's sentence vectors, if they are of this version.

    Raises:
        EncoderMismatch: there are none, or they are of another version.
    """
    if sentences is None or sentences.version != version:
        found = "none" if sentences is None else repr(sentences.version)
        raise EncoderMismatch(
            f"these weights read sentence vectors of {version!r}, and this encoder's are {found}; "
            "use the encoder they were trained with, or train again with this one"
        )
    return sentences


SAME = 0.999
"""If two vectors of one text are at least this alike, their spaces are the same: processors round differently."""


def check_shared_space(
    system: str, encoder: str, found_d: Float[np.ndarray, " d"], probe_d: Float[np.ndarray, " d"], way_out: str
) -> None:
    """Checks that a session's shared space is that of a training, by the vectors of a known text in both.

    Raises:
        EncoderMismatch: it is another space.
    """
    if found_d.shape != probe_d.shape or found_d @ probe_d < SAME:
        raise EncoderMismatch(
            f"{system}: these weights look for pictures in the space of {encoder!r}, and this library has another one "
            f"(another encoder, or a head of its own): {way_out}"
        )


EPS = 1e-12
"""The epsilon that its norms add to a variance."""


@dataclass(frozen=True)
class QFormerShape:
    """A Q-Former among a network's arrays: the name of its module, its sizes, and the interval between its layers that
    look at the picture."""

    name: str
    layers: int
    heads: int
    cross_every: int = 1


def numpy_qformer(
    arrays: Arrays,
    former: QFormerShape,
    tokens_bth: Float32[np.ndarray, "b t h"],
    text_blh: Float32[np.ndarray, "b l h"],
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """The wanted positions, tokens before text, after all layers; the others are not finished.

    Without a picture all positions go through the layers for text.
    """
    places_bsh = np.concatenate([tokens_bth, text_blh], axis=1)
    places_bsh = numpy_layer_norm(arrays, f"{former.name}.layernorm", places_bsh, EPS)
    for at in range(former.layers):
        asked = wanted if at == former.layers - 1 else range(places_bsh.shape[1])
        places_bsh = _layer(arrays, former, at, places_bsh, tokens_bth.shape[1], image_biz, asked)
    return places_bsh


def _layer(
    arrays: Arrays,
    former: QFormerShape,
    at: int,
    places_bsh: Float32[np.ndarray, "b s h"],
    tokens: int,
    image_biz: Float32[np.ndarray, "b i z"] | None,
    wanted: range,
) -> Float32[np.ndarray, "b w h"]:
    """`Blip2QFormerLayer`; a Q-Former that reads no text has no text layers."""
    name = f"{former.name}.encoder.layer.{at}"
    asked_bwh = places_bsh[:, wanted.start : wanted.stop]
    found_bwh = _attended(arrays, f"{name}.attention", former.heads, asked_bwh, places_bsh)
    if image_biz is None:
        return _fed(arrays, name, "", found_bwh)
    looking = max(0, min(wanted.stop, tokens) - wanted.start)
    tokens_bth, text_blh = found_bwh[:, :looking], found_bwh[:, looking:]
    if at % former.cross_every == 0:
        tokens_bth = _attended(arrays, f"{name}.crossattention", former.heads, tokens_bth, image_biz)
    tokens_bth = _fed(arrays, name, "_query", tokens_bth)
    if not text_blh.shape[1]:
        return tokens_bth
    return np.concatenate([tokens_bth, _fed(arrays, name, "", text_blh)], axis=1)


def _attended(
    arrays: Arrays,
    name: str,
    heads: int,
    asked_bwh: Float32[np.ndarray, "b w h"],
    seen_bsz: Float32[np.ndarray, "b s z"],
) -> Float32[np.ndarray, "b w h"]:
    """`Blip2QFormerAttention`: what each position gathers from all it attends to, added to it."""
    query_bnwv = by_head(numpy_linear(arrays, f"{name}.attention.query", asked_bwh), heads)
    key_bnsv, value_bnsv = (
        by_head(numpy_linear(arrays, f"{name}.attention.{part}", seen_bsz), heads) for part in ("key", "value")
    )
    gathered_bwh = numpy_attend(query_bnwv, key_bnsv, value_bnsv)
    found_bwh = numpy_linear(arrays, f"{name}.output.dense", gathered_bwh) + asked_bwh
    return numpy_layer_norm(arrays, f"{name}.output.LayerNorm", found_bwh, EPS)


def _fed(arrays: Arrays, name: str, kind: str, places_bwh: Float32[np.ndarray, "b w h"]) -> np.ndarray:
    """`Blip2QFormerIntermediate` and `Blip2QFormerOutput`; `kind`: "_query" for tokens that look at a picture."""
    inner = numpy_gelu(numpy_linear(arrays, f"{name}.intermediate{kind}.dense", places_bwh))
    found_bwh = numpy_linear(arrays, f"{name}.output{kind}.dense", inner) + places_bwh
    return numpy_layer_norm(arrays, f"{name}.output{kind}.LayerNorm", found_bwh, EPS)


def numpy_picture_input(arrays: Arrays, name: str, raw: Float[np.ndarray, "*b g"]) -> Float32[np.ndarray, "*b x"]:
    """`layers.PictureInput`: raw vectors on one scale, or their principal components; zeros stay zeros."""
    there = (raw != 0).any(axis=-1, keepdims=True)
    standard = (np.asarray(raw, np.float32) - arrays[f"{name}.mean"]) / arrays[f"{name}.deviation"]
    components = arrays.get(f"{name}.components")
    found = standard if components is None else standard.reshape(-1, standard.shape[-1]) @ components
    return np.asarray(found.reshape(*raw.shape[:-1], -1) * there, np.float32)


# -- small parts


def by_head(places: Float[np.ndarray, "*b s h"], heads: int) -> Float[np.ndarray, "*b n s v"]:
    """Splits the last axis into heads."""
    return places.reshape(*places.shape[:-1], heads, places.shape[-1] // heads).swapaxes(-2, -3)


def numpy_attend(
    query: Float[np.ndarray, "*b n w v"],
    keys: Float[np.ndarray, "*b n s v"],
    values: Float[np.ndarray, "*b n s v"],
    hides_ws: Bool[np.ndarray, "w s"] | None = None,
) -> Float[np.ndarray, "*b w h"]:
    """The values that each position gathers from all it attends to, its heads side by side.

    `hides_ws`: where a position does not attend to another; it attends to one at least.
    """
    alike = query @ keys.swapaxes(-1, -2) * np.float32(1 / math.sqrt(query.shape[-1]))
    if hides_ws is not None:
        alike[..., hides_ws] = -np.inf
    shares = softmax(alike)
    gathered = (shares @ values).swapaxes(-2, -3)
    return np.asarray(gathered.reshape(*gathered.shape[:-2], gathered.shape[-2] * gathered.shape[-1]))


def softmax(scores: Float[np.ndarray, "*b s"]) -> Float[np.ndarray, "*b s"]:
    """Softmax, in place: shares that add up to 1."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def numpy_layer_norm(
    arrays: Arrays, name: str, rows: Float[np.ndarray, "*b h"], eps: float
) -> Float32[np.ndarray, "*b h"]:
    """`LayerNorm`."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    centred *= 1 / np.sqrt(variance + np.float32(eps))
    centred *= arrays[f"{name}.weight"]
    centred += arrays[f"{name}.bias"]
    return np.asarray(centred, np.float32)


def numpy_gelu(rows: Float32[np.ndarray, "*b h"]) -> Float32[np.ndarray, "*b h"]:
    """x times the probability that a standard normal number is below x.

    Uses the error function, to 5e-7 (Abramowitz and Stegun 1964, 7.1.26, whose own error is 1.5e-7).
    """
    size = np.abs(rows) * np.float32(math.sqrt(0.5))
    share = 1 / (1 + np.float32(0.3275911) * size)
    total = np.full_like(size, 1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        total *= share
        total += np.float32(term)
    total *= share
    total *= np.exp(-np.square(size))
    return np.asarray(rows * (0.5 + 0.5 * np.copysign(1 - total, rows)), np.float32)


NO_WORD = 0
"""The number that stands for no word; word k of a vocabulary has the number k + 1."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case; "v-neck" and "doesn't" are one each; all other punctuation separates words."""
    return tuple(_WORD.findall(text.lower()))


class WordLookup:
    """Texts to word vectors: those of the session's encoder, which knows any word, or of a table in the weights."""

    def __init__(
        self,
        arrays: Arrays,
        card: Card,
        *,
        by_encoder: bool,
        most: int,
        cut: Callable[[str], Sequence[str]] = split_words,
    ) -> None:
        """`most`: how many words of a text are read; `cut` splits it into words."""
        self._most, self._by_encoder, self._cut = most, by_encoder, cut
        self._version = str(card.settings["sentences_version"])
        self._table_vs: Float32[np.ndarray, "v s"] = arrays.get("words.table", np.zeros((1, 0), np.float32))
        # Weights without a table read no words at all: no word is known then.
        vocabulary = card.settings["vocabulary"] if "words.table" in arrays else ()
        self._row = {word: row for row, word in enumerate(vocabulary, start=1)}

    def read(self, text: str, sentences: SentenceEncoder | None) -> tuple[Float32[np.ndarray, "l s"], tuple[str, ...]]:
        """The vectors of the words that are read, and what to report of the others.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those of the training.
        """
        words = self._cut(text)
        known = [word for word in words if self._by_encoder or word in self._row]
        notes = note_words("drop: these weights do not know {}", [word for word in words if word not in known])
        notes += note_words(f"drop: the first {self._most} words of a turn are read, not {{}}", known[self._most :])
        read = known[: self._most]
        if self._by_encoder:
            vectors_ls = check_sentences(sentences, self._version).encode(read)
        else:
            vectors_ls = self._table_vs[[self._row[word] for word in read]]
        return np.asarray(vectors_ls, np.float32), notes


def note_words(line: str, words: Sequence[str]) -> tuple[str, ...]:
    """The line with these words in it; none if there are no words."""
    return (line.format(", ".join(f'"{word}"' for word in words)),) if words else ()
