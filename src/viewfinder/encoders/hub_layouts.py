"""Which files of a repository are needed, told from their names: one precision of one layout, and no others.

>>> choose_files(["config.json", "tokenizer.json", "onnx/vision_model.onnx", "onnx/text_model.onnx", "onnx/model.onnx"])
('transformers.js', ('config.json', 'onnx/text_model.onnx', 'onnx/vision_model.onnx', 'tokenizer.json'))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

SETTINGS = frozenset({
    "added_tokens.json", "bpe_simple_vocab_16e6.txt.gz", "chat_template.json", "config.json", "merges.txt",
    "open_clip_config.json", "preprocess_cfg.json", "preprocessor_config.json", "processor_config.json",
    "sentencepiece.bpe.model", "special_tokens_map.json", "spiece.model", "tokenizer.json", "tokenizer.model",
    "tokenizer_config.json", "vocab.json", "vocab.txt",
})  # fmt: skip
"""What stands beside weights, in any layout."""

PRECISIONS = {
    "fp32": "", "q8": "_quantized", "fp16": "_fp16", "uint8": "_uint8", "int8": "_int8", "q4": "_q4",
    "q4f16": "_q4f16", "bnb4": "_bnb4",
}  # fmt: skip
"""Of transformers.js, in the order in which they are taken: how the names of their files end."""

TORCH = "torch"
"""Written like a precision: the weights of torch, also where there are ONNX files."""

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


def choose_files(paths: Sequence[str], precision: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The layout of a repository and the files to fetch, sorted; no files: it is none that can be used.

    `precision`: the one that is wanted, of those of transformers.js; "torch": the weights of torch.
    """
    there = set(paths)
    chosen = {
        "Immich": _choose_immich(there) if precision is None else set(),
        "transformers.js": _choose_transformers_js(there, precision),
        "rclip": _choose_rclip(there) if precision is None else set(),
        TORCH: _choose_torch(there) if precision in (None, TORCH) else set(),
    }
    return next(((layout, tuple(sorted(files))) for layout, files in chosen.items() if files), ("", ()))


def _settings(there: set[str], folder: str = "") -> set[str]:
    return {path for path in there if path.startswith(folder) and path.removeprefix(folder) in SETTINGS}


def _choose_immich(there: set[str]) -> set[str]:
    if not {"visual/model.onnx", "textual/model.onnx"} <= there:
        return set()
    towers = {
        path
        for path in there
        if PurePosixPath(path).parent.as_posix() in ("visual", "textual") and not path.endswith(FOR_OTHER_CHIPS)
    }
    return _settings(there) | towers


def _choose_transformers_js(there: set[str], precision: str | None) -> set[str]:
    endings = [end for name, end in PRECISIONS.items() if precision in (None, name)]
    for names in (("vision_model", "text_model"), ("model",)):  # two towers; or both in one graph
        for end in endings:
            towers = {f"onnx/{name}{end}.onnx" for name in names}
            if towers <= there:
                return _settings(there) | towers | {path for path in there if _is_beside(path, towers)}
    return set()


def _is_beside(path: str, towers: set[str]) -> bool:
    """Whether a file holds weights of a graph that keeps them outside of itself."""
    found = re.fullmatch(r"(.+\.onnx)[._]?data(_\d+)?", path)
    return found is not None and found[1] in towers


def _choose_rclip(there: set[str]) -> set[str]:
    towers = {"visual.onnx", "textual.onnx"}
    return _settings(there) | _settings(there, "tokenizer/") | towers if towers <= there else set()


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
