"""Training the shipped head on captioned photos (`viewfinder train starter`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int, UInt8

from viewfinder.data import CaptionedPicture, read_coco, read_flickr8k, read_products
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.starter.fit import CaptionedVectors, calibrate_head, fit_head
from viewfinder.metrics import recall_at, target_ranks
from viewfinder.pictures import AtMost, Limits, decode
from viewfinder.tuning.collection import Tell, with_labels

PRODUCT_WEIGHT = 2.0
"""Of product photos beside photos of the world."""

VIEWS = 4
"""Of every photo: as it is, mirrored, and two seeded crops; products, of which there are many, have two."""


@dataclass(frozen=True)
class TrainReport:
    """Where the trained head and its figures lie, and the figures."""

    head: Path
    card: Path
    pictures: int
    figures: dict[str, float]


@dataclass(frozen=True)
class TrainingPictures:
    """The training pictures: photos of the world (flickr8k), more of them (coco), products; these two may be absent."""

    photos: CaptionedVectors
    coco: CaptionedVectors | None
    products: CaptionedVectors | None

    def head(self, rows: Int[np.ndarray, " k"] | None = None) -> Head:
        """The closed form on these rows of the photos (default: all) and on everything else."""
        photos = self.photos if rows is None else self.photos.of(rows)
        kinds = [photos if self.coco is None else _joined(photos, self.coco)]
        if self.products is not None:
            kinds.append(replace(self.products, weight=PRODUCT_WEIGHT))
        return fit_head(kinds)


def halves(count: int, seed: int) -> tuple[tuple[Int[np.ndarray, " k"], Int[np.ndarray, " j"]], ...]:
    """Two folds of `count` rows: (learnt from, asked about), and the other way round."""
    order_n = np.random.default_rng(seed).permutation(count)
    one, other = np.sort(order_n[: count // 2]), np.sort(order_n[count // 2 :])
    return (one, other), (other, one)


def train_starter(data: Path, out: Path, report: Tell | None = None) -> TrainReport:
    """Fits the shipped head on captioned photos: folders flickr8k, coco and fashion-products below `data`.

    The figures come from two folds of flickr8k, seeds 0 to 2; what is written is then fitted on everything. Raw
    vectors of the views are kept in `out`, so that a second run starts where the first stopped.

    Raises:
        BadInput: no flickr8k folder there (the others may be absent), or damaged tables.
    """
    tell = report or (lambda line: None)
    encoder = StarterEncoder()
    kinds = read_training_pictures(data, out, encoder, tell)
    tell("two folds of flickr8k, three seeds")
    folds = [
        (kinds.head(learnt), kinds.photos.of(asked))
        for seed in range(3)
        for learnt, asked in halves(len(kinds.photos), seed)
    ]
    figures = {f"R@10 after turn {turn + 1}": value for turn, value in enumerate(fold_recalls(folds))}
    # Things that are in none of the photos: what "nothing like that here" is learnt from.
    lines = Path(__file__).with_name("not_there.txt").read_text(encoding="utf-8").splitlines()
    absent_as = encoder.sentences([line for line in lines if line and not line.startswith("#")])
    head = replace(kinds.head(), calibration=calibrate_head([(head, kind, absent_as) for head, kind in folds]))
    head.save(out / "head.safetensors")
    card = out / "figures.txt"
    card.write_text("".join(f"{name}: {value:.4f}\n" for name, value in figures.items()), encoding="utf-8")
    pictures = sum(len(kind) for kind in (kinds.photos, kinds.coco, kinds.products) if kind is not None)
    return TrainReport(out / "head.safetensors", card, pictures, figures)


def read_training_pictures(data: Path, cache: Path, encoder: StarterEncoder, tell: Tell) -> TrainingPictures:
    """The training pictures as vectors; raw vectors are read from `cache` where a run before kept them."""
    photos = _read_kind(read_flickr8k(data / "flickr8k")[0], encoder, cache / "flickr8k.npz", VIEWS, tell)
    coco = products = None
    if (data / "coco").is_dir():
        coco = _read_kind(read_coco(data / "coco")[0], encoder, cache / "coco.npz", VIEWS, tell)
    if (data / "fashion-products").is_dir():
        found, _ = read_products(data / "fashion-products")
        products = _read_kind(found, encoder, cache / "fashion-products.npz", 2, tell)
    return TrainingPictures(photos, coco, products)


def fold_recalls(folds: Sequence[tuple[Head, CaptionedVectors]], *, turns: int = 5) -> list[float]:
    """R@10 after each turn, a caption a turn, in the order of the file; means over the folds."""
    recalls_ft = []
    for head, kind in folds:
        pictures_nd = head.pictures(kind.raw_vnr[0].astype(np.float16))
        order_m = np.argsort(kind.owners_m, kind="stable")
        texts_md = head.sentences(kind.captions_ms[order_m])
        likeness_mn = texts_md @ pictures_nd.T - head.background(pictures_nd)
        so_far_ntn = likeness_mn.reshape(len(kind), -1, len(kind)).cumsum(axis=1)
        targets_n = np.arange(len(kind))
        recalls_ft.append([recall_at(10, target_ranks(so_far_ntn[:, turn], targets_n)) for turn in range(turns)])
    return [float(value) for value in np.mean(recalls_ft, axis=0)]


def _read_kind(
    pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, cache: Path, views: int, tell: Tell
) -> CaptionedVectors:
    """Raw vectors of some views of every picture, and sentence vectors of its captions."""
    if cache.exists():
        raw_vnr = np.load(cache)["raw_vnr"].astype(np.float32)
    else:
        tell(f"{cache.stem}: {len(pictures)} pictures, {views} views each")
        raw_vnr = np.stack([_raw_view(pictures, encoder, view) for view in range(views)])
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, raw_vnr=raw_vnr.astype(np.float16))
    captions_ms = encoder.sentences([text for picture in pictures for text in picture.captions])
    owners_m = np.repeat(np.arange(len(pictures)), [len(picture.captions) for picture in pictures])
    kind = CaptionedVectors(raw_vnr, captions_ms, owners_m)
    return with_labels(kind, encoder, [(picture.captions, ()) for picture in pictures])


def _raw_view(pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, view: int) -> Float[np.ndarray, "n raw"]:
    rows = []
    for start in range(0, len(pictures), 64):
        files = [picture.path.read_bytes() for picture in pictures[start : start + 64]]
        decoded = (decode(file, limits=Limits(), fit=AtMost(1024)).pixels for file in files)
        rows.append(encoder.pictures([view_of(it, view, at) for at, it in enumerate(decoded, start)]).global_bd)
    return np.concatenate(rows)


def view_of(pixels: UInt8[np.ndarray, "_h _w 3"], view: int, number: int) -> UInt8[np.ndarray, "_h2 _w2 3"]:
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


def _joined(first: CaptionedVectors, second: CaptionedVectors) -> CaptionedVectors:
    """Two kinds as one, with the labels of the first; both have as many views as the one with fewer."""
    views = min(len(first.raw_vnr), len(second.raw_vnr))
    return CaptionedVectors(
        np.concatenate([first.raw_vnr[:views], second.raw_vnr[:views]], axis=1),
        np.concatenate([first.captions_ms, second.captions_ms]),
        np.concatenate([first.owners_m, second.owners_m + len(first)]),
        labels=first.labels,
        labels_ls=first.labels_ls,
    )
