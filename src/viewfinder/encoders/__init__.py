"""Pixels and words to vectors: the built-in `starter`; models by short name, hub name or folder; other packages'."""

from __future__ import annotations

import os
from pathlib import Path

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes
from viewfinder.encoders.origins import Pin, find_pinned_folder
from viewfinder.encoders.short_names import SHORT_NAMES
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

PLUGINS = Plugins("encoder", "viewfinder.encoders", Encoder, ("starter", *SHORT_NAMES))


def load_encoder(
    name: str, *, head_file: Path | None = None, pin: Pin | None = None, may_fetch: bool = True
) -> Encoder:
    """Loads the encoder "starter", a model of the short list ("clip", see `models`), one of an installed package or at
    `package.module:Class`, or the model in a local folder or with a hub name.

    A name with a slash means a folder or the hub; a folder of ONNX files may be followed by `?` and a precision
    (`models/clip?q8`), or by `?torch` if it holds the weights of torch as well. `head_file` is a head that a library
    was tuned with. `pin`: what a library takes the name for (`origins`). Without `may_fetch`, nothing is fetched from
    the hub.

    Raises:
        EncoderMismatch: the head was made for another encoder.
        BadInput: a model of the short list was not fetched; another package's encoder cannot be imported, or is not an
            encoder; else as `load_onnx_encoder` and `load_transformers_encoder`.
    """
    if name == "starter":
        from viewfinder.encoders.starter import StarterEncoder

        return StarterEncoder(head_file)
    name = name if pin is not None else name_encoder(name)
    if head_file is not None:
        from viewfinder.encoders.tuned import put_head

        return put_head(load_encoder(name, pin=pin, may_fetch=may_fetch), head_file)
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name) and name not in SHORT_NAMES
    if is_plain and pin is None and (found := PLUGINS.find(name)) is not None:
        made: Encoder = PLUGINS.make(found, name)
        return made
    from viewfinder.encoders.hub import locate_model
    from viewfinder.encoders.onnx_models import find_onnx_folder, load_onnx_encoder
    from viewfinder.encoders.transformers import load_transformers_encoder

    if pin is not None and pin.folder is not None:
        place, commit = find_pinned_folder(name, pin), None
    else:
        place, commit = locate_model(name, None if pin is None else pin.commit)
    called = None if commit is None else name
    if (given := find_onnx_folder(place)) is not None:
        return load_onnx_encoder(*given, pin=pin, called=called, commit=commit)
    if is_plain and pin is None and may_fetch and not Path(place).is_dir():  # nothing that the hub would know
        known = ", ".join(PLUGINS.names())
        raise BadInput(f"there is no encoder {name!r}: there are {known}; or give a folder, or owner/model of the hub")
    return load_transformers_encoder(
        place.removesuffix("?torch"), pin, may_fetch=may_fetch, called=called, commit=commit
    )


def name_encoder(name: str) -> str:
    """The name under which a library keeps an encoder: that of a folder is its absolute path.

    A folder that is called like a model of the short list is meant by that name where it holds a model.

    >>> name_encoder("starter"), name_encoder("openai/clip-vit-base-patch32")
    ('starter', 'openai/clip-vit-base-patch32')
    """
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name)
    is_known = is_plain and (name in PLUGINS.names() or is_place_of_class(name))
    if not name or (is_known and not (name in SHORT_NAMES and _names_folder(name))):
        return name
    place, mark, choice = name.partition("?")  # a folder may be followed by what is chosen of it
    folder = Path(place).expanduser()
    # Not `resolve`: links may be there to be changed.
    return f"{os.path.abspath(folder)}{mark}{choice}" if place and folder.is_dir() else name  # noqa: PTH100


def _names_folder(name: str) -> bool:
    from viewfinder.encoders.hub import names_folder

    return names_folder(name)
