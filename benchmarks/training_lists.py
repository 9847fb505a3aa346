"""Writes the list of pictures that the starter's shipped head was fitted on, beside the head.

    python benchmarks/training_lists.py DATA

The list is that of the part `fit` of every set in DATA (see CONTRIBUTING.md). It is written only if the digest of each
set's names matches the one in the head's own metadata. The weights are not touched. For the shipped systems no such
list can be made again: their photographs were split by their positions in files that have changed since.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors import safe_open

from viewfinder.data import read_products
from viewfinder.data.photographs import names_digest, part_of, read_photographs
from viewfinder.encoders.starter.encoder import SHIPPED_HEAD
from viewfinder.training.training_list import TrainingList, write_list_beside

PRODUCTS = "fashion-products"


def main() -> None:
    """Compares, and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
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
    file = write_list_beside(SHIPPED_HEAD, listed)
    print(f"{file}: {len(listed)} names, {file.stat().st_size} bytes, list {listed.digest}")


if __name__ == "__main__":
    main()
