"""A stand-in for CLIP where its weights cannot be had: the starter's vectors, with the statistics of CLIP's.

    PYTHONPATH=benchmarks viewfinder add ~/Pictures --library clip.vf --encoder pseudo_clip:PseudoClip
    python benchmarks/pseudo_clip.py DATA          # prints the figures of the starter that are used here, on `choose`

With u and w, the starter's vectors of a picture and of a text, R and S, fixed random maps of them into 256 and 254
numbers that are orthogonal to one another, and directions p and q orthogonal to both:

    picture   A R u + sqrt(1 - A^2) p
    text      B R w + C S w + sqrt(1 - B^2 - C^2) q       at unit length

So the likeness of a picture and a text is A B u.w + sqrt(1 - A^2) sqrt(1 - B^2 - C^2) p.q, a line in that of the
starter: nothing is found better or worse, and only what scores mean is lost. R gives two pictures the likeness
A^2 u.u' + 1 - A^2, and S gives texts a likeness of their own, which no picture has, as CLIP's have. The five numbers
follow from the starter's figures on photographs of `choose` (`STARTER`) and CLIP's (`CLIP`):

    A^2       (1 - 0.47) / (1 - the mean of u.u')        two pictures are alike by 0.47
    A B       0.035 / the deviation of u.w               a picture and a text of another deviate by 0.035
    B^2 + C^2 (1 - 0.60) / (1 - the mean of w.w')        two texts are alike by 0.60
    p.q       so that a picture and a text of another are alike by 0.18

The pairs that belong together then come to 0.18 + A B (their mean - that of others) = 0.29; those of CLIP's ViT-B/32
are alike by 0.28.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from viewfinder.encoders.base import Calibration, Encoded, Pixels, Vocabulary, unit_rows
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.pictures import Fit, Limits
from viewfinder.pictures.decode import decode

WIDTH, SEED = 512, 44

CLIP = {"pictures": 0.47, "texts": 0.60, "others": 0.18, "deviation": 0.035}
"""Mean likeness of two pictures, of two captions, of a picture and the caption of another, and its deviation."""

STARTER = {"pictures": 0.16642, "texts": 0.0376, "others": -0.07303, "deviation": 0.13487, "pairs": 0.35351}
"""The same of the starter, and the mean of pairs that belong together: 584 photographs of `choose`, 2,543 captions."""


class PseudoClip:
    """The starter's vectors turned into 512 numbers with CLIP's statistics. It knows no background, no vocabulary and
    no calibration, as CLIP does not.
    """

    name = "pseudo-clip"
    version = raw_version = sentences_version = f"pseudo-clip-{SEED}"
    calibration: Calibration | None = None
    vocabulary: Vocabulary | None = None

    def __init__(self) -> None:
        self._starter = StarterEncoder()
        self.fit: Fit = self._starter.fit
        self._one = lru_cache(maxsize=4096)(self._many)

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Unit vectors of pictures; those of their regions are those of the pixels there, seen as pictures."""
        whole_bd = self.turn_pictures(self._starter.project(self._starter.pictures(batch).global_bd))
        if not regions:
            return Encoded(whole_bd)
        cut = [_cut(pixels, box_4) for pixels in batch for box_4 in self.region_boxes(*pixels.shape[1::-1]).tolist()]
        parts_nd = self.turn_pictures(self._starter.project(self._starter.pictures(cut).global_bd))
        return Encoded(whole_bd, parts_nd.reshape(len(batch), -1, WIDTH))

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """The vectors at unit length: there is no head here."""
        return unit_rows(np.asarray(raw_nd, np.float32))

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """Unit vectors of texts."""
        return self._one(texts[0]).copy() if len(texts) == 1 else self._many(*texts)

    def _many(self, *texts: str) -> Float[np.ndarray, "n d"]:
        return turn_texts(self._starter.words(texts))

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """As `words`."""
        return self.words(texts)

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """A grid of 6 x 6."""
        return self._starter.region_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Zeros: it is not known."""
        return np.zeros(len(pictures_nd), np.float32)

    @staticmethod
    def turn_pictures(starter_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n e"]:
        """The starter's vectors of pictures, as this encoder has them."""
        share, _, _, _ = _weights()
        shared_de, _, along_e, _ = _directions()
        return np.asarray(math.sqrt(share) * starter_nd @ shared_de + math.sqrt(1 - share) * along_e, np.float32)


