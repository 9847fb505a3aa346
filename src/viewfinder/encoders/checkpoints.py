"""Checkpoints of vision-language models: found, checked, loaded strictly, identified.

A checkpoint is a hub name or a local folder: of transformers, of open_clip, or of sentence-transformers around a CLIP.
Every failure becomes one line of `BadInput` (it cannot be loaded) or `EncoderMismatch` (its numbers are not those of
the model that it claims to be). What distinguishes the architectures is in `families`; `transformers.py` here does the
rest.

How a region's vector is made: the patch tokens of the last layer are averaged in each cell of a 6 x 6 grid, and each
average takes the path of the global vector, which each family defines.

In torch.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import torch

from viewfinder.encoders.families import FAMILIES, OPEN_CLIP, Family, encode_regions, open_clip, pool_regions
from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError

__all__ = [
    "Checkpoint",
    "CheckpointSource",
    "encode_regions",
    "explain_failures",
    "find_checkpoint",
    "load_checkpoint",
    "load_tokenizer",
    "load_whole",
    "pool_regions",
    "silence_transformers",
]

Network = Any
"""A transformers model: its towers are attributes, which torch types as `Tensor | Module`."""

RECIPE = "1"
"""Part of every version: increase it when the code here computes other numbers from the same files."""

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

PROCESSOR = "the image processor (preprocessor_config.json)"

SETTING_FILES = (
    "config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json", open_clip.SETTINGS,
)  # fmt: skip


@dataclass(frozen=True)
class CheckpointSource:
    """The place of a checkpoint: a folder (or a .gguf file in it), or a name on the hub."""

    name: str
    folder: Path | None
    commit: str | None = None  # on the hub, once a config was read
    gguf: str | None = None

    @property
    def location(self) -> str:
        """The name or path that transformers is given."""
        return self.name if self.folder is None else str(self.folder)

    @property
    def called(self) -> str:
        """The name by which the user knows it."""
        return self.location if self.gguf is None else f"{self.location}/{self.gguf}"

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of every `from_pretrained`: a folder never asks the hub, foreign code is never run."""
        own = {"local_files_only": self.folder is not None, "trust_remote_code": False, "revision": self.commit}
        return own if self.gguf is None else {**own, "gguf_file": self.gguf}

    @property
    def way_out(self) -> str:
        """Advice for a user where something cannot be loaded."""
        if self.folder is not None:
            return "give a complete folder, as save_pretrained of the model and what prepares its inputs write it"
        return "check the name and the network (and HF_HUB_OFFLINE), or give a local folder"

    def file(self, name: str) -> Path | None:
        """One file of the checkpoint, fetched if necessary; None if there is none (or, offline, none cached)."""
        from transformers.utils.hub import cached_file

        found = cached_file(
            self.location,
            name,
            revision=self.commit,
            local_files_only=self.folder is not None,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return None if found is None else Path(found)


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with all that is needed to prepare its inputs."""

    name: str
    version: str
    family: Family
    config: Any
    network: Network
    pixels: Any
    tokenizer: Any


def load_checkpoint(name_or_path: str, called: str | None = None) -> Checkpoint:
    """Loads the checkpoint in a folder, or of that name on the hub (or in the hub's cache on this machine).

    `called`: its name, where that is not the folder's.

    Raises:
        BadInput: nothing there, not a model, an unsupported architecture, a file missing or unreadable.
        EncoderMismatch: weights missing, left over or of another shape, or parts that do not fit together.
    """
    from transformers import AutoImageProcessor

    source = find_checkpoint(name_or_path)
    if called is not None:
        source = replace(source, name=called)
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
            version = _compute_version(source)
    return Checkpoint(f"{model_type}:{source.name}", version, family, network.config, network, pixels, tokenizer)


def find_checkpoint(name_or_path: str) -> CheckpointSource:
    """A folder if there is one of that name, else a name on the hub.

    Raises:
        BadInput: it is a file, a folder that does not exist, or not a possible name.
    """
    path = Path(name_or_path).expanduser()
    if not name_or_path:
        raise BadInput("the encoder's name is empty: give a model folder, or a hub name such as owner/model")
    if path.is_dir():
        inner = path if (path / "config.json").is_file() else _find_inner(path)
        return CheckpointSource(path.resolve().name, inner)
    if path.is_file():
        raise BadInput(f"{path} is a file: give the model folder around it, or a hub name such as owner/model")
    if name_or_path.startswith(("/", ".", "~")) or name_or_path.count("/") > 1 or "\\" in name_or_path:
        raise BadInput(f"there is no folder {path}: give a model folder, or a hub name such as owner/model")
    return CheckpointSource(name_or_path, None)


def _find_inner(folder: Path) -> Path:
    """Where the model lies in a folder without a config.json: of open_clip, or of sentence-transformers.

    Raises:
        BadInput: there is none, or none that can be used; the line says what is there instead.
    """
    if (folder / open_clip.SETTINGS).is_file():
        return folder
    if (folder / MODULES).is_file():
        return _find_module(folder)
    if any((folder / name).is_file() for name in open_clip.WEIGHT_FILES):
        raise BadInput(f"{folder} has weights of open_clip, and no {open_clip.SETTINGS}: fetch that file too")
    raise BadInput(f"{folder} is no model folder (no config.json): give the folder that save_pretrained wrote")


MODULES = "modules.json"


def _find_module(folder: Path) -> Path:
    """The folder of the CLIP in a model of sentence-transformers, which lists its parts in modules.json."""
    try:
        listed = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        parts = [(str(one["type"]).rpartition(".")[2], str(one.get("path", ""))) for one in listed]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{folder}/{MODULES} cannot be read ({type(error).__name__}): fetch the folder again") from error
    places = [path for kind, path in parts if kind == "CLIPModel"]
    if len(parts) != 1 or not places or ".." in PurePosixPath(places[0]).parts:
        kinds = ", ".join(kind for kind, _ in parts[:5]) or "nothing"
        raise BadInput(
            f"{folder} is a model of sentence-transformers of {kinds}: "
            "only one of a CLIPModel alone reads pictures and words"
        )
    if not (folder / places[0] / "config.json").is_file():
        raise BadInput(f"{folder} is not whole ({places[0]}/config.json is missing): fetch the folder again")
    return folder / places[0]


def _read_model_type(source: CheckpointSource) -> tuple[str, CheckpointSource]:
    """The architecture that config.json names, and the source pinned to the commit that it was read from."""
    from transformers import PretrainedConfig

    if source.folder is not None and not (source.folder / "config.json").is_file():
        return OPEN_CLIP, source
    with explain_failures(source, "config.json"):
        local = source.folder is not None
        data, _ = PretrainedConfig.get_config_dict(source.location, local_files_only=local, revision=source.commit)
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
    return model_type, CheckpointSource(source.name, source.folder, data.get("_commit_hash"))


def _explain_typeless(source: CheckpointSource, data: Mapping[str, Any]) -> str:
    """What a folder whose config.json names no model type seems to be."""
    if source.folder is not None and any(source.folder.glob("*/model.onnx")):
        return "its config.json is Immich's, and visual/model.onnx or textual/model.onnx beside it is missing"
    if "model_cfg" in data or "vision_cfg" in data:
        return "its config.json is open_clip's: call that file open_clip_config.json, as the hub does"
    return "its config.json names no model_type, so it is none that transformers wrote"


def _load_open_clip(source: CheckpointSource) -> tuple[Network, Any]:
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
        network: Network = CLIPModel(config)
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


def _load_network(source: CheckpointSource, family: Family) -> Network:
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


def _compute_version(source: CheckpointSource) -> str:
    """16 hex digits: a hash over the bytes of every file that affects the numbers, wherever the files lie."""
    digest = hashlib.blake2b(RECIPE.encode(), digest_size=8)
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


def load_tokenizer(source: CheckpointSource, **tokens: str) -> Any:
    """Loads a tokeniser that is one file and knows these tokens; each, "sep" for example, comes with its display name.

    Raises:
        BadInput: there is none, or not of that kind.
    """
    from transformers import AutoTokenizer

    with explain_failures(source, "the tokeniser"), silence_transformers():
        if source.folder is not None and source.gguf is None and not any(map(source.file, TOKENIZER_FILES)):
            # transformers would make an empty one, which cuts every text alike.
            raise BadInput(
                f"{source.called}: has no tokeniser (none of {', '.join(TOKENIZER_FILES)}): {source.way_out}"
            )
        found: Any = AutoTokenizer.from_pretrained(source.location, **source.options)
    if not found.is_fast or any(getattr(found, f"{name}_token_id") is None for name in tokens):
        wanted = f"no tokenizer.json with {' and '.join(tokens.values())}"
        raise BadInput(f"{source.called}: its tokeniser has {wanted}: {source.way_out}")
    return found


def load_whole(kind: Any, source: CheckpointSource, part: str, saved_from: str, **options: Any) -> Any:
    """Loads a transformers model in single precision, with no weights missing except a pooler's.

    Raises:
        BadInput: no weights, or some are missing; `saved_from`: what has them all.
    """
    with explain_failures(source, part), silence_transformers():
        found, report = kind.from_pretrained(
            source.location, **source.options, **options, dtype=torch.float32, output_loading_info=True
        )
    if missing := sorted(key for key in report["missing_keys"] if "pooler" not in key):
        lacks = f"{len(missing)} weights are missing ({missing[0]}, ...)"
        raise BadInput(f"{source.called}: {lacks}; give a checkpoint that was saved from {saved_from}")
    return found


@contextmanager
def explain_failures(source: CheckpointSource, part: str) -> Iterator[None]:
    """Turns whatever goes wrong inside into one line: transformers raises a dozen types, some with many lines."""
    try:
        yield
    except ViewfinderError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise BadInput(f"{source.called}: cannot load {part} ({lines[0][:200]}): {source.way_out}") from error


@contextmanager
def silence_transformers() -> Iterator[None]:
    """No reports, retries or loading bars on stderr: what matters is raised. Downloads keep their bars."""
    import huggingface_hub.utils.logging as hub_log
    import transformers.utils.logging as log

    gguf: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    bar, gguf.tqdm = gguf.tqdm, lambda items, **options: items  # a bar that the hook does not see
    before, hub_before = log.get_verbosity(), hub_log.get_verbosity()
    bars = log.set_tqdm_hook(lambda make, args, options: make(*args, **{**options, "disable": True}))
    log.set_verbosity(logging.ERROR)
    hub_log.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        gguf.tqdm = bar
        log.set_tqdm_hook(bars)
        log.set_verbosity(before)
        hub_log.set_verbosity(hub_before)
