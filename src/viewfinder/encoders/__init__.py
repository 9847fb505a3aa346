"""Pixels and words to vectors: the built-in `starter`; models by short name, hub name or folder; other packages'."""

from __future__ import annotations

from pathlib import Path

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes
from viewfinder.errors import BadInput
from viewfinder.plugins import Plugins

__all__ = [
    "PLUGINS",
    "REGIONS",
    "SHORT_NAMES",
    "Calibration",
    "Encoded",
    "Encoder",
    "Pixels",
    "Vocabulary",
    "grid_boxes",
    "load_encoder",
]

SHORT_NAMES = ("clip", "clip-laion", "siglip", "siglip2", "multilingual")
"""The names of `models.toml`, which is not read for others."""

PLUGINS = Plugins("encoder", "viewfinder.encoders", Encoder, ("starter", *SHORT_NAMES))


def load_encoder(name: str, *, head_file: Path | None = None) -> Encoder:
    """Loads the encoder "starter", a model of the short list ("clip", see `models`), one of an installed package or at
    `package.module:Class`, or the model in a local folder or with a hub name.

    A name with a slash means a folder or the hub. `head_file` is a tuned head for the starter.

    Raises:
        BadInput: a model of the short list was not fetched; another package's encoder cannot be imported, or is not an
            encoder; else as `load_transformers_encoder`.
    """
    if name == "starter":
        from viewfinder.encoders.starter import StarterEncoder

        return StarterEncoder(head_file)
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name) and name not in SHORT_NAMES
    if is_plain and (found := PLUGINS.find(name)) is not None:
        made: Encoder = PLUGINS.make(found, name)
        return made
    from viewfinder.encoders.hub import locate_model
    from viewfinder.encoders.transformers import load_transformers_encoder

    try:
        located = locate_model(name)
        return load_transformers_encoder(located, None if located == name else name)
    except BadInput as error:
        if not is_plain:
            raise
        raise BadInput(f"{error}; by a name without a slash there are: {', '.join(PLUGINS.names())}") from error
