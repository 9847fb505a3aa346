#!/bin/sh
# faiss-cpu 1.15.1: finding the nearest of some thousand middles is slower with faiss than as a product of numpy.
#
# Most of the time of filling an IVF index, and of choosing its lists, goes into `IndexFlatIP.search(vectors, 1)` over
# the middles of lists. The same product by numpy, with 1,024 vectors at once so that it stays in the cache, and its
# `argmax` took a quarter of that on a Xeon with AVX-512. An index can be filled with lists that were found in this
# way: `index.add_core(n, vectors, None, lists)`.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet faiss-cpu==1.15.1 numpy==2.4.6
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$place/venv/bin/python" - <<'PYTHON'
import time

import faiss
import numpy as np

print("faiss", faiss.__version__, "numpy", np.__version__)
faiss.omp_set_num_threads(1)
rng = np.random.default_rng(0)
middles, vectors = (rng.standard_normal((count, 272), np.float32) for count in (3162, 16_384))
coarse = faiss.IndexFlatIP(272)
coarse.add(middles)


def by_faiss():
    return coarse.search(vectors, 1)[1][:, 0]


def by_numpy():
    blocks = [vectors[start : start + 1024] for start in range(0, len(vectors), 1024)]
    return np.concatenate([(block @ middles.T).argmax(axis=1) for block in blocks])


def spend(work):
    work()
    started = time.process_time()
    work()
    return time.process_time() - started


faiss_s, numpy_s = min(spend(by_faiss) for _ in range(3)), min(spend(by_numpy) for _ in range(3))
print(f"16,384 vectors, 3,162 middles: faiss {faiss_s:.2f} s, numpy {numpy_s:.2f} s")
assert (by_faiss() == by_numpy()).mean() > 0.999
assert faiss_s > 1.5 * numpy_s
print("as described")
PYTHON
