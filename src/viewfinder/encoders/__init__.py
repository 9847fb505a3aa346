"""Pixels and words to vectors: the built-in `starter`; CLIP, SigLIP and BLIP by hub name or folder; other packages'."""

from __future__ import annotations

import os
from pathlib import Path

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes
from viewfinder.encoders.origins import Pin
from viewfinder.errors import BadInput
from viewfinder.plugins import Plugins, is_place_of_class

__all__ = [
    "PLUGINS",
    "REGIONS",
    "Calibration",
    "Encoded",
    "Encoder",
    "Pixels",
    "Vocabulary",
    "grid_boxes",
    "load_encoder",
    "name_encoder",
]

PLUGINS = Plugins("encoder", "viewfinder.encoders", Encoder, ("starter",))


def load_encoder(
    name: str, *, head_file: Path | None = None, pin: Pin | None = None, may_fetch: bool = True
) -> Encoder:
    """Loads the encoder "starter", one of an installed package or at `package.module:Class`, or the model in a local
    folder or with a hub name.

    A name with a slash means a folder or the hub. `head_file` is a tuned head for the starter. `pin`: what a library
    takes the name for (`origins`). Without `may_fetch`, nothing is fetched from the hub.

    Raises:
        BadInput: another package's encoder cannot be imported, or is not an encoder; else as
            `load_transformers_encoder`.
    """
    if name == "starter":
        from viewfinder.encoders.starter import StarterEncoder

        return StarterEncoder(head_file)
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name)
    if is_plain and pin is None and (found := PLUGINS.find(name)) is not None:
        made: Encoder = PLUGINS.make(found, name)
        return made
    from viewfinder.encoders.transformers import load_transformers_encoder

    try:
        return load_transformers_encoder(name, pin, may_fetch=may_fetch)
    except BadInput as error:
        if not is_plain:
            raise
        raise BadInput(f"{error}; by a name without a slash there are: {', '.join(PLUGINS.names())}") from error


def name_encoder(name: str) -> str:
    """The name under which a library keeps an encoder: that of a folder is its absolute path.

    >>> name_encoder("starter"), name_encoder("openai/clip-vit-base-patch32")
    ('starter', 'openai/clip-vit-base-patch32')
    """
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name)
    if not name or (is_plain and (name in PLUGINS.names() or is_place_of_class(name))):
        return name
    place, mark, choice = name.partition("?")  # a folder may be followed by what is chosen of it
    folder = Path(place).expanduser()
    # Not `resolve`: links may be there to be changed.
    return f"{os.path.abspath(folder)}{mark}{choice}" if place and folder.is_dir() else name  # noqa: PTH100
