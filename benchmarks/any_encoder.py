"""Is a library as trustworthy with another encoder? Everything above the ranking, with a stand-in for CLIP.

    python benchmarks/any_encoder.py DATA                  # writes benchmarks/results/any_encoder.json; half an hour
    python benchmarks/any_encoder.py DATA --part choose    # where things are chosen
    python benchmarks/any_encoder.py DATA --fit            # measures questioners/zero_shot.json, and the box's scale

The encoders are the starter and `pseudo_clip`, which finds what the starter finds and whose scores mean nothing of what
the starter's do. It is measured as it is, on its own scale, and with the starter's vectors beside it. Photographs are
those of a part, `report` for reporting; `fit` only fills the largest gallery.

verdicts   captions of photographs that are there, whole and as fragments, and sentences about things that no caption
           names, in galleries of 30 (some), of 600 and of all photographs
answers    conversations as in `conversations.py`: a caption, then answers to what is asked; the change of log2 of the
           rank
but        pick, of what a caption shows, what is most like the wanted photograph, and say how that differs
heatmaps   how much brighter than the mean the brightest region is, for a noun phrase of a caption, and for a thing that
           is not there
lists      lists of an approximate index that are looked into, chosen on sayings and on pictures, and what captions find
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from conversations import change, converse, share
from freshness import RESULTS
from jaxtyping import Float16, Float32
from machine import describe_host
from measuring import read_figures, write_json
from pseudo_clip import PseudoClip
from quality import ABSENT, estimate_interval

from viewfinder.conversation import Like, Question, Say
from viewfinder.data.splits import Part, read_photographs
from viewfinder.encoders import Encoder, measured_scale
from viewfinder.encoders.features import Features
from viewfinder.encoders.scale import BOX
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.pictures import AtMost, Limits, decode_one
from viewfinder.pictures.decode import decode
from viewfinder.questioners import zero_shot
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.questioner import InformationGain
from viewfinder.questioners.photographs import count_mentions, facets, label_columns
from viewfinder.retrievers import load_retriever
from viewfinder.search.approximate import build_index, exact_best, has_faiss, with_background
from viewfinder.search.gallery import Gallery
from viewfinder.search.grounding import compare_crops, crop_boxes, cut_boxes, spread_to_regions
from viewfinder.search.index_files import queries_like
from viewfinder.search.own_scale import measure_levels, read_sayings
from viewfinder.search.raw_vectors import Companion
from viewfinder.session.session import Session
from viewfinder.tuning.starter import absent_things
from viewfinder.users import AnnotatedPhotos, PhotoComparer, SpeakingStyle, noun_phrases, read_photo_notes
from viewfinder.users.captions import stems_of
from viewfinder.users.photographs import make_fragment

MORE_ABSENT = """
a nuclear power plant|a satellite dish on a roof in orbit|a stethoscope on a chart|a printed circuit board
a chess endgame
a periodic table|an astronaut in zero gravity|a loom with half a carpet|an oil rig at sea|a beehive being opened
a blacksmith at an anvil|a glass of absinthe|a mammoth skeleton|a coral reef from below|a telescope dome at night
a bar code|a sumo wrestler|a cuckoo clock|a hydrogen balloon from 1900|a lighthouse lens|a dentist's drill
a scorpion on sand|a volcano erupting|a roulette wheel|a passport page with stamps|a sewing pattern
a hedgehog in leaves|a combine harvester in wheat|a suspension file|a crossword puzzle|a periscope|a thermometer
a jellyfish|an abacus|an hourglass|a mosaic of an emperor|a ventriloquist|a tarot card|a sarcophagus|a gramophone
"""
"""More things that are in no photograph: nothing was fitted or chosen with them."""

UNSCALED, SCALED, BESIDE = "pseudo-CLIP, as it is", "pseudo-CLIP", "pseudo-CLIP, the starter beside it"
"""The stand-in taken for the starter, as every encoder was; on its own scale; with the starter's vectors as well."""

SIZES, LARGEST = (30, 600), 6815
SMALL_GALLERIES = 20
ASKED = 200
TALKS = 300
NEAR = 10
FLAT_SHOWN = 60
GROWN = 40_000


@dataclass(frozen=True, eq=False)
class Shelf:
    """Photographs of a part by key, in the order of keys: captions, files and the starter's raw vectors."""

    notes: AnnotatedPhotos
    keys: tuple[str, ...]
    raw_nr: Float16[np.ndarray, "n r"]

    def captions(self, key: str) -> tuple[str, ...]:
        """All captions of a photograph."""
        return self.notes.of(key).captions


