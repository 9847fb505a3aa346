"""The encoders of a library: whether one is that which made the stored vectors, and vectors that it has yet to make.

A space that lacks pictures is never searched, and what an encoder makes of words is never compared with pictures of
another. Versions tell; where they differ, a few pictures are read again, because a version may change for reasons that
change no number: an earlier viewfinder made it of the bytes of files, a later transformers may name weights otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.origins import pin_encoder
from viewfinder.encoders.vectors import check_rows, check_texts, find_unusable, say_no_vector
from viewfinder.errors import EncoderMismatch
from viewfinder.pictures import BadFile, DecodedFile, Decoders
from viewfinder.processors import count_processors
from viewfinder.store.reading_again import find_places, read_again
from viewfinder.store.reports import FillReport, Progress
from viewfinder.store.rows import PictureRow
from viewfinder.store.settings import KeptEncoder
from viewfinder.store.spaces import accepts, build_space
from viewfinder.store.store import Store

SAME_VECTOR = 1e-3
"""Relative distance below which two raw vectors, of which one was stored in half precision, are of the same pixels."""

MAX_TRIED = 64
"""Pictures of which it is looked whether their files are there."""

SAME_WORDS = 2e-3
"""Difference of two numbers of unit vectors of a text, at most, where one encoder made both."""

SAMPLE, MIN_SAMPLE = 8, 3
"""Pictures that are read again to recognise an encoder; with fewer it is not told, unless the library has no more."""

SAID_TEXTS, SAID_NUMBERS = ("a dog in the snow", "two people at a table", "a red car"), 8
"""Texts of whose vectors the first numbers are kept, to recognise how an encoder reads words."""

MAX_KNOWN_AS = 8


@runtime_checkable
class Renamed(Protocol):
    """An encoder that earlier viewfinders knew under other versions."""

    def former_versions(self) -> tuple[str, ...]:
        """These versions."""
        ...


class Sameness(Enum):
    """What an encoder is to vectors that are stored."""

    SAME = "its version says that it made them"
    RENEWED = "its raw vectors are these, its head is another one"
    RECOGNISED = "its version is another one, its numbers are these"
    OTHER_WORDS = "its numbers of pictures are these, of words they are others"
    OTHER = "it makes other numbers"
    UNTOLD = "its version is another one, and no picture is there to compare"


def compare_encoder(
    store: Store,
    kept: KeptEncoder,
    encoder: Encoder,
    reads_alike: Callable[[KeptEncoder, Encoder], bool | None] | None = None,
) -> Sameness:
    """What a loaded encoder is to the vectors that are kept; reads a few pictures if the versions do not tell.

    `reads_alike` says whether words are read as before, None where that is not known.
    """
    if accepts(kept, encoder):
        return Sameness.SAME
    if has_old_space(kept, encoder):
        return Sameness.RENEWED
    raw = kept.raw or kept.space
    if raw is None or raw not in store.spaces():  # nothing was made yet, or it is lost
        return Sameness.SAME if kept.space is None else Sameness.UNTOLD
    if isinstance(encoder, Renamed) and raw in encoder.former_versions():
        return Sameness.RECOGNISED
    compared = _compare_pictures(store, raw, encoder)
    if not compared:
        return Sameness.UNTOLD if compared is None else Sameness.OTHER
    is_alike = (reads_alike or reads_words_alike)(kept, encoder)
    return Sameness.OTHER_WORDS if is_alike is False else Sameness.RECOGNISED


def has_old_space(kept: KeptEncoder, encoder: Encoder) -> bool:
    """Whether the space was made by an earlier head, from raw vectors that the encoder still gives."""
    if kept.head is not None or kept.space is None or accepts(kept, encoder):
        return False
    return kept.raw == encoder.raw_version or kept.space.startswith(f"{encoder.raw_version}-")


def _compare_pictures(store: Store, raw: str, encoder: Encoder) -> bool | None:
    """Whether the encoder makes the stored raw vectors of a sample of pictures; None: too few have their files."""
    there = store.ids_with_vectors(raw)
    rows = [row for row in store.rows() if row.files and row.id in there]
    spread = np.linspace(0, len(rows) - 1, min(len(rows), MAX_TRIED)).astype(int).tolist()
    by_id = {rows[at].id: rows[at] for at in dict.fromkeys(spread)}
    places, _ = find_places(store.folder, {row.id: [file.path for file in row.files] for row in by_id.values()})
    sample = dict(list(places.items())[:: max(len(places) // SAMPLE, 1)])
    compared, wanted = 0, min(MIN_SAMPLE, len(rows))
    with Decoders(1, fit=encoder.fit) as decoders:
        outcomes = list(decoders.decode(paths[0] for paths in sample.values()))
    for picture, outcome in zip(sample, outcomes, strict=True):
        if not isinstance(outcome, DecodedFile) or not outcome.is_picture(picture, by_id[picture].pixels or ""):
            continue
        made_1r = check_rows(encoder.pictures([outcome.pixels]).global_bd, 1, encoder)
        stored_1r = store.read_vectors_of(raw, [picture]).astype(np.float32)
        is_same = made_1r.shape == stored_1r.shape
        if not is_same or np.linalg.norm(made_1r - stored_1r) > SAME_VECTOR * np.linalg.norm(stored_1r):
            return False
        compared += 1
    return True if compared >= wanted and compared else None


def sample_words(encoder: Encoder) -> tuple[float, ...]:
    """Some numbers of what an encoder makes of words."""
    words_nd = check_texts(encoder.words(list(SAID_TEXTS)), SAID_TEXTS, encoder)
    return tuple(round(float(number), 5) for number in words_nd[:, :SAID_NUMBERS].ravel())


def reads_words_alike(kept: KeptEncoder, encoder: Encoder) -> bool | None:
    """Whether an encoder reads words as the kept one did; None: that was not kept."""
    if not kept.said:
        return None
    now = sample_words(encoder)
    return len(now) == len(kept.said) and bool(np.abs(np.subtract(now, kept.said)).max(initial=0) <= SAME_WORDS)


def describe_encoder(kept: KeptEncoder, encoder: Encoder, *, before: KeptEncoder | None = None) -> KeptEncoder:
    """What is kept of an encoder that makes, or made, the vectors: its versions, its pin, how it reads words.

    `before`: what was kept of it under another version, which stays known.
    """
    pin = pin_encoder(encoder, kept.pin)
    said = kept.said
    if pin is not None and not reads_words_alike(kept, encoder):
        said = sample_words(encoder)
    known = [] if before is None else [before.raw, before.space, *before.known_as]
    names = [name for name in dict.fromkeys([*kept.known_as, *known]) if name not in (None, encoder.version)]
    return replace(kept, raw=encoder.raw_version, pin=pin, said=said, known_as=tuple(map(str, names))[:MAX_KNOWN_AS])


def take_recognised(store: Store, kept: KeptEncoder, encoder: Encoder) -> KeptEncoder:
    """Names the kept vectors as a recognised encoder does, too; returns what is kept then. No picture is read."""
    raw = kept.raw or kept.space
    assert raw is not None
    store.name_alike(raw, encoder.raw_version)
    found = describe_encoder(kept, encoder, before=kept)
    if kept.space is None:
        return found
    if encoder.version != encoder.raw_version:
        build_space(store, encoder)
    return replace(found, space=encoder.version)


def explain_mismatch(kept: KeptEncoder, encoder: Encoder, sameness: Sameness) -> EncoderMismatch:
    """The line for an encoder that did not make the vectors that are kept."""
    name, former, now = kept.encoder, kept.raw or kept.space, encoder.raw_version
    again = f"`viewfinder add --encoder {name}` makes them anew, from the pictures' files"
    if sameness is Sameness.OTHER_WORDS:
        return EncoderMismatch(
            f"the encoder {name} reads words otherwise than when it was added, pictures as before: put its former "
            f"files back, or take it as it is with `viewfinder add --encoder {name}`, which reads no picture again"
        )
    if sameness is Sameness.UNTOLD:
        return EncoderMismatch(
            f"the encoder {name} has another version ({now}) than the one that made this library's vectors ({former}), "
            f"and too few of the pictures' files are there to compare: make them available, or {again}"
        )
    return EncoderMismatch(
        f"the encoder {name} is another model ({now}) than the one that made this library's vectors ({former}): put "
        f"the former back, say with `viewfinder encoder move {name} PLACE` where it lies now, or {again}"
    )


# -- vectors that are lacking


def list_lacking(store: Store, space: str) -> list[PictureRow]:
    """The pictures with files that have no vector in a space, or in none of that name."""
    there = store.ids_with_vectors(space)
    if len(there) == store.count():
        return []
    return [row for row in store.rows() if row.files and row.id not in there]


def fill_vectors(
    store: Store,
    encoder: Encoder,
    lacking: Sequence[PictureRow],
    *,
    is_searched: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> FillReport:
    """Makes raw vectors of pictures from their files, in batches that survive a crash; the caller holds the library.

    `is_searched`: of the active encoder. What cannot be made is told, with the reason.
    """
    space = encoder.raw_version

    def keep(good: Mapping[str, DecodedFile]) -> Mapping[str, str]:
        names, made_bd, refused = encode_usable(encoder, good)
        store.add_vectors(space, names, made_bd)
        return refused

    files = {row.id: [file.path for file in row.files] for row in lacking}
    wanted, gone = find_places(store.folder, files)
    filled = FillReport()
    if wanted:
        filled = read_again(
            wanted, keep, fit=encoder.fit, pixel_hashes={row.id: row.pixels or "" for row in lacking},
            workers=workers or count_processors(), progress=progress or (lambda done, total: None),
            should_stop=should_stop,
        )  # fmt: skip
        if filled.made:
            store.announce_vectors(space, is_searched=is_searched)
    return FillReport(filled.made, (*gone, *filled.left_out))


def encode_usable(
    encoder: Encoder, pictures: Mapping[str, DecodedFile]
) -> tuple[list[str], Float[np.ndarray, "m raw"], dict[str, str]]:
    """The raw vectors of pictures without those that cannot be used, and these with the reason."""
    made_bd = check_rows(encoder.pictures([it.pixels for it in pictures.values()]).global_bd, len(pictures), encoder)
    unusable = find_unusable(made_bd)
    kept = [row for row in range(len(pictures)) if row not in unusable]
    names = list(pictures)
    refused = {names[row]: say_no_vector(encoder, why) for row, why in unusable.items()}
    return [names[row] for row in kept], made_bd[kept], refused


def explain_lacking(name: str, lacking: Sequence[PictureRow], left_out: Sequence[BadFile]) -> str:
    """Why an encoder lacks pictures, and what to do."""
    first = f"{left_out[0].path}: {left_out[0].reason}" if left_out else str(Path(lacking[0].files[0].path))
    pictures = "1 picture" if len(lacking) == 1 else f"{len(lacking):,} pictures"
    return (
        f"the encoder {name} has no vector of {pictures} (first: {first}): `viewfinder prune` forgets those whose "
        f"files are gone, `viewfinder remove` others; then `viewfinder encoder use {name}`"
    )
