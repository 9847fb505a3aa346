"""What is to be constructed, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.construction.captioners import CAPTIONS
from viewfinder.construction.pictures import Part
from viewfinder.construction.pipelines import PIPELINES, Pipeline
from viewfinder.data.truth import TRUTH_FILE
from viewfinder.worlds.chatsearch import LEAST_LIKENESS

WORLD = "world"
"""The generator that says what a world knows of its pictures."""

THRESHOLD = 0.6
"""Of cosines of pictures: on Flickr8k's photographs four of five have one this near. A world has its own measure."""

CEILING = 0.98

Notify = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ConstructionOrder:
    """Samples to be made.

    Attributes:
        data: captioned pictures: captions.csv beside images/, or COCO's; a world has its truth too.
        out: the folder of the samples; that of the data, or another one, into which pictures are linked.
        pipelines: which; `merge` makes what it joins, and writes it only if that is named too.
        split: which pictures, and what the files are called.
        generator: "world", or a language model as `language.load_language_model` takes it; None: the world's truth
            where there is one, else the model that the environment names.
        gallery: pictures that may be found: a folder, or a library; None: those of the split, in a world that writes
            itself by their truth.
        captioner: "captions" (what the data says), or BLIP by hub name or folder.
        encoder: what sees pictures of a gallery, unless it is a library with one of its own.
        features: where vectors of the data's pictures are kept; None: with the data.
        threshold: how like a target must be to its reference; None: 0.6 of cosines, 0.4 of a world's measure.
        ceiling: above this it counts as a copy.
        count: pictures to begin with, taken evenly; None: all.
        only_targets: galleries list the pictures that samples have, not all that could have been found.
        seed: of everything that is drawn.
        at_once: pictures that are worked on at a time.
        seconds: a language model's answer takes no longer, or counts as none.
    """

    data: Path
    out: Path
    pipelines: tuple[Pipeline, ...] = PIPELINES
    split: Part = "train"
    generator: str | None = None
    gallery: Path | None = None
    captioner: str = CAPTIONS
    encoder: str = "starter"
    features: Path | None = None
    threshold: float | None = None
    ceiling: float = CEILING
    count: int | None = None
    only_targets: bool = False
    seed: int = 0
    at_once: int = 1
    seconds: float = 60.0

    @property
    def writes_truth(self) -> bool:
        """Whether sentences come from a world's truth."""
        return self.generator == WORLD or (self.generator is None and (self.data / TRUTH_FILE).is_file())

    @property
    def finds_by_truth(self) -> bool:
        """Whether neighbours do, too."""
        return self.writes_truth and self.gallery is None

    @property
    def least_likeness(self) -> float:
        """The threshold that counts."""
        if self.threshold is not None:
            return self.threshold
        return LEAST_LIKENESS if self.finds_by_truth else THRESHOLD

    @property
    def in_place(self) -> bool:
        """Whether samples are written to the data set's own folder."""
        return self.out.resolve() == self.data.resolve()


@dataclass(frozen=True)
class ConstructionReport:
    """What was made.

    Attributes:
        out: the folder.
        ended: False where the run was stopped; then no file was written, and what models wrote is kept.
        pictures: with how many was begun, as far as it came.
        made: samples by pipeline.
        dropped: pictures by pipeline and reason.
        files: what was written, as paths below `out`.
        generator, captioner: their names.
        asked: answers of models that were new; others were known.
        left_out: what the readers of the data left out.
    """

    out: Path
    ended: bool
    pictures: int
    made: Mapping[Pipeline, int]
    dropped: Mapping[Pipeline, Mapping[str, int]]
    generator: str
    captioner: str
    asked: int = 0
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = field(default=())
