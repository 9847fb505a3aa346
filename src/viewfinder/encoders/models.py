"""The short list of models (`models.toml`): what a short name stands for, what it costs, and which files it needs.

>>> model = find_model("clip")
>>> model.repository, model.licence, model.describe_size()
('Xenova/clip-vit-base-patch32', 'MIT', '156 MB')
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from typing import Any

from viewfinder.encoders.short_names import SHORT_NAMES

HUB = "huggingface.co"
MB = 1_000_000


@dataclass(frozen=True)
class ModelFile:
    """A file of a repository; its size and hash where they are known beforehand (None: the hub's word is taken)."""

    path: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class ListedModel:
    """A model with a short name; `models.toml` says what the fields mean, and where each was found."""

    name: str
    title: str
    repository: str
    commit: str
    layout: str
    licence: str
    licence_note: str
    languages: str
    width: int
    measured_as: str
    files: tuple[ModelFile, ...]
    memory_mb: int | None = None
    search_mb: int | None = None
    picture_ms: int | None = None
    about_mb: int | None = None
    recall: Mapping[str, float] = field(default_factory=dict)

    @property
    def megabytes(self) -> int:
        """The size of the download in MB."""
        known = sum(one.bytes or 0 for one in self.files)
        return max(round(known / MB), self.about_mb or 0)

    def describe_size(self) -> str:
        """The size of the download for people, "156 MB"."""
        return f"{self.megabytes:,} MB"


@cache
def list_models() -> Mapping[str, ListedModel]:
    """The models with a short name, in the order in which they are shown."""
    text = resources("viewfinder.encoders").joinpath("models.toml").read_text(encoding="utf-8")
    return {name: _read_model(name, dict(entry)) for name, entry in tomllib.loads(text).items()}


def find_model(name: str) -> ListedModel | None:
    """The model of this short name; None: there is none."""
    return list_models().get(name) if name in SHORT_NAMES else None


def _read_model(name: str, entry: dict[str, Any]) -> ListedModel:
    return ListedModel(name=name, **{**entry, "files": tuple(ModelFile(**one) for one in entry["files"])})
