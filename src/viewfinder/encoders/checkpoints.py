"""Checkpoints of CLIP, SigLIP, SigLIP 2 and BLIP: found, checked, loaded strictly, identified, and what they compute.

A checkpoint is a hub name or a local folder. Every failure becomes one line of `BadInput` (it cannot be loaded) or
`EncoderMismatch` (its numbers are not those of the model that it claims to be). What distinguishes the architectures is
defined once, as a `Family`; `transformers.py` here does the rest.

How a region's vector is made: the patch tokens of the last layer are averaged in each cell of a 6 x 6 grid, and each
average takes the path of the global vector (CLIP, Radford et al. 2021; SigLIP, Zhai et al. 2023; BLIP, Li et al. 2022):

- clip: post-layernorm, then the visual projection, as the class token does.
- siglip, siglip2: the tokens come out of the post-layernorm; each average goes on its own through the attention pooling
  head, whose weights over one token are 1: value and output projection, then the head's MLP.
- blip: the tokens come out of the post-layernorm; each average goes through `vision_proj`, as the class token does.

Axes: b pictures, n texts or regions, h x w patches, c width inside the model, d width of the shared space. In torch.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from viewfinder.encoders.base import REGIONS
from viewfinder.encoders.origins import Origin, Pin, find_pinned_weights, hash_arrays
from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError

Inputs = Mapping[str, Tensor]
Network = Any
"""A transformers model: its towers are attributes, which torch types as `Tensor | Module`."""

GRID_SIDE = 6


@dataclass(frozen=True)
class TowerOutput:
    """The output of a vision tower for a batch; the patch grids of SigLIP 2 differ in shape by picture."""

    global_bd: Float[Tensor, "b d"]
    patches: tuple[Float[Tensor, "_h _w c"], ...]


@dataclass(frozen=True)
class Family:
    """One architecture; `network` is its class in transformers, `pad` how texts were padded in training."""

    network: str
    pad: Literal["longest", "max_length"]
    width: Callable[[Any], int]
    look: Callable[[Network, Inputs], TowerOutput]
    region: Callable[[Network, Float[Tensor, "n c"]], Float[Tensor, "n d"]]
    read: Callable[[Network, Inputs], Float[Tensor, "n d"]]


def encode_regions(network: Network, family: Family, looked: TowerOutput) -> Float[Tensor, "b r d"]:
    """36 region vectors per picture, row by row (not yet of unit length)."""
    pooled_nc = torch.cat([pool_regions(patches_hwc) for patches_hwc in looked.patches])
    vectors_nd = family.region(network, pooled_nc)
    return vectors_nd.reshape(-1, REGIONS, vectors_nd.shape[-1])


def pool_regions(patches_hwc: Float[Tensor, "h w c"]) -> Float[Tensor, "r c"]:
    """The mean of the patches under each cell of a 6 x 6 grid.

    Where 6 does not divide h or w, neighbouring cells share the patches on their border.
    """
    cells_cyx = functional.adaptive_avg_pool2d(patches_hwc.permute(2, 0, 1), GRID_SIDE)
    return cells_cyx.flatten(1).T


def _look_clip(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(network.visual_projection(seen.pooler_output), _split_square(seen.last_hidden_state[:, 1:]))


def _look_siglip(network: Network, inputs: Inputs) -> TowerOutput:
    seen = network.vision_model(pixel_values=inputs["pixel_values"])
    return TowerOutput(seen.pooler_output, _split_square(seen.last_hidden_state))


def _look_siglip2(network: Network, inputs: Inputs) -> TowerOutput:
    names = ("pixel_values", "pixel_attention_mask", "spatial_shapes")
    seen = network.vision_model(**{name: inputs[name] for name in names})
    shapes: list[tuple[int, int]] = inputs["spatial_shapes"].tolist()
    # What follows the h * w patches of a picture is padding.
    patches = [
        tokens_lc[: h * w].reshape(h, w, -1) for tokens_lc, (h, w) in zip(seen.last_hidden_state, shapes, strict=True)
    ]
    return TowerOutput(seen.pooler_output, tuple(patches))


def _look_blip(network: Network, inputs: Inputs) -> TowerOutput:
    # Not `pooler_output`: that has been through the post-layernorm twice, and the ITC head does not use it.
    tokens_blc = network.vision_model(pixel_values=inputs["pixel_values"]).last_hidden_state
    return TowerOutput(network.vision_proj(tokens_blc[:, 0]), _split_square(tokens_blc[:, 1:]))


def _read_blip(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    tokens_nlc = network.text_encoder(**inputs).last_hidden_state
    return network.text_proj(tokens_nlc[:, 0])  # type: ignore[no-any-return]


def _read_texts(network: Network, inputs: Inputs) -> Float[Tensor, "n d"]:
    return network.get_text_features(**inputs).pooler_output  # type: ignore[no-any-return]


def _split_square(tokens_blc: Float[Tensor, "b l c"]) -> tuple[Float[Tensor, "_h _w c"], ...]:
    b, length, c = tokens_blc.shape
    side = round(length**0.5)
    return tuple(tokens_blc.reshape(b, side, side, c))


def _siglip_width(config: Any) -> int:
    return int(config.vision_config.hidden_size)


def _siglip_region(network: Network, pooled_nc: Float[Tensor, "n c"]) -> Float[Tensor, "n d"]:
    return network.vision_model.head(pooled_nc[:, None, :])  # type: ignore[no-any-return]


FAMILIES: dict[str, Family] = {
    "clip": Family(
        "CLIPModel",
        "longest",
        lambda config: int(config.projection_dim),
        _look_clip,
        lambda network, pooled_nc: network.visual_projection(network.vision_model.post_layernorm(pooled_nc)),
        _read_texts,
    ),
    "siglip": Family("SiglipModel", "max_length", _siglip_width, _look_siglip, _siglip_region, _read_texts),
    "siglip2": Family("Siglip2Model", "max_length", _siglip_width, _look_siglip2, _siglip_region, _read_texts),
    "blip": Family(
        "BlipForImageTextRetrieval",
        "longest",
        lambda config: int(config.image_text_hidden_size),
        _look_blip,
        lambda network, pooled_nc: network.vision_proj(pooled_nc),
        _read_blip,
    ),
}


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
)
"""The files that transformers looks for, in its order."""

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
"""The files of a tokenizer; the first that exists counts (`merges.txt` goes with `vocab.json`)."""

PROCESSOR = "the image processor (preprocessor_config.json)"

SETTING_FILES = ("config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json")


@dataclass(frozen=True)
class CheckpointSource:
    """The place of a checkpoint: a folder (or a .gguf file in it), or a name on the hub."""

    name: str
    folder: Path | None
    commit: str | None = None  # on the hub: as pinned, or once a config was read
    gguf: str | None = None
    may_fetch: bool = True  # from the hub; else what is in its cache

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
        own = {"local_files_only": self.is_local, "trust_remote_code": False, "revision": self.commit}
        return own if self.gguf is None else {**own, "gguf_file": self.gguf}

    @property
    def is_local(self) -> bool:
        """Whether nothing is fetched."""
        return self.folder is not None or not self.may_fetch

    @property
    def way_out(self) -> str:
        """Advice for a user where something cannot be loaded."""
        if self.folder is None and not self.may_fetch:
            return f"if it is a folder, `viewfinder encoder move {self.name} FOLDER` says where it lies"
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
            local_files_only=self.is_local,
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
    origin: Origin
    source: CheckpointSource

    def former_versions(self) -> tuple[str, ...]:
        """The versions under which earlier viewfinders knew it; they read all its files."""
        with explain_failures(self.source, "the files"):
            return (_hash_all_files(self.source),)


def load_checkpoint(name_or_path: str, pin: Pin | None = None, *, may_fetch: bool = True) -> Checkpoint:
    """Loads the checkpoint in a folder, or of that name on the hub (or in the hub's cache on this machine).

    `pin`: the folder or the commit for which the name stands. Without `may_fetch`, the hub is not asked.

    Raises:
        BadInput: nothing there, not a model, an unsupported architecture, a file missing or unreadable.
        EncoderMismatch: weights missing, left over or of another shape, or parts that do not fit together.
    """
    from transformers import AutoImageProcessor

    source = replace(find_checkpoint(name_or_path, pin), may_fetch=may_fetch)
    with silence_transformers():
        model_type, source = _read_model_type(source)
        family = FAMILIES[model_type]
        network = _load_network(source, family)
        with explain_failures(source, PROCESSOR):
            load: Callable[..., Any] = AutoImageProcessor.from_pretrained
            pixels = load(source.location, **source.options, backend="pil")
        tokenizer = _load_tokenizer(source)
        _check_parts(source, network.config, pixels, tokenizer)
        with explain_failures(source, "the files"):
            files = _list_weight_files(source)
            weights = find_pinned_weights(pin, files) or _hash_weights(network)
            version = _compute_version(model_type, weights, network.config, pixels, tokenizer)
    origin = Origin(source.folder, source.commit, files, weights)
    name = f"{model_type}:{source.name}"
    return Checkpoint(name, version, family, network.config, network, pixels, tokenizer, origin, source)


def find_checkpoint(name_or_path: str, pin: Pin | None = None) -> CheckpointSource:
    """A folder if there is one of that name, else a name on the hub; with a `pin`, what it says.

    Raises:
        BadInput: it is a file, a folder that does not exist, or not a possible name.
    """
    if pin is not None and pin.folder is None and pin.commit is not None:
        return CheckpointSource(name_or_path, None, pin.commit)
    is_pinned = pin is not None and pin.folder is not None
    path = Path(pin.folder if pin is not None and pin.folder is not None else name_or_path).expanduser()
    if is_pinned and not path.is_dir():
        raise BadInput(
            f"the encoder's folder {path} is gone: put it back, or say with "
            f"`viewfinder encoder move {name_or_path} FOLDER` where it lies now"
        )
    if not name_or_path:
        raise BadInput("the encoder's name is empty: give a model folder, or a hub name such as owner/model")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BadInput(f"{path} is no model folder (no config.json): give the folder that save_pretrained wrote")
        return CheckpointSource(path.resolve().name, path)
    if path.is_file():
        raise BadInput(f"{path} is a file: give the model folder around it, or a hub name such as owner/model")
    if name_or_path.startswith(("/", ".", "~")) or name_or_path.count("/") > 1 or "\\" in name_or_path:
        raise BadInput(f"there is no folder {path}: give a model folder, or a hub name such as owner/model")
    return CheckpointSource(name_or_path, None)


def _read_model_type(source: CheckpointSource) -> tuple[str, CheckpointSource]:
    """The architecture that config.json names, and the source pinned to the commit that it was read from."""
    from transformers import PretrainedConfig

    with explain_failures(source, "config.json"):
        data, _ = PretrainedConfig.get_config_dict(
            source.location, local_files_only=source.is_local, revision=source.commit
        )
    if not data:
        raise BadInput(f"{source.location} has no config.json, so it is no model: {source.way_out}")
    model_type, known = data.get("model_type"), ", ".join(sorted(FAMILIES))
    if model_type not in FAMILIES:
        what = f"{source.location} is of model type {model_type!r}"
        raise BadInput(f"{what}, which viewfinder cannot use: give one of type {known}")
    if source.folder is None and source.commit is None:
        from transformers.utils.hub import extract_commit_hash

        # What `get_config_dict` returns does not tell the commit since transformers 5.
        with explain_failures(source, "config.json"):
            source = replace(source, commit=extract_commit_hash(str(source.file("config.json")), None))
    return model_type, source


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
    some = {kind: ", ".join([*keys[:3], *(["..."] if len(keys) > 3 else [])]) for kind, keys in wrong.items()}
    said = [f"{len(keys)} {kind} ({some[kind]})" for kind, keys in wrong.items() if keys]
    if said:
        what = f"{source.location} does not hold a whole {family.network}: {'; '.join(said)}"
        raise EncoderMismatch(f"{what}; give a checkpoint that was saved from {family.network}")
    if getattr(network.config.vision_config, "vision_use_head", True) is False:
        what = f"{source.location} has no pooling head (vision_use_head is false)"
        raise BadInput(f"{what}, so it gives no vector for a whole picture: give a model with the head")
    return network.eval()


def _load_tokenizer(source: CheckpointSource) -> Any:
    """The tokenizer as transformers makes it, except for SigLIP's.

    `SiglipTokenizer` needs the sentencepiece package; the tokenizer.json beside it is equivalent, so that is read,
    whether or not sentencepiece is installed.
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
        return AutoTokenizer.from_pretrained(source.location, **source.options)


def _check_parts(source: CheckpointSource, config: Any, pixels: Any, tokenizer: Any) -> None:
    """Raises EncoderMismatch if tokenizer or image processor belong to another model."""
    from PIL import Image

    rows = config.text_config.vocab_size
    if len(tokenizer) > rows:
        what = f"{source.location}: the tokenizer knows {len(tokenizer)} tokens, the model only {rows}"
        raise EncoderMismatch(f"{what}; they belong to different models: {source.way_out}")
    with explain_failures(source, PROCESSOR):
        values = pixels(images=[Image.new("RGB", (64, 48))], return_tensors="np")["pixel_values"]
    made, vision = tuple(int(size) for size in values.shape[1:]), config.vision_config
    in_patches = "spatial_shapes" in pixels.model_input_names
    side = vision.patch_size if in_patches else vision.image_size
    wanted = (vision.num_channels * side * side,) if in_patches else (3, side, side)
    if made[-len(wanted) :] != wanted:
        what = f"{source.location}: the image processor makes inputs of {made}, the model wants {wanted}"
        raise EncoderMismatch(f"{what}; they belong to different models: {source.way_out}")


def _compute_version(model_type: str, weights: str, config: Any, pixels: Any, tokenizer: Any) -> str:
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


def _hash_weights(network: Network) -> str:
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


def _list_weight_files(source: CheckpointSource) -> dict[str, Path]:
    """The files of the weights by their names, without the list of shards."""
    weights = next(name for name in WEIGHT_FILES if source.file(name))
    names = [weights]
    if weights.endswith(".index.json") and (index := source.file(weights)):
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    return {name: path for name in names if (path := source.file(name)) is not None}


def _hash_all_files(source: CheckpointSource) -> str:
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
