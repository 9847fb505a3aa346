"""Stand-ins that tests share: a language model that keeps to a script, and a lookup that knows nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.questioners import PictureProjection


@dataclass
class ScriptedModel:
    """A language model whose replies are a function of the prompt and the seed; it keeps the prompts."""

    reply: Callable[[str, int], str]
    name: str = "scripted"
    prompts: list[str] = field(default_factory=list)

    def complete(self, prompt: str, *, seed: int = 0, **options: Any) -> str:
        """The scripted reply, whatever the options are."""
        self.prompts.append(prompt)
        return self.reply(prompt, seed)


class NothingKnown:
    """A `Lookup` for questioners that knows nothing: a test overrides what its questioner may look up."""

    sentences_version: str = "none"

    def captions(self) -> Sequence[tuple[str, ...]]:
        """Not known."""
        raise NotImplementedError

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Not known."""
        raise NotImplementedError

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """Not known."""
        raise NotImplementedError

    def label_chances(self) -> Float32[np.ndarray, "c l"] | None:
        """None: an encoder whose vectors do not tell."""
        return None

    def ids(self) -> Sequence[str]:
        """As in `tiny_snapshot`."""
        return [f"p{at:03}" for at in range(1000)]

    def project(self, projection: PictureProjection) -> Float32[np.ndarray, "c k"]:
        """Not known."""
        raise NotImplementedError