def main() -> None:
    """Measures all, or the parts that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("runs/any_encoder"), help="where raw vectors are kept")
    parser.add_argument("--part", choices=["choose", "report"], default="report")
    parser.add_argument("--talks", type=int, default=TALKS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--fit", action="store_true", help="measure what comes with the package instead")
    parser.add_argument("--out", type=Path, default=RESULTS / "any_encoder.json")
    given = parser.parse_args()
    bench = Bench(given.data.resolve(), given.cache, given.part, given.talks, given.seed)
    if given.fit:
        print(json.dumps(bench.fit(), indent=1))
        return
    results = read_figures(given.out)
    results |= {"part": given.part, "seed": given.seed, "machine": describe_host()}
    for name in given.only:
        started = time.perf_counter()
        results[name] = PARTS[name](bench)
        print(name, json.dumps(results[name], indent=1), f"{time.perf_counter() - started:.0f} s", flush=True)
    write_json(given.out, results)


class Bench:
    """Photographs of a part as several encoders see them."""

    def __init__(self, data: Path, cache: Path, part: Part, talks: int, seed: int) -> None:
        self.data, self.cache, self.talks, self.seed = data, cache, talks, seed
        self.starter, self.clip = StarterEncoder(), PseudoClip()
        self.shelf, self.part = self.read(part), part

    def read(self, part: Part) -> Shelf:
        """The photographs of a part; raw vectors are kept in the cache."""
        notes, file = read_photo_notes(self.data, part), self.cache / f"{part}.npz"
        keys = tuple(sorted(notes.pictures))
        if file.is_file():
            with np.load(file) as kept:
                if tuple(kept["names"].tolist()) == keys:
                    return Shelf(notes, keys, kept["raw"])
        paths = {
            f"{name}/{one.path.name}": one.path
            for name, some in read_photographs(self.data, part).items()
            for one in some
        }
        rows = []
        for at in range(0, len(keys), 32):
            files = (paths[key].read_bytes() for key in keys[at : at + 32])
            seen = [decode(data, limits=Limits(), fit=self.starter.fit).pixels for data in files]
            rows.append(np.asarray(self.starter.pictures(seen).global_bd, np.float16))
        self.cache.mkdir(parents=True, exist_ok=True)
        np.savez(file, raw=np.concatenate(rows), names=np.array(keys))
        return Shelf(notes, keys, np.concatenate(rows))

    def see(self, keys: Sequence[str], raw_nr: Float16[np.ndarray, "n r"]) -> dict[str, Gallery]:
        """Galleries of these photographs, by the name of the encoder and what is beside it."""
        raw_nr = np.asarray(raw_nr, np.float32)
        starter_nd = np.concatenate(
            [self.starter.project(raw_nr[at : at + 1024]) for at in range(0, len(raw_nr), 1024)]
        )
        raw = Features(tuple(keys), raw_nr, self.starter.raw_version)
        turned_ne = PseudoClip.turn_pictures(starter_nd)
        found = {
            "starter": Pictures(tuple(keys), starter_nd.astype(np.float32), self.starter, raw=raw).gallery(),
            UNSCALED: Pictures(tuple(keys), turned_ne, self.clip).gallery(),
            SCALED: Pictures(tuple(keys), turned_ne, self.clip).gallery(),
            BESIDE: Pictures(tuple(keys), turned_ne, self.clip).gallery(),
        }
        found[UNSCALED].measures.scale = BOX
        found[BESIDE].companion = Companion(raw, lambda: self.starter)
        return found

    def take(self, count: int, rng: random.Random) -> tuple[list[str], Float16[np.ndarray, "n r"]]:
        """So many photographs of the part, in the order of keys."""
        rows = sorted(rng.sample(range(len(self.shelf.keys)), min(count, len(self.shelf.keys))))
        return [self.shelf.keys[row] for row in rows], self.shelf.raw_nr[rows]

    def fit(self) -> dict[str, Any]:
        """The figures of the box's scale on `choose`; writes the slopes and shares of the labels."""
        choose = self.read("choose")
        vectors_nd = self.starter.project(np.asarray(choose.raw_nr, np.float32)).astype(np.float32)
        sayings_bd = self.starter.words(read_sayings()).astype(np.float32)
        levels_n2 = measure_levels(vectors_nd, sayings_bd)
        crops = [self._look_at_crops(choose, key) for key in pick_evenly(choose.keys, FLAT_SHOWN)]
        contrast = [measured_scale.measure_contrast(self.starter.project(crops_cr), sayings_bd) for crops_cr in crops]
        self._fit_labels(choose, vectors_nd)
        return {
            "BOX_WORDS": float(np.median(levels_n2[:, 1])),
            "BOX_PICTURES": measured_scale.measure_apart(vectors_nd),
            "BOX_CROPS": float(np.median(contrast)),
            "BOX_TEXTS": measured_scale.measure_texts(sayings_bd),
        }

    def _look_at_crops(self, shelf: Shelf, key: str) -> Float32[np.ndarray, "c r"]:
        path = shelf.notes.of(key).path
        assert path is not None
        pixels = decode_one(path, AtMost(768)).pixels
        return np.asarray(self.starter.pictures(cut_boxes(pixels, crop_boxes())).global_bd, np.float32)

    def _fit_labels(self, choose: Shelf, vectors_nd: Float32[np.ndarray, "n d"]) -> None:
        """Slopes of the facets on `choose`; shares of the labels among captions of `fit`."""
        shares_l = mark_labels(read_photo_notes(self.data, "fit")).mean(axis=0)
        phrases_pd = self.starter.words([phrase for said in zero_shot.list_phrases() for phrase in said])
        standing_nl = zero_shot.stand_out(vectors_nd, phrases_pd.astype(np.float32), vectors_nd)
        holds_nl = mark_labels(choose.notes)
        slopes = {}
        for facet in facets():
            columns = label_columns()[facet.name]

            tried = [round(0.1 * tenths, 1) for tenths in range(1, 31)]
            costs = [
                cost_slope(slope, shares_l[columns], standing_nl[:, columns], holds_nl[:, columns]) for slope in tried
            ]
            slopes[facet.name] = tried[int(np.argmin(costs))]
        shares = {facet.name: shares_l[label_columns()[facet.name]].round(5).tolist() for facet in facets()}
        write_json(Path(zero_shot.__file__).with_name("zero_shot.json"), {"slopes": slopes, "shares": shares})


