"""Tuning: a head fitted on captions or catalogue columns of the user's own pictures, in minutes on a CPU.

Words that hold for many pictures of a collection are taught one by one, besides whole captions.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Bool

from viewfinder.data import match_keys, read_captions_csv, read_catalogue
from viewfinder.encoders.base import Calibration, Encoder
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.starter.fit import CaptionedVectors, FitSettings
from viewfinder.errors import BadInput
from viewfinder.index import Store
from viewfinder.index.scores import UNHEARD
from viewfinder.pictures import DecodedFile, Decoders, scan
from viewfinder.tuning.verdicts import count_familiar, fit_expected

LABEL_SHARE = (0.002, 0.5)
"""A word is a label if it holds for at least and at most this share of the pictures ..."""

LABEL_LEAST = 10
"""... and for at least so many: a word of two pictures is no kind of thing (small collections: a third of them)."""

NUMBER = re.compile(r"[\d.,:/ -]+")
"""A catalogue value that is no word."""

_LITTLE_WORDS_TEXT = """
the and with for from into onto out off over under near next its his her their this that these those are was were has
have had one two three who which what while there here some any all other another each very being been but not him she
they them you your our through around behind front top down along across
"""
_LITTLE_WORDS = frozenset(_LITTLE_WORDS_TEXT.split())
"""Words that say nothing about a picture on their own."""


def with_labels(
    kind: CaptionedVectors, encoder: StarterEncoder, said: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> CaptionedVectors:
    """The kind with the words that hold for many of its pictures, for `said` as in `labels_of`."""
    labels, holds_nl = labels_of(said)
    if not labels:
        return kind
    return replace(kind, labels=tuple(labels), labels_ls=encoder.sentences(labels), holds_nl=holds_nl)


def labels_of(said: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[list[str], Bool[np.ndarray, "n l"]]:
    """Words of texts, and whole catalogue values, that hold for a fair share of the pictures.

    They teach the head what single words such as colours mean, which whole names alone do not.

    >>> labels_of([(["Red shirt"], ["Men"]), (["Red dress"], ["Women"]), (["Blue hat"], ["Men"])])[0]
    ['blue', 'dress', 'hat', 'shirt', 'women']
    """
    words_n = [
        ({word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text.lower())} - _LITTLE_WORDS)
        | {value.lower() for value in values}
        for texts, values in said
    ]
    count = Counter(word for words in words_n for word in words)
    least = max(LABEL_SHARE[0] * len(said), min(LABEL_LEAST, len(said) / 3))
    most = LABEL_SHARE[1] * len(said)
    labels = sorted(word for word, held in count.items() if least <= held <= most)
    holds_nl = np.array([[label in words for label in labels] for words in words_n], dtype=bool)
    return labels, holds_nl.reshape(len(said), len(labels))


Tell = Callable[[str], None]

TUNED = FitSettings(ridge=0.5, whitening=0.7, names_mix=0.0)
"""The closed form where a collection brings its own captions: more than the shipped head has, and alike."""

FEWEST = 20
"""Captioned pictures below which there is nothing to hold out and compare with."""


class Library(Protocol):
    """What is tuned: a `viewfinder.library.Library`, which stands a floor higher and calls `tune`."""

    @property
    def store(self) -> Store:
        """The pictures and their raw vectors."""

    @property
    def encoder(self) -> Encoder:
        """With the head it has now."""

    def use_head(self, head: Head) -> None:
        """Switches to another head."""


@dataclass(frozen=True)
class TuneReport:
    """What `tune` came to: which head won, and each candidate's mean reciprocal rank on held-out pictures."""

    pictures: int
    texts: int
    chosen: str
    held_out: dict[str, float]
    space: str


def tune(
    library: Library, *, captions: Path | None = None, catalogue: Path | None = None, report: Tell | None = None
) -> TuneReport:
    """Fits a head on captions or catalogue columns of pictures in the library, and switches to it if it is better.

    The new space is built beside the present one from stored raw vectors, no picture is read again; the switch is
    one atomic step, and `Library.switch_back` undoes it.

    Raises:
        BadInput: another encoder than the starter, too few captioned pictures, or a damaged table.
    """
    tell = report or (lambda line: None)
    encoder = library.encoder
    if not isinstance(encoder, StarterEncoder):
        raise BadInput(f"only the encoder 'starter' can be tuned; this library was made with {encoder.name!r}")
    said = _said(library, captions, catalogue)
    if len(said) < FEWEST:
        raise BadInput(f"{len(said)} pictures with captions were found; tuning needs at least {FEWEST}")
    tell(f"{sum(len(texts) for texts, _ in said.values())} texts of {len(said)} pictures")
    kind = _captioned(library, encoder, said)
    from viewfinder.encoders.starter.refine import refine_head

    refined = refine_head(
        encoder.head, kind, TUNED, report=lambda epoch, mrr: tell(f"epoch {epoch}: held-out reciprocal rank {mrr:.3f}")
    )
    if refined.chosen != "shipped":
        library.use_head(replace(refined.head, calibration=_calibration(refined.head, encoder, kind)))
    return TuneReport(len(kind), len(kind.captions_ms), refined.chosen, refined.held_out, library.encoder.version)


