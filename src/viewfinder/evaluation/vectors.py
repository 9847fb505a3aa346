"""The vectors of a data set's pictures, as a system needs them: cached, brought by the user, or a detector's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from viewfinder.data import read_catalogue
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import Features, features, read_vectors
from viewfinder.encoders.features.compute import Progress
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import Notify, Plan
from viewfinder.evaluation.raw import MappedVectors, raw_of
from viewfinder.evaluation.systems import region_space
from viewfinder.retrievers import RegionSpace, Retriever
from viewfinder.retrievers.shared.captioned_pictures import DETECTOR_VERSION, read_detector_features


def load_pictures(
    plan: Plan,
    encoder: Encoder,
    retriever: Retriever[Any],
    split: str | None = None,
    told: Notify = lambda line: None,
) -> Pictures:
    """The pictures of a data set: their vectors, with what a catalogue beside them says.

    Regions are computed when the system needs them for the first time. `split` is that of Drill-down's protocol, for
    a system that was trained on a detector's regions.

    Raises:
        BadInput: no pictures there, or vectors of another width than the encoder's.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    space = region_space(retriever)
    regions = bool({"regions", "named regions"} & set(retriever.needs)) or (space is not None and space.reads_regions)
    if plan.vectors is not None:
        if regions:
            raise BadInput(f"--vectors {plan.vectors}: one vector a picture, but {plan.system} looks at regions")
        return _brought(plan.vectors, encoder)
    if space is not None and space.raw_version == DETECTOR_VERSION:
        return _detected(plan, encoder, space, split, told)
    if space is not None and space.raw_version != encoder.raw_version:
        raise EncoderMismatch(
            f"{plan.system} was trained on vectors of {space.raw_version}, not {encoder.raw_version} "
            f"({encoder.name}): name its encoder with --encoder, or other weights with --checkpoint"
        )
    told("vectors of its pictures, with regions" if regions else "vectors of its pictures")
    try:
        cached = features(plan.data, encoder, regions=regions, out=plan.features, progress=by_tenths(told))
    except BadInput as error:
        advice = "" if regions else "; or give the pictures' vectors with --vectors FILE"
        raise BadInput(f"{error}{advice}") from error
    files = {key: str(plan.data / key) for key in cached.keys}
    attributes = {} if plan.catalogue is None else _attributes(plan.catalogue, cached.keys)
    vectors_nd = encoder.project(np.asarray(cached.raw_nd)).astype(np.float32)
    return Pictures(cached.keys, vectors_nd, encoder, files, attributes, raw_of(cached, files))


def load_raw_vectors(plan: Plan, encoder: Encoder) -> Callable[[Sequence[str]], Float32[np.ndarray, "n g"]]:
    """What gives raw vectors of the plan's pictures by their keys; nothing is read until it is asked.

    Raises:
        BadInput: when asked: no pictures there, or the vectors that the user brings are not raw ones.
    """

    @cache
    def known() -> MappedVectors:
        if plan.vectors is None:
            return raw_of(features(plan.data, encoder, out=plan.features), {})
        if (raw := _brought(plan.vectors, encoder).raw) is None:
            raise BadInput(f"--vectors {plan.vectors}: {plan.user} needs what {encoder.raw_version} sees; leave it out")
        assert isinstance(raw, MappedVectors)
        return raw

    def vectors(keys: Sequence[str]) -> Float32[np.ndarray, "n g"]:
        return np.asarray(known().raw_ng[[known().rows[key] for key in keys]], np.float32)

    return vectors


def by_tenths(told: Notify) -> Progress:
    """Tells how far a long work is, ten times at most; nothing where it is short."""
    said = {0}

    def progress(done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if total > 1000 and tenth not in said:
            said.add(tenth)
            told(f"  {done:,} of {total:,} pictures")

    return progress


def _brought(file: Path, encoder: Encoder) -> Pictures:
    """Vectors that the user brings; they are raw ones too, where the encoder makes no difference."""
    names, vectors_nd = read_vectors(file)
    width = encoder.words(["a picture"]).shape[1]
    if vectors_nd.shape[1] != width:
        raise BadInput(
            f"{file}: vectors of {vectors_nd.shape[1]} numbers, but words have {width} "
            f"with {encoder.name}; name the encoder that made them with --encoder"
        )
    order = np.argsort(np.array(names, dtype=object))
    keys = tuple(names[at] for at in order)
    sorted_nd = np.asarray(vectors_nd[order], np.float32)
    raw = MappedVectors(encoder.raw_version, {key: row for row, key in enumerate(keys)}, sorted_nd)
    return Pictures(keys, sorted_nd, encoder, raw=raw if encoder.raw_version == encoder.version else None)


def _detected(plan: Plan, encoder: Encoder, space: RegionSpace, split: str | None, told: Notify) -> Pictures:
    """The pictures that a detector has looked at; in the space of the encoder's words they are zeros."""
    if split is None:
        raise BadInput(f"{plan.data}: {plan.system} reads the regions of Visual Genome's detector: there are none here")
    told(f"regions of its {split} pictures, as the detector found them")
    whole = not space.reads_regions or (space.has_whole and space.regions > 1)
    found: Features = read_detector_features(plan.data, split, whole=whole, out=plan.features, progress=by_tenths(told))
    files = {key: str(file) for key in found.keys if (file := plan.data / key).is_file()}
    blank_nd = np.zeros((len(found), encoder.words(["a picture"]).shape[1]), np.float32)
    return Pictures(found.keys, blank_nd, encoder, files, raw=raw_of(found, files))


def _attributes(catalogue: Path, keys: Sequence[str]) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """What a catalogue says, by picture; several rows give several values."""
    rows_of = read_catalogue(catalogue).match(map(Path, keys))
    said: dict[str, dict[str, tuple[str, ...]]] = {}
    for path, rows in rows_of.items():
        values = said.setdefault(path.as_posix(), {})
        for row in rows:
            for column, value in row.values.items():
                values[column] = (*values.get(column, ()), value)
    return said
