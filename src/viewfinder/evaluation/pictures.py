"""The pictures of a data set as a gallery in memory: what a system is evaluated on, without a library on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from viewfinder.data import match_keys
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput
from viewfinder.index import FileRecord, Gallery, PictureRow, RawVectors, Snapshot


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures by key, in key order, with their vectors in the encoder's space and what a catalogue says of them.

    `files` says where a picture lies, for reports; a picture without a file is a vector only. `raw` is where raw
    vectors come from, for systems that make spaces of their own of them.
    """

    keys: tuple[str, ...]
    vectors_nd: Float32[np.ndarray, "n d"]
    encoder: Encoder
    files: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    raw: RawVectors | None = None

    def __post_init__(self) -> None:
        if list(self.keys) != sorted(set(self.keys)):
            raise ValueError("keys must be sorted, and no two alike: rows are found by bisection")
        if len(self.keys) != len(self.vectors_nd):
            raise BadInput(f"{len(self.vectors_nd)} vectors for {len(self.keys)} pictures: give one vector a picture")

    def gallery(self, keys: Sequence[str] | None = None, captions: Mapping[str, str] | None = None) -> Gallery:
        """All pictures, or those with these keys, as something to search in; `captions` by key, of some or all."""
        chosen = None if keys is None else frozenset(keys)
        rows = [row for row, key in enumerate(self.keys) if chosen is None or key in chosen]
        return Gallery(self._snapshot(rows, captions or {}), self.encoder, self.raw)

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """Keys by the names that a data set's files use: whole keys, ends of them, or file names without suffix."""
        known = frozenset(self.keys)
        found = {name: name for name in names if name in known}
        others = [name for name in names if name not in known]
        for path, positions in match_keys(others, map(Path, self.keys)).files.items():
            found |= {others[position]: path.as_posix() for position in positions}
        return found

    def _snapshot(self, rows: Sequence[int], captions: Mapping[str, str]) -> Snapshot:
        from viewfinder.index.rows import build_columns, pictures_to_arrow

        keys = [self.keys[row] for row in rows]
        pictures = [
            PictureRow(
                key,
                (FileRecord(self.files.get(key, key), 0, 0),),
                0,
                0,
                "",
                0,
                captions=(captions[key],) if captions.get(key) else (),
                attributes=self.attributes.get(key, {}),
            )
            for key in keys
        ]
        matrix_nd = self.vectors_nd if len(rows) == len(self.keys) else self.vectors_nd[np.asarray(rows, np.int64)]
        said = [captions.get(key, "") for key in keys] if captions else []
        mark = hashlib.blake2b("\n".join([self.encoder.version, *keys, *said]).encode(), digest_size=16).hexdigest()
        return Snapshot(
            np.ascontiguousarray(matrix_nd, dtype=np.float32),
            pictures_to_arrow(pictures),
            build_columns(pictures),
            space=self.encoder.version,
            generation=mark,
            folder=None,
        )
