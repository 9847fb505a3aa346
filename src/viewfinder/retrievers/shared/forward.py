"""The same networks without torch: what a search needs of a trained system, in numpy.

Names of arrays are those of the torch modules in `recurrent` and `regions`; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.data.visual_genome import Vocabulary
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.base import SentenceEncoder

Arrays = Mapping[str, np.ndarray]

AT_ONCE = 256
"""Pictures whose regions are held in single precision at a time (36 x 1280 numbers each: 47 MB)."""


def numpy_linear(arrays: Arrays, name: str, rows: Float[np.ndarray, "*n i"]) -> Float[np.ndarray, "*n o"]:
    """A linear map with a bias."""
    mapped: Float[np.ndarray, "*n o"] = rows @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]
    return mapped


def to_unit(rows: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
    """Rows at length 1; a row of zeros stays zeros."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-10))


def numpy_update_cell(
    arrays: Arrays, name: str, query: Float[np.ndarray, "*m d"], state: Float[np.ndarray, "*m d"]
) -> Float[np.ndarray, "*m d"]:
    """`recurrent.UpdateCell`."""

    def mixed(gate: str) -> Float[np.ndarray, "*m d"]:
        query_part, state_part = f"{name}.{gate}_query", f"{name}.{gate}_state"
        return np.asarray(numpy_linear(arrays, query_part, query) + numpy_linear(arrays, state_part, state))

    reset, keep = _sigmoid(mixed("reset")), _sigmoid(mixed("keep"))
    new = np.tanh(
        numpy_linear(arrays, f"{name}.new_query", query) + reset * numpy_linear(arrays, f"{name}.new_state", state)
    )
    after: Float[np.ndarray, "*m d"] = (1 - keep) * new + keep * state
    return after.astype(np.float32)


def numpy_read_words(
    arrays: Arrays, name: str, ids: Sequence[int], before_d: Float32[np.ndarray, " d"] | None = None
) -> Float32[np.ndarray, " d"]:
    """`recurrent.WordReader` for one sentence."""
    gru = {part: arrays[f"{name}.gru.{part}_l0"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
    inputs_lg = arrays[f"{name}.embedding.weight"][np.asarray(ids)] @ gru["weight_ih"].T + gru["bias_ih"]
    state_d = np.zeros(gru["weight_hh"].shape[1], np.float32) if before_d is None else before_d
    for input_g in inputs_lg:
        reset_in, keep_in, new_in = np.split(input_g, 3)
        reset_by, keep_by, new_by = np.split(gru["weight_hh"] @ state_d + gru["bias_hh"], 3)
        reset, keep = _sigmoid(reset_in + reset_by), _sigmoid(keep_in + keep_by)
        state_d = (1 - keep) * np.tanh(new_in + reset * new_by) + keep * state_d
    return np.asarray(state_d, np.float32)


def numpy_project_regions(
    arrays: Arrays, name: str, raw_nke: Float[np.ndarray, "n k e"], *, scaled_by: str | None = None
) -> Float32[np.ndarray, "n k d"]:
    """`regions.RegionProjection`; `scaled_by` names arrays of mean and deviation that come first."""
    found = [_projected(arrays, name, raw_nke[at : at + AT_ONCE], scaled_by) for at in range(0, len(raw_nke), AT_ONCE)]
    width = len(arrays[f"{name}.bias"])
    return np.concatenate(found) if found else np.zeros((*raw_nke.shape[:2], width), np.float32)


def _projected(
    arrays: Arrays, name: str, raw_nke: Float[np.ndarray, "n k e"], scaled_by: str | None
) -> Float32[np.ndarray, "n k d"]:
    raw_nke = np.asarray(raw_nke, np.float32)
    there_nk1 = (raw_nke != 0).any(axis=-1, keepdims=True)
    if scaled_by is not None:
        raw_nke = (raw_nke - arrays[f"{scaled_by}_mean"]) / arrays[f"{scaled_by}_deviation"]
    return np.asarray(to_unit(numpy_linear(arrays, name, raw_nke)) * there_nk1, np.float32)


def _sigmoid(x: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    return np.asarray(1 / (1 + np.exp(-x)))


@dataclass(frozen=True, eq=False)
class NumpySentenceReader:
    """Sentences to query vectors: by the words a network knows (`read_words`), or by frozen sentence vectors.

    `sentences_version` says which frozen vectors `read_sentences` was trained on; "" where words are read.
    """

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
    """A session's sentence vectors, if they are those of this version.

    Raises:
        EncoderMismatch: there are none, or they are of another.
    """
    if sentences is None or sentences.version != version:
        found = "none" if sentences is None else repr(sentences.version)
        raise EncoderMismatch(
            f"these weights read sentence vectors of {version!r}, and this encoder's are {found}; "
            "use the encoder they were trained with, or train again with this one"
        )
    return sentences
