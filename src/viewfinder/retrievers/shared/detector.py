"""A data set's own detector features: 36 regions a picture that a detector chose (Anderson et al. 2018), as published.

Drill-down was trained on them. They are read once, split by split, into arrays beside the data.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from viewfinder.data.visual_genome import Layout, find_layout, read_global_feature, read_region_features
from viewfinder.data.visual_genome.region_features import REGIONS, WIDTH
from viewfinder.data.visual_genome.regions import read_picture_ids
from viewfinder.encoders.features import Features
from viewfinder.encoders.features.chunks import Progress
from viewfinder.encoders.features.lookup import PictureFile
from viewfinder.encoders.features.precomputed import PictureVectors, collect_stored_vectors
from viewfinder.errors import BadInput

DETECTOR_VERSION = f"visual-genome-{REGIONS}x{WIDTH}-1"
"""The `raw_version` of these vectors."""


def has_detector_features(data: Path, *, whole: bool = False) -> bool:
    """Whether a folder in Drill-down's layout has them; `whole`: also vectors of whole pictures."""
    try:
        layout = find_layout(data)
    except BadInput:
        return False
    first = layout.region_features(0).parent
    return first.is_dir() and (not whole or layout.global_feature(0).parent.is_dir())


def read_detector_features(
    data: Path,
    split: str,
    *,
    whole: bool = False,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> Features:
    """The detector's vectors of the pictures of a split, with boxes; a picture without files is left out.

    A key is the path of the picture's file, or where the data set has no picture files its number.

    Args:
        data: a folder in Drill-down's layout of Visual Genome.
        split: one of its lists.
        whole: vectors of whole pictures (`global_features/`) are needed too; where there is no such folder they are
            zeros otherwise.
        out: where the arrays are kept; by default beside the data.
        progress: told how far it is.

    Raises:
        BadInput: there is no such folder, or none of its files can be read.
        UnknownName: no such split.
    """
    layout = find_layout(data)
    ids = dict.fromkeys(read_picture_ids(layout.split(split)))
    for folder, needed in ((layout.region_features(0).parent, True), (layout.global_feature(0).parent, whole)):
        if needed and not folder.is_dir():
            raise BadInput(f"{folder}: no such folder; detector features ({DETECTOR_VERSION}) are read from there")
    pictures = layout.pictures() or {}
    named = {_key(data, picture, pictures.get(picture)): picture for picture in ids}
    has_global = layout.global_feature(0).parent.is_dir()
    return collect_stored_vectors(
        data,
        DETECTOR_VERSION,
        [_source(layout, key, named[key]) for key in sorted(named)],
        lambda source: _read(layout, named[source.key], has_global=has_global),
        part=split if has_global else f"{split}-regions",
        made_by="a detector, precomputed",
        out=out,
        progress=progress,
    )


def _key(data: Path, picture: int, file: Path | None) -> str:
    return str(picture) if file is None else file.relative_to(data).as_posix()


def _source(layout: Layout, key: str, picture: int) -> PictureFile:
    try:
        facts = layout.region_features(picture).stat()
    except OSError:  # `read` says so, with the picture's name
        return PictureFile(key, 0, 0)
    return PictureFile(key, facts.st_size, facts.st_mtime_ns)


def _read(layout: Layout, picture: int, *, has_global: bool) -> PictureVectors:
    found = read_region_features(layout.region_features(picture))
    global_g = read_global_feature(layout.global_feature(picture)) if has_global else np.zeros(WIDTH, np.float32)
    return PictureVectors(global_g, found.features_nd, found.boxes_n4)