def turn_texts(starter_nd: Float[np.ndarray, "n d"]) -> Float32[np.ndarray, "n e"]:
    """The starter's vectors of texts, as this encoder has them."""
    _, shared, own, angle = _weights()
    shared_de, own_de, along_e, across_e = _directions()
    offset_e = math.sqrt(1 - shared - own) * (angle * along_e + math.sqrt(1 - angle**2) * across_e)
    turned_ne = starter_nd @ (math.sqrt(shared) * shared_de + math.sqrt(own) * own_de) + offset_e
    return np.asarray(unit_rows(turned_ne), np.float32)


def _weights() -> tuple[float, float, float, float]:
    """A^2, B^2, C^2 and p.q of the first lines."""
    share = (1 - CLIP["pictures"]) / (1 - STARTER["pictures"])
    both = CLIP["deviation"] / STARTER["deviation"]
    shared = both**2 / share
    own = (1 - CLIP["texts"]) / (1 - STARTER["texts"]) - shared
    offset = CLIP["others"] - both * STARTER["others"]
    return share, shared, own, offset / (math.sqrt(1 - share) * math.sqrt(1 - shared - own))


@lru_cache(maxsize=1)
def _directions() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """R and S, as rows for the starter's 256 numbers, and two directions that are orthogonal to both."""
    drawn = np.random.default_rng(SEED)
    basis_ee = np.linalg.qr(drawn.standard_normal((WIDTH, WIDTH)))[0].T
    own_dd = np.linalg.qr(drawn.standard_normal((256, 256)))[0]
    return basis_ee[:256], own_dd[:, :254] @ basis_ee[258:], basis_ee[256], basis_ee[257]


def _cut(pixels: Pixels, box_4: Sequence[float]) -> Pixels:
    x0, y0, x1, y1 = (round(edge) for edge in box_4)
    height, width = pixels.shape[:2]
    x0, y0 = min(x0, width - 1), min(y0, height - 1)
    return np.ascontiguousarray(pixels[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)])


# -- where the numbers come from


def measure(
    pictures_nd: Float[np.ndarray, "n d"], texts_md: Float[np.ndarray, "m d"], owners_m: Sequence[int]
) -> dict[str, float]:
    """The figures of `STARTER` for these pictures and texts; `owners_m`: the picture that each text is of."""
    owners, likeness_nm = np.asarray(owners_m), pictures_nd @ texts_md.T
    of_it_nm = np.arange(len(pictures_nd))[:, None] == owners
    other_mm = owners[:, None] != owners
    apart_nn = ~np.eye(len(pictures_nd), dtype=bool)
    return {
        "pictures": float((pictures_nd @ pictures_nd.T)[apart_nn].mean()),
        "texts": float((texts_md @ texts_md.T)[other_mm].mean()),
        "others": float(likeness_nm[~of_it_nm].mean()),
        "deviation": float(likeness_nm[~of_it_nm].std()),
        "pairs": float(likeness_nm[of_it_nm].mean()),
    }


def main() -> None:
    """Prints the starter's figures, and those of this encoder, on photographs of `choose`."""
    from viewfinder.data.splits import read_photographs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    found = [one for some in read_photographs(parser.parse_args().data, "choose").values() for one in some]
    starter = StarterEncoder()
    rows = []
    for at in range(0, len(found), 32):
        seen = [decode(one.path.read_bytes(), limits=Limits(), fit=starter.fit).pixels for one in found[at : at + 32]]
        rows.append(starter.project(starter.pictures(seen).global_bd))
    pictures_nd = np.concatenate(rows)
    texts = [(at, text) for at, one in enumerate(found) for text in one.captions]
    texts_md = np.concatenate(
        [starter.words([text for _, text in texts[at : at + 64]]) for at in range(0, len(texts), 64)]
    )
    owners = [at for at, _ in texts]
    print(len(pictures_nd), "pictures,", len(texts_md), "texts")
    print("starter", json.dumps(measure(pictures_nd, texts_md, owners)))
    print("pseudo-CLIP", json.dumps(measure(PseudoClip.turn_pictures(pictures_nd), turn_texts(texts_md), owners)))


if __name__ == "__main__":
    main()
