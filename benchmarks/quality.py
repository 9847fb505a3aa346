"""Does the product find things? Prints the figures of docs/benchmarks.md and writes benchmarks/results/quality.json.

    python benchmarks/quality.py DATA        # DATA holds flickr8k/, coco/ and fashion-products/

Everything is measured on pictures that nothing was fitted on, through the same library and session a user has.
Weights were chosen on seeds 0 to 2, verdicts on seeds 10 and 11; what is reported uses others.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from machine import described

import viewfinder
from viewfinder.data import CaptionedPicture, read_flickr8k
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.library import Library
from viewfinder.metrics import bootstrap_interval
from viewfinder.tuning import tune
from viewfinder.tuning.starter import halves, read_training_pictures

SEEDS = (3, 4, 5)
PRODUCT_SEED = 5
ABSENT = {
    "a wiring diagram": "wiring", "an excel spreadsheet with totals": "spreadsheet", "a whale breaching": "whale",
    "a scanned tax form": "tax", "a galaxy seen by hubble": "galaxy", "a bishop in a cathedral": "bishop",
    "a lava lamp": "lava", "a pair of knitting needles": "knitting", "a flamingo in a lagoon": "flamingo",
    "a pocket calculator": "calculator", "a fax machine": "fax", "a bowl of noodles": "noodle",
    "a queen on a banknote": "banknote", "a hospital bed": "hospital", "a jar of pickles": "pickle",
    "a photocopier in a corridor": "photocopier", "a herd of walruses": "walrus", "a molecule model": "molecule",
    "an aquarium with sharks": "shark", "a courtroom sketch": "courtroom",
}  # fmt: skip
"""Things in none of the photos, each with a word that no caption has; none of them was used in fitting."""


def main() -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("runs/starter"), help="raw vectors kept between runs")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(SEEDS))
    parser.add_argument("--only", choices=["photos", "verdicts", "products"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "quality.json")
    given = parser.parse_args()
    measured: dict[str, Any] = {}
    if given.only in (None, "photos"):
        measured["photos"] = photos(given.data.resolve(), given.cache, given.seeds)
    if given.only in (None, "verdicts"):
        measured["verdicts"] = verdicts(given.data.resolve(), given.cache, given.seeds)
    if given.only in (None, "products"):
        measured["products"] = products(given.data.resolve(), PRODUCT_SEED)
    # Read only now: the two parts may run side by side.
    results = json.loads(given.out.read_text()) if given.out.exists() else {}
    results |= {**measured, "machine": described()}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n")


def photos(data: Path, cache: Path, seeds: Sequence[int]) -> dict[str, Any]:
    """Two folds of flickr8k per seed, captions said as turns."""
    found_st: list[list[float]] = []
    for library, pool in unseen_halves(data, cache, seeds):
        found_st += [hits_by_turn(library, picture) for picture in pool]
        print("R@10 by turn so far", np.round(np.mean(found_st, axis=0), 4), flush=True)
    figures = {f"R@10 after turn {turn + 1}": interval([row[turn] for row in found_st]) for turn in range(5)}
    return {"seeds": list(seeds), **figures}


def verdicts(data: Path, cache: Path, seeds: Sequence[int]) -> dict[str, Any]:
    """What is answered on the same halves to the first caption of every photo, and to things that are in none."""
    given: dict[str, list[str]] = {"what is there": [], "what is not": []}
    for library, pool in unseen_halves(data, cache, seeds):
        said = " ".join(caption for picture in pool for caption in picture.captions).lower()
        assert not any(re.search(rf"\b{word}s?\b", said) for word in ABSENT.values())
        given["what is there"] += [library.find(picture.captions[0], n=1).verdict for picture in pool]
        given["what is not"] += [library.find(text, n=1).verdict for text in ABSENT]
    answered = {
        f'"{verdict}" to {name}': interval([float(answer == verdict) for answer in answers])
        for name, answers in given.items()
        for verdict in ("found", "nothing")
    }
    return {"seeds": list(seeds), **answered}


def unseen_halves(data: Path, cache: Path, seeds: Sequence[int]) -> Iterator[tuple[Library, list[CaptionedPicture]]]:
    """Libraries of half of the photos, with a head fitted on the other half and the calibration that is shipped."""
    kinds = read_training_pictures(data, cache, StarterEncoder(), print)
    pictures, _ = read_flickr8k(data / "flickr8k")
    shipped = StarterEncoder().calibration
    for seed in seeds:
        for learnt, asked in halves(len(pictures), seed):
            pool = [pictures[row] for row in asked]
            with library_of([picture.path for picture in pool]) as library:
                library.use_head(replace(kinds.head(learnt), calibration=shipped))
                yield library, pool


def hits_by_turn(library: Library, picture: CaptionedPicture) -> list[float]:
    """Whether the picture is among the first 10 after each of its captions, said one after the other."""
    chat = library.chat(questioner=None)
    target = id_of(library, picture.path)
    found = []
    for caption in picture.captions:
        chat.say(caption)
        found.append(float(chat.rank_of(target) < 10))
    return found


def products(data: Path, seed: int) -> dict[str, Any]:
    """A pool of 1,501 product photos, a head tuned on the others: names, and "like this one but <colour>"."""
    folder = data / "fashion-products"
    with (folder / "products.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (folder / "images" / f"{row['id']}.jpg").exists()]
    order = np.random.default_rng(seed).permutation(len(rows))
    pool, rest = [rows[at] for at in order[:1501]], [rows[at] for at in order[1501:]]
    results: dict[str, Any] = {"seed": seed, "pool": len(pool)}
    with library_of(images(folder, rest)) as shop, library_of(images(folder, pool)) as shelf:
        for name, columns in (("names", ("productDisplayName",)), ("catalogue", tuple(rows[0])[1:])):
            table = shop.folder / f"{name}.csv"
            write_table(table, rest, columns)
            report = tune(shop, captions=table) if name == "names" else tune(shop, catalogue=table)
            print(name, report, flush=True)
            assert isinstance(shop.encoder, StarterEncoder)
            shelf.use_head(shop.encoder.head)
            results[f"tuned on {name}"] = {**by_name(shelf, folder, pool), **by_colour(shelf, folder, pool)}
            print(json.dumps(results[f"tuned on {name}"]), flush=True)
            shop.switch_back()
        table = shelf.folder / "shelf.csv"
        write_table(table, pool, ("articleType", "baseColour", "gender"))
        shelf.add(catalogue=table)
        results["tuned on catalogue, which the pool has too"] = by_colour(shelf, folder, pool)
    return results


def by_name(library: Library, folder: Path, pool: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Each product asked for by its name."""
    ranks = []
    for row in pool:
        chat = library.chat(questioner=None)
        chat.say(row["productDisplayName"])
        ranks.append(chat.rank_of(id_of(library, folder / "images" / f"{row['id']}.jpg")))
    return {f"R@{k}": interval([float(rank < k) for rank in ranks]) for k in (1, 10)}


