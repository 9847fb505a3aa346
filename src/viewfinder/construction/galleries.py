"""Finds and describes pictures: a gallery seen through an encoder; captions, or a model that looks.

All scores are exact, in one pass (`index.scores`).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.construction.pipelines import FoundPicture, SampleNotMade
from viewfinder.construction.remembered import AnswerJournal, answer_key
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import Features
from viewfinder.errors import PictureError, UnknownName
from viewfinder.search.kernels import dot_scores, top_k


@dataclass(frozen=True, eq=False)
class NamedVectors:
    """Pictures by name, and their unit vectors in the space of an encoder."""

    names: tuple[str, ...]
    vectors_nd: Float32[np.ndarray, "n d"]

    @cached_property
    def rows(self) -> Mapping[str, int]:
        """Row numbers by picture name."""
        return {name: row for row, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class EncodedGallery:
    """The `GalleryRetriever` over vectors; `references` are the pictures for which similar ones are sought."""

    gallery: NamedVectors
    references: NamedVectors
    encoder: Encoder

    @property
    def images(self) -> Sequence[str]:
        """The gallery's pictures, those with vectors."""
        return self.gallery.names

    def find_nearest(self, image: str, most: int) -> list[FoundPicture]:
        """By cosine, nearest first; none for a picture without a vector."""
        row = self.references.rows.get(image)
        if row is None:
            return []
        scores_n = dot_scores(self.gallery.vectors_nd, self.references.vectors_nd[row])
        return self._take_best(scores_n, scores_n, most, without=image)

    def find_best(self, text: str, *, without: str) -> FoundPicture:
        """By the similarity to the text, beyond what the picture has to any text; `likeness` is the cosine."""
        cosines_n = dot_scores(self.gallery.vectors_nd, np.asarray(self.encoder.words([text])[0], np.float32))
        best = self._take_best(cosines_n - self._background_n, cosines_n, 1, without=without)
        if not best:
            raise SampleNotMade("the gallery has no other picture")
        return best[0]

    def _take_best(
        self, scores_n: Float[np.ndarray, " n"], cosines_n: Float[np.ndarray, " n"], most: int, *, without: str
    ) -> list[FoundPicture]:
        rows = [row for row in top_k(scores_n, most + 1).tolist() if self.gallery.names[row] != without]
        return [FoundPicture(self.gallery.names[row], float(cosines_n[row])) for row in rows[:most]]

    @cached_property
    def _background_n(self) -> Float[np.ndarray, " n"]:
        return self.encoder.background(self.gallery.vectors_nd)


def name_vectors(files: Mapping[str, Path], features: Features, encoder: Encoder) -> NamedVectors:
    """The vectors of pictures by their names; those without one are left out."""
    rows: dict[str, int] = {}
    for name, file in files.items():
        try:
            rows[name] = features.row_of(file)
        except UnknownName:
            continue
    raw_nr = np.asarray(features.raw_nd[list(rows.values())])
    return NamedVectors(tuple(rows), np.asarray(encoder.project(raw_nr), np.float32))


BY_CAPTIONS = "captions"
"""The captioner that repeats the captions of the data set."""


@dataclass(frozen=True)
class KnownCaptions:
    """The `Captioner` of a captioned data set: one of the captions of a picture, always the same."""

    captions: Mapping[str, Sequence[str]]
    seed: int = 0
    name: str = BY_CAPTIONS

    def caption(self, image: str) -> str:
        """See `Captioner`."""
        known = self.captions.get(image, ())
        if not known:
            raise SampleNotMade("the picture that was found has no caption")
        return random.Random(f"viewfinder/caption/{self.seed}/{image}").choice(known)


@dataclass(frozen=True)
class ModelCaptioner:
    """The `Captioner` that lets a model look, at one picture at a time and never twice at the same.

    `files` has pictures by their names in samples; a caption stays valid as long as the file is unchanged.
    """

    name: str
    look: Callable[[Path], str]
    files: Mapping[str, Path]
    journal: AnswerJournal
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def caption(self, image: str) -> str:
        """See `Captioner`."""
        facts = self.files[image].stat()
        key = answer_key(self.name, image, f"{facts.st_size} {facts.st_mtime_ns}")
        return self.journal.answer(key, self.name, lambda: self._describe(self.files[image]))

    def _describe(self, file: Path) -> str:
        try:
            with self._lock:
                said = self.look(file)
        except PictureError as error:
            raise SampleNotMade("the picture that was found cannot be read") from error
        if not said.strip():
            raise SampleNotMade("the captioner says nothing of the picture that was found")
        return " ".join(said.split())
