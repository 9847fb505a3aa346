"""The files of an ONNX model in a folder. Three layouts are in use:

transformers.js  config.json, preprocessor_config.json, tokenizer.json; onnx/vision_model.onnx and onnx/text_model.onnx,
                 or both in onnx/model.onnx; each perhaps in several precisions (`PRECISIONS`)
Immich           config.json (open_clip's), visual/model.onnx, visual/preprocess_cfg.json, textual/model.onnx,
                 textual/tokenizer.json, textual/tokenizer_config.json
rclip            visual.onnx, textual.onnx; tokenizer.json beside them, or open_clip's bpe_simple_vocab_16e6.txt.gz
                 beside them, in tokenizer/ or in ../tokenizer/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from viewfinder.errors import BadInput

PRECISIONS = {
    "fp32": "",
    "fp16": "_fp16",
    "q8": "_quantized",
    "int8": "_int8",
    "uint8": "_uint8",
    "q4": "_q4",
    "q4f16": "_q4f16",
    "bnb4": "_bnb4",
}
"""What transformers.js calls the precisions, and how the files of each end: the first of which all files are there."""

TORCH = "torch"
"""Written like a precision after a folder's name: the weights of torch in a folder that has ONNX files as well."""

MERGES = "bpe_simple_vocab_16e6.txt.gz"
"""The file of open_clip with the merges of CLIP's tokenizer."""

MAX_SETTINGS_BYTES = 8_000_000
"""Of a settings file: more is not settings."""

Layout = Literal["transformers.js", "immich", "rclip"]


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model; `visual` and `textual` are the same file where one graph has both towers."""

    folder: Path
    layout: Layout
    visual: Path
    textual: Path
    tokenizer: Path
    precision: str

    @property
    def way_out(self) -> str:
        """Advice for a user where a file cannot be used."""
        return "fetch the folder again, or give another model"


def split_precision(name: str) -> tuple[str, str | None]:
    """A folder's name, and the precision after its last "?"; a folder that is really called so has none.

    >>> split_precision("models/clip?q8"), split_precision("models/clip")
    (('models/clip', 'q8'), ('models/clip', None))
    """
    if "?" not in name or Path(name).expanduser().exists():
        return name, None
    folder, _, precision = name.rpartition("?")
    return folder, precision


def find_onnx_folder(name: str) -> tuple[Path, str | None] | None:
    """The folder and precision that a name means; None if it is no folder of ONNX files, or `?torch` follows."""
    folder, precision = split_precision(name)
    path = Path(folder).expanduser()
    if not folder or precision == TORCH or not (path.is_dir() and (precision or has_onnx_model(path))):
        return None
    return path, precision


def has_onnx_model(folder: Path) -> bool:
    """Whether a folder holds a graph where one of the three layouts has it."""
    return _guess_layout(folder) is not None


def _guess_layout(folder: Path) -> Layout | None:
    if any((folder / "onnx").glob("*model*.onnx")):
        return "transformers.js"
    if any((folder / side / "model.onnx").is_file() for side in ("visual", "textual")):
        return "immich"
    if any((folder / f"{side}.onnx").is_file() for side in ("visual", "textual")):
        return "rclip"
    return None


def find_model_files(folder: Path, precision: str | None = None) -> ModelFiles:
    """The files of the model in a folder, in the precision asked for.

    Raises:
        BadInput: there is no model in any of the layouts, a file is missing, or there is no such precision.
    """
    match _guess_layout(folder):
        case "transformers.js":
            return _find_transformers_js(folder, precision)
        case "immich":
            found = _find_pair(folder, "immich", folder / "visual" / "model.onnx", folder / "textual" / "model.onnx")
        case "rclip":
            found = _find_pair(folder, "rclip", folder / "visual.onnx", folder / "textual.onnx")
        case None:
            raise BadInput(
                f"{folder} holds no ONNX model: give a folder in the layout of transformers.js "
                "(onnx/vision_model.onnx), of Immich (visual/model.onnx) or of rclip (visual.onnx)"
            )
    if precision is not None:
        raise BadInput(f"{folder} has one precision: leave ?{precision} out")
    return found


def _find_transformers_js(folder: Path, precision: str | None) -> ModelFiles:
    home = folder / "onnx"
    found = {name: _find_towers(home, end) for name, end in PRECISIONS.items()}
    pairs = {name: pair for name, pair in found.items() if pair is not None}
    if precision is not None and precision not in PRECISIONS:
        raise BadInput(f"{folder}?{precision}: the precisions are called {', '.join(PRECISIONS)}")
    if precision is not None and precision not in pairs:
        there = f"there is {', '.join(pairs)}" if pairs else "no precision is whole there"
        raise BadInput(f"{folder} has no model in {precision}: {there}")
    if not pairs:
        seen = ", ".join(sorted(file.name for file in home.glob("*.onnx"))[:4])
        raise BadInput(
            f"{home} has no pair of vision_model.onnx and text_model.onnx, and no model.onnx (only {seen}): "
            "a model of pictures and words has both towers; fetch the rest"
        )
    chosen = precision or next(name for name in PRECISIONS if name in pairs)
    return ModelFiles(folder, "transformers.js", *pairs[chosen], _need(folder / "tokenizer.json"), chosen)


def _find_towers(home: Path, end: str) -> tuple[Path, Path] | None:
    """The files of both towers in one precision; two files are preferred: then either tower is loaded alone."""
    for visual, textual in ((f"vision_model{end}", f"text_model{end}"), (f"model{end}",) * 2):
        pair = home / f"{visual}.onnx", home / f"{textual}.onnx"
        if all(file.is_file() for file in pair):
            return pair
    return None


def _find_pair(folder: Path, layout: Layout, visual: Path, textual: Path) -> ModelFiles:
    places = (
        [textual.parent / "tokenizer.json"]
        if layout == "immich"
        else [
            folder / "tokenizer.json",
            folder / "tokenizer" / "tokenizer.json",
            *(place / MERGES for place in (folder, folder / "tokenizer", folder.parent / "tokenizer")),
        ]
    )
    tokenizer = next((file for file in places if file.is_file()), places[0])
    return ModelFiles(folder, layout, _need(visual), _need(textual), _need(tokenizer), "fp32")


def _need(file: Path) -> Path:
    if not file.is_file():
        raise BadInput(f"{file} is missing, without which this is no whole model: fetch it again")
    return file


def read_settings(file: Path, *, needed: bool = True) -> Mapping[str, Any]:
    """The object in a JSON file; none of a file that is not there and not needed.

    Raises:
        BadInput: it is missing, unreadable, or holds something else.
    """
    if not file.is_file():
        if needed:
            _need(file)
        return {}
    try:
        if file.stat().st_size > MAX_SETTINGS_BYTES:
            raise ValueError("too large")
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{file} cannot be read ({str(error)[:80]}): fetch it again") from error
    if not isinstance(found, dict):
        raise BadInput(f"{file} holds no settings: fetch it again")
    return found
