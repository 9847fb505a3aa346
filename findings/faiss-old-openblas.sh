#!/bin/sh
# faiss-cpu 1.15.1: its wheel brings an OpenBLAS of 2021, which takes a processor that came later for one of 2007.
#
# The wheel of faiss has OpenBLAS 0.3.15 in it, of May 2021, beside the 0.3.31 of numpy in the same process; each chooses
# kernels for the processor by itself. On an AMD EPYC with AVX-512 the old one chose those for Barcelona, of 2007, where
# numpy's chose those for SkylakeX. Most of the time of filling an IVF index, and of choosing its lists, goes into
# `IndexFlatIP.search(vectors, 1)` over the middles of lists, which is a product by that OpenBLAS. There it took four
# times as long as the same product by numpy, with 1,024 vectors at once so that it stays in the cache, and its `argmax`.
# An index can be filled with lists that were found in that way: `index.add_core(n, vectors, None, lists)`. Where both
# choose the same kernels, as on older processors or with OPENBLAS_CORETYPE=Haswell, both take as long.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet faiss-cpu==1.15.1 numpy==2.4.6 threadpoolctl==3.6.0
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$place/venv/bin/python" - <<'PYTHON'
import time

import faiss
import numpy as np
from threadpoolctl import threadpool_info

print("faiss", faiss.__version__, "numpy", np.__version__)
faiss.omp_set_num_threads(1)
blas = {}
for one in threadpool_info():
    if one["user_api"] == "blas":
        blas["faiss" if "faiss" in one["filepath"] else "numpy"] = one
        print(one["filepath"].rpartition("/")[2], one["version"], "kernels for", one["architecture"])
assert blas["faiss"]["version"] == "0.3.15"
assert blas["numpy"]["version"].startswith("0.3.31")

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
if blas["faiss"]["architecture"] == "Barcelona" and blas["numpy"]["architecture"] == "SkylakeX":
    assert faiss_s > 2 * numpy_s
print("as described")
PYTHON
