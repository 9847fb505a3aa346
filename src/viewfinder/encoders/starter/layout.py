"""What a raw vector of the starter is made of: frozen, so that a new head does not void what was stored."""

RAW_VERSION = "starter-raw-1"
SIDE = 224
"""The upright picture is stretched to SIDE x SIDE pixels."""

OBJECTS = 1280
"""What is there: the last feature map of EfficientNet-Lite2, averaged."""

TEXTURE = 896
"""How it looks: mean and deviation of every channel of seven earlier stages."""

NAMES = 384
"""What one would call it: ConSE, a sentence vector made of class names."""

RAW_WIDTH = OBJECTS + TEXTURE + NAMES
REGION_WIDTH = OBJECTS
