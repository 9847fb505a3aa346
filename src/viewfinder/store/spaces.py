"""Spaces of a library: what an encoder makes of the stored raw vectors; with them, no picture is read again.

<library>/heads/<fingerprint>.safetensors    a head tuned on this library, which makes a space of its own
                <fingerprint>.crc32          its checksum
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Calibration, Encoder
from viewfinder.encoders.vectors import check_rows, find_unusable
from viewfinder.errors import PartFailed
from viewfinder.store.checksums import checksum_file
from viewfinder.store.places import find_bucket
from viewfinder.store.rows import PictureRow
from viewfinder.store.settings import KeptEncoder, Settings
from viewfinder.store.store import Store
from viewfinder.store.tables import private_files

CHECKSUM = ".crc32"
"""Suffix of the file that holds a head's checksum."""

MAX_PROJECTED = 4096
"""Pictures whose vectors are projected together."""


class SpaceHead(Protocol):
    """A head that an encoder of a library can be given: of the starter, or of the words of any other."""

    @property
    def calibration(self) -> Calibration | None:
        """What scores mean with it, if that was measured."""

    def fingerprint(self) -> str:
        """A name for its numbers."""

    def save(self, file: Path) -> None:
        """Writes it to a file."""


def build_space(store: Store, encoder: Encoder) -> None:
    """Builds the space of an encoder from the stored raw vectors, in place of one of that name."""
    ids, raw_nr = store.read_vectors(encoder.raw_version)
    chunks = (slice(at, at + MAX_PROJECTED) for at in range(0, len(ids), MAX_PROJECTED))
    store.write_space(encoder.version, (_project_usable(encoder, ids[chunk], raw_nr[chunk]) for chunk in chunks))


def find_lacking(store: Store, space: str) -> list[PictureRow]:
    """The pictures that have no vector in a space, by id. Raises UnknownName: there is no such space."""
    lacking = store.find_lacking(space)  # as a rule none: not all rows are read
    return sorted(store.rows_of(lacking), key=lambda row: row.id)


def complete_space(store: Store, space: str, encoder: Encoder, lacking: Sequence[PictureRow]) -> None:
    """Adds pictures that came after a space was built to it."""
    rows = {row.id: row for row in lacking}
    made, vectors_nd = _project_usable(encoder, list(rows), store.read_vectors_of(encoder.raw_version, list(rows)))
    store.add([rows[picture] for picture in made], {space: vectors_nd})


def _project_usable(
    encoder: Encoder, ids: Sequence[str], raw_nr: Float[np.ndarray, "n raw"]
) -> tuple[list[str], Float[np.ndarray, "m d"]]:
    """The vectors of these pictures in an encoder's space, without those whose raw vectors cannot be used.

    Raises PartFailed: the encoder gives vectors that cannot be used for others.
    """
    spoilt = find_unusable(raw_nr)  # as earlier versions stored them
    kept = [row for row in range(len(ids)) if row not in spoilt]
    vectors_md = check_rows(encoder.project(raw_nr[kept]), len(kept), encoder)
    if unusable := find_unusable(vectors_md):
        first, why = next(iter(unusable.items()))
        raise PartFailed(
            f"the space {encoder.version} cannot be made: of {len(unusable):,} pictures the encoder or its head gives "
            f"vectors that cannot be used (first: {ids[kept[first]]}: {why}); the present space stays as it is"
        )
    return [ids[row] for row in kept], vectors_md


def has_space(store: Store, encoder: Encoder) -> bool:
    """Whether there are pictures, and a space of this encoder."""
    return encoder.version in store.spaces() and not store.is_empty()


def accepts(kept: KeptEncoder, encoder: Encoder) -> bool:
    """Whether the encoder's version says that it made the vectors that are kept. 1 us."""
    if kept.space is None:
        return kept.raw is None or encoder.raw_version in (kept.raw, *kept.known_as)
    return encoder.version == kept.space or encoder.version in kept.known_as


def save_head(folder: Path, head: SpaceHead) -> str:
    """Saves a head with its checksum; returns its path in the library."""
    # Heads that differ only in what their scores mean share one space, but have files of their own.
    name = f"heads/{head.fingerprint()}-{zlib.crc32(repr(head.calibration).encode()):08x}"
    file, checksum = f"{name}.safetensors", f"{name}{CHECKSUM}"
    with private_files(folder):
        head.save(folder / file)
        (folder / checksum).write_text(f"{checksum_file(folder / file):08x}\n", encoding="utf-8")
    if (bucket := find_bucket(folder)) is not None:
        bucket.push(file, checksum)
    return file


def is_sound_head(file: Path) -> bool:
    """Whether a head is there and, if its checksum is known, as it was saved."""
    try:
        noted = file.with_suffix(CHECKSUM).read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return file.is_file()
    return file.is_file() and f"{checksum_file(file):08x}" == noted


def find_damaged_heads(folder: Path, settings: Settings) -> list[str]:
    """The heads that a library's settings name and that are missing, or not as they were saved."""
    named = {settings.head, None if settings.previous is None else settings.previous[1]} - {None}
    return sorted(str(head) for head in named if not is_sound_head(folder / str(head)))