def _calibration(head: Head, encoder: StarterEncoder, kind: CaptionedVectors) -> Calibration | None:
    """The curves that were measured on photographs, with the scores and words that these pictures have."""
    known = encoder.calibration
    if known is None:
        return None
    own = count_familiar(kind.texts)
    familiar = {
        word: max(known.familiar.get(word, UNHEARD), own.get(word, UNHEARD)) for word in {**known.familiar, **own}
    }
    return replace(known, expected=fit_expected(head, encoder.sentences, kind), familiar=familiar)


PictureTexts = tuple[list[str], list[str]]
"""Texts about a picture, and catalogue values that hold for it."""


def _said(library: Library, captions: Path | None, catalogue: Path | None) -> dict[Path, PictureTexts]:
    """What the tables say, by file: pictures of the library, or else files that lie beside the table."""
    there = [Path(file.path) for row in library.store.rows() for file in row.files]
    said: dict[Path, PictureTexts] = {}
    if captions is not None:
        pictures, _ = read_captions_csv(captions)
        for path, positions in _matched([str(picture.path) for picture in pictures], there, captions).items():
            texts, _ = said.setdefault(path, ([], []))
            texts += [text for at in positions for text in pictures[at].captions]
    if catalogue is not None:
        table = read_catalogue(catalogue)
        prose = prose_columns([row.values for row in table.rows])
        for path, positions in _matched([row.key for row in table.rows], there, catalogue).items():
            texts, values = said.setdefault(path, ([], []))
            for at in positions:
                cells = table.rows[at].values
                known = [cell for name, cell in cells.items() if name not in prose and not NUMBER.fullmatch(cell)]
                values += known
                texts += [cell for name, cell in cells.items() if name in prose] or [" ".join(known)]
    return said


def _matched(keys: Sequence[str], there: Sequence[Path], table: Path) -> dict[Path, list[int]]:
    """Positions of the keys by file; files beside the table serve where the library has none of that name."""
    found = match_keys(keys, there)
    files = dict(found.files)
    if found.unmatched:
        beside = [file.path for file in scan([table.resolve().parent]).files]
        others = match_keys([keys[at] for at in found.unmatched], beside)
        files |= {path: [found.unmatched[at] for at in positions] for path, positions in others.files.items()}
    return files


def prose_columns(rows: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Columns that are written anew for every row (names, descriptions) rather than chosen from a few values."""
    values: dict[str, list[str]] = {}
    for row in rows:
        for name, cell in row.items():
            values.setdefault(name, []).append(cell)
    many = {name: sum(len(cell.split()) > 1 for cell in cells) for name, cells in values.items()}
    return frozenset(n for n, cells in values.items() if min(len(set(cells)), many[n]) > len(cells) / 2)


def _captioned(library: Library, encoder: StarterEncoder, said: Mapping[Path, PictureTexts]) -> CaptionedVectors:
    """Raw vectors of the pictures (stored ones where the library has them) and sentence vectors of the texts."""
    ids = {file.path: row.id for row in library.store.rows() for file in row.files}
    known = [path for path in said if str(path) in ids]
    stored_nr = library.store.read_vectors_of(encoder.raw_version, [ids[str(path)] for path in known])
    raw = dict(zip(known, stored_nr.astype(np.float32), strict=True))
    if others := [path for path in said if path not in raw]:
        # Files outside the library; those that are no pictures are left out.
        with Decoders(os.cpu_count() or 1, fit=encoder.fit) as decoders:
            for outcome in decoders.decode(others):
                if isinstance(outcome, DecodedFile):
                    raw[outcome.path] = encoder.pictures([outcome.pixels]).global_bd[0]
    paths = sorted(raw)
    texts = [said[path][0] for path in paths]
    owners_m = np.repeat(np.arange(len(paths)), [len(found) for found in texts])
    captions = tuple(text for found in texts for text in found)
    raw_vnr = np.stack([raw[path] for path in paths])[None]
    kind = CaptionedVectors(raw_vnr, encoder.sentences(captions), owners_m, captions)
    return with_labels(kind, encoder, [said[path] for path in paths])
