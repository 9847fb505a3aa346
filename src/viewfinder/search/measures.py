"""What likeness means among the pictures of a collection, measured once and kept beside their snapshot."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Encoder
from viewfinder.encoders.scale import BOX, Scale, find_scale, find_temperature, share_background
from viewfinder.encoders.vectors import check_finite, check_texts
from viewfinder.search.own_scale import OwnScale, measure_levels, measure_usual, name_sayings, read_sayings
from viewfinder.search.samples import SAMPLE, Moments, Samples, sample_rows
from viewfinder.store.half_rows import HalfRows
from viewfinder.store.snapshot import Snapshot

SCALE_SAMPLE, SCALE_VERSION = 500, 1
"""Pictures on which the scale of an encoder is measured, and the version of what is computed of them."""


class Measures:
    """Measures of a snapshot seen through an encoder, each taken on the first call."""

    def __init__(self, snapshot: Snapshot, encoder: Encoder) -> None:
        self._snapshot, self._encoder = snapshot, encoder

    @cached_property
    def background_n(self) -> Float32[np.ndarray, " n"]:
        """How well each picture answers any text at all: as the encoder says, or else by the sayings."""
        known_n = self._snapshot.derived(
            f"background-{self._encoder.version}",
            lambda snapshot: check_finite(
                self._find_background(snapshot.matrix_nd), self._encoder, "how well pictures answer any text"
            ),
            by_row=True,
        )
        if self.scale.is_of_box or known_n.any():
            return known_n
        return share_background(self.levels_n2[:, 0], self.scale.level)

    def _find_background(self, vectors_nd: Float32[np.ndarray, "n d"] | HalfRows) -> Float[np.ndarray, " n"]:
        if not isinstance(vectors_nd, HalfRows):
            return self._encoder.background(vectors_nd)
        return np.concatenate([np.empty(0, np.float32), *map(self._encoder.background, vectors_nd.blocks())])

    @cached_property
    def sayings_bd(self) -> Float32[np.ndarray, "b d"]:
        """Vectors of the sayings that every library is asked."""
        return self._snapshot.derived_of_texts(
            f"sayings-{name_sayings()}-{self._encoder.version}",
            lambda: check_texts(self._encoder.words(read_sayings()), read_sayings(), self._encoder).astype(np.float32),
        )

    @cached_property
    def levels_n2(self) -> Float32[np.ndarray, "n 2"]:
        """Mean and deviation of each picture's likeness to the sayings."""
        return self._snapshot.derived(
            f"levels-{name_sayings()}-{self._encoder.version}",
            lambda snapshot: measure_levels(snapshot.matrix_nd, self.sayings_bd),
            by_row=True,
        )

    @cached_property
    def scale(self) -> Scale:
        """What brings likeness to the scale of the encoder in the box: the encoder's own, or measured here."""
        known, pictures = find_scale(self._encoder), len(self._snapshot)
        if known is not None or not pictures:
            return known or BOX
        # Not above: a server of the starter would load it for nothing.
        from viewfinder.encoders.measured_scale import measure_scale

        rows_k, temperature = sample_rows(pictures, SCALE_SAMPLE), find_temperature(self._encoder)

        def measure(snapshot: Snapshot) -> Float32[np.ndarray, " numbers"]:
            vectors_kd = np.asarray(snapshot.matrix_nd[rows_k], np.float32)
            levels_k2 = self.levels_n2[rows_k]
            found = measure_scale(vectors_kd, levels_k2[:, 1], self.sayings_bd, temperature)
            return np.array([found.words, found.pictures, *found.texts, np.median(levels_k2[:, 0])], np.float32)

        name = f"scale-{SCALE_VERSION}-{name_sayings()}-{temperature}-{self._encoder.version}"
        words, alike, slope, offset, level = self._snapshot.derived(name, measure).tolist()
        return Scale(words, alike, (slope, offset), level)

    @cached_property
    def own_scale(self) -> OwnScale:
        """What scores mean among these pictures; of at least one picture."""
        background_n, levels_n2, sayings_bd = self.background_n, self.levels_n2, self.sayings_bd
        usual_1 = self._snapshot.derived(
            f"usual-{name_sayings()}-{self._encoder.version}",
            lambda snapshot: np.array(
                [measure_usual(snapshot.matrix_nd, background_n, levels_n2, sayings_bd)], np.float32
            ),
            by_sample=True,
        )
        return OwnScale(sayings_bd, levels_n2, background_n, float(usual_1[0]))

    @cached_property
    def samples(self) -> Samples:
        """Samples on which the scores of all pictures are estimated."""
        return Samples(self._snapshot.matrix_nd, self.background_n, self._encoder.vocabulary)

    @cached_property
    def moments(self) -> Moments:
        """Those of the large sample, kept beside the snapshot: of ten million pictures, it is gigabytes to read."""

        def compute(_: Snapshot) -> Float32[np.ndarray, "v w"]:
            found = self.samples.measure_moments()
            return np.vstack([found.mean_w, found.covariance_ww])

        name = f"moments-{SAMPLE}-{name_sayings()}-{self._encoder.version}"
        rows_vw = self._snapshot.derived(name, compute, by_sample=True)
        return Moments(rows_vw[0], rows_vw[1:])

    def measure_spread(self, vector_d: Float[np.ndarray, " d"], centred: float) -> tuple[float, float]:
        """Mean and deviation of all pictures' likeness to a vector, less `centred` times their background."""
        from viewfinder.search.approximate import as_query  # not in every turn

        return self.moments.measure(as_query(vector_d, centred))
