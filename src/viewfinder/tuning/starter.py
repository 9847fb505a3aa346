"""Trains the shipped head on captioned photos (`viewfinder train starter`).

It is fitted on the part `fit` of all photographs and products, chosen and calibrated on `choose`; `report` is never
read (`viewfinder.data.splits`). The closed form comes first; contrastive training continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from viewfinder.data import CaptionedPicture, read_products
from viewfinder.data.splits import PARTS, Part, names_digest, part_of, read_photographs
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.starter.fit import CaptionedVectors, RefineSettings, fit_head
from viewfinder.metrics import recall_at, target_ranks
from viewfinder.pictures import AtMost, Limits
from viewfinder.pictures.decode import decode
from viewfinder.tuning.collection import Tell, add_labels
from viewfinder.tuning.verdicts import Photographs, calibrate_conversations
from viewfinder.weights import TrainingList

PRODUCTS = "fashion-products"

PRODUCT_WEIGHT = 0.5
"""Weight of product photos relative to photos of the world."""

VIEWS = 4
"""Per photo: as it is, mirrored, and two seeded crops; products, of which there are many, have only the first."""

TRAINED = RefineSettings(
    hidden=512,
    epochs=30,
    batch=1024,
    captions=3,
    learning_rate=1e-3,
    weight_decay=0.1,
    dropout=0.5,
    temperature=0.07,
    labels=0.1,
    lexicon=3500,
    bank=1024,
    seed=3,
)
"""Chosen on photographs of `choose` and some of `fit`; the seed is the best of four."""


@dataclass(frozen=True)
class TrainReport:
    """The files of the trained head and of its figures, and the figures."""

    head: Path
    card: Path
    pictures: int
    figures: dict[str, float]


@dataclass(frozen=True)
class TrainingPictures:
    """Photographs and products (which may be absent) as vectors, by part; `lists` tells which they are.

    `homes` names the set of each photograph.
    """

    photos: Mapping[Part, CaptionedVectors]
    homes: Mapping[Part, tuple[str, ...]]
    products: Mapping[Part, CaptionedVectors]
    lists: Mapping[str, Sequence[CaptionedPicture]]

    def kinds(self, part: Part = "fit") -> list[CaptionedVectors]:
        """The photographs of a part, and its products if there are any: a head is fitted on both."""
        return [self.photos[part], *([self.products[part]] if self.products else [])]


def train_starter(data: Path, out: Path, report: Tell | None = None) -> TrainReport:
    """Trains the shipped head on the captioned photographs and products below `data`.

    Vectors of pictures and texts are kept in `out`, so that a second run resumes where the first stopped.

    Raises:
        BadInput: no captioned photographs there (products may be absent), or damaged tables.
    """
    from viewfinder.encoders.starter.refine import rank_held_out, train_head
    from viewfinder.tuning.looks import train_looks
    from viewfinder.tuning.photographs import train_labels

    tell = report or (lambda line: None)
    encoder = StarterEncoder()
    pictures = read_training_pictures(data, out, encoder, tell)
    kinds, choose = pictures.kinds(), pictures.photos["choose"]
    head = train_head(
        fit_head(kinds),
        kinds,
        TRAINED,
        judge=lambda epoch, head: tell(f"epoch {epoch}: reciprocal rank on choose {rank_held_out(head, choose):.3f}"),
    )
    tell("conversations about photographs of choose: what scores mean")
    asked = Photographs(choose, pictures.homes["choose"])
    fitted = Photographs(pictures.photos["fit"], pictures.homes["fit"])
    known = calibrate_conversations(head, encoder.sentences, asked, fitted, absent_things())
    head = replace(head, calibration=known)
    tell("labels that questions about photographs are made of")
    learnt = {picture.path.stem for listed in pictures.lists.values() for picture in listed}
    trained_on = TrainingList.of(learnt).encode()  # of the labels as well: they are predicted from the head's vectors
    told = train_labels(head, fitted.vectors, choose, out / "photographs.safetensors", trained_on)
    tell("looks of whole pictures")
    shown = [one.path for name, listed in pictures.lists.items() if name != PRODUCTS for one in listed]
    right = train_looks(encoder, head, shown, out / "looks.safetensors", trained_on)
    counts = {
        f"{name}: {len(listed)} pictures": names_digest(listed) for name, listed in sorted(pictures.lists.items())
    }
    head.save(out / "head.safetensors", card=counts | {"trained_on": trained_on})
    figures = {f"R@10 after turn {turn}, choose": value for turn, value in enumerate(measure_recalls(head, choose), 1)}
    figures["bits told of a photograph's labels, choose"] = told
    figures["looks told right, fit"] = right
    card = out / "figures.txt"
    lines = [*(f"{name}, list {digest}" for name, digest in counts.items())]
    lines += [f"{name}: {value:.4f}" for name, value in figures.items()]
    card.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return TrainReport(out / "head.safetensors", card, sum(map(len, kinds)), figures)


def absent_things() -> list[str]:
    """Things that are in none of the photos: part of what teaches "nothing like that here"."""
    lines = Path(__file__).with_name("not_there.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def read_training_pictures(data: Path, cache: Path, encoder: StarterEncoder, tell: Tell) -> TrainingPictures:
    """The pictures as vectors by part, with labels for the part to fit; vectors kept in `cache` are read from there."""
    sets = read_photographs(data)
    read = [_read_set(name, found, encoder, cache, VIEWS, tell) for name, found in sets.items()]
    listed = [picture for found in sets.values() for picture in found]
    photos = _split_by_part(_join_kinds(read), listed, encoder)
    home = [(name, part_of(one.path.name)) for name, found in sets.items() for one in found]
    homes: dict[Part, tuple[str, ...]] = {part: tuple(name for name, own in home if own == part) for part in PARTS}
    products: dict[Part, CaptionedVectors] = {}
    if (data / PRODUCTS).is_dir():
        sets[PRODUCTS], _ = read_products(data / PRODUCTS)
        whole = replace(_read_set(PRODUCTS, sets[PRODUCTS], encoder, cache, 1, tell), weight=PRODUCT_WEIGHT)
        products = _split_by_part(whole, sets[PRODUCTS], encoder)
    lists = {name: [one for one in found if part_of(one.path.name) == "fit"] for name, found in sets.items()}
    return TrainingPictures(photos, homes, products, lists)


def measure_recalls(head: Head, kind: CaptionedVectors, *, turns: int = 5) -> list[float]:
    """R@10 after each turn, one caption per turn in file order, for the pictures that have so many captions."""
    pictures_nd = head.pictures(kind.raw_vnr[0])
    likeness_mn = head.sentences(kind.captions_ms, kind.texts) @ pictures_nd.T - head.background(pictures_nd)
    count_n = np.bincount(kind.owners_m, minlength=len(kind))
    first_n = np.cumsum(count_n) - count_n
    order_m = np.argsort(kind.owners_m, kind="stable")
    so_far_nn = np.zeros((len(kind), len(kind)))
    found = []
    for turn in range(min(turns, count_n.max())):
        row_k = np.flatnonzero(count_n > turn)
        so_far_nn[row_k] += likeness_mn[order_m[first_n[row_k] + turn]]
        found.append(float(recall_at(10, target_ranks(so_far_nn[row_k], row_k))))
    return found


def _read_set(
    name: str, pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, cache: Path, views: int, tell: Tell
) -> CaptionedVectors:
    """Raw vectors of some views of every picture of a set, and sentence vectors of its captions."""
    names = [picture.path.name for picture in pictures]
    texts = [text for picture in pictures for text in picture.captions]
    raw_vnr = np.stack(
        [
            _load_or_compute(cache / f"{name}.{view}.npz", names, partial(_encode_view, pictures, encoder, view), tell)
            for view in range(views)
        ]
    )
    captions_ms = _load_or_compute(cache / f"{name}.captions.npz", texts, partial(encoder.sentences, texts), tell)
    owners_m = np.repeat(np.arange(len(pictures)), [len(picture.captions) for picture in pictures])
    return CaptionedVectors(raw_vnr, captions_ms, owners_m, tuple(texts))


def _load_or_compute(file: Path, names: Sequence[str], compute: Callable[[], np.ndarray], tell: Tell) -> np.ndarray:
    """The rows of these names in `file`; computed and written first if it is missing or has other names."""
    if file.exists():
        with np.load(file) as kept:
            if kept["names"].tolist() == list(names):
                found: np.ndarray = kept["rows"]
                return found
    tell(f"{file.stem}: {len(names)} vectors are made")
    rows = compute()
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(file, rows=rows, names=np.array(names))
    return rows


def _split_by_part(
    kind: CaptionedVectors, pictures: Sequence[CaptionedPicture], encoder: StarterEncoder
) -> dict[Part, CaptionedVectors]:
    """The kind in its three parts; the one to fit has labels."""
    of_n = np.array([part_of(picture.path.name) for picture in pictures])
    parts = {part: kind.of(np.flatnonzero(of_n == part)) for part in PARTS}
    said: list[tuple[Sequence[str], Sequence[str]]] = [
        (picture.captions, ()) for picture, part in zip(pictures, of_n, strict=True) if part == "fit"
    ]
    return parts | {"fit": add_labels(parts["fit"], encoder, said)}


def _encode_view(
    pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, view: int
) -> Float[np.ndarray, "n raw"]:
    rows = []
    for start in range(0, len(pictures), 64):
        files = [picture.path.read_bytes() for picture in pictures[start : start + 64]]
        decoded = (decode(file, limits=Limits(), fit=AtMost(1024)).pixels for file in files)
        rows.append(encoder.pictures([make_view(it, view, at) for at, it in enumerate(decoded, start)]).global_bd)
    return np.concatenate(rows).astype(np.float16)


def make_view(pixels: UInt8[np.ndarray, "_h _w 3"], view: int, number: int) -> UInt8[np.ndarray, "_h2 _w2 3"]:
    """View 0 is the picture, 1 its mirror image, later ones seeded crops of 75-95 % of each side, some mirrored."""
    if view == 0:
        return pixels
    if view == 1:
        return np.ascontiguousarray(pixels[:, ::-1])
    rng = np.random.default_rng((view, number))
    height, width = (int(side * rng.uniform(0.75, 0.95)) for side in pixels.shape[:2])
    top = int(rng.integers(0, pixels.shape[0] - height + 1))
    left = int(rng.integers(0, pixels.shape[1] - width + 1))
    cropped = pixels[top : top + max(height, 1), left : left + max(width, 1)]
    return np.ascontiguousarray(cropped[:, ::-1] if rng.random() < 0.5 else cropped)


def _join_kinds(kinds: Sequence[CaptionedVectors]) -> CaptionedVectors:
    """Several kinds with as many views as one."""
    offsets = np.cumsum([0, *map(len, kinds)])
    return CaptionedVectors(
        np.concatenate([kind.raw_vnr for kind in kinds], axis=1),
        np.concatenate([kind.captions_ms for kind in kinds]),
        np.concatenate([kind.owners_m + offset for kind, offset in zip(kinds, offsets, strict=False)]),
        tuple(text for kind in kinds for text in kind.texts),
    )
