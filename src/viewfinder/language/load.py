"""Language models by what they are called: an address, a folder, a file, a name on the hub."""

from __future__ import annotations

import os
import threading

from viewfinder.errors import BadInput
from viewfinder.language.base import LanguageModel
from viewfinder.language.endpoint import parse_endpoint
from viewfinder.language.local import LocalModel, find_local_model

DEFAULT = "VIEWFINDER_LANGUAGE_MODEL"
"""The environment variable that names the model where nothing else does."""

_lock = threading.Lock()
_kept: dict[str, LanguageModel] = {}


def load_language_model(source: str = "") -> LanguageModel:
    """The language model at "http(s)://host/v1#MODEL", in a folder, in a .gguf file, or of a hub name.

    It is made once per process. One in this process loads in the background when it is first used: see `base.Loads`.

    Args:
        source: as above; "" takes what the environment variable VIEWFINDER_LANGUAGE_MODEL says.

    Raises:
        BadInput: nothing is named, or nothing of the kind is there.
    """
    named = source.strip() or os.environ.get(DEFAULT, "").strip()
    if not named:
        raise BadInput(
            "no language model is named: give http://host/v1#MODEL, a model folder, a .gguf file or a hub name, "
            f"or set {DEFAULT}"
        )
    with _lock:
        model = _kept.get(named)
        if model is None or (isinstance(model, LocalModel) and model.failed):
            model = parse_endpoint(named) if named.startswith(("http://", "https://")) else find_local_model(named)
            _kept[named] = model
        return model
