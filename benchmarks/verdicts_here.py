"""Does a verdict mean the same in every library? Galleries of photographs, products and both, asked for what is there.

    python benchmarks/verdicts_here.py DATA             # writes benchmarks/results/verdicts_here.json
    python benchmarks/verdicts_here.py DATA --fit       # fits search/own_scale.json, on the part `choose`

People say captions of a photograph in one to five turns, whole or as fragments, or the name of a product, or its kind
and colour. What is not there is a kind of thing, of which all pictures have been removed; something of another domain;
or something that hardly any picture shows. The measured part is `report`; its pictures, and those of `choose`, are in
no training; `fit` only fills the large galleries. "Before" are the curves that the encoder brings along.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from conversations import MISSING
from freshness import RESULTS
from jaxtyping import Float, Float32
from machine import describe_host
from measuring import write_json
from quality import ABSENT, estimate_interval

from viewfinder.data.splits import Part, part_of, read_photographs
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import SAYINGS, write_sentences
from viewfinder.pictures import Limits
from viewfinder.pictures.decode import decode
from viewfinder.search import own_scale
from viewfinder.search.own_scale import FEATURES, Curves, OwnJudgement, OwnScale, own_features, read_sayings
from viewfinder.search.verdicts import (
    MIN_LIKELY,
    MIN_MAYBE,
    Spread,
    agree_verdict,
    fall_along,
    judge_conversation,
    mean_familiarity,
    speaks_in_sentences,
)
from viewfinder.tuning.starter import absent_things
from viewfinder.tuning.verdicts import KINDS, fit_logistic
from viewfinder.users.photographs import make_fragment
from viewfinder.wording.stems import stems
from viewfinder.wording.stop_words import content_stems

Style = Literal["sentences", "fragments", "names", "kinds", "things"]
Truth = Literal["here", "removed", "elsewhere", "absent"]

TURNS = (1, 2, 3, 5)
ASKED = 150
"""Pictures of a gallery that are looked for."""

FIRST = 10
"""Hits that are looked at."""

LOST = 0.035
"""Of the conversations whose picture is among the first ten, the share for which the curve may say "nothing"."""

SHOWN = (0, 1, 2, 5, 9)
"""Places whose hits the curve of hits is fitted on."""

MAYBE_BEFORE = 0.25
"""The chance from which on a hit was called "maybe" by the curves of before."""

CURVES = Path(own_scale.__file__).with_name("own_scale.json")


@dataclass(frozen=True, eq=False)
class Shelf:
    """Pictures of one part: vectors, captions (of products: name, kind, colour with kind), and whether of products."""

    vectors_nd: Float32[np.ndarray, "n d"]
    background_n: Float32[np.ndarray, " n"]
    captions: list[tuple[str, ...]]
    is_product: bool

    def take(self, rows: Sequence[int]) -> Shelf:
        """Some of the pictures."""
        return Shelf(self.vectors_nd[rows], self.background_n[rows], [self.captions[n] for n in rows], self.is_product)


@dataclass(frozen=True)
class Talk:
    """What was said, and of which picture of the gallery; `removed` are the pictures that are taken away before."""

    texts: tuple[str, ...]
    style: Style
    truth: Truth
    target: int | None = None
    removed: tuple[int, ...] = ()


@dataclass(eq=False)
class Gallery:
    """Pictures with what is asked of them."""

    name: str
    shelves: list[Shelf]
    talks: list[Talk] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.vectors_nd = np.concatenate([shelf.vectors_nd for shelf in self.shelves])
        self.background_n = np.concatenate([shelf.background_n for shelf in self.shelves])
        self.captions = [texts for shelf in self.shelves for texts in shelf.captions]
        self.is_product = [shelf.is_product for shelf in self.shelves for _ in shelf.captions]
        self.words = [{word for text in texts for word in stems(text)} for texts in self.captions]


@dataclass(frozen=True, eq=False)
class Judged:
    """A talk judged: place of the picture meant (from 0), verdicts and marks before and now, which hits are right."""

    talk: Talk
    place: int | None
    features_f: Float[np.ndarray, " f"]
    standing_k: Float[np.ndarray, " k"]
    right: tuple[bool, ...]
    is_target: tuple[bool, ...]
    before: tuple[str, list[float]]


def main() -> None:
    """Fits the curves, or measures the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("runs/verdicts"), help="where vectors are kept")
    parser.add_argument(
        "--fit", action="store_true", help="fit the curves on `choose` instead of measuring on `report`"
    )
    parser.add_argument("--part", choices=["choose", "report"], default="report")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "verdicts_here.json")
    given = parser.parse_args()
    if given.fit:
        write_sentences(SAYINGS, read_sayings())
    bench = Bench(given.data, given.cache)
    if given.fit:
        judged = [
            (gallery, bench.judge(gallery)) for seed in range(given.seeds) for gallery in bench.stock("choose", seed)
        ]
        write_json(CURVES, fit_curves(judged))
        return
    curves = own_scale.read_curves()
    by_gallery: dict[str, list[Judged]] = {}
    sizes: dict[str, int] = {}
    for seed in range(given.seeds):
        for gallery in bench.stock(given.part, seed):
            by_gallery.setdefault(gallery.name, []).extend(bench.judge(gallery))
            sizes[gallery.name] = len(gallery.captions)
    found = {name: {"pictures": sizes[name], **describe(judged, curves)} for name, judged in by_gallery.items()}
    for name, figures in found.items():
        print(name, json.dumps(figures))
    write_json(given.out, {"part": given.part, "seeds": given.seeds, "galleries": found, "machine": describe_host()})


