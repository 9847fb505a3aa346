"""Frozen sentence vectors of a training's many texts, computed once and kept in files.

    said = SentenceVectors.of(described.texts(), encoder, folder, notify)
    vectors_ts = said.matrix_ns[said.rows(described.dialogue(0))]

    <folder>/<version>/<hash of its texts>.safetensors      vectors of up to 512 texts, and the texts

A file exists complete or not at all, so an interrupted call resumes where it stopped; another set of texts adds only
what is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from jaxtyping import Float16, Int

from viewfinder.encoders.base import Encoder, to_file_name
from viewfinder.errors import UnknownName
from viewfinder.processors import count_processors
from viewfinder.whole_files import write_file

MAX_TEXTS = 512
"""Texts acknowledged together: a few seconds of work."""

Notify = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Texts, sorted, each once; row i is the unit vector of `texts[i]`; `version` identifies the numbers."""

    texts: tuple[str, ...]
    matrix_ns: Float16[np.ndarray, "n s"]
    version: str

    @staticmethod
    def of(
        texts: Sequence[str],
        encoder: Encoder,
        folder: Path,
        notify: Notify = lambda line: None,
        *,
        threads: int | None = None,
    ) -> SentenceVectors:
        """The vectors of `texts` as `encoder.sentences` gives them: read from `folder`, or computed.

        `threads` work at the same time: by default one per core for the starter, whose network uses one core and no
        interpreter; transformers models use all cores by themselves.
        """
        wanted = tuple(sorted(set(texts)))
        place = folder / to_file_name(encoder.sentences_version)
        place.mkdir(parents=True, exist_ok=True)
        known = _read_known(place)
        missing = [text for text in wanted if text not in known]
        if missing:
            count = threads or (count_processors() if encoder.name == "starter" else 1)
            known |= _compute_missing(missing, encoder, place, notify, count)
        return SentenceVectors(wanted, np.stack([known[text] for text in wanted]), encoder.sentences_version)

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, texts: Sequence[str]) -> Int[np.ndarray, " t"]:
        """The rows of some texts; UnknownName if one of them is not among those that were encoded."""
        try:
            return np.fromiter((self._row_of[text] for text in texts), np.intp, len(texts))
        except KeyError as error:
            raise UnknownName(f"no sentence vector was made of {error.args[0]!r}") from None

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(self.texts)}


def _read_known(place: Path) -> dict[str, Float16[np.ndarray, " s"]]:
    """Reads the vectors in the files; a damaged file is removed, and so made again."""
    from safetensors import SafetensorError, safe_open

    found: dict[str, Float16[np.ndarray, " s"]] = {}
    for file in sorted(place.glob("*.safetensors")):
        try:
            with safe_open(file, framework="np") as chunk:
                texts, rows_ns = json.loads(chunk.metadata()["texts"]), chunk.get_tensor("sentences")
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            file.unlink(missing_ok=True)
            continue
        found |= dict(zip(texts, rows_ns, strict=True))
    return found


def _compute_missing(
    missing: Sequence[str], encoder: Encoder, place: Path, notify: Notify, threads: int
) -> dict[str, Float16[np.ndarray, " s"]]:
    """Encodes what is missing, chunk by chunk, and writes it; `notify` is told of every tenth."""
    chunks = [missing[at : at + MAX_TEXTS] for at in range(0, len(missing), MAX_TEXTS)]
    found: dict[str, Float16[np.ndarray, " s"]] = {}
    tenth = -1
    with ThreadPoolExecutor(threads) as pool:
        for texts, rows_ns in zip(chunks, pool.map(partial(_encode_and_write, encoder, place), chunks), strict=True):
            found |= dict(zip(texts, rows_ns, strict=True))
            if 10 * len(found) // len(missing) > tenth:
                tenth = 10 * len(found) // len(missing)
                notify(f"sentence vectors: {len(found):,} of {len(missing):,}")
    return found


def _encode_and_write(encoder: Encoder, place: Path, texts: Sequence[str]) -> Float16[np.ndarray, "n s"]:
    """The vectors of a chunk, once they are on disk."""
    from safetensors.numpy import save

    rows_ns = np.ascontiguousarray(encoder.sentences(texts), np.float16)
    mark = hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
    content = save({"sentences": rows_ns}, metadata={"texts": json.dumps(list(texts), ensure_ascii=False)})
    write_file(place / f"{mark}.safetensors", content, lasting=True)
    return rows_ns
