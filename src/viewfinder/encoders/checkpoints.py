"""Checkpoints of vision-language models, loaded strictly and checked.

Where they lie is in `checkpoint_sources.py`, what identifies them in `checkpoint_versions.py`, what distinguishes the
architectures in `families`, and how they see and read in `transformers.py`. Every failure becomes one line of
`BadInput` (it cannot be loaded) or `EncoderMismatch` (its numbers are not those of the model that it claims to be).

In torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from viewfinder.encoders.checkpoint_sources import (
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.encoders.checkpoint_versions import (
    TOKENIZER_FILES,
    compute_version,
    hash_all_files,
    hash_weights,
    list_weight_files,
)
from viewfinder.encoders.families import FAMILIES, OPEN_CLIP, Family, open_clip
from viewfinder.encoders.origins import Origin, Pin, find_pinned_weights
from viewfinder.errors import BadInput, EncoderMismatch

PROCESSOR = "the image processor (preprocessor_config.json)"


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with all that is needed to prepare its inputs."""

    name: str
    version: str
    family: Family
    config: Any
    network: Any
    pixels: Any
    tokenizer: Any
    origin: Origin
    source: CheckpointSource

    def former_versions(self) -> tuple[str, ...]:
        """The versions under which earlier viewfinders knew it; they read all its files."""
        with explain_failures(self.source, "the files"):
            return (hash_all_files(self.source),)


def load_checkpoint(
    name_or_path: str,
    pin: Pin | None = None,
    *,
    may_fetch: bool = True,
    called: str | None = None,
    commit: str | None = None,
) -> Checkpoint:
    """Loads the checkpoint in a folder, or of that name on the hub (or in the hub's cache on this machine).

    `pin`: the folder or the commit for which the name stands. Without `may_fetch`, the hub is not asked. `called` and
    `commit`: the name and the state on the hub of a model that lies in a folder of its cache.

    Raises:
        BadInput: nothing there, not a model, an unsupported architecture, a file missing or unreadable.
        EncoderMismatch: weights missing, left over or of another shape, or parts that do not fit together.
    """
    from transformers import AutoImageProcessor

    # A model that lies in the hub's cache is read as a folder, which asks nobody.
    source = replace(find_checkpoint(name_or_path, None if commit else pin), may_fetch=may_fetch)
    if called is not None:
        source = replace(source, name=called, commit=commit)
    with silence_transformers():
        model_type, source = _read_model_type(source)
        family = FAMILIES[model_type]
        if model_type == OPEN_CLIP:
            network, pixels = _load_open_clip(source)
        else:
            network = _load_network(source, family)
            with explain_failures(source, PROCESSOR):
                load: Callable[..., Any] = AutoImageProcessor.from_pretrained
                pixels = load(source.location, **source.options, backend="pil")
        tokenizer = _load_tokenizer(source, model_type)
        _check_parts(source, family, network.config, pixels, tokenizer)
        with explain_failures(source, "the files"):
            files = list_weight_files(source)
            weights = find_pinned_weights(pin, files) or hash_weights(network)
            version = compute_version(model_type, weights, network.config, pixels, tokenizer)
    # A folder of the hub's cache is not the user's: another machine has the same commit elsewhere.
    origin = Origin(None if source.commit else source.folder, source.commit, files, weights)
    name = f"{model_type}:{source.name}"
    return Checkpoint(name, version, family, network.config, network, pixels, tokenizer, origin, source)