class Bench:
    """Reads pictures and texts as vectors, and keeps them."""

    def __init__(self, data: Path, cache: Path) -> None:
        self.data, self.cache, self.encoder = data, cache, StarterEncoder()
        cache.mkdir(parents=True, exist_ok=True)
        self._words: dict[str, Float32[np.ndarray, " d"]] = {}
        if (kept := cache / "words.npz").exists():
            with np.load(kept) as known:
                self._words = dict(zip(known["texts"].tolist(), known["vectors"], strict=True))
        self.sayings_bd = self.encode(read_sayings())

    def encode(self, texts: Iterable[str]) -> Float32[np.ndarray, "m d"]:
        """Vectors of texts."""
        texts = list(texts)
        if unknown := [text for text in dict.fromkeys(texts) if text not in self._words]:
            found = [self.encoder.words(unknown[at : at + 64]) for at in range(0, len(unknown), 64)]
            self._words |= dict(zip(unknown, np.concatenate(found).astype(np.float32), strict=True))
            if len(unknown) > 20:
                np.savez(
                    self.cache / "words.npz", texts=np.array([*self._words]), vectors=np.stack([*self._words.values()])
                )
        return np.stack([self._words[text] for text in texts])

    def read(self, part: Part, *, products: bool, most: int = 1 << 30) -> Shelf:
        """Photographs or products of a part, in an order drawn once."""
        found: list[tuple[Path, tuple[str, ...]]]
        if products:
            folder = self.data / "fashion-products"
            with (folder / "products.csv").open(encoding="utf-8") as file:
                rows = [row for row in csv.DictReader(file) if (folder / "images" / f"{row['id']}.jpg").exists()]
            found = [
                (folder / "images" / f"{row['id']}.jpg", (row["productDisplayName"], _name_kind(row)))
                for row in rows
                if part_of(row["id"]) == part
            ]
        else:
            pictures = [one for some in read_photographs(self.data, part).values() for one in some]
            found = [(one.path, one.captions) for one in pictures]
        found = random.Random("viewfinder/verdicts").sample(found, min(most, len(found)))
        paths = [path for path, _ in found]
        file_name = self.cache / f"{part}-{'products' if products else 'photographs'}-{len(paths)}.npz"
        if not file_name.exists():
            np.savez(file_name, raw=self._look(paths))
        with np.load(file_name) as kept:
            vectors_nd = np.asarray(self.encoder.project(kept["raw"].astype(np.float32)), np.float32)
        return Shelf(vectors_nd, self.encoder.background(vectors_nd), [said for _, said in found], products)

    def _look(self, paths: Sequence[Path]) -> np.ndarray:
        rows = []
        for at in range(0, len(paths), 32):
            files = (path.read_bytes() for path in paths[at : at + 32])
            seen = [decode(file, limits=Limits(), fit=self.encoder.fit).pixels for file in files]
            rows.append(np.asarray(self.encoder.pictures(seen).global_bd, np.float16))
        return np.concatenate(rows)

    def stock(self, part: Part, seed: int) -> Iterator[Gallery]:
        """The galleries of a part, with what is asked of them."""
        rng = random.Random(f"viewfinder/verdicts/{part}/{seed}")
        photos, goods = self.read(part, products=False), self.read(part, products=True)
        filling, shop = self.read("fit", products=False, most=2000), self.read("fit", products=True, most=2600)
        kinds = KINDS.split() if part == "choose" else MISSING
        things = absent_things() if part == "choose" else [*ABSENT]
        absent = [Talk((text,), "things", "absent") for text in things]
        names = [
            Talk((goods.captions[n][0],), "names", "elsewhere") for n in rng.sample(range(len(goods.captions)), 60)
        ]
        said: list[Talk] = []
        for n in rng.sample(range(len(photos.captions)), 60):
            said.append(Talk((photos.captions[n][0],), "sentences", "elsewhere"))
            said.append(Talk((make_fragment(photos.captions[n][0], rng),), "fragments", "elsewhere"))

        def some(shelf: Shelf, count: int) -> Shelf:
            return shelf.take(sorted(rng.sample(range(len(shelf.captions)), min(count, len(shelf.captions)))))

        few = [("photographs, 331", 331), *([("photographs, 120", 120)] if part == "choose" else [])]
        for name, size in few:
            gallery = Gallery(name, [some(photos, size)])
            gallery.talks = [*ask_photographs(gallery, 0, rng), *remove_kinds(gallery, kinds, rng), *absent, *names]
            yield gallery
        gallery = Gallery("photographs, 2,016", [photos, some(filling, 2016 - len(photos.captions))])
        gallery.talks = [*ask_photographs(gallery, 0, rng), *remove_kinds(gallery, kinds, rng), *absent, *names]
        yield gallery
        gallery = Gallery("photographs with products", [photos, goods])
        gallery.talks = [*ask_photographs(gallery, 0, rng), *remove_kinds(gallery, kinds, rng), *absent]
        yield gallery
        rest = 5271 - len(photos.captions) - len(goods.captions) - 2000
        gallery = Gallery("photographs among all, 5,271", [photos, goods, filling, some(shop, rest)])
        gallery.talks = [*ask_photographs(gallery, 0, rng), *remove_kinds(gallery, kinds, rng), *absent]
        yield gallery
        gallery = Gallery("products", [goods, some(shop, 500)])
        gallery.talks = [*ask_products(gallery, 0, rng), *remove_types(gallery, 0, rng), *absent, *said]
        yield gallery
        gallery = Gallery("products among photographs", [some(goods, 200), photos, some(filling, 1200)])
        gallery.talks = [*ask_products(gallery, 0, rng), *remove_types(gallery, 0, rng), *absent]
        yield gallery

    def judge(self, gallery: Gallery) -> list[Judged]:
        """All talks of a gallery, by the encoder's curves and as features for a library's own."""
        self.encode(text for talk in gallery.talks for text in talk.texts)
        scale = OwnScale.of(gallery.vectors_nd, gallery.background_n, self.sayings_bd)
        return [self._judge(gallery, scale, talk) for talk in gallery.talks]

    def _judge(self, gallery: Gallery, scale: OwnScale, talk: Talk) -> Judged:
        known = self.encoder.calibration
        assert known is not None
        texts_md = self.encode(talk.texts)
        score_n = gallery.vectors_nd @ texts_md.mean(axis=0) - gallery.background_n
        there_k = np.setdiff1d(np.arange(len(score_n)), np.array(talk.removed, np.int64))
        order_k = there_k[np.argsort(-score_n[there_k], kind="stable")[:FIRST]]
        standing_k = scale.stand(score_n[order_k], order_k)
        features_f = own_features(scale, standing_k, texts_md, mean_familiarity(known.familiar, talk.texts))
        old = judge_conversation(
            known, Spread.of(score_n[there_k]), lambda rows_k: score_n[rows_k], texts_md, talk.texts
        )
        return Judged(
            talk,
            None if talk.target is None else int((score_n > score_n[talk.target]).sum()),
            features_f,
            standing_k,
            tuple(is_right(gallery, talk, n) for n in order_k.tolist()),
            tuple(n == talk.target for n in order_k.tolist()),
            (old.verdict, old.matches(order_k.tolist())),
        )


