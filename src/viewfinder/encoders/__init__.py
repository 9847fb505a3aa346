"""Pixels and words to vectors: the built-in `starter`; CLIP, SigLIP and BLIP in torch or ONNX; other packages'."""

from __future__ import annotations

from pathlib import Path

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes
from viewfinder.errors import BadInput
from viewfinder.plugins import Plugins

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
]

PLUGINS = Plugins("encoder", "viewfinder.encoders", Encoder, ("starter",))


def load_encoder(name: str, *, head_file: Path | None = None) -> Encoder:
    """Loads the encoder "starter", one of an installed package or at `package.module:Class`, or the model in a local
    folder or with a hub name.

    A name with a slash means a folder or the hub; a folder of ONNX files may be followed by `?` and a precision
    (`models/clip?q8`), or by `?torch` if it holds the weights of torch as well. `head_file` is a tuned head for the
    starter.

    Raises:
        BadInput: another package's encoder cannot be imported, or is not an encoder; else as `load_onnx_encoder` and
            `load_transformers_encoder`.
    """
    if name == "starter":
        from viewfinder.encoders.starter import StarterEncoder

        return StarterEncoder(head_file)
    is_plain = bool(name) and not {"/", "\\", "~"}.intersection(name)
    if is_plain and (found := PLUGINS.find(name)) is not None:
        made: Encoder = PLUGINS.make(found, name)
        return made
    from viewfinder.encoders.onnx_models import find_onnx_folder, load_onnx_encoder

    if (given := find_onnx_folder(name)) is not None:
        return load_onnx_encoder(*given)
    name = name.removesuffix("?torch")
    from viewfinder.encoders.transformers import load_transformers_encoder

    try:
        return load_transformers_encoder(name)
    except BadInput as error:
        if not is_plain:
            raise
        raise BadInput(f"{error}; by a name without a slash there are: {', '.join(PLUGINS.names())}") from error
