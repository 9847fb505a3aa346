"""Does the product find things? Prints the figures of docs/benchmarks.md and writes benchmarks/results/quality.json.

    python benchmarks/quality.py DATA        # DATA holds flickr8k/, flickr8k-more/ ... and fashion-products/

Everything is measured on pictures that nothing was fitted on, through the same library and session a user has. The
photographs are those of the part `report` (`viewfinder.data.splits`), and the head is the one that ships.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from jaxtyping import Float, Int
from machine import describe_host
from measuring import read_figures, write_json

import viewfinder
from viewfinder.data import CaptionedPicture
from viewfinder.data.splits import names_digest, part_of, read_photographs
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head, load_head
from viewfinder.encoders.starter.fit import CaptionedVectors, RefineSettings, fit_head
from viewfinder.library import Library
from viewfinder.metrics import bootstrap_interval, target_ranks
from viewfinder.search.written_words import said_words, written_words
from viewfinder.tuning import tune
from viewfinder.tuning.starter import TRAINED, read_training_pictures

GALLERY = 1000
"""Photographs, as many as the official test part of Flickr8k has."""

SEEDS = (0, 1, 2)
"""Seeds of the trainings that are taken apart."""

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
    parser.add_argument("--cache", type=Path, default=Path("runs/starter"), help="where `train starter` has written")
    parser.add_argument("--only", choices=["photos", "verdicts", "shop", "heads"])
    parser.add_argument("--out", type=Path, default=RESULTS / "quality.json")
    given = parser.parse_args()
    data, measured = given.data.resolve(), {}
    parts: dict[str, Callable[[], Any]] = {
        "photos": lambda: measure_photos(data),
        "verdicts": lambda: measure_verdicts(data),
        "shop": lambda: measure_shop(data),
        "heads": lambda: measure_heads(data, given.cache),
    }
    for name in [given.only] if given.only else parts:
        measured[name] = parts[name]()
    # Read only now, since the parts may run side by side.
    results = read_figures(given.out)
    results |= {**measured, "machine": describe_host()}
    write_json(given.out, results)


def measure_photos(data: Path) -> dict[str, Any]:
    """Captions of Flickr8k said as turns, in a gallery of `GALLERY` photographs of `report`."""
    gallery, asked = read_gallery(data)
    with library_of([picture.path for picture in gallery]) as library:
        ranks_nt = [ranks_by_turn(library, picture) for picture in asked]
    found = {
        f"R@{k} after turn {turn + 1}": estimate_interval([float(ranks[turn] < k) for ranks in ranks_nt])
        for turn in range(5)
        for k in (1, 10)
    }
    return {"gallery": len(gallery), "list": names_digest(gallery), "asked": len(asked), **found}


def measure_verdicts(data: Path) -> dict[str, Any]:
    """The verdicts in the gallery of `photos` on the first caption of every photo, and on things that are in none."""
    gallery, _ = read_gallery(data)
    said = " ".join(caption for picture in gallery for caption in picture.captions).lower()
    absent = [text for text, word in ABSENT.items() if not re.search(rf"\b{word}s?\b", said)]
    with library_of([picture.path for picture in gallery]) as library:
        given = {
            "what is there": [library.find(picture.captions[0], n=1).verdict for picture in gallery],
            "what is not": [library.find(text, n=1).verdict for text in absent],
        }
    return {
        f'"{verdict}" to {name}': estimate_interval([float(answer == verdict) for answer in answers])
        for name, answers in given.items()
        for verdict in ("found", "nothing")
    }


def read_gallery(data: Path) -> tuple[list[CaptionedPicture], list[CaptionedPicture]]:
    """The gallery, Flickr8k first, and those of Flickr8k in it that have five captions, which are asked about."""
    sets = read_photographs(data, "report")
    flickr = [*sets.pop("flickr8k"), *sets.pop("flickr8k-more")]
    gallery = [*flickr, *(picture for found in sets.values() for picture in found)][:GALLERY]
    return gallery, [picture for picture in flickr if len(picture.captions) == 5]


def measure_heads(data: Path, cache: Path) -> list[dict[str, Any]]:
    """The gain from each part of the training, in the gallery of `photos`; several seeds where there is chance."""
    from viewfinder.encoders.starter.refine import train_head

    pictures = read_training_pictures(data, cache, StarterEncoder(), print)
    gallery, asked = read_gallery(data)
    shelf = pictures.photos["report"].of(np.arange(len(gallery)))
    row_k = np.flatnonzero(np.bincount(shelf.owners_m) == 5)[: len(asked)]
    assert [gallery[row] for row in row_k] == asked and gallery[-1].captions[-1] == shelf.texts[-1]
    kinds = pictures.kinds()
    one_view = [replace(kind, raw_vnr=kind.raw_vnr[:1]) for kind in kinds]

    def trained(name: str, on: list[CaptionedVectors], settings: RefineSettings) -> list[Head]:
        kept = [cache / f"{name}-{seed}.safetensors" for seed in SEEDS]
        for seed, file in zip(SEEDS, kept, strict=True):
            if not file.exists():
                train_head(fit_head(on), on, replace(settings, seed=seed)).save(file)
        return [load_head(file) for file in kept]

    rows = {
        "closed form, one view of each picture": [fit_head(one_view)],
        "+ residual networks, by contrast": trained("residual", one_view, replace(TRAINED, lexicon=0)),
        "+ a vector for every word": trained("words", one_view, TRAINED),
        "+ four views of each photograph": trained("views", kinds, TRAINED),
        f"the head that ships: seed {TRAINED.seed} of the same": [StarterEncoder().head],
    }
    found = []
    for what, of_seeds in rows.items():
        by_seed = [hits(head, shelf, row_k) for head in of_seeds]
        means = {name: estimate_interval(np.mean([one[name] for one in by_seed], axis=0)) for name in by_seed[0]}
        found.append({"what": what, "seeds": len(of_seeds), **means})
        print(found[-1], flush=True)
    return found


def hits(head: Head, shelf: CaptionedVectors, row_k: Int[np.ndarray, " k"]) -> dict[str, Float[np.ndarray, " k"]]:
    """Whether each of these photographs is found by the first of its five captions, by each alone, by all as turns."""
    scores_mn = head.sentences(shelf.captions_ms, shelf.texts) @ (seen_nd := head.pictures(shelf.raw_vnr[0])).T
    caption_k5 = np.flatnonzero(np.isin(shelf.owners_m, row_k)).reshape(len(row_k), 5)
    scores_k5n = (scores_mn - head.background(seen_nd))[caption_k5]
    first_k, last_k = target_ranks(scores_k5n[:, 0], row_k), target_ranks(scores_k5n.sum(axis=1), row_k)
    each_5k = np.stack([target_ranks(scores_k5n[:, turn], row_k) for turn in range(5)])
    return {
        "first caption, R@1": first_k < 1,
        "first caption, R@10": first_k < 10,
        "each caption, R@1": (each_5k < 1).mean(axis=0),
        "each caption, R@10": (each_5k < 10).mean(axis=0),
        "five turns, R@10": last_k < 10,
    }


def ranks_by_turn(library: Library, picture: CaptionedPicture) -> list[int]:
    """The place of the picture (from 0) after each of its captions, said one after the other."""
    chat = library.chat(questioner=None)
    target = id_of(library, picture.path)
    ranks = []
    for caption in picture.captions:
        chat.say(caption)
        ranks.append(chat.rank_of(target))
    return ranks


def measure_shop(data: Path) -> dict[str, Any]:
    """A shop and its own items: products that the head in the box has not seen, before and after `tune`.

    `own` items have rows in the table that was learnt, every fifth item is `new` and has none. Found by pictures alone,
    and by what the library's catalogue says as well; then what is answered to names, kinds and things that are not.
    """
    folder = data / "fashion-products"
    with (folder / "products.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (folder / "images" / f"{row['id']}.jpg").exists()]
    here, elsewhere = ([row for row in rows if (part_of(row["id"]) == "fit") == side] for side in (False, True))
    new = here[::5]
    own = [row for row in here if row not in new]
    results: dict[str, Any] = {"own": len(own), "new": len(new)}
    with library_of(images(folder, here)) as library:
        table = library.folder / "shop.csv"

        def measure(what: str) -> None:
            results[what] = {f"own, {name}": value for name, value in by_name(library, folder, own).items()}
            results[what] |= {f"new, {name}": value for name, value in by_name(library, folder, new).items()}
            results[what] |= by_colour(library, folder, here)
            results[what] |= by_verdict(library, here, images(folder, here), elsewhere)
            results[what] |= by_word(library, folder, here, elsewhere)
            print(what, json.dumps(results[what]), flush=True)

        measure("pictures alone")
        write_table(table, own, tuple(rows[0])[1:])
        print(tune(library, catalogue=table), flush=True)
        measure("pictures alone, tuned on own")
        library.switch_back()
        write_table(table, here, tuple(rows[0])[1:])
        library.add(catalogue=table)
        measure("with the catalogue")
        write_table(table, own, tuple(rows[0])[1:])
        tune(library, catalogue=table)
        measure("with the catalogue, tuned on own")
    return results


def by_verdict(
    library: Library, here: Sequence[dict[str, str]], files: Sequence[Path], elsewhere: Sequence[dict[str, str]]
) -> dict[str, dict[str, float]]:
    """Whether names, and colours with kinds, are found where they are here and where they are not; what is likely."""
    known = {id_of(library, file): row for row, file in zip(here, files, strict=True)}
    kinds = Counter((row["baseColour"], row["articleType"]) for row in here)
    others = sorted({(row["baseColour"], row["articleType"]) for row in elsewhere} - kinds.keys())
    names = {row["productDisplayName"] for row in here}
    absent = sorted({row["productDisplayName"] for row in elsewhere} - names)
    asked = {
        "names here": [row["productDisplayName"] for row in here],
        "names not here": absent,
        "kinds here": [" ".join(kind).lower() for kind, count in kinds.items() if count >= 3],
        "kinds not here": [" ".join(kind).lower() for kind in others],
    }
    found: dict[str, dict[str, float]] = {}
    likely: list[float] = []
    for what, texts in asked.items():
        chosen = np.random.default_rng(0).permutation(len(texts))[:200]
        answers = [library.find(texts[at]) for at in chosen]
        found[f"{what}: found"] = estimate_interval([float(hits.verdict == "found") for hits in answers])
        for at, hits in zip(chosen, answers, strict=True):
            if what.startswith("kinds"):
                right = [" ".join((known[hit.id]["baseColour"], known[hit.id]["articleType"])).lower() for hit in hits]
                likely += [
                    float(kind == texts[at]) for kind, hit in zip(right, hits, strict=True) if hit.match == "likely"
                ]
    return found | {"likely hits of kinds that are right": estimate_interval(likely)}


def by_word(
    library: Library, folder: Path, here: Sequence[dict[str, str]], elsewhere: Sequence[dict[str, str]]
) -> dict[str, dict[str, float]]:
    """One telling word, from names of products that are here, and from those that are only elsewhere.

    A brand, a model or a number: a word that is in no caption of the photographs that the shipped head has learnt.
    """
    rows = {id_of(library, folder / "images" / f"{row['id']}.jpg"): row for row in here}
    written = {
        picture: {word for cell in row.values() for word in written_words(cell)} for picture, row in rows.items()
    }
    everywhere = set().union(*written.values())
    telling, others = telling_words(here), telling_words(elsewhere)
    drawn = np.random.default_rng(0)
    told = [telling[at] for at in drawn.permutation(len(telling))[:200]]
    answers = [library.find(said, n=10) for said, _ in told]
    right = [[word in written[hit.id] for hit in hits] for (_, word), hits in zip(told, answers, strict=True)]
    absent = [said for said, word in others if word not in everywhere]
    lost = [library.find(absent[at]).verdict for at in drawn.permutation(len(absent))[:200]]
    found = {
        "R@1": [float(good[0]) for good in right],
        "R@10": [float(any(good)) for good in right],
        "found": [float(hits.verdict == "found") for hits in answers],
        "first hit likely": [float(hits[0].match == "likely") for hits in answers],
    }
    return {
        **{f"one telling word here: {what}": estimate_interval(values) for what, values in found.items()},
        "one telling word not here: found": estimate_interval([float(verdict == "found") for verdict in lost]),
    }


def telling_words(rows: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """Words of names as they stand there and as they are looked for, in order, each once."""
    calibration = StarterEncoder().head.calibration
    assert calibration is not None
    found: dict[str, str] = {}
    for piece in sorted({piece for row in rows for piece in row["productDisplayName"].casefold().split()}):
        words = said_words(piece)
        if len(words) == 1 and len(words[0]) > 2 and words[0] not in calibration.familiar:
            found.setdefault(words[0], piece)
    return [(piece, word) for word, piece in found.items()]


def by_name(library: Library, folder: Path, pool: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The recall of products that are asked for by their names."""
    ranks = []
    for row in pool:
        chat = library.chat(questioner=None)
        chat.say(row["productDisplayName"])
        ranks.append(chat.rank_of(id_of(library, folder / "images" / f"{row['id']}.jpg")))
    return {f"R@{k}": estimate_interval([float(rank < k) for rank in ranks]) for k in (1, 10)}


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
    return {"like this but <colour>": estimate_interval(found)}


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


def estimate_interval(values: Sequence[float] | Float[np.ndarray, " n"]) -> dict[str, float]:
    """Mean and 95 % bootstrap interval over sessions."""
    found = bootstrap_interval(values)
    return {"mean": round(found.mean, 4), "low": round(found.low, 4), "high": round(found.high, 4), "n": len(values)}


if __name__ == "__main__":
    main()
