"""Folders of open_clip (Ilharco et al. 2021), whose own ViT and text transformer are CLIP's under other names.

`open_clip_config.json` says what the towers are; weights are `open_clip_model.safetensors` or
`open_clip_pytorch_model.bin`. Converted are models whose towers are both open_clip's own; ResNets, towers of timm and
of transformers (SigLIP, CoCa, XLM-RoBERTa ...) are refused by name. Texts are cut and lower-cased by the tokenizer that
lies beside the weights; open_clip mends broken Unicode (ftfy) and HTML entities before, which is not done here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from torch import Tensor

from viewfinder.errors import BadInput

SETTINGS = "open_clip_config.json"
WEIGHT_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)

VISION_KEYS = {"image_size", "layers", "width", "patch_size", "head_width", "mlp_ratio", "ls_init_value"}
TEXT_KEYS = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio", "ls_init_value"}
MODEL_KEYS = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu", "init_logit_scale", "custom_text"}
"""What is converted; another key that is set means another network."""

_TOWERS = {
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final": "text_model.final_layer_norm",
    "transformer.resblocks": "text_model.encoder.layers",
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.ln_pre": "vision_model.pre_layrnorm",
    "visual.ln_post": "vision_model.post_layernorm",
    "visual.transformer.resblocks": "vision_model.encoder.layers",
}
_BLOCK = {
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}
_IN_BLOCK = re.compile(r"(.*resblocks)\.(\d+)\.(.+?)\.?(weight|bias|in_proj_weight|in_proj_bias)")


def convert_settings(called: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of transformers' `CLIPConfig`, out of an open_clip_config.json.

    Raises:
        BadInput: it is not one, or the towers are not open_clip's own.
    """
    model = settings.get("model_cfg")
    if not isinstance(model, Mapping):
        raise BadInput(f"{called}: {SETTINGS} has no model_cfg: give a folder that open_clip wrote")
    vision, text = (model.get(name) for name in ("vision_cfg", "text_cfg"))
    if not isinstance(vision, Mapping) or not isinstance(text, Mapping) or not isinstance(vision.get("layers"), int):
        _refuse(called, "a network other than a ViT beside a text transformer")
    for cfg, known in ((model, MODEL_KEYS), (vision, VISION_KEYS), (text, TEXT_KEYS)):
        if odd := sorted(key for key, value in cfg.items() if key not in known and value not in (None, False)):
            _refuse(called, ", ".join(f"{key} {cfg[key]!r}"[:60] for key in odd[:3]))
    if vision.get("ls_init_value") is not None or text.get("ls_init_value") is not None:
        _refuse(called, "layer scale")
    try:
        return _make_settings(model, vision, text)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadInput(f"{called}: {SETTINGS} is damaged ({type(error).__name__}: {error}): fetch it again") from error


def _make_settings(model: Mapping[str, Any], vision: Mapping[str, Any], text: Mapping[str, Any]) -> dict[str, Any]:
    act = "quick_gelu" if model.get("quick_gelu") else "gelu"
    size = vision.get("image_size", 224)
    width = int(vision["width"])
    return {
        "projection_dim": int(model["embed_dim"]),
        "vision_config": {
            "hidden_size": width,
            "intermediate_size": int(width * vision.get("mlp_ratio", 4.0)),
            "num_hidden_layers": int(vision["layers"]),
            "num_attention_heads": width // int(vision.get("head_width", 64)),
            "image_size": int(size[0] if isinstance(size, list) else size),
            "patch_size": int(vision["patch_size"]),
            "hidden_act": act,
            "projection_dim": int(model["embed_dim"]),
        },
        "text_config": {
            "hidden_size": int(text["width"]),
            "intermediate_size": int(text["width"] * text.get("mlp_ratio", 4.0)),
            "num_hidden_layers": int(text["layers"]),
            "num_attention_heads": int(text["heads"]),
            "max_position_embeddings": int(text.get("context_length", 77)),
            "vocab_size": int(text["vocab_size"]),
            "hidden_act": act,
            "projection_dim": int(model["embed_dim"]),
            "eos_token_id": int(text["vocab_size"]) - 1,  # the last token, which open_clip finds as the largest
            "bos_token_id": int(text["vocab_size"]) - 2,
            "pad_token_id": 0,
        },
    }


