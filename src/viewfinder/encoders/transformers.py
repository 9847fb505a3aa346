"""CLIP and its kin, SigLIP, SigLIP 2, ALIGN and BLIP (its ITC head) as encoders, given by hub name or local folder.

>>> encoder = load("openai/clip-vit-base-patch32")                                          # doctest: +SKIP
>>> encoder.pictures([pixels]).global_bd @ encoder.words(["a red boat", "a dog"]).T         # doctest: +SKIP

torch and transformers are imported by `load`, never by importing this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Pixels, Vocabulary, grid_boxes, unit_rows
from viewfinder.pictures import AtMost, Fit

if TYPE_CHECKING:
    from viewfinder.encoders.checkpoints import Checkpoint
    from viewfinder.encoders.origins import Origin, Pin

MAX_INPUTS = 8
"""Pictures (or texts) per pass through the network: memory stays flat however many are given."""

MAX_DECODED_SIDE = 768
"""In pixels: more than any of these models reads, and small enough to pass between processes."""

MAX_ASPECT = 32
"""If sides differ by more than this factor, the ends, which the crop drops, are cut off first."""


def load_transformers_encoder(
    name_or_path: str,
    pin: Pin | None = None,
    *,
    may_fetch: bool = True,
    called: str | None = None,
    commit: str | None = None,
) -> TransformersEncoder:
    """Loads the encoder in a local folder, or of that name on the hub.

    A folder is read without network access; a hub name is fetched or taken from the hub's cache, as transformers does
    it (with `HF_HUB_OFFLINE=1`, or without `may_fetch`, only from the cache). `pin`: the folder or the commit for which
    a library takes the name. Errors as `load_checkpoint`.
    """
    from viewfinder.encoders.checkpoints import load_checkpoint

    return TransformersEncoder(load_checkpoint(name_or_path, pin, may_fetch=may_fetch, called=called, commit=commit))


class TransformersEncoder:
    """A vision-language model behind the `Encoder` protocol; its raw vectors are those of the shared space.

    Its name is model type and hub name or folder name (`clip:openai/clip-vit-base-patch32`), its version a hash over
    the weights and over what else changes numbers in config, image processor and tokenizer, as they were loaded: the
    same wherever the files lie, and however they are written. What scores mean, and a vocabulary, were not measured for
    these models; `logit_scale` is what they multiplied likeness by in training.

    Attributes:
        origin: where its files lie, and what its weights are.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        from viewfinder.encoders.families.family import read_logit_scale

        self.name: str = checkpoint.name
        self.version: str = checkpoint.version
        self.raw_version: str = checkpoint.version
        self.sentences_version: str = checkpoint.version
        self.width: int = checkpoint.family.width(checkpoint.config)
        self.fit: Fit = AtMost(MAX_DECODED_SIDE)
        self.calibration: Calibration | None = None
        self.vocabulary: Vocabulary | None = None
        self.logit_scale: float | None = read_logit_scale(checkpoint.network)
        self.origin: Origin = checkpoint.origin
        self._checkpoint = checkpoint
        family, text = checkpoint.family, checkpoint.config.text_config
        places = int(text.max_position_embeddings) - family.reserved_places
        self._text_length: int = min(int(checkpoint.tokenizer.model_max_length), places, family.max_tokens or places)

    def former_versions(self) -> tuple[str, ...]:
        """The versions under which earlier viewfinders knew it."""
        return self._checkpoint.former_versions()

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Unit vectors of upright pictures, and of their 36 regions (see `families` and `region_boxes`)."""
        import torch

        from viewfinder.encoders.families import encode_regions

        global_bd = np.zeros((len(batch), self.width), np.float32)
        regions_brd = np.zeros((len(batch), REGIONS, self.width), np.float32) if regions else None
        network, family = self._checkpoint.network, self._checkpoint.family
        for start in range(0, len(batch), MAX_INPUTS):
            rows = slice(start, start + MAX_INPUTS)
            with torch.inference_mode():
                seen = family.look(network, self._pixel_inputs(batch[rows]))
                global_bd[rows] = unit_rows(seen.global_bd.float().numpy())
                if regions_brd is not None:
                    regions_brd[rows] = unit_rows(encode_regions(network, family, seen).float().numpy())
        return Encoded(global_bd, regions_brd)

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """The vectors at unit length: this model's raw vectors lie in the shared space."""
        return unit_rows(np.asarray(raw_nd, np.float32))

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts, cut at the model's length (CLIP 77, SigLIP and ALIGN 64, BLIP 512 tokens).

        SigLIP was trained on texts padded to its full length, and gets them so.
        """
        import torch

        words_nd = np.zeros((len(texts), self.width), np.float32)
        network, family = self._checkpoint.network, self._checkpoint.family
        for start in range(0, len(texts), MAX_INPUTS):
            rows = slice(start, start + MAX_INPUTS)
            tokens = self._checkpoint.tokenizer(
                list(texts[rows]),
                padding=family.pad,
                truncation=True,
                max_length=self._text_length,
                return_tensors="pt",
            )
            inputs = {name: tokens[name] for name in ("input_ids", "attention_mask") if name in tokens}
            with torch.inference_mode():
                words_nd[rows] = unit_rows(family.read(network, inputs).float().numpy())
        return words_nd

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """As `words`: there is no head here."""
        return self.words(texts)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Zeros: no bank of captions was measured for these models."""
        return np.zeros(len(pictures_nd), np.float32)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """Boxes (x0, y0, x1, y1) of a picture's 36 regions in its upright pixels, row by row.

        They divide the part that the model saw: if the image processor crops (CLIP), the crop; if patches do not fill
        the input, the filled part.
        """
        x0, y0, x1, y1 = self._find_seen(width, height)
        offset_4 = np.array([x0, y0, x0, y0], dtype=np.float32)
        scale_4 = np.array([x1 - x0, y1 - y0, x1 - x0, y1 - y0], dtype=np.float32)
        return np.asarray(grid_boxes(1, 1) * scale_4 + offset_4, dtype=np.float32)

    def _find_seen(self, width: int, height: int) -> tuple[float, float, float, float]:
        """The part of a width x height picture that lies under patches, in its pixels."""
        processor, vision = self._checkpoint.pixels, self._checkpoint.config.vision_config
        if "spatial_shapes" in processor.model_input_names:
            # SigLIP 2 stretches the whole picture to whole patches.
            return 0.0, 0.0, float(width), float(height)
        # As transformers' `PilBackend`: resized to a fixed size, or with the shorter side at a given length.
        new_width, new_height = width, height
        shortest: Any = getattr(processor.size, "shortest_edge", None)
        if processor.do_resize and shortest is None:
            new_width, new_height = processor.size["width"], processor.size["height"]
        elif processor.do_resize:
            longer = int(shortest * max(width, height) / min(width, height))
            new_width, new_height = (shortest, longer) if width <= height else (longer, shortest)
        left = top = 0  # where the network's input begins in it; below 0 is padding
        if getattr(processor, "do_center_crop", False):
            left = (new_width - processor.crop_size["width"]) // 2
            top = (new_height - processor.crop_size["height"]) // 2
        if self._checkpoint.family.any_size:
            seen_side = processor.crop_size if getattr(processor, "do_center_crop", False) else processor.size
            across, down = int(seen_side["width"]), int(seen_side["height"])
        else:
            across = down = vision.image_size // vision.patch_size * vision.patch_size
        scale_x, scale_y = new_width / width, new_height / height
        return (
            max(0.0, left / scale_x),
            max(0.0, top / scale_y),
            min(float(width), (left + across) / scale_x),
            min(float(height), (top + down) / scale_y),
        )

    def _pixel_inputs(self, some: Sequence[Pixels]) -> Mapping[str, Any]:
        from PIL import Image

        processor, images = self._checkpoint.pixels, []
        for pixels in some:
            height, width = pixels.shape[:2]
            top = left = 0
            shortest: Any = getattr(processor.size, "shortest_edge", None)
            if getattr(processor, "do_center_crop", False) and shortest is not None:
                # With 224 on its short side, a picture of 1 x 60,000 pixels would take 9 GB: its middle is enough.
                longest = MAX_ASPECT * min(height, width)
                top, left = max(0, height - longest) // 2, max(0, width - longest) // 2
            # As PIL images: in an array 3 pixels high, transformers takes the rows for channels.
            seen = np.ascontiguousarray(pixels[top : height - top, left : width - left])
            images.append(Image.fromarray(seen))
        return dict(processor(images=images, return_tensors="pt").items())
