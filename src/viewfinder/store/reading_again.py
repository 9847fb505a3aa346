"""Pictures of a library that are read once more from their files, for vectors that they have not got yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from viewfinder.conversation import PictureId
from viewfinder.pictures import BadFile, DecodedFile, Fit
from viewfinder.store.places import find_files
from viewfinder.store.reports import FillReport, Progress
from viewfinder.store.tables import pace_batches

Keep = Callable[[Mapping[PictureId, DecodedFile]], Mapping[PictureId, str]]
"""Stores what is made of some pictures; returns those of which nothing can be kept, each with the reason."""


def find_places(
    folder: Path, files: Mapping[PictureId, Sequence[str]]
) -> tuple[dict[PictureId, list[Path]], list[BadFile]]:
    """The files of pictures that are there, or their copies in a library's bucket; and the pictures without any."""
    there = {
        picture: [Path(path) for path in paths if os.path.lexists(path)] or list(find_files(folder, picture, paths))
        for picture, paths in files.items()
    }
    gone = [BadFile(Path((*files[picture], "")[0]), 0, 0, "gone") for picture, paths in there.items() if not paths]
    return {picture: paths for picture, paths in there.items() if paths}, gone


def read_again(
    files: Mapping[PictureId, Sequence[Path]],
    keep: Keep,
    *,
    fit: Fit,
    pixel_hashes: Mapping[PictureId, str],
    workers: int,
    progress: Progress,
    should_stop: Callable[[], bool] = lambda: False,
) -> FillReport:
    """Tries all pictures with their first files, then those that failed with their second, and so on.

    With their `pixel_hashes` also files whose metadata were edited. What `keep` stores of a batch is there after a
    crash. `should_stop` is asked between batches.
    """
    from viewfinder.pictures.sandbox import Decoders

    progress(0, len(files))
    made, bad = 0, dict[PictureId, BadFile]()
    todo, copy = [(picture, paths[0]) for picture, paths in files.items()], 0
    while todo:
        with Decoders(min(workers, len(todo)), fit=fit) as decoders:
            outcomes = zip([picture for picture, _ in todo], decoders.decode(path for _, path in todo), strict=True)
            for batch in pace_batches(outcomes):
                good: dict[PictureId, DecodedFile] = {}
                for picture, outcome in batch:
                    bad.pop(picture, None)
                    if isinstance(outcome, DecodedFile) and outcome.is_picture(picture, pixel_hashes.get(picture, "")):
                        good[picture] = outcome
                    else:
                        reason = outcome.reason if isinstance(outcome, BadFile) else "another picture by now"
                        bad[picture] = BadFile(outcome.path, outcome.size, outcome.mtime_ns, reason)
                refused = keep(good) if good else {}
                for picture, why in refused.items():
                    bad[picture] = BadFile(good[picture].path, good[picture].size, good[picture].mtime_ns, why)
                made += len(good) - len(refused)
                progress(made + len(bad), len(files))
                if should_stop():
                    return FillReport(made, tuple(bad.values()))
        copy += 1
        todo = [(picture, files[picture][copy]) for picture in bad if copy < len(files[picture])]
    return FillReport(made, tuple(bad.values()))