def _name_kind(row: dict[str, str]) -> str:
    return f"{row['baseColour']} {row['articleType']}".lower()


def ask_photographs(gallery: Gallery, start: int, rng: random.Random) -> Iterator[Talk]:
    """Photographs of the first shelf by their captions, whole and as fragments, in one to five turns."""
    count = len(gallery.shelves[0].captions)
    for n in rng.sample(range(count), min(ASKED, count)):
        captions = list(gallery.captions[start + n][:5])
        rng.shuffle(captions)
        spoken: dict[Style, list[str]] = {
            "sentences": captions, "fragments": [make_fragment(text, rng) for text in captions],
        }  # fmt: skip
        for style, texts in spoken.items():
            for turns in TURNS:
                if turns <= len(texts):
                    yield Talk(tuple(texts[:turns]), style, "here", start + n)


def remove_kinds(gallery: Gallery, kinds: Sequence[str], rng: random.Random) -> Iterator[Talk]:
    """Captions that name a kind of which all photographs are removed."""
    count = len(gallery.shelves[0].captions)
    for kind in kinds:
        named = [sum(kind in text.lower() for text in texts) for texts in gallery.captions]
        removed = tuple(n for n, times in enumerate(named) if times)
        most = [n for n in range(count) if 2 * named[n] > len(gallery.captions[n])]
        for n in rng.sample(most, min(3, len(most))):
            said = [text for text in gallery.captions[n] if kind in text.lower()][:3]
            tried = [[make_fragment(text, rng) for _ in range(10)] for text in said]
            parts = [next((part for part in some if kind in part), some[0]) for some in tried]
            for style, texts in (("sentences", said), ("fragments", parts)):
                for turns in sorted({1, len(texts)}):
                    yield Talk(tuple(texts[:turns]), style, "removed", removed=removed)  # type: ignore[arg-type]


