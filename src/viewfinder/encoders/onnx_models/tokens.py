"""Texts as a network takes them: tokens of its own tokenizer, cut at its length, filled up where it was trained so.

- CLIP and its kin read texts as long as they are: what follows the end token counts for nothing.
- SigLIP was trained on texts of its full length, filled with the padding token, and on small letters: SigLIP's own
  tokenizer makes them small, SigLIP 2's (Gemma's) does not, so that it is done here.
- Immich's models are open_clip's: `tokenizer_kwargs.clean` in config.json says how a text is cleaned.
- rclip fills up with zeros.
"""

from __future__ import annotations

import gzip
import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from jaxtyping import Int64

from viewfinder.encoders.onnx_models.layouts import MERGES, ModelFiles, read_settings
from viewfinder.errors import BadInput, EncoderMismatch

MAX_TOKENS = 8192
"""Tokens of a text that are ever read; a tokenizer whose settings name more was given no length."""

CLIP_TOKENS, SIGLIP_TOKENS = 77, 64
"""The lengths of both families, where config.json leaves them out."""

MAX_MERGES_BYTES = 16_000_000
"""Of the unpacked file of merges, which has 3 MB."""

CLIP_MERGES = 49152 - 256 - 2
"""Merges of CLIP's tokenizer: the lines after these in the file are not used."""

CLIP_WORDS = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
"""How CLIP's tokenizer divides a text into words (Radford et al. 2021)."""

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class TextSettings:
    """How texts are prepared.

    Attributes:
        length: tokens at most, with those of beginning and end.
        fills: whether a text gets the full length.
        pad: the number of the token that fills up.
        clean: what is done to a text before: "", "lower" or open_clip's "canonicalize" (no punctuation, small letters).
    """

    length: int
    fills: bool
    pad: int
    clean: str = ""


class TextTokenizer:
    """Texts to token numbers; the tokenizer is read on first use."""

    def __init__(self, files: ModelFiles, config: Mapping[str, Any]) -> None:
        self._file = files.tokenizer
        self._files = files
        self._config = config
        self._setting = Lock()

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        if self._file.name == MERGES:
            return make_clip_tokenizer(read_merges(self._file))
        try:
            return Tokenizer.from_file(str(self._file))
        except Exception as error:  # the library raises plain exceptions
            raise BadInput(f"{self._file} cannot be read ({str(error)[:80]}): fetch it again") from error

    @cached_property
    def settings(self) -> TextSettings:
        """How this model's texts are prepared. Raises BadInput or EncoderMismatch: that is not known."""
        match self._files.layout:
            case "immich":
                said = self._config.get("text_cfg", {})
                clean = str(said.get("tokenizer_kwargs", {}).get("clean", ""))
                clean = clean if clean in {"lower", "canonicalize"} else ""
                return TextSettings(self._limit(said.get("context_length", CLIP_TOKENS)), True, self._find_pad(), clean)
            case "rclip":
                return TextSettings(CLIP_TOKENS, True, 0)
        is_siglip = str(self._config.get("model_type")).startswith("siglip")
        places = self._config.get("text_config", {}).get("max_position_embeddings")
        length = self._limit(places or (SIGLIP_TOKENS if is_siglip else self._said("model_max_length") or CLIP_TOKENS))
        return TextSettings(length, is_siglip, self._find_pad(), "lower" if is_siglip else "")

    def _limit(self, places: Any) -> int:
        """The smaller of the network's length and the tokenizer's, if that names one."""
        said = self._said("model_max_length")
        lengths = [n for n in (places, said) if isinstance(n, int | float) and 0 < n <= MAX_TOKENS]
        return int(min(lengths, default=CLIP_TOKENS))

    def _said(self, name: str) -> Any:
        """What the tokenizer's settings say under a name; special tokens may be written as objects."""
        for file in ("tokenizer_config.json", "special_tokens_map.json"):
            found = read_settings(self._file.with_name(file), needed=False).get(name)
            if found is not None:
                return found.get("content") if isinstance(found, Mapping) else found
        return None

    def _find_pad(self) -> int:
        token = self._said("pad_token")
        if token is None:
            known = self._tokenizer.padding
            return int(known["pad_id"]) if known else 0
        found = self._tokenizer.token_to_id(str(token))
        if found is None:
            raise EncoderMismatch(
                f"{self._file} does not know the padding token {str(token)[:30]!r} of tokenizer_config.json: "
                f"they belong to different models; {self._files.way_out}"
            )
        return int(found)

    def __call__(self, text: str, *, length: int | None = None) -> tuple[Int64[np.ndarray, " l"], int]:
        """Tokens of a text, and how many of them are not filling; `length`: what the network takes, if it is fixed."""
        with self._setting:  # it cannot be set while another thread uses it
            settings, tokenizer = self.settings, self._tokenizer
            most = min(settings.length, length or settings.length)
            if (tokenizer.truncation or {}).get("max_length") != most:
                tokenizer.enable_truncation(most)
                tokenizer.no_padding()
        ids = tokenizer.encode(clean_text(text, settings.clean)).ids
        full = length or (settings.length if settings.fills else len(ids))
        made_l = np.full(max(full, 1), settings.pad, np.int64)  # a tokenizer without begin and end makes nothing of ""
        made_l[: len(ids)] = ids
        return made_l, max(len(ids), 1)

    def describe(self) -> str:
        """All that the tokenizer's numbers depend on, as text: the same however its file is laid out."""
        if self._file.name == MERGES:
            return "\n".join(read_merges(self._file))
        try:
            known = json.loads(self._file.read_bytes())
            kept = {name: part for name, part in known.items() if name not in _UNUSED_PARTS}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise BadInput(f"{self._file} cannot be read ({str(error)[:80]}): fetch it again") from error
        return json.dumps(kept, sort_keys=True)


