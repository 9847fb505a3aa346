"""Makes a file of the vectors of a folder's pictures, by a model of the hub: a pool that can go without its pictures.

    python examples/make_vectors.py DATA vectors.parquet --model openai/clip-vit-base-patch32
    viewfinder evaluate clip-t --data DATA --encoder openai/clip-vit-base-patch32 --vectors vectors.parquet

DATA is a folder of pictures, or one with `images/` in it; an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import features


def main() -> None:
    """Reads the pictures, and writes keys (paths below DATA) and unit vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of pictures")
    parser.add_argument("out", type=Path, help="the file: .npz or .parquet")
    parser.add_argument("--model", required=True, help="a hub name, a model folder, or another encoder")
    given = parser.parse_args()
    encoder = load_encoder(given.model)
    found = features(given.data, encoder, regions=False)
    vectors_nd = encoder.project(np.asarray(found.raw_nd, np.float32))
    if given.out.suffix == ".parquet":
        write_parquet(given.out, found.keys, vectors_nd)
    else:
        np.savez(given.out, keys=np.array(found.keys), vectors=vectors_nd)
    print(f"{given.out}: {len(found.keys):,} vectors of {vectors_nd.shape[1]} numbers, {len(found.dropped)} left out")


def write_parquet(file: Path, keys: tuple[str, ...], vectors_nd: np.ndarray) -> None:
    """A row a picture: `key`, and `vector`, a list of the same length in every row."""
    import pyarrow as pa
    from pyarrow import parquet

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(vectors_nd.reshape(-1)), vectors_nd.shape[1])
    parquet.write_table(pa.table({"key": list(keys), "vector": vectors}), file)


if __name__ == "__main__":
    main()