def ask_products(gallery: Gallery, start: int, rng: random.Random) -> Iterator[Talk]:
    """Products of the first shelf by their names, and by kind and colour."""
    count = len(gallery.shelves[0].captions)
    for n in rng.sample(range(count), min(ASKED, count)):
        name, kind = gallery.captions[start + n]
        yield Talk((name,), "names", "here", start + n)
        yield Talk((kind,), "kinds", "here", start + n)


def remove_types(gallery: Gallery, start: int, rng: random.Random) -> Iterator[Talk]:
    """Names of products of a type of which all are removed; types that are a fifth of all products stay."""
    types = [
        texts[1].split(" ", 1)[1] if product else ""
        for texts, product in zip(gallery.captions, gallery.is_product, strict=True)
    ]
    for kind, times in sorted(Counter(one for one in types if one).items()):
        if times > sum(gallery.is_product) / 5:
            continue
        removed = tuple(n for n, one in enumerate(types) if one == kind)
        own = [n for n in removed if n < len(gallery.shelves[0].captions)]
        for n in rng.sample(own, min(3, len(own))):
            yield Talk((gallery.captions[start + n][0],), "names", "removed", removed=removed)


def is_right(gallery: Gallery, talk: Talk, n: int) -> bool:
    """Whether a picture is what was said: the one meant, a product of its kind and colour, or one of the same things.

    The same things: its captions have half of the meaningful words that were said, and two of them if so many were.
    """
    if n == talk.target:
        return True
    if talk.style in ("names", "kinds"):
        return (
            talk.target is not None
            and gallery.is_product[n]
            and gallery.captions[n][1:] == gallery.captions[talk.target][1:]
        )
    if gallery.is_product[n] or talk.truth == "elsewhere":
        return False
    wanted = set(content_stems(talk.texts))
    shared = len(wanted & gallery.words[n])
    return bool(wanted) and shared >= max(min(2, len(wanted)), len(wanted) / 2)


# -- fitting


def fit_curves(judged: Sequence[tuple[Gallery, list[Judged]]]) -> dict[str, Any]:
    """The curves, each gallery counting the same, and in it what is there as much as what is not."""
    here = [(gallery.name, one) for gallery, some in judged for one in some if one.place is None or one.place < FIRST]
    there_k = np.array([one.place is not None for _, one in here])
    groups = [(name, one.talk.truth, one.talk.style, len(one.talk.texts) > 1) for name, one in here]
    weights_k = 1 / np.array([Counter(groups)[group] for group in groups])
    for side in {(name, there) for (name, *_), there in zip(groups, there_k.tolist(), strict=True)}:
        rows = np.array([(group[0], there) == side for group, there in zip(groups, there_k.tolist(), strict=True)])
        weights_k[rows] /= weights_k[rows].sum()
    weights_k *= len(weights_k) / weights_k.sum()
    rows_kf = np.array([[*one.features_f, 1.0] for _, one in here])
    here_f = fit_logistic(rows_kf, there_k, weights_k)
    chance_k = 1 / (1 + np.exp(-(rows_kf @ np.array(here_f))))
    limits = []
    for spoken in (False, True):
        of_k = there_k & np.array([speaks_in_sentences(one.talk.texts) == spoken for _, one in here])
        limits.append(weigh_quantile(chance_k[of_k], weights_k[of_k], LOST))
    hits = [
        ([*one.features_f, one.standing_k[at], math.log(1 + at), 1.0], one.right[at], 1 / len(some))
        for _, some in judged
        for one in some
        for at in SHOWN
        if at < len(one.standing_k)
    ]
    shares_k = np.array([share for *_, share in hits])
    match_f = fit_logistic(
        np.array([row for row, *_ in hits]), np.array([good for _, good, _ in hits]), shares_k / shares_k.mean()
    )
    rounded = {"here": here_f, "match": match_f, "nothing_below": limits}
    return {"features": FEATURES, **{name: [round(value, 5) for value in values] for name, values in rounded.items()}}


