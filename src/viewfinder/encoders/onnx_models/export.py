"""Makes ONNX files of a checkpoint of transformers, in the layout of transformers.js, and measures what is lost.

    OUT/config.json, preprocessor_config.json, tokenizer.json, tokenizer_config.json
    OUT/onnx/vision_model.onnx              pixel_values -> image_embeds, region_embeds
    OUT/onnx/text_model.onnx                input_ids (and attention_mask) -> text_embeds
    OUT/onnx/*_quantized.onnx               the same with weights of 8 bits, if that is asked for

Weights in 8 bits: each column of a matrix has a scale of its own, and activations are rounded as they come ("dynamic").
Of the 8 bits 7 are used: processors without instructions for 8 (VNNI) would overflow. On a trained network, MiniLM on
120 captions, vectors then have a mean cosine of 0.993 with the exact ones; with all 8 bits 0.994, with one scale for a
whole matrix 0.867.

Here torch, transformers and onnx are imported, by nothing else in this folder.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viewfinder.encoders.base import Encoder, Pixels
from viewfinder.encoders.checkpoints import Checkpoint, load_checkpoint
from viewfinder.encoders.families import pool_regions
from viewfinder.encoders.onnx_models.encoder import OnnxEncoder
from viewfinder.encoders.onnx_models.graphs import REGIONS_OUTPUT
from viewfinder.encoders.onnx_models.layouts import PRECISIONS, find_model_files
from viewfinder.encoders.onnx_models.version import list_weights
from viewfinder.encoders.transformers import TransformersEncoder
from viewfinder.errors import BadInput, PartFailed

OPSET = 17
"""The first with layer normalisation as one operator; ONNX Runtime has known it since 2022."""

FULL, EIGHT_BITS = "fp32", "q8"

MAX_FULL_DIFFERENCE = 1e-3
"""A number of a unit vector that differs by more is no rounding: the export is refused."""

MAX_FILE_BYTES = 1_900_000_000
"""A file of ONNX ends at 2 GB; larger networks keep their weights beside it."""

TEXTS = (
    "a dog", "a brown dog runs through the snow", "two children on a red bench", "the harbour at night",
    "a plate of food on a wooden table", "a man in a blue shirt plays the guitar", "an empty street in the rain",
    "a close portrait of an old woman, in black and white", "boats", "a yellow bus in front of a tall brick building",
)  # fmt: skip
"""Sentences whose vectors are compared."""


@dataclass(frozen=True)
class Difference:
    """How far an exported model is from its checkpoint, over some pictures and sentences.

    Attributes:
        largest: the largest difference of a number of a unit vector.
        least_cosine: the least similarity of a vector and its counterpart.
        scores: the largest difference of the score of a picture for a sentence.
        bytes: size of its files.
    """

    precision: str
    largest: float
    least_cosine: float
    scores: float
    bytes: int


def export_checkpoint(
    name_or_path: str,
    out: Path,
    *,
    int8: bool = False,
    pictures: Sequence[Pixels] = (),
    notify: Callable[[str], None] = lambda line: None,
) -> list[Difference]:
    """Writes a checkpoint as ONNX into a new folder, and compares what it computes on these pictures (else drawn ones).

    Raises:
        BadInput: `out` holds something, or as `load_checkpoint`.
        PartFailed: torch cannot export this architecture, or the export computes something else.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{out} holds something already: name a folder that is empty or not there")
    checkpoint = load_checkpoint(name_or_path)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside `out`, so that it becomes whole at once: a folder that is there is a model.
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as scratch:
        made = Path(scratch) / out.name
        _write_settings(checkpoint, made)
        notify("writing the network of pictures")
        _write_visual(checkpoint, made / "onnx" / "vision_model.onnx")
        notify("writing the network of texts")
        _write_textual(checkpoint, made / "onnx" / "text_model.onnx")
        if int8:
            notify("rounding to 8 bits")
            for file in ("vision_model", "text_model"):
                quantize_file(made / "onnx" / f"{file}.onnx", made / "onnx" / f"{file}{PRECISIONS[EIGHT_BITS]}.onnx")
        notify("comparing")
        found = compare(TransformersEncoder(checkpoint), made, pictures or draw_pictures())
        if found[0].largest > MAX_FULL_DIFFERENCE:
            raise PartFailed(
                f"{name_or_path}: the export computes something else than the model (a number differs by "
                f"{found[0].largest:.2g}): this architecture cannot be exported; use it with torch"
            )
        if out.is_dir():
            out.rmdir()
        shutil.move(made, out)
    return found


