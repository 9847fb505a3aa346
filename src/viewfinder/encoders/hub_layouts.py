"""Which files of a repository are needed, told from their names: one precision of one layout, and no others.

>>> choose_files(["config.json", "tokenizer.json", "onnx/vision_model.onnx", "onnx/text_model.onnx", "onnx/model.onnx"])
('transformers.js', ('config.json', 'onnx/text_model.onnx', 'onnx/vision_model.onnx', 'tokenizer.json'))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

SETTINGS = frozenset({
    "added_tokens.json", "chat_template.json", "config.json", "merges.txt", "open_clip_config.json",
    "preprocess_cfg.json", "preprocessor_config.json", "processor_config.json", "sentencepiece.bpe.model",
    "special_tokens_map.json", "spiece.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
    "vocab.json", "vocab.txt",
})  # fmt: skip
"""What stands beside weights, in any layout."""

PRECISIONS = ("", "_quantized", "_fp16", "_uint8", "_int8")
"""Of transformers.js, in the order in which they are taken."""

FOR_OTHER_CHIPS = (".armnn", ".rknn", ".axmodel")
TORCH_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.bin",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""The first that there is counts; shards come with their index."""


def choose_files(paths: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The layout of a repository and the files to fetch, sorted; no files: it is none that can be used."""
    there = set(paths)
    for layout, choose in (
        ("Immich", _choose_immich),
        ("transformers.js", _choose_transformers_js),
        ("rclip", _choose_rclip),
        ("torch", _choose_torch),
    ):
        if chosen := choose(there):
            return layout, tuple(sorted(chosen))
    return "", ()


def _settings(there: set[str], folder: str = "") -> set[str]:
    return {path for path in there if path.removeprefix(folder) in SETTINGS and path.startswith(folder)}


def _choose_immich(there: set[str]) -> set[str]:
    if not {"visual/model.onnx", "textual/model.onnx"} <= there:
        return set()
    towers = {
        path
        for path in there
        if PurePosixPath(path).parent.as_posix() in ("visual", "textual") and not path.endswith(FOR_OTHER_CHIPS)
    }
    return _settings(there) | towers


def _choose_transformers_js(there: set[str]) -> set[str]:
    for precision in PRECISIONS:
        towers = {f"onnx/{tower}_model{precision}.onnx" for tower in ("vision", "text")}
        if towers <= there:
            beside = {path for path in there if path.removesuffix("_data") in towers or path.startswith(
                tuple(f"{tower}_data_" for tower in towers)
            )}  # fmt: skip
            return _settings(there) | towers | beside
    return set()


def _choose_rclip(there: set[str]) -> set[str]:
    towers = {"visual.onnx", "textual.onnx"}
    return _settings(there) | towers if towers <= there else set()


def _choose_torch(there: set[str]) -> set[str]:
    """A model of transformers, of open_clip, or of sentence-transformers, whose model lies in a folder of its own."""
    for folder in ("", "0_CLIPModel/"):
        weights = next((name for name in TORCH_WEIGHTS if folder + name in there), None)
        if weights is None or (folder and "modules.json" not in there):
            continue
        kind = weights.removesuffix(".index.json").rpartition(".")[2]
        shards = {path for path in there if re.fullmatch(rf"{re.escape(folder)}\w+-\d+-of-\d+\.{kind}", path)}
        more = ({"modules.json"} & there) | (shards if weights.endswith("index.json") else set())
        return _settings(there, folder) | {folder + weights} | more
    return set()
