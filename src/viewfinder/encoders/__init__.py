"""Pixels and words to vectors: the built-in `starter`, CLIP, SigLIP and BLIP by hub name or folder."""

from __future__ import annotations

from pathlib import Path

from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes

__all__ = ["REGIONS", "Calibration", "Encoded", "Encoder", "Pixels", "Vocabulary", "grid_boxes", "load_encoder"]


def load_encoder(name: str, *, head_file: Path | None = None) -> Encoder:
    """The encoder called "starter", or the model in a local folder or of a hub name.

    `head_file` is a tuned head for the starter.
    """
    if name == "starter":
        from viewfinder.encoders.starter import StarterEncoder

        return StarterEncoder(head_file)
    from viewfinder.encoders.transformers import load_transformers_encoder

    return load_transformers_encoder(name)