def by_colour(library: Library, folder: Path, pool: Sequence[dict[str, str]]) -> dict[str, Any]:
    """ "Like this one but <colour>": how much of what could be in the first 10 is there, over 1,500 such queries."""
    ids = {row["id"]: id_of(library, folder / "images" / f"{row['id']}.jpg") for row in pool}
    kinds = {ids[row["id"]]: (row["articleType"], row["baseColour"]) for row in pool}
    there = Counter(kinds.values())
    queries = [
        (row, colour)
        for row in pool
        for colour in sorted({colour for _, colour in there})
        if colour != row["baseColour"] and there[row["articleType"], colour] >= 3
    ]
    chosen = np.random.default_rng(0).permutation(len(queries))[:1500]
    found = []
    for row, colour in (queries[at] for at in chosen):
        hits = library.chat(questioner=None).like(ids[row["id"]], but=colour.lower())
        right = sum(kinds[hit.id] == (row["articleType"], colour) for hit in hits)
        found.append(right / min(10, there[row["articleType"], colour]))
    return {"like this but <colour>": interval(found)}


def images(folder: Path, rows: Sequence[dict[str, str]]) -> list[Path]:
    """The files of some products."""
    return [folder / "images" / f"{row['id']}.jpg" for row in rows]


def write_table(file: Path, rows: Sequence[dict[str, str]], columns: Sequence[str]) -> None:
    """A CSV with the id and some columns; a lone column is called caption."""
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", *(columns if len(columns) > 1 else ["caption"])])
        writer.writerows([row["id"], *(row[column] for column in columns)] for row in rows)


@contextmanager
def library_of(paths: Sequence[Path]) -> Iterator[Library]:
    """A library of these files, gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "library")
        library.add(*paths)
        yield library


def id_of(library: Library, path: Path) -> str:
    """The picture that a file of the library holds."""
    if library.folder not in _IDS:
        _IDS[library.folder] = {file.path: row.id for row in library.store.rows() for file in row.files}
    return _IDS[library.folder][str(path)]


_IDS: dict[Path, dict[str, str]] = {}


def interval(values: Sequence[float]) -> dict[str, float]:
    """Mean and 95 % bootstrap interval over sessions."""
    found = bootstrap_interval(values)
    return {"mean": round(found.mean, 4), "low": round(found.low, 4), "high": round(found.high, 4), "n": len(values)}


if __name__ == "__main__":
    main()
