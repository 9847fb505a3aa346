"""Does it understand people? What they say around a description, with typos, of facts, in a shop, and in reply.

    python benchmarks/people.py DATA --work FOLDER     # writes benchmarks/results/people.json; 20 minutes on one core

All is said to live libraries, made in FOLDER from held-back photographs and products and kept there. The photographs of
one library get dates, cameras, places, persons and folders, written into their files. Each part is measured by itself
(`--only framing typos shop names facts replies`); `--part choose` is for choosing rules, `report` for reporting.
"""

from __future__ import annotations

import argparse
import calendar
import csv
import json
import random
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from machine import describe_host
from measuring import read_figures, write_json
from PIL import Image
from quality import estimate_interval
from wordings import FACTS, MONTHS, NAMED, REPLIES, SHOP, THIRDS

import viewfinder
from viewfinder.byte_cache import ByteCache
from viewfinder.conversation import Answer, BackTo, Conversation, Like, Question, Reject, Say, Turn
from viewfinder.data import CaptionedPicture
from viewfinder.data.splits import Part, read_photographs, split_of
from viewfinder.library import Library
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.session.replies import understand_reply
from viewfinder.session.sentences import read_sentence
from viewfinder.session.session import Session
from viewfinder.wording.acts import read_act

SEED = 43
FIRST, PRECISE = 10, 5
"""Hits among which a photograph is looked for; hits of which a share is right."""

SAID = 400
"""Photographs that are looked for with every wording."""

SHOP_SIZE, SHOP_KINDS, MIN_OF_KIND = 1000, 100, 5
NAMED_PRODUCTS = 40
SIZES = (60, 200, 1000)
DATED_DAYS = 120
"""Days on which the photographs of the dated library were taken: alike ones on the same."""

CAMERAS = (("NIKON CORPORATION", "NIKON D80"), ("Canon", "Canon EOS 5D"), ("Apple", "iPhone 8"))
PLACES = {"Lisbon": (38.7223, -9.1393), "Oslo": (59.9139, 10.7522), "Kyoto": (35.0116, 135.7681)}
PERSONS = ("Anna Weber", "Ben Okafor", "Chiara Rossi")
HOLIDAYS = ("Italy", "Garden", "Skiing", "Birthday")
SCREENS = 25
GPS, EXIF = 0x8825, 0x8769
MAKE, MODEL, TAKEN, RATING = 0x010F, 0x0110, 0x9003, 0x4746


def main() -> None:
    """Measures all parts, or those named."""
    parts: dict[str, Callable[[Bench], dict[str, Any]]] = {
        "framing": measure_framing, "typos": measure_typos, "shop": measure_shop, "names": measure_names,
        "facts": measure_facts, "replies": measure_replies,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/people"), help="where the libraries are kept")
    parser.add_argument("--only", nargs="*", choices=list(parts), default=list(parts))
    parser.add_argument("--part", choices=["choose", "report"], default="report")
    parser.add_argument("--thirds", nargs="*", choices=list(THIRDS), default=list(THIRDS))
    parser.add_argument("--said", type=int, default=SAID, help="photographs that are looked for with every wording")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="products among which names are looked for")
    parser.add_argument("--out", type=Path, default=RESULTS / "people.json")
    given = parser.parse_args()
    bench = Bench(given.data.resolve(), given.work, given.part, tuple(given.thirds), given.said, tuple(given.sizes))
    results = read_figures(given.out) | {"part": given.part, "seed": SEED}
    for name in given.only:
        results[name] = parts[name](bench) | {"machine": describe_host()}
        print(name, json.dumps(results[name], indent=1), flush=True)
        write_json(given.out, results)