_UNUSED_PARTS = frozenset({"version", "truncation", "padding", "decoder"})
"""Parts of tokenizer.json that change nothing here: cutting and filling are set anew, and nothing is decoded."""


def clean_text(text: str, how: str) -> str:
    """A text as its model was trained on it: as it is, in small letters, or as open_clip's "canonicalize" has it.

    >>> clean_text("A Dog's  life!", "canonicalize"), clean_text("A Dog", "lower")
    ('a dogs life', 'a dog')
    """
    if how == "canonicalize":
        return " ".join(text.replace("_", " ").translate(_WITHOUT_PUNCTUATION).lower().split())
    return text.lower() if how == "lower" else text


def read_merges(file: Path) -> Sequence[str]:
    """The merges in a file of open_clip. Raises BadInput: it is damaged, or something else."""
    try:
        with gzip.open(file) as packed:
            text = packed.read(MAX_MERGES_BYTES).decode("utf-8")
    except (OSError, EOFError, ValueError) as error:
        raise BadInput(f"{file} cannot be read ({str(error)[:80]}): fetch it again") from error
    merges = text.split("\n")[1 : 1 + CLIP_MERGES]
    if len(merges) < CLIP_MERGES or any(len(merge.split()) != 2 for merge in merges):
        raise BadInput(f"{file} is cut short or holds no merges of CLIP's tokenizer: fetch it again")
    return merges


def make_clip_tokenizer(merges: Sequence[str]) -> Any:
    """CLIP's tokenizer from its merges alone: bytes, bytes that end a word, what is merged, and two marks."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import BPE

    letters = _byte_letters()
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokens = [*letters, *(letter + "</w>" for letter in letters), *(left + right for left, right in pairs)]
    begin, end = "<|startoftext|>", "<|endoftext|>"
    vocabulary = {token: row for row, token in enumerate([*tokens, begin, end])}
    made = Tokenizer(BPE(vocab=vocabulary, merges=pairs, end_of_word_suffix="</w>", unk_token=end))
    made.add_special_tokens([begin, end])
    made.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    words = pre_tokenizers.Split(Regex(CLIP_WORDS), behavior="removed", invert=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.post_processor = processors.RobertaProcessing((end, vocabulary[end]), (begin, vocabulary[begin]), False, False)
    return made


def _byte_letters() -> list[str]:
    """A letter for each byte: itself if it can be printed, else one above 255; printable ones first."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = 256 - len(printable)
    return [chr(code) for code in printable] + [chr(256 + n) for n in range(others)]
