"""Fitting the starter's alignment head: once for the box (`train starter`), or on a user's own captions (`tune`)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, UInt8

from viewfinder.data import (
    CaptionedPicture,
    match_keys,
    read_captions_csv,
    read_catalogue,
    read_coco,
    read_flickr8k,
    read_products,
)
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.fit import Captioned, FitSettings, calibrate, fit
from viewfinder.encoders.starter.head import Head
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.measures import ranks, recall_at
from viewfinder.pictures import AtMost, Decoders, Limits, Read, decode, scan

Tell = Callable[[str], None]

TUNED = FitSettings(ridge=0.5, whitening=0.7, names_mix=0.0)
"""The closed form where a collection brings its own captions: more of them than photos in the box, and alike."""

FEWEST = 20
"""Captioned pictures below which there is nothing to hold out and compare with."""

LABEL_SHARE = (0.002, 0.5)
"""A word is a label if it holds for at least and at most this share of the pictures ..."""

LABEL_LEAST = 10
"""... and for at least so many: a word of two pictures is no kind of thing (small collections: a third of them)."""

_LITTLE_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        the and with for from into onto out off over under near next its his her their this that these those are was
        were has have had one two three who which what while there here some any all other another each very being
        been but not him she they them you your our through around behind front top down along across
        """,
    )
)
"""Words that say nothing about a picture on their own."""

PRODUCT_WEIGHT = 2.0
"""Of product photos beside photos of the world, when the head in the box is trained."""

VIEWS = 4


@dataclass(frozen=True)
class TuneReport:
    """What `tune` came to: which head won, and each candidate's mean reciprocal rank on held-out pictures."""

    pictures: int
    texts: int
    chosen: str
    held_out: dict[str, float]
    space: str


@dataclass(frozen=True)
class TrainReport:
    """Where the trained head and its card lie, and the figures that the card states."""

    head: Path
    card: Path
    pictures: int
    figures: dict[str, float]


def tune(
    library: Library, *, captions: Path | None = None, catalogue: Path | None = None, report: Tell | None = None
) -> TuneReport:
    """Fits a head on captions or catalogue columns of pictures in the library, and switches to it if it is better.

    The new space is built beside the present one from stored raw vectors, no picture is read again; the switch is
    one atomic step, and `Library.switch_back` undoes it.

    Raises:
        BadInput: another encoder than the starter, too few captioned pictures, or a damaged table.
    """
    tell = report or (lambda line: None)
    encoder = library.encoder
    if not isinstance(encoder, StarterEncoder):
        raise BadInput(f"only the encoder 'starter' can be tuned; this library was made with {encoder.name!r}")
    said = _said(library, captions, catalogue)
    if len(said) < FEWEST:
        raise BadInput(f"{len(said)} pictures with captions were found; tuning needs at least {FEWEST}")
    tell(f"{sum(len(texts) for texts, _ in said.values())} texts of {len(said)} pictures")
    kind = _captioned(library, encoder, said)
    from viewfinder.encoders.starter.refine import refine

    refined = refine(
        encoder.head, kind, TUNED, report=lambda epoch, mrr: tell(f"epoch {epoch}: held-out reciprocal rank {mrr:.3f}")
    )
    if refined.chosen != "shipped":
        library.use_head(replace(refined.head, calibration=encoder.calibration))
    return TuneReport(len(kind), len(kind.captions_ms), refined.chosen, refined.held_out, library.encoder.version)


Said = tuple[list[str], list[str]]
"""Texts about a picture, and catalogue values that hold for it."""


def _said(library: Library, captions: Path | None, catalogue: Path | None) -> dict[Path, Said]:
    """What the tables say, by file: pictures of the library, or else files that lie beside the table."""
    there = [Path(file.path) for row in library.store.rows() for file in row.files]
    said: dict[Path, Said] = {}
    if captions is not None:
        pictures, _ = read_captions_csv(captions)
        for path, positions in _matched([str(picture.path) for picture in pictures], there, captions).items():
            texts, _ = said.setdefault(path, ([], []))
            texts += [text for at in positions for text in pictures[at].captions]
    if catalogue is not None:
        table = read_catalogue(catalogue)
        prose = prose_columns([row.values for row in table.rows])
        for path, positions in _matched([row.key for row in table.rows], there, catalogue).items():
            texts, values = said.setdefault(path, ([], []))
            for at in positions:
                cells = table.rows[at].values
                known = [cell for name, cell in cells.items() if name not in prose and not _is_number(cell)]
                values += known
                texts += [cell for name, cell in cells.items() if name in prose] or [" ".join(known)]
    return said


def _matched(keys: Sequence[str], there: Sequence[Path], table: Path) -> dict[Path, list[int]]:
    """Positions of the keys by file; files beside the table serve where the library has none of that name."""
    found = match_keys(keys, there)
    files = dict(found.files)
    if found.unmatched:
        beside = [file.path for file in scan([table.resolve().parent]).files]
        others = match_keys([keys[at] for at in found.unmatched], beside)
        files |= {path: [found.unmatched[at] for at in positions] for path, positions in others.files.items()}
    return files


