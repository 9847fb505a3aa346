"""Small untrained models of the true architectures: checkpoints of transformers, and ONNX folders of each layout."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor, nn
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
TOWER = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "patch_size": 8,
    "initializer_range": 0.5,  # larger than in life, so that pictures and texts differ visibly
}
SIDE = 48


def make_clip_checkpoint(folder: Path, *, vocabulary: Mapping[str, int] | None = None, merges: Any = None) -> None:
    """CLIP: cropped pictures, texts of any length, projections after both towers."""
    small = ["<|startoftext|>", "<|endoftext|>", *LETTERS, *(letter + "</w>" for letter in LETTERS), "do"]
    known = dict(vocabulary or {token: row for row, token in enumerate(small)})
    tokenizer = transformers.CLIPTokenizer(vocab=known, merges=merges or [("d", "o")], model_max_length=77)
    tokenizer.save_pretrained(folder)
    begin, end = known["<|startoftext|>"], known["<|endoftext|>"]
    text = {**TOWER, "vocab_size": len(known), "pad_token_id": end, "bos_token_id": begin, "eos_token_id": end}
    config = transformers.CLIPConfig(text_config=text, vision_config={**TOWER, "image_size": SIDE}, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    crop = {"height": SIDE, "width": SIDE}
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=crop).save_pretrained(folder)


def make_siglip_checkpoint(folder: Path) -> None:
    """SigLIP: whole pictures, texts filled up to 64 tokens; its tokenizer makes letters small."""
    pieces = [("</s>", 0.0), ("<unk>", -10.0), ("▁", -2.0), *((letter, -3.0) for letter in LETTERS)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    _save_siglip(folder, tokenizer, "</s>", 0, resample=3)


def make_siglip2_checkpoint(folder: Path) -> None:
    """SigLIP 2 of fixed size: SigLIP with the tokenizer of Gemma, which keeps capitals, and another filter."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "▁", *LETTERS, *(letter.upper() for letter in LETTERS)]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Replace("▁", " ")
    _save_siglip(folder, tokenizer, "<eos>", 1, pad="<pad>", resample=2)


def _save_siglip(folder: Path, tokenizer: Any, end: str, row: int, *, resample: int, pad: str = "") -> None:
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, row)])
    wrap: Any = transformers.PreTrainedTokenizerFast
    wrap(
        tokenizer_object=tokenizer, eos_token=end, unk_token="<unk>", pad_token=pad or end, model_max_length=64,
        model_input_names=["input_ids"],  # as on the hub: these models get no mask
    ).save_pretrained(folder)  # fmt: skip
    text = {**TOWER, "vocab_size": tokenizer.get_vocab_size()}
    # 52 is no multiple of 8, as 384 is none of 14 in siglip-so400m-patch14-384.
    config = transformers.SiglipConfig(text_config=text, vision_config={**TOWER, "image_size": 52})
    transformers.SiglipModel(config).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": 52, "width": 52}, resample=resample).save_pretrained(folder)


class _Call(nn.Module):
    """A function of a network as a module, for the exporter."""

    def __init__(self, network: nn.Module, work: Callable[..., Any]) -> None:
        super().__init__()
        self.network, self.work = network, work

    def forward(self, *given: Tensor) -> Any:
        return self.work(self.network, *given)


def write_graph(
    file: Path,
    network: Any,
    work: Callable[..., Any],
    inputs: Mapping[str, Tensor],
    outputs: list[str],
    *,
    free: bool = True,
) -> None:
    """Writes what a function of a network computes as ONNX; `free`: batches and texts of any length."""
    file.parent.mkdir(parents=True, exist_ok=True)
    axes = {name: {0: "batch", **({1: "length"} if tensor.ndim == 2 else {})} for name, tensor in inputs.items()}
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Call(network, work).eval(), tuple(inputs.values()), file, input_names=list(inputs), output_names=outputs,
            dynamic_axes=axes | {name: {0: "batch"} for name in outputs} if free else None,
            opset_version=17, dynamo=False,
        )  # fmt: skip


def load_network(checkpoint: Path) -> Any:
    """The network of a checkpoint as transformers loads it."""
    return transformers.AutoModel.from_pretrained(checkpoint).eval()


def make_transformers_js(checkpoint: Path, folder: Path) -> Path:
    """As the conversion script of transformers.js writes CLIP and SigLIP: two graphs."""
    network = load_network(checkpoint)
    _copy_settings(checkpoint, folder)
    side, is_siglip = network.config.vision_config.image_size, network.config.model_type == "siglip"
    pixels, ids = {"pixel_values": torch.rand(2, 3, side, side)}, {"input_ids": torch.randint(2, 20, (2, 64))}
    towers = ["last_hidden_state", "pooler_output"]
    if is_siglip:
        look = lambda network, pixels: tuple(network.vision_model(pixels)[:2])  # noqa: E731
        read = lambda network, ids: tuple(network.text_model(ids)[:2])  # noqa: E731
    else:
        look = lambda network, pixels: network.get_image_features(pixels).pooler_output  # noqa: E731
        read = lambda network, ids: network.get_text_features(ids).pooler_output  # noqa: E731
    outputs = (towers, towers) if is_siglip else (["image_embeds"], ["text_embeds"])
    write_graph(folder / "onnx" / "vision_model.onnx", network, look, pixels, outputs[0])
    write_graph(folder / "onnx" / "text_model.onnx", network, read, ids, outputs[1])
    return folder