def _write_settings(checkpoint: Checkpoint, out: Path) -> None:
    (out / "onnx").mkdir(parents=True)
    if checkpoint.family.any_size:
        raise BadInput(f"{checkpoint.name} takes pictures of any size, an exported file those of one: use torch's")
    if "spatial_shapes" in checkpoint.pixels.model_input_names:
        raise BadInput(
            f"{checkpoint.name} cuts pictures into patches of varying number (NaFlex), which is not exported: "
            "take a model of fixed size, or use this one with torch"
        )
    checkpoint.config.save_pretrained(out)
    checkpoint.pixels.save_pretrained(out)
    checkpoint.tokenizer.save_pretrained(out)
    if not (out / "tokenizer.json").is_file():
        raise BadInput(f"{checkpoint.name} has a tokenizer that is not one file (tokenizer.json): use it with torch")


class _Pictures(nn.Module):
    """Pixels to the vectors of pictures and of their regions, as `TransformersEncoder` computes them."""

    pool_rp: Tensor

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.network, self._family = checkpoint.network, checkpoint.family
        self._last: Tensor | None = None
        vision = checkpoint.config.vision_config
        side = int(vision.image_size) // int(vision.patch_size)
        # The mean over cells as one product: the exporter knows no pooling to sizes that do not divide the patches.
        patches_pp = torch.eye(side * side)
        pool_rp = pool_regions(patches_pp.reshape(side, side, side * side))
        self.register_buffer("pool_rp", pool_rp, persistent=False)
        self._hook = self.network.vision_model.register_forward_hook(self._keep_last)

    def release(self) -> None:
        """Leaves the network as it was."""
        self._hook.remove()

    def _keep_last(self, tower: nn.Module, given: Any, made: Any) -> None:
        self._last = made.last_hidden_state

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, Tensor]:
        global_bd = self._family.look(self.network, {"pixel_values": pixel_values}).global_bd
        assert self._last is not None
        # Class tokens come before the patches.
        patches_bpc = self._last[:, -self.pool_rp.shape[1] :]
        pooled_brc = self.pool_rp @ patches_bpc
        regions_nd = self._family.region(self.network, pooled_brc.flatten(0, 1))
        return global_bd, regions_nd.reshape(-1, self.pool_rp.shape[0], global_bd.shape[-1])


class _Texts(nn.Module):
    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.network, self._family = checkpoint.network, checkpoint.family

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        given = {"input_ids": input_ids}
        return self._family.read(
            self.network, given if attention_mask is None else {**given, "attention_mask": attention_mask}
        )


def _write_visual(checkpoint: Checkpoint, file: Path) -> None:
    vision = checkpoint.config.vision_config
    pixels = torch.rand(2, 3, int(vision.image_size), int(vision.image_size)) * 2 - 1
    axes = {"pixel_values": {0: "batch_size"}, "image_embeds": {0: "batch_size"}, REGIONS_OUTPUT: {0: "batch_size"}}
    module = _Pictures(checkpoint)
    try:
        _write_graph(module, (pixels,), file, ["pixel_values"], ["image_embeds", REGIONS_OUTPUT], axes)
    finally:
        module.release()


CAUSAL = frozenset({"clip"})
"""Model types whose texts need no mask: a token sees only those before it, and the end token is what counts."""


def _write_textual(checkpoint: Checkpoint, file: Path) -> None:
    tokens = checkpoint.tokenizer(list(TEXTS[:2]), padding=True, return_tensors="pt")
    names = ["input_ids"]
    if checkpoint.family.pad == "longest" and checkpoint.config.model_type not in CAUSAL:
        names.append("attention_mask")
    ids = tuple(tokens[name] for name in names)
    if checkpoint.family.pad == "max_length":
        full = checkpoint.tokenizer(list(TEXTS[:2]), padding="max_length", truncation=True, return_tensors="pt")
        ids = (full["input_ids"],)
    axes = {name: {0: "batch_size", 1: "sequence_length"} for name in names} | {"text_embeds": {0: "batch_size"}}
    _write_graph(_Texts(checkpoint), ids, file, names, ["text_embeds"], axes)


