"""What pictures show: by the captions that a data set has, or by a model that looks at them."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from viewfinder.construction.parts import Captioner, SampleNotMade
from viewfinder.errors import PictureError
from viewfinder.users.base import Describer

CAPTIONS = "captions"
"""The captioner that says what is said already."""


@dataclass(frozen=True)
class KnownCaptions:
    """The `Captioner` of a captioned data set: one of the captions of a picture, always the same."""

    captions: Mapping[str, Sequence[str]]
    seed: int = 0
    name: str = CAPTIONS

    def caption(self, image: str) -> str:
        """See `Captioner`."""
        known = self.captions.get(image, ())
        if not known:
            raise SampleNotMade("the picture that was found has no caption")
        return random.Random(f"viewfinder/caption/{self.seed}/{image}").choice(known)


@dataclass(frozen=True)
class ModelCaptioner:
    """The `Captioner` that asks a model for one picture at a time."""

    describer: Describer
    name: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def caption(self, image: str) -> str:
        """See `Captioner`."""
        try:
            with self._lock:
                said = self.describer.describe(image)
        except PictureError as error:
            raise SampleNotMade("the picture that was found cannot be read") from error
        if not said.strip():
            raise SampleNotMade("the captioner says nothing of the picture that was found")
        return " ".join(said.split())


def load_model_captioner(source: str, files: Mapping[str, Path]) -> Captioner:
    """BLIP or BLIP-2 by hub name or folder, over pictures by their names in samples.

    Raises:
        BadInput, EncoderMismatch: as `users.vqa.load_captioner`.
    """
    from viewfinder.users.vqa import load_caption_describer  # brings torch along

    describer = load_caption_describer(source, lambda name: files[name])
    return ModelCaptioner(replace(describer, openings=("",)), describer.model.name)
