"""What identifies a checkpoint: the numbers that it computes with, as they are loaded, however its files hold them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viewfinder.encoders.checkpoint_sources import CheckpointSource
from viewfinder.encoders.families import open_clip
from viewfinder.encoders.origins import hash_arrays

RECIPE = "2"
"""Part of every version: increase it when the code here computes other numbers from the same files."""

FORMER_RECIPE = "1"
"""Part of the versions of earlier viewfinders, which were of the bytes of files."""

WITHOUT_NUMBERS = ("initializer", "drop", "label_smoothing", "use_cache", "logit_scale_init", "tie_")
"""Fields of an architecture's configuration that change no number of a trained model begin so, or have this in them."""

WITHOUT_PIXELS = ("data_format", "input_data_format", "device", "return_tensors", "disable_grouping", "do_convert_rgb")
"""Settings of image processors that change no number: pictures are RGB already."""

PIXEL_SWITCHES = {
    "do_resize": ("size", "resample", "default_to_square"),
    "do_center_crop": ("crop_size",),
    "do_rescale": ("rescale_factor",),
    "do_normalize": ("image_mean", "image_std"),
    "do_pad": ("pad_size",),
}
"""Settings of image processors that count only if another one is on."""

WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    *open_clip.WEIGHT_FILES,
)
"""The files that transformers looks for, in its order; then those of open_clip."""

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
"""The files of a tokenizer; the first that exists counts (`merges.txt` goes with `vocab.json`)."""

SETTING_FILES = (
    "config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json", open_clip.SETTINGS,
)  # fmt: skip


def compute_version(model_type: str, weights: str, config: Any, pixels: Any, tokenizer: Any) -> str:
    """16 hex digits: a hash over what makes the numbers, as it was loaded, however the files hold it."""
    parts = {
        "recipe": RECIPE,
        "model": model_type,
        "weights": weights,
        "config": _list_config(config),
        "pixels": _list_pixel_settings(pixels),
        "tokenizer": _list_tokenizer(tokenizer),
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def hash_weights(network: Any) -> str:
    """A hash of all weights by name, in single precision as they compute."""
    return hash_arrays([(name, tensor.detach().contiguous().numpy()) for name, tensor in network.state_dict().items()])


def _list_config(config: Any) -> dict[str, Any]:
    """The fields that the architecture's own configuration has; what else a file says is read by nothing."""
    from transformers import PretrainedConfig

    general = set(PretrainedConfig().to_dict())
    found: dict[str, Any] = {}
    for name in sorted(set(type(config)().to_dict()) - general):
        value = getattr(config, name, None)
        if isinstance(value, PretrainedConfig):
            found[name] = _list_config(value)
        elif not any(part in name for part in WITHOUT_NUMBERS):
            found[name] = value
    return found


def _list_pixel_settings(pixels: Any) -> dict[str, Any]:
    """The settings with which an image processor makes numbers of pixels."""
    names = {name for kind in type(pixels).__mro__ for name in _list_kwargs(kind)} - set(WITHOUT_PIXELS)
    found = {name: value for name in names if (value := getattr(pixels, name, None)) is not None}
    for switch, switched in PIXEL_SWITCHES.items():
        if not found.get(switch):
            found = {name: value for name, value in found.items() if name not in (switch, *switched)}
    plain = {name: _to_plain(value) for name, value in found.items()}
    return {**plain, "class": type(pixels).__name__.removesuffix("Pil").removesuffix("Fast")}


def _list_kwargs(kind: type) -> tuple[str, ...]:
    return tuple(getattr(kind.__dict__.get("valid_kwargs"), "__annotations__", ()))


def _to_plain(value: Any) -> Any:
    """Numbers as JSON has them: sizes may be mappings of their own kind, means tuples or lists."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        return {str(name): _to_plain(one) for name, one in value.items() if one is not None}
    return [_to_plain(one) for one in value]


def _list_tokenizer(tokenizer: Any) -> dict[str, Any]:
    """What a tokenizer makes tokens with: its words, merges and rules, and how it pads and ends a text."""
    found: dict[str, Any] = {
        "vocabulary": sorted(tokenizer.get_vocab().items(), key=lambda item: (item[1], item[0])),
        "pad": tokenizer.pad_token_id,
        "padding": tokenizer.padding_side,
        "truncation": tokenizer.truncation_side,
        "length": min(int(tokenizer.model_max_length), 1 << 20),
        "inputs": sorted({"input_ids", "attention_mask"}.intersection(tokenizer.model_input_names)),
    }
    if not tokenizer.is_fast:
        return {**found, "class": type(tokenizer).__name__}
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    model = {name: value for name, value in rules["model"].items() if name != "vocab"}
    steps = {name: rules.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor")}
    # By the order of their scores, not of their numbers, pieces of a unigram model are chosen.
    scores = rules["model"].get("vocab") if isinstance(rules["model"].get("vocab"), list) else None
    return {**found, "model": model, "scores": scores, **steps}


def list_weight_files(source: CheckpointSource) -> dict[str, Path]:
    """The files of the weights by their names, without the list of shards."""
    weights = next(name for name in WEIGHT_FILES if source.file(name))
    names = [weights]
    if weights.endswith(".index.json") and (index := source.file(weights)):
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    return {name: path for name in names if (path := source.file(name)) is not None}


def hash_all_files(source: CheckpointSource) -> str:
    """16 hex digits over the bytes of all files, as earlier viewfinders named a space."""
    digest = hashlib.blake2b(FORMER_RECIPE.encode(), digest_size=8)
    tokenizer, weights = (
        next(name for name in candidates if source.file(name)) for candidates in (TOKENIZER_FILES, WEIGHT_FILES)
    )
    names = [*SETTING_FILES, tokenizer, *(["merges.txt"] if tokenizer == "vocab.json" else []), weights]
    if weights.endswith(".index.json") and (index := source.file(weights)):
        names += sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))  # the shards
    for path in filter(None, map(source.file, names)):
        with path.open("rb") as stream:
            part = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
        digest.update(f"{path.name}\0{part.hexdigest()}\n".encode())
    return digest.hexdigest()