def make_one_graph(checkpoint: Path, folder: Path) -> Path:
    """As transformers.js has models whose towers were not divided: one graph that takes all and gives all."""
    network = load_network(checkpoint)
    _copy_settings(checkpoint, folder)

    def compute(network: Any, ids: Tensor, pixels: Tensor, mask: Tensor) -> Any:
        made = network(input_ids=ids, pixel_values=pixels, attention_mask=mask)
        return made.logits_per_image, made.logits_per_text, made.text_embeds, made.image_embeds

    ids = torch.randint(2, 20, (2, 9))
    given = {"input_ids": ids, "pixel_values": torch.rand(2, 3, SIDE, SIDE), "attention_mask": torch.ones_like(ids)}
    outputs = ["logits_per_image", "logits_per_text", "text_embeds", "image_embeds"]
    write_graph(folder / "onnx" / "model.onnx", network, compute, given, outputs)
    return folder


def make_immich(checkpoint: Path, folder: Path) -> Path:
    """As Immich exports a model of open_clip: unit vectors, one at a time, token numbers of 32 bits."""
    network = load_network(checkpoint)
    is_siglip, side = network.config.model_type == "siglip", network.config.vision_config.image_size
    length = 64 if is_siglip else 77

    def look(network: Any, pixels: Tensor) -> Tensor:
        return nn.functional.normalize(network.get_image_features(pixels).pooler_output, dim=-1)

    def read(network: Any, ids: Tensor) -> Tensor:
        return nn.functional.normalize(network.get_text_features(ids).pooler_output, dim=-1)

    visual, textual = folder / "visual", folder / "textual"
    write_graph(
        visual / "model.onnx", network, look, {"image": torch.rand(1, 3, side, side)}, ["embedding"], free=False
    )
    ids = torch.ones(1, length, dtype=torch.int32)
    write_graph(textual / "model.onnx", network, read, {"text": ids}, ["embedding"], free=False)
    processor = json.loads((checkpoint / "preprocessor_config.json").read_text())
    # The names and values of open_clip's own settings.
    (visual / "preprocess_cfg.json").write_text(json.dumps({
        "size": [side, side], "mode": "RGB", "mean": processor["image_mean"], "std": processor["image_std"],
        "interpolation": {2: "bilinear", 3: "bicubic"}[processor["resample"]],
        "resize_mode": "squash" if is_siglip else "shortest", "fill_color": 0,
    }))  # fmt: skip
    cleaned = {"tokenizer_kwargs": {"clean": "canonicalize"}} if is_siglip else {}
    text = {"context_length": length, "vocab_size": network.config.text_config.vocab_size, **cleaned}
    vision = {"image_size": side, "layers": 2, "width": 32, "patch_size": 8}
    (folder / "config.json").write_text(json.dumps({"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(checkpoint / name, textual)
    return folder


def make_rclip(checkpoint: Path, folder: Path, merges: list[tuple[str, str]]) -> Path:
    """As rclip keeps its model: two graphs without settings, and the merges of CLIP's tokenizer one folder up."""
    network = load_network(checkpoint)
    look = lambda network, pixels: network.get_image_features(pixels).pooler_output  # noqa: E731
    read = lambda network, ids: network.get_text_features(ids).pooler_output  # noqa: E731
    write_graph(folder / "visual.onnx", network, look, {"input": torch.rand(1, 3, SIDE, SIDE)}, ["output"])
    write_graph(folder / "textual.onnx", network, read, {"input": torch.zeros(1, 77, dtype=torch.long)}, ["output"])
    packed = folder.parent / "tokenizer" / "bpe_simple_vocab_16e6.txt.gz"
    packed.parent.mkdir(exist_ok=True)
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges), "more than is used"]
    with gzip.open(packed, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return folder


def draw_merges() -> tuple[list[tuple[str, str]], dict[str, int]]:
    """As many merges as CLIP's tokenizer has, of bytes, and the vocabulary that follows from them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(code) for code in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    ends = [letter + "</w>" for letter in letters]
    small = letters[64:90]  # a to z come first, so that words of them are merged
    pairs = itertools.chain(itertools.product(small, [*small, *(f"{letter}</w>" for letter in small)]),
                            itertools.product(letters, [*letters, *ends]))  # fmt: skip
    merges = list(itertools.islice(dict.fromkeys(pairs), 48_894))
    tokens = [*letters, *ends, *(left + right for left, right in merges), "<|startoftext|>", "<|endoftext|>"]
    return merges, {token: row for row, token in enumerate(tokens)}


def _copy_settings(checkpoint: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(checkpoint / name, folder)
