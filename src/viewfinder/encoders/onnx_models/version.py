"""Identifies what an ONNX model computes: its weights, how inputs are prepared for it, and nothing else of its files.

A key more in a settings file, another line break, a file's date or place change nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path

from viewfinder.encoders.onnx_models.layouts import ModelFiles
from viewfinder.encoders.onnx_models.pixels import PixelSettings
from viewfinder.encoders.onnx_models.tokens import TextTokenizer

RECIPE = "1"
"""Part of every version: increase it when the code here computes other numbers from the same files."""


def compute_version(files: ModelFiles, pixels: PixelSettings, tokenizer: TextTokenizer) -> str:
    """16 hex digits that are the same wherever the model lies, and differ wherever its numbers do."""
    digest = hashlib.blake2b(RECIPE.encode(), digest_size=8)
    for graph in dict.fromkeys((files.visual, files.textual)):
        for file in list_weights(graph):
            with file.open("rb") as stream:
                part = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
            digest.update(part.digest())
    for said in (asdict(pixels), asdict(tokenizer.settings), tokenizer.describe()):
        digest.update(json.dumps(said, sort_keys=True).encode())
    return digest.hexdigest()


def list_weights(graph: Path) -> list[Path]:
    """The file of a graph, and those beside it that hold its weights: large models are written in parts."""
    stem = re.escape(graph.stem)
    part = re.compile(rf"{re.escape(graph.name)}[._]?data(_\d+)?|{stem}\.(data|bin|weights)")
    return [graph, *sorted(file for file in graph.parent.iterdir() if part.fullmatch(file.name))]