@dataclass(frozen=True)
class Bench:
    """The data, where libraries are kept, and how much is said."""

    data: Path
    work: Path
    part: Part
    thirds: tuple[str, ...]
    said: int
    sizes: tuple[int, ...]

    def read_photographs(self) -> list[CaptionedPicture]:
        """The photographs of the part, in a fixed order."""
        return [one for some in read_photographs(self.data, self.part).values() for one in some]

    def open_photographs(self) -> tuple[Library, dict[str, int]]:
        """The library of the photographs, and the row of each by its name."""
        pictures = self.read_photographs()
        library = self.make(self.part, lambda folder: link_files([one.path for one in pictures], self.data, folder))
        return library, find_rows(library)

    def make(self, name: str, fill: Callable[[Path], None], catalogue: Path | None = None) -> Library:
        """A library of the pictures that `fill` puts into a folder; the one of before, if there is one."""
        place, pictures = self.work / f"{name}.vf", self.work / f"{name}-pics"
        if place.is_dir():
            return viewfinder.open(place)
        pictures.mkdir(parents=True, exist_ok=True)
        fill(pictures)
        library = viewfinder.open(place)
        library.add(pictures, catalogue=catalogue)
        return library


def name_link(path: Path, data: Path) -> str:
    """A name that tells files of several folders apart."""
    return path.relative_to(data).as_posix().replace("/", "__")


def link_files(paths: Iterable[Path], data: Path, folder: Path) -> None:
    """Links to files under names of their own."""
    for path in paths:
        link = folder / name_link(path, data)
        if not link.exists():
            link.symlink_to(path)


def find_rows(library: Library) -> dict[str, int]:
    """The row of every file, by its name."""
    snapshot = library.gallery().snapshot
    return {Path(path).name: row for row in range(len(snapshot)) for path in snapshot.paths(row)}


# -- what is said around a description, and typos


def write_as_said(caption: str) -> str:
    """A caption as a person types it: no capital, no full stop."""
    text = " ".join(caption.split()).rstrip(" .")
    return text[:1].lower() + text[1:]


_BEGINS_A_PART = frozenset(
    [
        "in",
        "on",
        "at",
        "near",
        "under",
        "behind",
        "beside",
        "while",
        "with",
        "next",
        "through",
        "over",
        "along",
        "across",
        "wearing",
    ]
)