def _refuse(called: str, what: str) -> NoReturn:
    raise BadInput(
        f"{called} is an open_clip model with {what}, which viewfinder does not convert: "
        "take its copy in an ONNX layout "
        "(Immich has most), or one saved by transformers"
    )


def make_pixels(called: str, settings: Mapping[str, Any], size: int) -> Any:
    """The image processor that does what open_clip does to a picture: shorter side, crop, normalise.

    Raises:
        BadInput: pictures are prepared in another way.
    """
    given = settings.get("preprocess_cfg")
    cfg: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    mode, filter_name = cfg.get("resize_mode") or "shortest", cfg.get("interpolation") or "bicubic"
    resample = {"bicubic": 3, "bilinear": 2}.get(filter_name)
    if mode not in ("shortest", "squash") or resample is None:
        raise BadInput(f"{called}: pictures of it are scaled by {mode!r} and {filter_name!r}, which viewfinder cannot")
    whole = {"height": size, "width": size}
    return _cropper()(
        size=whole if mode == "squash" else {"shortest_edge": size},
        do_center_crop=mode != "squash",
        crop_size=whole,
        resample=resample,
        image_mean=list(cfg.get("mean") or MEAN),
        image_std=list(cfg.get("std") or STD),
    )


def _cropper() -> Any:
    """The class of the image processor: transformers' for CLIP, but the crop begins where torchvision's does."""
    from transformers.models.clip import image_processing_pil_clip

    base: Any = image_processing_pil_clip.CLIPImageProcessorPil

    class OpenCLIPImageProcessor(base):  # type: ignore[misc]
        def center_crop(self, image: Any, size: Any, **_: Any) -> Any:
            """A crop that begins at the nearest pixel, of two the even one; transformers takes the one before."""
            height, width = image.shape[-2:]
            if height < size.height or width < size.width:
                return super().center_crop(image, size)
            top, left = round((height - size.height) / 2), round((width - size.width) / 2)
            return image[..., top : top + size.height, left : left + size.width]

    return OpenCLIPImageProcessor


def read_weights(file: Path) -> dict[str, Tensor]:
    """The tensors of a file, by open_clip's names; no code in it is run."""
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    import torch

    data = torch.load(file, map_location="cpu", weights_only=True)
    held = data.get("state_dict", data) if isinstance(data, dict) else {}
    return {str(name).removeprefix("module."): one for name, one in held.items() if isinstance(one, Tensor)}


def convert_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors by the names of transformers' `CLIPModel`; those that it has no place for keep their names.

    open_clip's attention has one matrix for queries, keys and values, one below the other; its two projections are
    stored for multiplication from the right.
    """
    converted: dict[str, Tensor] = {}
    for key, tensor in weights.items():
        name = key.removeprefix("text.")
        if name in ("attn_mask", "visual.attn_mask"):
            continue
        if name in ("text_projection", "visual.proj"):
            converted["text_projection.weight" if name == "text_projection" else "visual_projection.weight"] = tensor.T
        elif name in ("text_projection.weight",):
            converted[name] = tensor
        elif (block := _IN_BLOCK.fullmatch(name)) is not None and block[1] in _TOWERS:
            converted |= _convert_in_block(f"{_TOWERS[block[1]]}.{block[2]}", block[3], block[4], tensor)
        else:
            converted[_rename(name)] = tensor
    return {name: tensor.contiguous() for name, tensor in converted.items()}


def _convert_in_block(block: str, part: str, kind: str, tensor: Tensor) -> dict[str, Tensor]:
    if kind.startswith("in_proj_"):
        rows = tensor.chunk(3)
        ending = kind.removeprefix("in_proj_")
        return {f"{block}.self_attn.{name}_proj.{ending}": one for name, one in zip("qkv", rows, strict=True)}
    return {f"{block}.{_BLOCK.get(part, part)}.{kind}": tensor}


def _rename(name: str) -> str:
    for ours, theirs in _TOWERS.items():
        if name == ours or name.startswith(f"{ours}."):
            return theirs + name.removeprefix(ours)
    return name