def prose_columns(rows: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Columns that are written anew for every row (names, descriptions) rather than chosen from a few values."""
    values: dict[str, list[str]] = {}
    for row in rows:
        for name, cell in row.items():
            values.setdefault(name, []).append(cell)
    return frozenset(
        name
        for name, cells in values.items()
        if len(set(cells)) > len(cells) / 2 and sum(len(cell.split()) > 1 for cell in cells) > len(cells) / 2
    )


def _is_number(value: str) -> bool:
    return bool(re.fullmatch(r"[\d.,:/ -]+", value))


def _captioned(library: Library, encoder: StarterEncoder, said: Mapping[Path, Said]) -> Captioned:
    """Raw vectors of the pictures (stored ones where the library has them) and sentence vectors of the texts."""
    ids = {file.path: row.id for row in library.store.rows() for file in row.files}
    known = [path for path in said if str(path) in ids]
    stored_nr = library.store.read_vectors_of(encoder.raw_version, [ids[str(path)] for path in known])
    raw = dict(zip(known, stored_nr.astype(np.float32), strict=True))
    raw |= _raw_of([path for path in said if path not in raw], encoder)
    paths = sorted(raw)
    texts = [said[path][0] for path in paths]
    owners_m = np.repeat(np.arange(len(paths)), [len(found) for found in texts])
    captions_ms = encoder.sentences([text for found in texts for text in found])
    kind = Captioned(np.stack([raw[path] for path in paths])[None], captions_ms, owners_m)
    return with_labels(kind, encoder, [said[path] for path in paths])


def _raw_of(paths: Sequence[Path], encoder: StarterEncoder) -> dict[Path, Float[np.ndarray, " raw"]]:
    """Raw vectors of files outside the library; those that are no pictures are left out."""
    raw: dict[Path, Float[np.ndarray, " raw"]] = {}
    if paths:
        with Decoders(os.cpu_count() or 1, fit=encoder.fit) as decoders:
            for outcome in decoders.decode(paths):
                if isinstance(outcome, Read):
                    raw[outcome.path] = encoder.pictures([outcome.pixels]).global_bd[0]
    return raw


def with_labels(
    kind: Captioned, encoder: StarterEncoder, said: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> Captioned:
    """The kind with the words that hold for many of its pictures, for `said` as in `labels_of`."""
    labels, holds_nl = labels_of(said)
    if not labels:
        return kind
    return replace(kind, labels=tuple(labels), labels_ls=encoder.sentences(labels), holds_nl=holds_nl)


def labels_of(
    said: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> tuple[list[str], Bool[np.ndarray, "n l"]]:
    """Words of texts, and whole catalogue values, that hold for a fair share of the pictures.

    They teach the head what single words such as colours mean, which whole names alone do not.

    >>> labels_of([(["Red shirt"], ["Men"]), (["Red dress"], ["Women"]), (["Blue hat"], ["Men"])])[0]
    ['blue', 'dress', 'hat', 'shirt', 'women']
    """
    words_n = [
        ({word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text.lower())} - _LITTLE_WORDS)
        | {value.lower() for value in values}
        for texts, values in said
    ]
    count = Counter(word for words in words_n for word in words)
    least = max(LABEL_SHARE[0] * len(said), min(LABEL_LEAST, len(said) / 3))
    most = LABEL_SHARE[1] * len(said)
    labels = sorted(word for word, held in count.items() if least <= held <= most)
    holds_nl = np.array([[label in words for label in labels] for words in words_n], dtype=bool)
    return labels, holds_nl.reshape(len(said), len(labels))


# -- the head in the box


def train_starter(data: Path, out: Path, report: Tell | None = None) -> TrainReport:
    """Fits the head in the box on captioned photos: folders flickr8k, coco and fashion-products below `data`.

    Photos first (they say where the centre of texts lies), products beside them. Figures on the card come from two
    folds of flickr8k; what is shipped is then fitted on everything. Raw vectors of the views are kept in `out`, so
    that a second run starts where the first stopped.

    Raises:
        BadInput: no flickr8k folder there (the others may be absent), or damaged tables.
    """
    tell = report or print
    encoder = StarterEncoder()
    photos = _read_kind(read_flickr8k(data / "flickr8k")[0], encoder, out / "flickr8k.npz", VIEWS, tell)
    others = [
        _read_kind(read(data / name)[0], encoder, out / f"{name}.npz", views, tell)
        for name, read, views in (("coco", read_coco, VIEWS), ("fashion-products", read_products, 2))
        if (data / name).is_dir()
    ]
    coco, products = others[0] if others else None, others[1] if len(others) > 1 else None
    kinds = [photos if coco is None else _joined(photos, coco)]
    if products is not None:
        kinds.append(replace(products, weight=PRODUCT_WEIGHT))
    tell("two folds of flickr8k")
    folds = _folds(photos, coco, products)
    held_out = [(head, kind, _things_not_there(encoder)) for head, kind in folds]
    figures = {f"R@10 after turn {turn + 1}": value for turn, value in enumerate(fold_recalls(folds))}
    head = replace(fit(kinds), calibration=calibrate(held_out))
    head.save(out / "head.safetensors")
    card = out / "figures.txt"
    card.write_text("".join(f"{name}: {value:.4f}\n" for name, value in figures.items()), encoding="utf-8")
    return TrainReport(out / "head.safetensors", card, sum(map(len, kinds)), figures)


def _folds(photos: Captioned, coco: Captioned | None, products: Captioned | None) -> list[tuple[Head, Captioned]]:
    """Heads fitted on one half of the photos with the other half, for seeds 0, 1 and 2."""
    folds = []
    for seed in range(3):
        order_n = np.random.default_rng(seed).permutation(len(photos))
        halves = np.sort(order_n[: len(order_n) // 2]), np.sort(order_n[len(order_n) // 2 :])
        for learnt, asked in (halves, halves[::-1]):
            part = photos.of(learnt)
            kinds = [part if coco is None else _joined(part, coco)]
            if products is not None:
                kinds.append(replace(products, weight=PRODUCT_WEIGHT))
            folds.append((fit(kinds), photos.of(asked)))
    return folds


def fold_recalls(folds: Sequence[tuple[Head, Captioned]], *, turns: int = 5) -> list[float]:
    """R@10 after each turn, a caption a turn, in the order of the file; means over the folds."""
    recalls_ft = []
    for head, kind in folds:
        pictures_nd = head.pictures(kind.raw_vnr[0].astype(np.float16))
        order_m = np.argsort(kind.owners_m, kind="stable")
        texts_md = head.sentences(kind.captions_ms[order_m])
        likeness_mn = texts_md @ pictures_nd.T - head.background(pictures_nd)
        so_far_ntn = likeness_mn.reshape(len(kind), -1, len(kind)).cumsum(axis=1)
        targets_n = np.arange(len(kind))
        recalls_ft.append([recall_at(10, ranks(so_far_ntn[:, turn], targets_n)) for turn in range(turns)])
    return [float(value) for value in np.mean(recalls_ft, axis=0)]


def _read_kind(
    pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, cache: Path, views: int, tell: Tell
) -> Captioned:
    """Raw vectors of some views of every picture, and sentence vectors of its captions."""
    if cache.exists():
        raw_vnr = np.load(cache)["raw_vnr"].astype(np.float32)
    else:
        tell(f"{cache.stem}: {len(pictures)} pictures, {views} views each")
        raw_vnr = np.stack([_raw_view(pictures, encoder, view) for view in range(views)])
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, raw_vnr=raw_vnr.astype(np.float16))
    captions_ms = encoder.sentences([text for picture in pictures for text in picture.captions])
    kind = Captioned(raw_vnr, captions_ms, np.repeat(np.arange(len(pictures)), [len(p.captions) for p in pictures]))
    return with_labels(kind, encoder, [(picture.captions, ()) for picture in pictures])


def _raw_view(pictures: Sequence[CaptionedPicture], encoder: StarterEncoder, view: int) -> Float[np.ndarray, "n raw"]:
    rows = []
    for start in range(0, len(pictures), 64):
        decoded = [
            decode(picture.path.read_bytes(), limits=Limits(), fit=AtMost(1024)).pixels
            for picture in pictures[start : start + 64]
        ]
        seen = [seen_as(pixels, view, start + at) for at, pixels in enumerate(decoded)]
        rows.append(encoder.pictures(seen).global_bd)
    return np.concatenate(rows)


def seen_as(pixels: UInt8[np.ndarray, "_h _w 3"], view: int, number: int) -> UInt8[np.ndarray, "_h2 _w2 3"]:
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


def _joined(first: Captioned, second: Captioned) -> Captioned:
    """Two kinds as one, with the labels of the first; both have as many views as the one with fewer."""
    views = min(len(first.raw_vnr), len(second.raw_vnr))
    return Captioned(
        np.concatenate([first.raw_vnr[:views], second.raw_vnr[:views]], axis=1),
        np.concatenate([first.captions_ms, second.captions_ms]),
        np.concatenate([first.owners_m, second.owners_m + len(first)]),
        labels=first.labels,
        labels_ls=first.labels_ls,
    )


def _things_not_there(encoder: StarterEncoder) -> Float[np.ndarray, "a s"]:
    """Sentence vectors of things that are in none of the photos: what "nothing like that here" is learnt from."""
    text = Path(__file__).with_name("not_there.txt").read_text(encoding="utf-8")
    return encoder.sentences([line for line in text.splitlines() if line and not line.startswith("#")])