def cost_slope(slope: float, shares_l: np.ndarray, standing_nl: np.ndarray, holds_nl: np.ndarray) -> float:
    """How unlikely the labels of a facet are, in nats, with this slope."""
    slope_l = np.full(len(shares_l), slope)
    chances_nl = zero_shot.LabelCurves(slope_l, zero_shot.find_bias(slope_l, shares_l)).chances(standing_nl)
    sure_nl = np.clip(chances_nl.astype(np.float64), 1e-4, 1 - 1e-4)
    return -float(np.where(holds_nl, np.log(sure_nl), np.log(1 - sure_nl)).mean())


def mark_labels(notes: AnnotatedPhotos) -> np.ndarray:
    """Which labels the captions of each photograph name, in the order of keys."""
    return np.stack([count_mentions(note.captions) for _, note in sorted(notes.pictures.items())]) > 0


# -- verdicts


def measure_verdicts(bench: Bench) -> dict[str, Any]:
    """How often "nothing" is said of what is there, and "found" of what is not, by size of the gallery."""
    rng = random.Random(f"viewfinder/any encoder/{bench.seed}")
    fit = bench.read("fit")
    shelf = bench.shelf
    filling = rng.sample([*zip(fit.keys, fit.raw_nr, strict=True)], LARGEST - len(shelf.keys))
    every = sorted([*zip(shelf.keys, shelf.raw_nr, strict=True), *filling], key=lambda one: one[0])
    sizes: dict[int, list[tuple[list[str], np.ndarray]]] = {
        size: [bench.take(size, rng) for _ in range(SMALL_GALLERIES if size < 100 else 1)] for size in SIZES
    }
    sizes[len(every)] = [([key for key, _ in every], np.stack([row for _, row in every]))]
    own, found = set(shelf.keys), dict[str, Any]()
    for size, galleries in sizes.items():
        judged: dict[str, list[tuple[str, str, int, list[str]]]] = {}
        for keys, raw_nr in galleries:
            of_it = [key for key in keys if key in own]
            asked = rng.sample(of_it, min(max(ASKED // len(galleries), 1), len(of_it)))
            said = list(ask(bench, asked, keys, fit, rng))
            for name, gallery in bench.see(keys, raw_nr).items():
                judged.setdefault(name, []).extend(judge(gallery, said))
        found[f"{size:,}"] = {name: describe_verdicts(some) for name, some in judged.items()}
        print(size, json.dumps(found[f"{size:,}"], indent=1), flush=True)
    return found


def ask(
    bench: Bench, asked: Sequence[str], keys: Sequence[str], fit: Shelf, rng: random.Random
) -> Iterator[tuple[str, str, str]]:
    """Kind, text and the photograph that is meant ("": none)."""
    for key in asked:
        caption = rng.choice(bench.shelf.captions(key))
        yield "sentence", caption, key
        yield "fragment", make_fragment(caption, rng), key
    captions = [text for key in keys for text in (fit if key in fit.notes.pictures else bench.shelf).captions(key)]
    named = frozenset(stem for text in captions for stem in stems_of(text))
    absent = (
        absent_things() if bench.part == "choose" else [*ABSENT, *MORE_ABSENT.replace("\n", "|").strip("|").split("|")]
    )
    for text in absent:
        nouns = [phrase.split()[-1] for phrase in noun_phrases(text)]
        if nouns and stems_of(nouns[0]).isdisjoint(named):
            yield "absent", text, ""


def judge(gallery: Gallery, said: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Kind, verdict, rank of the photograph that is meant (-1: none), and the marks of the first hits."""
    for kind, text, key in said:
        session = Session(gallery, load_retriever("composer"), None, n=NEAR)
        hits = session.search(Say(text))
        yield kind, hits.verdict, session.rank_of(key) if key else -1, [hit.match for hit in hits]


def describe_verdicts(judged: Sequence[tuple[str, str, int, list[str]]]) -> dict[str, Any]:
    """The figures of a gallery, or of several of a size."""
    near = [one for one in judged if 0 <= one[2] < NEAR]
    there = [one for one in judged if one[2] >= 0]
    absent = [one for one in judged if one[0] == "absent"]
    return {
        "R@10": share([one[2] < NEAR for one in there]),
        '"nothing" of what is among the first ten': share([one[1] == "nothing" for one in near]),
        '"nothing", sentences': share([one[1] == "nothing" for one in near if one[0] == "sentence"]),
        '"nothing", fragments': share([one[1] == "nothing" for one in near if one[0] == "fragment"]),
        '"found" of what is among the first ten': share([one[1] == "found" for one in near]),
        '"found" of what is not there': share([one[1] == "found" for one in absent]),
        '"nothing" of what is not there': share([one[1] == "nothing" for one in absent]),
        "likely hits a search": estimate_interval([float(one[3].count("likely")) for one in absent]),
    }


# -- answers, and what is said of pictures


class CountingQuestioner:
    """The questioner in the box, which counts its questions with choices."""

    def __init__(self, gallery: Gallery) -> None:
        self._questioner = InformationGain(gallery.tags)
        self.name, self.trained_on, self.with_choices = self._questioner.name, None, 0

    def ask(self, view: Candidates) -> Question | None:
        """The question; whether it offers choices is noted."""
        question = self._questioner.ask(view)
        self.with_choices += bool(question and question.choices)
        return question


def measure_answers(bench: Bench) -> dict[str, Any]:
    """What answers do, and how many questions with choices are asked."""
    targets = pick_evenly(bench.shelf.keys, bench.talks)
    found = {}
    for name, gallery in bench.see(bench.shelf.keys, bench.shelf.raw_nr).items():
        style = SpeakingStyle(speaks="sentences", policy="answers", seed=bench.seed)
        counting = CountingQuestioner(gallery)
        turns = [said for target in targets for said in converse(gallery, bench.shelf.notes, target, style, counting)]
        kinds = {kind: [said for said in turns if said.kind == kind] for kind in ("answer", "open answer")}
        found[name] = {
            "talks": len(targets),
            "all answers": change([*kinds["answer"], *kinds["open answer"]]),
            "choices": change(kinds["answer"]) if kinds["answer"] else {"n": 0},
            "open answers": change(kinds["open answer"]),
            "questions with choices": counting.with_choices,
            "R@10 at first": share([said.after < NEAR for said in turns if said.kind == "first"]),
        }
        print(name, json.dumps(found[name]), flush=True)
    return found


def measure_but(bench: Bench) -> dict[str, Any]:
    """R@10 after "this, but ...": at first, and after a caption of the wanted photograph."""
    notes = bench.shelf.notes
    comparer, targets = PhotoComparer(notes), pick_evenly(bench.shelf.keys, bench.talks)
    found: dict[str, Any] = {}
    for name, gallery in bench.see(bench.shelf.keys, bench.shelf.raw_nr).items():
        if name == BESIDE:
            continue
        ranks: dict[str, list[int]] = {"a caption": [], "then, of what it showed, but": [], "at first, but": []}
        for target in targets:
            session = Session(gallery, load_retriever("composer"), None)
            shown = [hit.id for hit in session.search(Say(notes.of(target).captions[0])) if hit.id != target]
            liked = max(shown, key=lambda key: comparer.likeness(key, target))
            said = comparer.compare(liked, target)
            if not said:
                continue
            ranks["a caption"].append(session.rank_of(target))
            session.search(Like(liked, said))
            ranks["then, of what it showed, but"].append(session.rank_of(target))
            alone = Session(gallery, load_retriever("composer"), None)
            alone.search(Like(liked, said))
            ranks["at first, but"].append(alone.rank_of(target))
        found[name] = {what: share([rank < NEAR for rank in some]) for what, some in ranks.items()}
    return found


# -- heatmaps and the index


def measure_heatmaps(bench: Bench) -> dict[str, Any]:
    """The brightest region over the mean, for what a caption names and for what is not there."""
    sayings = read_sayings()
    turned_be = self_words(bench.clip, sayings)
    bright: dict[str, dict[str, list[float]]] = {}
    for at, key in enumerate(pick_evenly(bench.shelf.keys, FLAT_SHOWN)):
        crops_cd = bench.starter.project(bench._look_at_crops(bench.shelf, key))
        phrases = noun_phrases(bench.shelf.captions(key)[0])[:1]
        texts = [*phrases, [*ABSENT][at % len(ABSENT)]]
        if len(texts) < 2:
            continue
        likeness_tc = bench.starter.words(texts) @ crops_cd.T - bench.starter.background(crops_cd)
        turned_ce = PseudoClip.turn_pictures(crops_cd)
        of_clip_tc = bench.clip.words(texts) @ turned_ce.T
        shown = {
            "starter": spread_to_regions(likeness_tc),
            UNSCALED: spread_to_regions(of_clip_tc),
            SCALED: spread_to_regions(compare_crops(of_clip_tc, turned_ce, turned_be, most=100.0)),
        }
        for name, weights_tr in shown.items():
            for what, brightest in zip(("named", "not there"), (weights_tr.max(axis=1) * 36).tolist(), strict=True):
                bright.setdefault(name, {}).setdefault(what, []).append(brightest)
    return {name: {what: estimate_interval(some) for what, some in kinds.items()} for name, kinds in bright.items()}


def self_words(encoder: Encoder, texts: Sequence[str]) -> Float32[np.ndarray, "m d"]:
    """Vectors of texts, in single precision."""
    return np.asarray(encoder.words(texts), np.float32)


def measure_lists(bench: Bench) -> dict[str, Any]:
    """Lists that an index looks into if they are chosen on sayings and on pictures, and what captions find in them."""
    if not has_faiss():
        return {"missing": "faiss"}
    fit = bench.read("fit")
    rng = np.random.default_rng(bench.seed)
    raw_nr = np.concatenate([bench.shelf.raw_nr, fit.raw_nr]).astype(np.float32)
    deviation_r = raw_nr.std(axis=0)
    copies = [
        raw_nr + 0.2 * deviation_r * rng.standard_normal(raw_nr.shape, np.float32) for _ in range(GROWN // len(raw_nr))
    ]
    whole_nr = np.concatenate([raw_nr, *copies]).astype(np.float16)
    keys = tuple(f"{row:06}" for row in range(len(whole_nr)))
    gallery = bench.see(keys, whole_nr)[SCALED]
    captions = [bench.shelf.captions(key)[0] for key in pick_evenly(bench.shelf.keys, 200)]
    asked_mw = with_background(self_words(bench.clip, captions), np.full(len(captions), -1.0, np.float32))
    best_mk = exact_best(gallery.snapshot.matrix_nd, gallery.measures.background_n, asked_mw, NEAR)
    of_pictures = Gallery(gallery.snapshot, bench.clip)
    of_pictures.measures.scale = BOX  # as it was: no scale, no sayings
    found = {}
    for name, chosen_on in (("sayings", queries_like(gallery)), ("pictures", queries_like(of_pictures))):
        index = build_index(keys, gallery.snapshot.matrix_nd, gallery.measures.background_n, chosen_on)
        hits = [
            np.isin(best_k, index.search(query_w, 1000)).mean()
            for best_k, query_w in zip(best_mk, asked_mw, strict=True)
        ]
        found[name] = {
            "kind": chosen_on.kind, "lists": index.card.lists, "looked into": index.card.probes,
            "recall on the card": index.card.recall,
            "recall of captions": estimate_interval([float(hit) for hit in hits]),
        }  # fmt: skip
    return {"pictures": len(keys), **found}


PARTS: Mapping[str, Callable[[Bench], Any]] = {
    "verdicts": measure_verdicts,
    "answers": measure_answers,
    "but": measure_but,
    "heatmaps": measure_heatmaps,
    "lists": measure_lists,
}


if __name__ == "__main__":
    main()