def _read_model_type(source: CheckpointSource) -> tuple[str, CheckpointSource]:
    """The architecture that config.json names, and the source pinned to the commit that it was read from."""
    from transformers import PretrainedConfig

    if source.folder is not None and not (source.folder / "config.json").is_file():
        return OPEN_CLIP, source
    with explain_failures(source, "config.json"):
        data, _ = PretrainedConfig.get_config_dict(
            source.location, local_files_only=source.is_local, revision=source.commit
        )
    if not data:
        raise BadInput(f"{source.location} has no config.json, so it is no model: {source.way_out}")
    model_type, known = data.get("model_type"), ", ".join(sorted(FAMILIES.keys() - {OPEN_CLIP}))
    if model_type is None and source.folder is not None and (source.folder / open_clip.SETTINGS).is_file():
        return OPEN_CLIP, source
    if model_type is None:
        raise BadInput(f"{source.called}: {_explain_typeless(source, data)}: give one of type {known}")
    if model_type not in FAMILIES.keys() - {OPEN_CLIP}:
        what = f"{source.location} is of model type {model_type!r}"
        raise BadInput(f"{what}, which viewfinder cannot use: give one of type {known}")
    if source.folder is None and source.commit is None:
        from transformers.utils.hub import extract_commit_hash

        # What `get_config_dict` returns does not tell the commit since transformers 5.
        with explain_failures(source, "config.json"):
            source = replace(source, commit=extract_commit_hash(str(source.file("config.json")), None))
    return model_type, source


def _explain_typeless(source: CheckpointSource, data: Mapping[str, Any]) -> str:
    """What a folder whose config.json names no model type seems to be."""
    if source.folder is not None and any(source.folder.glob("*/model.onnx")):
        return "its config.json is Immich's, and visual/model.onnx or textual/model.onnx beside it is missing"
    if "model_cfg" in data or "vision_cfg" in data:
        return "its config.json is open_clip's: call that file open_clip_config.json, as the hub does"
    return "its config.json names no model_type, so it is none that transformers wrote"


def _load_open_clip(source: CheckpointSource) -> tuple[Any, Any]:
    """The CLIP in a folder of open_clip, and what prepares pictures for it.

    Raises:
        BadInput: other towers than open_clip's own; a file missing or damaged.
        EncoderMismatch: as `_load_network`.
    """
    from transformers import CLIPConfig, CLIPModel

    assert source.folder is not None
    with explain_failures(source, open_clip.SETTINGS):
        settings = json.loads((source.folder / open_clip.SETTINGS).read_text(encoding="utf-8"))
        config: Any = CLIPConfig(**open_clip.convert_settings(source.called, settings))
        pixels = open_clip.make_pixels(source.called, settings, config.vision_config.image_size)
    files = [source.folder / name for name in open_clip.WEIGHT_FILES if (source.folder / name).is_file()]
    if not files:
        raise BadInput(
            f"{source.called} has no weights (none of {', '.join(open_clip.WEIGHT_FILES)}): {source.way_out}"
        )
    with explain_failures(source, "the weights"):
        network: Any = CLIPModel(config)
        given, wanted = open_clip.convert_weights(open_clip.read_weights(files[0])), network.state_dict()
        shapes = {key for key in given.keys() & wanted.keys() if given[key].shape != wanted[key].shape}
        fitting = {key: given[key].float() for key in given.keys() & wanted.keys() - shapes}
        network.load_state_dict(fitting, strict=False)
    constant = {key for key in wanted if key.endswith("position_ids")}
    _refuse_wrong_weights(
        source,
        "CLIP of open_clip",
        {
            "missing weights": sorted(wanted.keys() - given.keys() - constant),
            "unknown weights": sorted(given.keys() - wanted.keys()),
            "weights of another shape": sorted(shapes),
        },
    )
    return network.eval(), pixels


def _load_network(source: CheckpointSource, family: Family) -> Any:
    """The model in evaluation mode, in f32 whatever the file holds.

    Raises:
        EncoderMismatch: a key is missing, left over, or of another shape.
    """
    import transformers

    with explain_failures(source, "the weights"):
        network, report = getattr(transformers, family.network).from_pretrained(
            source.location,
            **source.options,
            dtype=torch.float32,
            output_loading_info=True,
            # Not for leniency: mismatches are then reported with the rest, and refused below.
            ignore_mismatched_sizes=True,
        )
    # transformers itself forgives constant buffers (position_ids) that older versions saved.
    wrong = {
        "missing weights": sorted(report["missing_keys"]),
        "unknown weights": sorted(report["unexpected_keys"]),
        "weights of another shape": sorted(key for key, *_ in report["mismatched_keys"]),
        "unreadable weights": [str(message).splitlines()[0] for message in report.get("error_msgs", ())],
    }
    _refuse_wrong_weights(source, family.network, wrong)
    if getattr(network.config.vision_config, "vision_use_head", True) is False:
        what = f"{source.location} has no pooling head (vision_use_head is false)"
        raise BadInput(f"{what}, so it gives no vector for a whole picture: give a model with the head")
    return network.eval()