def _write_graph(
    module: nn.Module, given: tuple[Tensor, ...], file: Path, inputs: list[str], outputs: list[str], axes: Any
) -> None:
    """Writes a network as ONNX, by torch's older exporter: the newer one needs another package (onnxscript)."""
    home = file.with_suffix("")  # large networks become a file for each of their matrices
    home.mkdir()
    with warnings.catch_warnings(), redirect_stdout(StringIO()), torch.inference_mode():
        warnings.simplefilter("ignore")
        try:
            torch.onnx.export(
                module.eval(), given, home / file.name, input_names=inputs, output_names=outputs, dynamic_axes=axes,
                opset_version=OPSET, dynamo=False,
            )  # fmt: skip
        except Exception as error:
            line = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise PartFailed(f"torch cannot export this architecture ({line}): use the model with torch") from error
    if sum(part.stat().st_size for part in home.iterdir()) <= MAX_FILE_BYTES:
        shutil.move(home / file.name, file)
    else:
        _save_in_two(home / file.name, file)
    shutil.rmtree(home)


def _save_in_two(graph: Path, file: Path) -> None:
    """Writes a network and, beside it, its weights (`*.onnx_data`, as transformers.js calls them)."""
    import onnx

    onnx.save(
        onnx.load(graph), file, save_as_external_data=True, all_tensors_to_one_file=True, location=f"{file.name}_data"
    )


def quantize_file(file: Path, out: Path) -> None:
    """Writes a network with weights of 8 bits."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(file)
    separate_shared_weights(model.graph)
    before = logging.root.level
    logging.root.setLevel(logging.ERROR)  # it advises a step that changes nothing for these networks
    try:
        quantize_dynamic(
            model, out, op_types_to_quantize=["MatMul", "Gather"], per_channel=True, reduce_range=True,
            weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )  # fmt: skip
    finally:
        logging.root.setLevel(before)


def separate_shared_weights(graph: Any) -> None:
    """Gives every node that transposes its weights a copy of its own.

    ONNX Runtime 1.31 turns such weights where they lie before it rounds them, those of two nodes twice: the numbers
    would be wrong without a word.
    """
    seen, weights = set[str](), {one.name: one for one in graph.initializer}
    for node in graph.node:
        if node.op_type != "Gemm" or node.input[1] not in weights:
            continue
        name = node.input[1]
        if name in seen:
            copied = weights[name].__class__()
            copied.CopyFrom(weights[name])
            copied.name = node.input[1] = f"{name}_of_{node.name or node.output[0]}"
            graph.initializer.append(copied)
        seen.add(node.input[1])


def compare(encoder: Encoder, folder: Path, pictures: Sequence[Pixels]) -> list[Difference]:
    """How far each precision in a folder is from the encoder that it was exported from."""
    pictures_bd, words_td = encoder.pictures(pictures).global_bd, encoder.words(TEXTS)
    found = []
    for precision in (FULL, EIGHT_BITS):
        if not (folder / "onnx" / f"vision_model{PRECISIONS[precision]}.onnx").is_file():
            continue
        files = find_model_files(folder, precision)
        other = OnnxEncoder(files)
        other_bd, other_td = other.pictures(pictures).global_bd, other.words(TEXTS)
        pairs = ((pictures_bd, other_bd), (words_td, other_td))
        found.append(
            Difference(
                precision,
                max(float(np.abs(before - after).max()) for before, after in pairs),
                min(float((before * after).sum(axis=1).min()) for before, after in pairs),
                float(np.abs(pictures_bd @ words_td.T - other_bd @ other_td.T).max()),
                sum(file.stat().st_size for graph in (files.visual, files.textual) for file in list_weights(graph)),
            )
        )
    return found


def draw_pictures(count: int = 12) -> list[Pixels]:
    """Pictures of shapes in all sorts of proportions, for where no photographs are given."""
    from PIL import Image, ImageDraw, ImageFilter

    noise, drawn = np.random.default_rng(0), []
    for _ in range(count):
        height, width = noise.integers(120, 600, 2).tolist()
        small = noise.integers(0, 256, (4, 4, 3), dtype=np.uint8)
        image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
        pen = ImageDraw.Draw(image)
        for _ in range(6):
            x, y = noise.integers(0, width), noise.integers(0, height)
            wide, high = noise.integers(10, width // 2), noise.integers(10, height // 2)
            colour = tuple(noise.integers(0, 256, 3).tolist())
            draw = pen.ellipse if noise.random() < 0.5 else pen.rectangle
            draw((int(x), int(y), int(x + wide), int(y + high)), fill=colour)
        drawn.append(np.asarray(image.filter(ImageFilter.GaussianBlur(1))))
    return drawn
