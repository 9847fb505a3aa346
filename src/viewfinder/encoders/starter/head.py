"""What a raw vector of the starter is made of: frozen, so that a new head does not void what was stored.

The alignment head: raw picture vectors and sentence vectors into one space of 256 numbers. Numpy only.

    picture   unit( unit(x A + a) + mix * unit((names - m) B) )      x = [sqrt(objects), texture]
    words     unit( unit(s - s0) B )

A and B come from `fit`: A by ridge regression onto the (partly whitened) sentence vectors of the captions, B the
partial whitening itself; what is learnt (A) and what is known from class names alone (ConSE) are averaged. A tuned
head adds a small residual network on either side.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Calibration
from viewfinder.errors import EncoderMismatch

RAW_VERSION = "starter-raw-1"
SIDE = 224
"""The upright picture is stretched to SIDE x SIDE pixels."""

OBJECTS = 1280
"""What is there: the last feature map of EfficientNet-Lite2, averaged."""

TEXTURE = 896
"""How it looks: mean and deviation of every channel of seven earlier stages."""

NAMES = 384
"""What one would call it: ConSE, a sentence vector made of class names."""

RAW_WIDTH = OBJECTS + TEXTURE + NAMES
REGION_WIDTH = OBJECTS


HEAD_VERSION = 1
VISUAL = OBJECTS + TEXTURE


def unit_rows(rows_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """Rows at length 1; a zero row stays zero."""
    norms_n1 = np.linalg.norm(rows_nd, axis=1, keepdims=True)
    units_nd: Float[np.ndarray, "n d"] = rows_nd / np.maximum(norms_n1, 1e-12)
    return units_nd


@dataclass(frozen=True)
class Residual:
    """A two-layer network added to a linear map: relu(x V + v) W + w."""

    inner_xh: Float[np.ndarray, "x h"]
    inner_bias_h: Float[np.ndarray, " h"]
    outer_hd: Float[np.ndarray, "h d"]
    outer_bias_d: Float[np.ndarray, " d"]

    def __call__(self, rows_nx: Float[np.ndarray, "n x"]) -> Float[np.ndarray, "n d"]:
        """The network's output rows."""
        hidden_nh = np.maximum(rows_nx @ self.inner_xh + self.inner_bias_h, 0.0)
        out_nd: Float[np.ndarray, "n d"] = hidden_nh @ self.outer_hd + self.outer_bias_d
        return out_nd