def _refuse_wrong_weights(source: CheckpointSource, network: str, wrong: Mapping[str, list[str]]) -> None:
    some = {kind: ", ".join([*keys[:3], *(["..."] if len(keys) > 3 else [])]) for kind, keys in wrong.items()}
    said = [f"{len(keys)} {kind} ({some[kind]})" for kind, keys in wrong.items() if keys]
    if said:
        what = f"{source.location} does not hold a whole {network}: {'; '.join(said)}"
        raise EncoderMismatch(f"{what}; give a checkpoint that was saved from {network}")


def _load_tokenizer(source: CheckpointSource, model_type: str) -> Any:
    """The tokenizer as transformers makes it, except for those of SigLIP and SigLIP 2.

    `SiglipTokenizer` needs the sentencepiece package; the tokenizer.json beside it is equivalent, so that is read,
    whether or not sentencepiece is installed. SigLIP 2 learnt from texts in small letters (as does transformers' own
    tokenizer for NaFlex: github.com/huggingface/transformers/pull/43101); its checkpoints of fixed size are of type
    "siglip" and name Gemma's tokenizer, which leaves capitals as they are: theirs are made small here.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    with explain_failures(source, "the tokenizer"):
        if not any(source.file(name) for name in TOKENIZER_FILES):
            # transformers would make an empty one, which turns every text into the same vector.
            what = f"{source.location} has no tokenizer (none of {', '.join(TOKENIZER_FILES)})"
            raise BadInput(f"{what}, so it cannot read words: {source.way_out}")
        settings = source.file("tokenizer_config.json")
        named = json.loads(settings.read_text(encoding="utf-8")).get("tokenizer_class") if settings else None
        if str(named).removesuffix("Fast") == "SiglipTokenizer" and source.file("tokenizer.json"):
            return PreTrainedTokenizerFast.from_pretrained(source.location, **source.options)
        found: Any = AutoTokenizer.from_pretrained(source.location, **source.options)
        if model_type == "siglip" and "Gemma" in f"{named} {type(found).__name__}":
            _make_letters_small(found)
        return found


def _make_letters_small(tokenizer: Any) -> None:
    from tokenizers import normalizers

    backend = tokenizer.backend_tokenizer
    steps = [normalizers.Lowercase(), *([backend.normalizer] if backend.normalizer is not None else [])]
    backend.normalizer = normalizers.Sequence(steps)


def _check_parts(source: CheckpointSource, family: Family, config: Any, pixels: Any, tokenizer: Any) -> None:
    """Raises EncoderMismatch if tokenizer or image processor belong to another model."""
    from PIL import Image

    rows = config.text_config.vocab_size
    if len(tokenizer) > rows:
        what = f"{source.location}: the tokenizer knows {len(tokenizer)} tokens, the model only {rows}"
        raise EncoderMismatch(f"{what}; they belong to different models: {source.way_out}")
    with explain_failures(source, PROCESSOR):
        values = pixels(images=[Image.new("RGB", (64, 48))], return_tensors="np")["pixel_values"]
    made, vision = tuple(int(size) for size in values.shape[1:]), config.vision_config
    if family.any_size:
        return
    in_patches = "spatial_shapes" in pixels.model_input_names
    side = vision.patch_size if in_patches else vision.image_size
    wanted = (vision.num_channels * side * side,) if in_patches else (3, side, side)
    if made[-len(wanted) :] != wanted:
        what = f"{source.location}: the image processor makes inputs of {made}, the model wants {wanted}"
        raise EncoderMismatch(f"{what}; they belong to different models: {source.way_out}")
