"""Writes the list of what the starter was trained on, beside its head and beside the labels made of its vectors.

    python benchmarks/training_lists.py DATA

Both were fitted together on the part `fit` of every set in DATA (see CONTRIBUTING.md). The list is written only if the
digest of each set's names matches the one in the head's metadata. Weights that `shipped.py` trains have their own list.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors import safe_open

from viewfinder.data import read_products
from viewfinder.data.splits import names_digest, part_of, read_photographs
from viewfinder.encoders.starter.encoder import SHIPPED_HEAD
from viewfinder.questioners.photographs import SHIPPED_LABELS
from viewfinder.weights import TrainingList, write_list_beside

PRODUCTS = "fashion-products"


def main() -> None:
    """Compares, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds flickr8k/, coco/ ... and fashion-products/")
    data = parser.parse_args().data
    sets = read_photographs(data, "fit")
    sets[PRODUCTS] = [one for one in read_products(data / PRODUCTS)[0] if part_of(one.path.name) == "fit"]
    with safe_open(str(SHIPPED_HEAD), framework="numpy") as tensors:
        known = tensors.metadata() or {}
    for name, found in sorted(sets.items()):
        if known.get(f"{name}: {len(found)} pictures") != names_digest(found):
            raise SystemExit(f"{name}: these are not the {len(found)} pictures that the head was fitted on")
        print(f"{name}: {len(found)} pictures, as in the head")
    listed = TrainingList.of(one.path.stem for found in sets.values() for one in found)
    for weights in (SHIPPED_HEAD, SHIPPED_LABELS):
        file = write_list_beside(
            weights, listed, [f"{name}: {len(found)} names" for name, found in sorted(sets.items())]
        )
        print(f"{file}: {len(listed)} names, {file.stat().st_size} bytes, list {listed.digest}")


if __name__ == "__main__":
    main()