def weigh_quantile(values_k: Float[np.ndarray, " k"], weights_k: Float[np.ndarray, " k"], share: float) -> float:
    """The least value below or at which a share of the weight lies."""
    order_k = np.argsort(values_k)
    return float(values_k[order_k][np.searchsorted(np.cumsum(weights_k[order_k]), share * weights_k.sum())])


# -- measuring


def verdict_now(one: Judged, curves: Curves) -> tuple[str, list[float]]:
    """The verdict as it is shown, and the chances of the hits."""
    scale = OwnScale(np.zeros((0, 0), np.float32), np.tile([0.0, 1.0], (FIRST, 1)), np.zeros(FIRST, np.float32), 0.0)
    made = OwnJudgement(
        curves, scale, one.features_f, speaks_in_sentences(one.talk.texts), lambda rows_k: one.standing_k[rows_k]
    )
    chances = fall_along(made.matches(range(len(one.standing_k))))
    return agree_verdict(made.verdict, chances[0]), chances


def describe(judged: Sequence[Judged], curves: Curves) -> dict[str, Any]:
    """The figures of a gallery, before and now."""
    return {
        "before": _describe(judged, [one.before for one in judged], MAYBE_BEFORE),
        "now": _describe(judged, [verdict_now(one, curves) for one in judged], MIN_MAYBE),
    }


def _describe(judged: Sequence[Judged], given: Sequence[tuple[str, list[float]]], maybe: float) -> dict[str, Any]:
    """The figures of verdicts and chances; `maybe` is the chance from which on a hit is called so."""
    is_near = np.array([one.place is not None and one.place < FIRST for one in judged])
    nothing = np.array([verdict == "nothing" for verdict, _ in given])
    found = np.array([verdict == "found" for verdict, _ in given])
    unlikely = np.array([max(chances) < maybe for _, chances in given])
    right_first = np.array([one.is_target[0] for one in judged])
    figures = {
        '"nothing", though among the first ten': nothing[is_near],
        '"found" of those': found[is_near],
        '"found" above only "unlikely"': unlikely[found],
        '"unlikely" of first hits that are the one meant': np.array(
            [given[at][1][0] < maybe for at in np.flatnonzero(right_first).tolist()]
        ),
    }
    for truth in ("removed", "elsewhere", "absent"):
        of_k = np.array([one.talk.truth == truth for one in judged])
        if of_k.any():
            figures[f'"nothing", {truth}'] = nothing[of_k]
    for style in ("sentences", "fragments", "names", "kinds"):
        of_k = is_near & np.array([one.talk.style == style for one in judged])
        if of_k.any():
            figures[f'"nothing", though among the first ten: {style}'] = nothing[of_k]
    for verdict in ("found", "unsure", "nothing"):
        of_k = np.array(
            [one.place is not None and answer == verdict for one, (answer, _) in zip(judged, given, strict=True)]
        )
        figures[f"among the first ten, of those there with the verdict {verdict}"] = is_near[of_k]
    for name, low, high in (("likely", MIN_LIKELY, 2.0), ("maybe", maybe, MIN_LIKELY), ("unlikely", -1.0, maybe)):
        figures[f"{name} hits that are right"] = np.array(
            [
                good
                for one, (_, chances) in zip(judged, given, strict=True)
                for good, chance in zip(one.right, chances, strict=True)
                if low <= chance < high
            ]
        )
    return {name: estimate_interval(values.astype(float)) for name, values in figures.items() if len(values)}


if __name__ == "__main__":
    main()