def say_around(wording: str, caption: str) -> str:
    """A wording around a caption, or between its parts: the second begins where the middle is nearest, at a preposition
    if there is one."""
    if "{first}" not in wording:
        return wording.format(caption)
    words = caption.split()
    places = [at for at in range(2, len(words) - 1) if words[at] in _BEGINS_A_PART] or [len(words) // 2]
    at = min(places, key=lambda place: abs(place - len(words) / 2))
    return wording.format(first=" ".join(words[:at]), second=" ".join(words[at:]))


def find_ranks(gallery: Gallery, texts: Sequence[str], rows: Sequence[int]) -> np.ndarray:
    """The rank from 0 of the picture that is meant, for every text said as the only turn."""
    return np.array([find_rank(gallery, text, row) for text, row in zip(texts, rows, strict=True)])


def find_rank(gallery: Gallery, text: str, row: int) -> int:
    """The rank from 0 of one picture after one sentence."""
    # A cache of its own: it does not tell pictures that read what is said from those that do not.
    ranking = Session(gallery, Composer(), None, n=FIRST, memo=ByteCache()).take_turn(Say(text)).ranking
    scores_n = np.asarray(ranking.scores.at(np.arange(len(gallery))))
    return int(np.count_nonzero(scores_n > scores_n[row]))


def read_nothing(library: Library) -> Gallery:
    """The pictures as evaluations search them: what is said is compared as it stands."""
    gallery = library.gallery()
    return Gallery(gallery.snapshot, gallery.encoder, gallery.raw)


def draw_photographs(bench: Bench) -> tuple[Library, list[str], list[int]]:
    """The library, and captions with the rows of their photographs."""
    library, rows = bench.open_photographs()
    pictures = [one for one in bench.read_photographs() if name_link(one.path, bench.data) in rows]
    drawn = random.Random(SEED).sample(pictures, min(bench.said, len(pictures)))
    targets = [rows[name_link(one.path, bench.data)] for one in drawn]
    return library, [write_as_said(one.captions[0]) for one in drawn], targets


def compare(ranks_k: np.ndarray, plain_k: np.ndarray) -> dict[str, Any]:
    """Recall of the first ten, and how far it is from that of the plain descriptions, photograph by photograph."""
    found_k, expected_k = (ranks_k < FIRST).astype(float), (plain_k < FIRST).astype(float)
    return {"R@10": estimate_interval(found_k), "less plain": estimate_interval(found_k - expected_k)}


def measure_framing(bench: Bench) -> dict[str, Any]:
    """Every wording around the captions, read and as it stands; and how often a plain caption is not left alone."""
    library, captions, rows = draw_photographs(bench)
    gallery, bare = library.gallery(), read_nothing(library)
    plain_k = find_ranks(bare, captions, rows)
    found: dict[str, Any] = {
        "pictures": len(gallery), "said": len(captions),
        "plain": compare(find_ranks(gallery, captions, rows), plain_k),
        "plain, as it stands": compare(plain_k, plain_k),
        "changed": count_changes(bench, gallery),
        "thirds": {},
    }  # fmt: skip
    for third in bench.thirds:
        found["thirds"][third] = {}
        for wording in THIRDS[third]:
            texts = [say_around(wording, caption) for caption in captions]
            figures = {
                "read": compare(find_ranks(gallery, texts, rows), plain_k),
                "as it stands": compare(find_ranks(bare, texts, rows), plain_k),
            }
            print(third, wording, figures["read"]["R@10"], figures["as it stands"]["R@10"]["mean"], flush=True)
            found["thirds"][third][wording] = figures
    return found


def count_changes(bench: Bench, gallery: Gallery) -> dict[str, Any]:
    """Of all captions, said plainly: in how many something is left out, spelt anew, a fact, or a reply."""
    said = [write_as_said(text) for one in bench.read_photographs() for text in one.captions]
    today = datetime(2026, 11, 28).date()
    readings = [read_sentence(text, gallery, today) for text in said]
    return {
        "captions": len(said),
        "a fact": sum(bool(it.facts) for it in readings) / len(said),
        "spelt anew": sum(bool(it.corrections) for it in readings) / len(said),
        "left out": sum(
            not it.facts and not it.corrections and it.content != " ".join(it.text.split()) for it in readings
        )
        / len(said),
        "a reply": sum(read_act(text) is not None for text in said) / len(said),
    }


def misspell(text: str, how: str, rng: random.Random) -> str:
    """A text with letters swapped, dropped, doubled or put in the place of others in one word, or in two."""
    words = text.split()
    places = [at for at, word in enumerate(words) if len(word) >= 4 and word.isalpha()]
    for at in rng.sample(places, min(len(places), 2 if how == "one dropped in two words" else 1)):
        word = words[at]
        swaps = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
        one = rng.choice(swaps) if how == "two swapped" and swaps else rng.randrange(len(word) - 1)
        letter = rng.choice([it for it in "abcdefghijklmnopqrstuvwxyz" if it != word[one]])
        words[at] = {
            "two swapped": f"{word[:one]}{word[one + 1]}{word[one]}{word[one + 2 :]}",
            "one doubled": word[:one] + word[one] + word[one:],
            "another letter": word[:one] + letter + word[one + 1 :],
        }.get(how, word[:one] + word[one + 1 :])
    return " ".join(words)


def measure_typos(bench: Bench) -> dict[str, Any]:
    """Captions with typos, read and as they stand."""
    library, captions, rows = draw_photographs(bench)
    gallery, bare = library.gallery(), read_nothing(library)
    plain_k = find_ranks(bare, captions, rows)
    kinds: dict[str, Any] = {}
    for how in ("two swapped", "one dropped", "one dropped in two words", "one doubled", "another letter"):
        rng = random.Random(f"{SEED}/{how}")
        texts = [misspell(caption, how, rng) for caption in captions]
        kinds[how] = {
            "read": compare(find_ranks(gallery, texts, rows), plain_k),
            "as it stands": compare(find_ranks(bare, texts, rows), plain_k),
        }
    return {"pictures": len(gallery), "said": len(captions), "plain": compare(plain_k, plain_k), "kinds": kinds}


# -- a shop


def read_products(bench: Bench, count: int, *, held_back: bool = False) -> list[dict[str, str]]:
    """Products with their rows, the same first ones for every count; `held_back`: none that anything is learnt from."""
    folder = bench.data / "fashion-products"
    with (folder / "products.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (folder / "images" / f"{row['id']}.jpg").is_file()]
    rows.sort(key=lambda row: row["id"])
    random.Random(SEED).shuffle(rows)
    return [row for row in rows if not held_back or split_of(row["id"]) != "train"][:count]


def open_products(bench: Bench, name: str, rows: Sequence[dict[str, str]]) -> Library:
    """A library of products with their catalogue."""
    catalogue = bench.work / f"{name}.csv"
    bench.work.mkdir(parents=True, exist_ok=True)
    with catalogue.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    def fill(folder: Path) -> None:
        for row in rows:
            link = folder / f"{row['id']}.jpg"
            if not link.exists():
                link.symlink_to(bench.data / "fashion-products" / "images" / link.name)

    return bench.make(name, fill, catalogue)


FOR_WHOM = {"Women": "women", "Men": "men", "Boys": "boys", "Girls": "girls"}


def index_rows(rows: Sequence[Mapping[str, str]]) -> sqlite3.Connection:
    """SQLite's full-text index over the same columns, with stems."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table goods using fts5(id unindexed, words, tokenize='porter')")
    lines = ((row["id"], " ".join(value for name, value in row.items() if name != "id")) for row in rows)
    database.executemany("insert into goods values (?, ?)", lines)
    return database


def search_index(database: sqlite3.Connection, text: str, count: int, *, all_first: bool) -> list[str]:
    """The best rows by BM25 with any word; `all_first`: before them those with all words."""
    words = [f'"{word}"' for word in re.findall(r"\w+", text.lower())]
    found: dict[str, None] = {}
    for joint in [" AND ", " OR "] if all_first else [" OR "]:
        rows = database.execute(
            "select id from goods where goods match ? order by rank limit ?", (joint.join(words), count)
        )
        found |= dict.fromkeys(name for (name,) in rows)
    return list(found)[:count]


def measure_shop(bench: Bench) -> dict[str, Any]:
    """Precision of the first five for colour, kind and for whom, with words around them, beside SQLite's FTS5."""
    rows = read_products(bench, SHOP_SIZE, held_back=True)
    library, by_id, database = open_products(bench, "shop", rows), {row["id"]: row for row in rows}, index_rows(rows)
    counts = Counter((row["baseColour"], row["articleType"], row["gender"]) for row in rows)
    asked = sorted(key for key, count in counts.items() if count >= MIN_OF_KIND and key[2] in FOR_WHOM)
    asked = random.Random(SEED).sample(asked, min(SHOP_KINDS, len(asked)))
    ways: dict[str, Callable[[str], list[str]]] = {
        "viewfinder": lambda text: [Path(hit.path).stem for hit in library.find(text, n=PRECISE)],
        "FTS5, any word": lambda text: search_index(database, text, PRECISE, all_first=False),
        "FTS5, all words first": lambda text: search_index(database, text, PRECISE, all_first=True),
    }
    found: dict[str, Any] = {"products": len(rows), "asked": len(asked), "wordings": {}}
    for name, wording in SHOP.items():
        shares: dict[str, list[float]] = defaultdict(list)
        for colour, kind, whom in asked:
            short = f"{colour.lower()} {kind.lower()}"
            text = wording.format(short=short, what=f"{short} for {FOR_WHOM[whom]}")

            def fits(row: Mapping[str, str], key: tuple[str, ...] = (colour, kind, whom), name: str = name) -> bool:
                wanted = 2 if name == "kind and colour only" else 3
                return (row["baseColour"], row["articleType"], row["gender"])[:wanted] == key[:wanted]

            for way, search in ways.items():
                shares[way].append(sum(fits(by_id[one]) for one in search(text)) / PRECISE)
        found["wordings"][name] = {way: estimate_interval(values) for way, values in shares.items()}
        best = max(("FTS5, any word", "FTS5, all words first"), key=lambda way: sum(shares[way]))
        gains = np.array(shares["viewfinder"]) - np.array(shares[best])
        found["wordings"][name]["less the better FTS5"] = estimate_interval(gains)
    return found


SYLLABLES = ["vel", "mor", "ta", "ki", "zu", "ren", "ola", "pex", "dri", "quo", "bam", "sil", "tor", "nex", "fy", "lum"]


def measure_names(bench: Bench) -> dict[str, Any]:
    """Products whose names nobody has heard: is the one first that has the name?"""
    found: dict[str, Any] = {}
    for size in bench.sizes:
        rng, rows = random.Random(f"{SEED}/{size}"), read_products(bench, size)
        names: dict[str, str] = {}
        while len(names) < NAMED_PRODUCTS:
            names.setdefault("".join(rng.choice(SYLLABLES) for _ in range(3)), rows[len(names)]["id"])
        by_id = {product: name for name, product in names.items()}
        named = [
            {**row, "productDisplayName": f"{by_id[row['id']].capitalize()} {row['productDisplayName']}"}
            if row["id"] in by_id
            else row
            for row in rows
        ]
        library = open_products(bench, f"named-{size}", named)
        kinds = {row["id"]: row["articleType"].lower().rstrip("s") for row in rows}
        found[str(size)] = {
            wording: _describe_places(
                [(library.find(wording.format(name=name, kind=kinds[one]), n=50), one) for name, one in names.items()]
            )
            for wording in NAMED
        }
    return {"sizes": found}


def _describe_places(searches: Sequence[tuple[Any, str]]) -> dict[str, Any]:
    places = [next((at for at, hit in enumerate(hits) if Path(hit.path).stem == one), 50) for hits, one in searches]
    is_first = np.array([place == 0 for place in places], float)
    sure = [hits[0].match == "likely" and hits.verdict == "found" for hits, _ in searches]
    return {
        "first": estimate_interval(is_first), "worst place": max(places) + 1,
        "found and likely": estimate_interval(np.array(sure, float)),
    }  # fmt: skip


# -- facts


@dataclass(frozen=True)
class Known:
    """What is known of a photograph of the dated library."""

    name: str
    folder: str
    taken: datetime
    camera: tuple[str, str]
    place: str
    person: str
    stars: int
    caption: str
    is_screen: bool = False
    size: tuple[int, int] = (0, 0)


def make_dated(bench: Bench) -> tuple[Library, list[Known]]:
    """A library whose photographs have dates, cameras, places, persons, stars and folders in their files.

    Alike ones share a day, as people's photographs do.
    """
    name = f"dated-{bench.part}"
    listed = bench.work / f"{name}.json"
    if listed.is_file() and (bench.work / f"{name}.vf").is_dir():
        kept = json.loads(listed.read_text(encoding="utf-8"))
        known = [
            Known(**{
                **one, "taken": datetime.fromisoformat(one["taken"]), "camera": tuple(one["camera"]),
                "size": tuple(one["size"]),
            })
            for one in kept
        ]  # fmt: skip
        return viewfinder.open(bench.work / f"{name}.vf"), known
    source, rows = bench.open_photographs()
    matrix_nd, rng = np.asarray(source.gallery().snapshot.matrix_nd, np.float32), np.random.default_rng(SEED)
    centres_cd = matrix_nd[rng.choice(len(matrix_nd), DATED_DAYS, replace=False)]
    group_n = (matrix_nd @ centres_cd.T).argmax(axis=1)
    days = [datetime(2005, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 365 * 8, DATED_DAYS)]
    known = []
    for at, one in enumerate(bench.read_photographs()):
        group = int(group_n[rows[name_link(one.path, bench.data)]])
        taken = days[group] + timedelta(seconds=int(rng.integers(30_000, 70_000)))
        known.append(
            Known(
                f"IMG_{at:04d}", f"{taken:%Y-%m} {HOLIDAYS[group % len(HOLIDAYS)]}", taken,
                CAMERAS[int(rng.integers(len(CAMERAS)))], [*PLACES][group % len(PLACES)],
                PERSONS[at % 8] if at % 8 < len(PERSONS) else "", int(rng.integers(0, 6)),
                write_as_said(one.captions[0]), size=one_size(one.path),
            )
        )  # fmt: skip
    folder = bench.work / f"{name}-pics"
    for about, picture in zip(known, bench.read_photographs(), strict=True):
        write_dated(picture.path, folder, about)
    for at in range(SCREENS):
        write_screen(folder / f"Screenshot 2012-01-{at + 1:02d} at 10.00.png", at)
    library = bench.make(name, lambda _: None)
    listed.write_text(json.dumps([{**vars(one), "taken": one.taken.isoformat()} for one in known]), encoding="utf-8")
    return library, known


def one_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture."""
    with Image.open(path) as picture:
        return picture.size


def write_dated(source: Path, folder: Path, known: Known) -> None:
    """A copy of a photograph with what is known of it."""
    exif = Image.Exif()
    exif[MAKE], exif[MODEL] = known.camera
    exif.get_ifd(EXIF)[TAKEN] = known.taken.strftime("%Y:%m:%d %H:%M:%S")
    if known.stars:
        exif[RATING] = known.stars
    latitude, longitude = PLACES[known.place]
    gps = exif.get_ifd(GPS)
    gps[1], gps[2] = "N" if latitude >= 0 else "S", _write_degrees(latitude)
    gps[3], gps[4] = "E" if longitude >= 0 else "W", _write_degrees(longitude)
    person = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><e:PersonInImage><rdf:Bag>'
        f"<rdf:li>{known.person}</rdf:li></rdf:Bag></e:PersonInImage></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    more: dict[str, Any] = {"xmp": person.encode()} if known.person else {}
    place = folder / known.folder / f"{known.name}.jpg"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as picture:
        picture.convert("RGB").save(place, exif=exif, quality=92, **more)


def _write_degrees(value: float) -> tuple[float, float, float]:
    whole = abs(value)
    minutes = (whole % 1) * 60
    return float(int(whole)), float(int(minutes)), round((minutes % 1) * 60, 2)


def write_screen(path: Path, seed: int) -> None:
    """A drawn screen: lines and boxes."""
    pixels = np.full((300, 480, 3), 245, np.uint8)
    rng = np.random.default_rng(seed)
    for top in range(20, 280, 20):
        pixels[top : top + 8, 20 : int(rng.integers(100, 460))] = rng.integers(0, 200, 3)
    Image.fromarray(pixels).save(path)


Fits = Callable[[Known], bool]


def list_month_searches(known: Sequence[Known]) -> Iterator[tuple[str, str, Fits]]:
    """Every month of which there are enough photographs, in every wording: the wording, what is said, what fits."""
    counts = Counter((one.taken.year, one.taken.month) for one in known)
    months = sorted(month for month, count in counts.items() if count >= PRECISE)
    for year, month in random.Random(SEED).sample(months, min(20, len(months))):
        last = calendar.monthrange(year, month)[1]
        name = calendar.month_name[month]
        for wording in MONTHS:
            text = wording.format(
                month=name, short=calendar.month_abbr[month], number=month, year=year, two=year % 100,
                first=f"1 {name} {year}", last=f"{last} {name} {year}",
            )  # fmt: skip
            yield wording, text, lambda one, at=(year, month): (one.taken.year, one.taken.month) == at  # type: ignore[misc]


def list_fact_searches(known: Sequence[Known]) -> Iterator[tuple[str, str, str, Fits]]:
    """Searches for other facts: kind, wording, what is said, what fits."""
    rng = random.Random(SEED)
    makers = {"Nikon": CAMERAS[0], "Canon": CAMERAS[1], "iPhone": CAMERAS[2], "Canon EOS 5D": CAMERAS[1]}
    shapes: dict[str, Fits] = {
        "vertical": lambda one: one.size[0] < one.size[1], "horizontal": lambda one: one.size[0] > one.size[1]
    }  # fmt: skip
    values: dict[str, dict[str, Fits]] = {
        "camera": {said: lambda one, it=camera: one.camera == it for said, camera in makers.items()},  # type: ignore[misc]
        "folder": {
            said: lambda one, it=said: one.folder == it  # type: ignore[misc]
            for said in rng.sample(sorted(name for name, n in Counter(it.folder for it in known).items() if n > 4), 10)
        },
        "file name": {said: lambda one, it=said: one.name == it for said in rng.sample([it.name for it in known], 10)},  # type: ignore[misc]
        "person": {
            said: lambda one, it=name: one.person == it  # type: ignore[misc]
            for name in PERSONS
            for said in (name, name.split()[0])
        },
        "place": {name: lambda one, it=name: one.place == it for name in PLACES},  # type: ignore[misc]
        "rating": {str(stars): lambda one, it=stars: one.stars == it for stars in (1, 3, 4, 5)},  # type: ignore[misc]
        "shape": shapes,
        "file kind": {"screenshots": lambda one: one.is_screen},
    }
    for kind, wordings in FACTS.items():
        for wording in wordings:
            for said, fits in values[kind].items():
                yield kind, wording, wording.format(said), fits


def measure_facts(bench: Bench) -> dict[str, Any]:
    """Which of the first five have the fact that was named; and what a fact adds to a description."""
    library, known = make_dated(bench)
    by_name = {one.name: one for one in known}
    screen = Known("", "", datetime(2012, 1, 1), ("", ""), "", "", 0, "", is_screen=True, size=(480, 300))
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    searches = [("month", *one) for one in list_month_searches(known)]
    for kind, wording, text, fits in [*searches, *list_fact_searches(known)]:
        hits = library.find(text, n=PRECISE)
        met = [fits(by_name.get(Path(hit.path).stem, screen)) for hit in hits]
        # There is one file of a name: it has to be the first.
        shares[kind][wording].append(float(met[0]) if kind == "file name" else sum(met) / PRECISE)
    kinds = {
        kind: {
            "all": estimate_interval([value for values in some.values() for value in values]),
            "wordings": {wording: round(float(np.mean(values)), 4) for wording, values in some.items()},
        }
        for kind, some in shares.items()
    }
    gallery, rows = library.gallery(), find_rows(library)
    drawn = random.Random(SEED).sample(known, min(bench.said, len(known)))
    targets = [rows[f"{one.name}.jpg"] for one in drawn]
    plain_k = find_ranks(gallery, [one.caption for one in drawn], targets)
    with_month = [f"{one.caption} in {one.taken:%B} {one.taken:%Y}" for one in drawn]
    return {
        "photographs": len(gallery), "kinds": kinds, "a description": compare(plain_k, plain_k),
        "a description and its month": compare(find_ranks(gallery, with_month, targets), plain_k),
    }  # fmt: skip


# -- replies

WHO = Question("Who is in it?", ("a man", "a woman", "nobody", "don't know"), "benchmark", "people")
SHOWN = ("p1", "p2", "p3", "p4")


def name_turn(turn: Turn) -> str:  # noqa: PLR0911 (one return a kind)
    """A turn in the words of `REPLIES`."""
    match turn:
        case Like("p4"):
            return "like the last"
        case Like(picture, but):
            return f"like {picture[1:]}" + (f" but {but}" if but else "")
        case Reject(()):
            return "reject all"
        case Reject(pictures):
            return f"reject {', '.join(one[1:] for one in pictures)}"
        case BackTo(0):
            return "start"
        case BackTo():
            return "back"
        case Answer(text=""):
            return "skip"
        case Answer(text=text):
            return f"answer {text}"
        case Say():
            return "say"
        case _:
            return type(turn).__name__


def measure_replies(bench: Bench) -> dict[str, Any]:
    """Every reply, and the turn that it was taken for."""
    conversation = Conversation()
    for text in ("a dog", "in the snow"):
        conversation = conversation.then(Say(text)).recorded(shown=SHOWN, asked=None)
    asked = conversation.recorded(shown=SHOWN, asked=WHO)
    said = []
    for meant, texts in REPLIES.items():
        at = asked if meant in ("answer nobody", "skip") else conversation
        said += [(text, meant, name_turn(understand_reply(Say(text), at))) for text in texts]
    return {
        "said": [{"said": text, "meant": meant, "taken for": taken} for text, meant, taken in said],
        "right": estimate_interval(np.array([meant == taken for _, meant, taken in said], float)),
    }


if __name__ == "__main__":
    main()