@dataclass(frozen=True)
class Head:
    """The two maps into the shared space, and what was measured with them.

    `bank_ms` are captions (as sentence vectors) for the background, `labels` words that hold for many pictures,
    `calibration` what scores mean.
    """

    visual_xd: Float[np.ndarray, "x d"]
    visual_bias_d: Float[np.ndarray, " d"]
    sentence_mean_s: Float[np.ndarray, " s"]
    sentence_sd: Float[np.ndarray, "s d"]
    names_mean_s: Float[np.ndarray, " s"]
    names_mix: float
    bank_ms: Float[np.ndarray, "m s"]
    labels_ls: Float[np.ndarray, "l s"]
    labels: tuple[str, ...] = ()
    calibration: Calibration = field(default_factory=Calibration)
    visual_residual: Residual | None = None
    sentence_residual: Residual | None = None

    @property
    def width(self) -> int:
        """Numbers in a vector of the shared space."""
        return int(self.sentence_sd.shape[1])

    def pictures(self, raw_nr: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Raw picture vectors into the shared space, unit length."""
        visual_nx = head_input(raw_nr)
        learnt_nd = visual_nx @ self.visual_xd + self.visual_bias_d
        if self.visual_residual is not None:
            learnt_nd = learnt_nd + self.visual_residual(visual_nx)
        named_nd = (raw_nr[:, VISUAL:].astype(np.float32) - self.names_mean_s) @ self.sentence_sd
        return unit_rows(unit_rows(learnt_nd) + self.names_mix * unit_rows(named_nd))

    def sentences(self, sentences_ns: Float[np.ndarray, "n s"]) -> Float[np.ndarray, "n d"]:
        """Sentence vectors into the shared space, unit length."""
        centred_ns = unit_rows(sentences_ns - self.sentence_mean_s)
        shared_nd = centred_ns @ self.sentence_sd
        if self.sentence_residual is not None:
            shared_nd = shared_nd + self.sentence_residual(centred_ns)
        return unit_rows(shared_nd)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """How well each picture answers anything at all: see `background`, over the bank of captions."""
        return background_scores(pictures_nd, self.sentences(self.bank_ms))

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that name this head's numbers."""
        digest = hashlib.blake2b(digest_size=4)
        for name, array in sorted(self._arrays().items()):
            digest.update(name.encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, file: Path, *, card: Mapping[str, str] | None = None) -> None:
        """Write the head as safetensors (float16), with what a model card needs as metadata."""
        from safetensors.numpy import save_file

        calibration = self.calibration
        metadata = {
            **(card or {}),
            "version": str(HEAD_VERSION),
            "raw": RAW_VERSION,
            "names_mix": repr(self.names_mix),
            "labels": json.dumps(self.labels),
            "calibration": json.dumps([calibration.score_weight, calibration.outlier_weight, calibration.bias]),
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(self._arrays(), str(file), metadata=metadata)

    def _arrays(self) -> dict[str, np.ndarray]:
        """All numbers by name, in float16: what `save` writes and `fingerprint` reads."""
        arrays: dict[str, np.ndarray] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                arrays[item.name] = value
            elif isinstance(value, Residual):
                for part in fields(value):
                    arrays[f"{item.name}.{part.name}"] = getattr(value, part.name)
        # safetensors writes the memory as it lies, so a transposed view must be laid out first.
        return {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in arrays.items()}

    def rounded(self) -> Head:
        """The head as it will be read back: every number through float16."""
        return replace(_from_arrays(self._arrays(), self.names_mix, self.calibration), labels=self.labels)


def load_head(file: Path) -> Head:
    """Read a head that `Head.save` wrote.

    Raises:
        EncoderMismatch: it was made for another version of the raw vectors, or by a later viewfinder.
    """
    from safetensors import safe_open

    with safe_open(str(file), framework="numpy") as tensors:
        metadata = tensors.metadata() or {}
        if metadata.get("raw") != RAW_VERSION or metadata.get("version") != str(HEAD_VERSION):
            raise EncoderMismatch(
                f"{file} is a head for {metadata.get('raw')} version {metadata.get('version')}; "
                f"this viewfinder reads {RAW_VERSION} version {HEAD_VERSION}: train or tune it again"
            )
        arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 (no mapping)
    head = _from_arrays(arrays, float(metadata["names_mix"]), Calibration(*json.loads(metadata["calibration"])))
    return replace(head, labels=tuple(json.loads(metadata["labels"])))


def _from_arrays(arrays: Mapping[str, np.ndarray], names_mix: float, calibration: Calibration) -> Head:
    found: dict[str, Any] = {name: array.astype(np.float32) for name, array in arrays.items() if "." not in name}
    for side in ("visual_residual", "sentence_residual"):
        parts = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{side}.")}
        if parts:
            found[side] = Residual(**{name: array.astype(np.float32) for name, array in parts.items()})
    return Head(**found, names_mix=names_mix, calibration=calibration)


def head_input(raw_nr: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n x"]:
    """What the learnt map reads of a raw vector: square roots tame the long tail of the object channels."""
    if raw_nr.shape[1] != RAW_WIDTH:
        raise EncoderMismatch(f"these raw vectors have {raw_nr.shape[1]} numbers, {RAW_VERSION} has {RAW_WIDTH}")
    objects_no = np.sqrt(np.maximum(raw_nr[:, :OBJECTS].astype(np.float32), 0.0))
    return np.concatenate([objects_no, raw_nr[:, OBJECTS:VISUAL].astype(np.float32)], axis=1)


def background_scores(
    pictures_nd: Float[np.ndarray, "n d"], bank_md: Float[np.ndarray, "m d"], *, temperature: float = 0.1
) -> Float[np.ndarray, " n"]:
    """How well each picture answers anything: temperature x log mean exp(score / temperature) over the bank.

    Subtracting it keeps "hub" pictures, which are near to every text, from filling all results
    (inverted softmax: Smith et al. 2017, Eq. 4, in the log domain).
    """
    scores_nm = pictures_nd @ bank_md.T / temperature
    top_n1 = scores_nm.max(axis=1, keepdims=True)
    logmean_n: Float[np.ndarray, " n"] = np.log(np.exp(scores_nm - top_n1).mean(axis=1)) + top_n1[:, 0]
    return (temperature * logmean_n).astype(np.float32)
