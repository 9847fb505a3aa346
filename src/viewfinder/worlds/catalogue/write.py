"""A catalogue of articles as files, in the formats in which real sets of them come.

images/<key>.jpg                                         the pictures
products.csv, captions.csv                               what a shop notes; three captions each, as Flickr8k has them
captions/, image_splits/, asin2attr.*, attribute2idx     Fashion IQ: pairs of the kinds with the most pictures
data/, attr/                                             MT Fashion IQ: sessions of two to four turns, dialogue starts
modifiers/                                               FashionMT: sources `rollback` and `combination`
cirr/captions/, cirr/image_splits/                       CIRR: sets of six that are alike, a caption from one to another
truth.jsonl                                              what is known of every picture
report.json                                              how much of what there is, what was left out; written last
preview.png                                              some of it, to look at
world.json                                               how the world was made; written first

`modifiers/<source>_<split>_operations.jsonl` says, line by line, what the last turn of each transaction does.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PIL import Image

from viewfinder.data.cirr import write_cirr
from viewfinder.data.fashion_iq import (
    FashionPair,
    Session,
    shuffle_first_pictures,
    write_fashion_iq,
    write_sessions,
    write_shuffled,
)
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.data.files import Dropped, write_json, write_jsonl
from viewfinder.data.splits import SPLITS, Split
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.errors import BadInput
from viewfinder.worlds import making
from viewfinder.worlds.catalogue.garments import draw_item
from viewfinder.worlds.catalogue.items import (
    COLUMNS,
    Item,
    attribute_lists,
    attribute_numbers,
    item_truth,
    largest_kinds,
    read_photos,
    sample_item,
)
from viewfinder.worlds.catalogue.pairs import (
    MAX_REFERENCES,
    CaptionTally,
    cirr_pairs,
    find_references,
    make_session,
    relative_captions,
)
from viewfinder.worlds.catalogue.statements import CAPTIONS_PER_ITEM, caption_item
from viewfinder.worlds.catalogue.transactions import SETTINGS, Chain, Setting, count_in_chains, make_transactions
from viewfinder.worlds.drawing.draw import Captioned, draw_sheet, rows_of_six
from viewfinder.worlds.words import Language, reword

FASHION_IQ_KINDS = 3
"""Fashion IQ has three kinds of articles; here those with the most pictures."""

PER_PICTURE = 3
"""Transactions for each picture, by default."""

ITEM_JPEG_QUALITY = 90
CATALOGUE_VERSION = 2


@dataclass
class _Written:
    """Counts of what was written so far, for report.json, and the language in which it is written."""

    language: Language
    tally: CaptionTally = field(default_factory=CaptionTally)
    further: CaptionTally = field(default_factory=CaptionTally)  # of pairs with another reference than the best
    pairs: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    transactions: dict[str, int] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    examples: list[tuple[Chain, Transaction]] = field(default_factory=list)
    shown: list[tuple[Item, Item, tuple[str, ...]]] = field(default_factory=list)


def write_catalogue(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    transactions: int | None = None,
    pairs: int = 1,
    language: Language = "explicit",
    progress: making.Progress = lambda written: None,
    workers: int = 1,
) -> making.WorldReport:
    """Write a catalogue world: drawn articles, or with `sprites` the real product photos of a folder themselves.

    Drawn article k depends on the seed and k alone. Of photos `count` are chosen by the seed (0: all there are, one
    for identical files); their files are hard links where the disk allows it. The same call again (after an
    interruption, say) writes the same bytes; a folder that holds anything else is left alone.

    Args:
        out: an empty or new folder.
        count: how many articles.
        seed: of everything left to chance.
        sprites: a folder with products.csv and images/<id>.jpg.
        transactions: FashionMT transactions in all, half of each setting; None: three a picture.
        pairs: Fashion IQ pairs of each picture for training, with so many references, the most alike first. The
            published data has one; pictures for validation and testing always do. All else is the same bytes.
        language: how people speak of them (see `worlds.words`); pictures and pairs are the same.
        workers: unused while drawing takes about ten milliseconds an article.

    Raises:
        BadInput: a number out of range; `out` is a file, not empty, or not writable; `sprites` is no such folder.
        DiskFull: the disk is full.
    """
    least = 1 if sprites is None else 0
    if not least <= count <= making.MAX_PICTURES:
        raise BadInput(f"--count {count}: ask for {least} to {making.MAX_PICTURES} pictures")
    items, dropped, source = _make_items(count, seed, sprites)
    wanted = PER_PICTURE * len(items) if transactions is None else transactions
    if wanted < 0:
        raise BadInput(f"--transactions {wanted}: ask for 0 or more")
    if pairs < 1:
        raise BadInput(f"--pairs {pairs}: ask for 1 or more")
    made = making.world_marker("catalogue", CATALOGUE_VERSION, count, seed, language)
    made |= {"transactions": wanted, "sprites": source} | ({"pairs": pairs} if pairs > 1 else {})
    written = _Written(language)
    with making.claim_world_folder(out, made, ("images",)):
        for number, item in enumerate(items, start=1):
            if sprites is None:
                draw_item(item).save(out / "images" / item.image, quality=ITEM_JPEG_QUALITY)
            else:
                making.link_file(sprites / "images" / item.image, out / "images" / item.image)
            progress(number)
        _write_tables(out, items, language)
        _write_dialogues(out, items, seed, pairs, written)
        for setting, share in zip(SETTINGS, (wanted - wanted // 2, wanted // 2), strict=True):
            _write_transactions(out, items, setting, share, seed, written)
        _write_queries(out, items, seed, written)
        catalogue_sheet(out, items, written).save(out / "preview.png")
        write_json(out / "report.json", _make_report(items, dropped, written), indent=1)
    counts = {name: sum(getattr(written, name).values()) for name in ("pairs", "sessions", "transactions", "queries")}
    return making.WorldReport(
        out, "catalogue", seed, len(items), CAPTIONS_PER_ITEM * len(items), things=len(items), **counts
    )


def _make_items(count: int, seed: int, sprites: Path | None) -> tuple[list[Item], tuple[Dropped, ...], str | None]:
    """The articles, what was left out, and a digest of the table that they come from."""
    if sprites is None:
        return [sample_item(seed=seed, number=number) for number in range(1, count + 1)], (), None
    items, dropped = read_photos(sprites)
    if 0 < count < len(items):
        chosen = set(random.Random(f"viewfinder/catalogue/photos/{seed}").sample(range(len(items)), count))
        items = [item for place, item in enumerate(items) if place in chosen]
    return items, dropped, hashlib.blake2b((sprites / "products.csv").read_bytes(), digest_size=16).hexdigest()


def _word_captions(captions: Iterable[str], split: Split, language: Language) -> tuple[str, ...]:
    """Captions as they are said of pictures of a split."""
    return tuple(map(reword, captions) if language == "contextual" and split == "test" else captions)


def _write_tables(out: Path, items: Sequence[Item], language: Language) -> None:
    making.write_rows(out / "products.csv", COLUMNS, ([cell for _, cell in item.row] for item in items))
    said = (
        [item.image, caption] for item in items for caption in _word_captions(caption_item(item), item.split, language)
    )
    making.write_rows(out / "captions.csv", ("image", "caption"), said)
    making.write_lines(out / TRUTH_FILE, (truth_line(item_truth(item)) for item in items))
    write_json(out / "attribute2idx.json", attribute_numbers(items))


def make_slug(kind: str) -> str:
    """A kind of article as part of a file's name.

    >>> make_slug("Casual Shoes")
    'casual-shoes'
    """
    return re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")


def _write_dialogues(out: Path, items: Sequence[Item], seed: int, pairs: int, written: _Written) -> None:
    """Fashion IQ and MT Fashion IQ, for every split of the busiest kinds; "all" has the sessions of every kind.

    For training there are `pairs` pairs a picture.
    """
    kinds = largest_kinds(items, FASHION_IQ_KINDS)
    for split in SPLITS:
        everything: list[Session] = []
        inside: list[Item] = []
        for kind in kinds:
            shop = [item for item in items if item.kind == kind and item.split == split]
            everything += _write_kind(out, kind, split, shop, seed, pairs if split == "train" else 1, written)
            inside += shop
        keys, attributes = [item.key for item in inside], {item.key: attribute_lists(item) for item in inside}
        write_sessions(out, "all", split, everything, keys, attributes)


def _write_kind(
    out: Path, kind: str, split: Split, shop: Sequence[Item], seed: int, most: int, written: _Written
) -> list[Session]:
    rng = random.Random(f"viewfinder/pairs/{seed}/{kind}/{split}")
    # With words of their own, further pairs change nothing of what is there without them.
    rng_further = random.Random(f"viewfinder/further pairs/{seed}/{kind}/{split}")
    name, keys = make_slug(kind), [item.key for item in shop]
    attributes = {item.key: attribute_lists(item) for item in shop}
    likes = find_references(shop, most=max(MAX_REFERENCES, most), rng=rng)
    pairs: list[FashionPair] = []
    for item in shop:
        for place, reference in enumerate(likes[item.key][:most]):
            tally, chance = (written.further, rng_further) if place else (written.tally, rng)
            said = relative_captions(item, reference, tally, chance)
            pairs.append(FashionPair(item.key, reference.key, _word_captions(said, split, written.language)))
            if not place:
                written.shown.append((item, reference, said))
    choices = {key: found[:MAX_REFERENCES] for key, found in likes.items()}
    sessions = [found for item in shop if (found := make_session(item, choices, written.tally, rng)) is not None]
    sessions = [
        replace(
            session,
            references=tuple(
                replace(shown, captions=_word_captions(shown.captions, split, written.language))
                for shown in session.references
            ),
        )
        for session in sessions
    ]
    write_fashion_iq(out, name, split, pairs, keys, attributes)
    write_sessions(out, name, split, sessions, keys, attributes)
    write_shuffled(out, name, split, shuffle_first_pictures(len(shop), seed))
    written.pairs[f"{name}.{split}"], written.sessions[f"{name}.{split}"] = len(pairs), len(sessions)
    written.turns += sum(len(session.references) for session in sessions)
    return sessions


def _write_transactions(
    out: Path, items: Sequence[Item], setting: Setting, wanted: int, seed: int, written: _Written
) -> None:
    """One source, its splits in proportion to their pictures; a chain never leaves its split."""
    gallery = [f"images/{item.image}" for item in items]
    inside = {split: [item for item in items if item.split == split] for split in SPLITS}
    able = {split: count_in_chains(inside[split]) for split in SPLITS}
    left, rest = wanted, sum(able.values())
    for split in SPLITS:
        share = left * able[split] // max(1, rest)
        left, rest = left - share, rest - able[split]
        rng = random.Random(f"viewfinder/transactions/{seed}/{setting}/{split}")
        made = list(make_transactions(inside[split], setting, share, rng, written.language))
        told = [_word_transaction(transaction, split, written.language) for _, transaction in made]
        write_transactions(out, setting, split, told, gallery)
        operations = (chain.operations() for chain, _ in made)
        write_jsonl(out / "modifiers" / f"{setting}_{split}_operations.jsonl", operations)
        written.transactions[f"{setting}.{split}"] = len(made)
        written.examples += made[:1] if split == "train" else []


def _word_transaction(transaction: Transaction, split: Split, language: Language) -> Transaction:
    """A transaction as it is said of pictures of a split; what refers to earlier pictures stays as it is."""
    captions = _word_captions(transaction.captions, split, language)
    if captions == transaction.captions:
        return transaction
    clauses = (_CLAUSE.sub(lambda found: f"{found[1]}{reword(found[2])}", said) for said in transaction.modifications)
    return replace(transaction, captions=captions, modifications=tuple(clauses))


_CLAUSE = re.compile(r"(\d+\. )((?:is|has|does)\b.*?)(?= \d+\. |$)")


def _write_queries(out: Path, items: Sequence[Item], seed: int, written: _Written) -> None:
    """CIRR's queries, a file a split; their numbers go on from one split to the next."""
    first = 0
    for split in SPLITS:
        inside = [item for item in items if item.split == split]
        pairs = cirr_pairs(inside, random.Random(f"viewfinder/cirr/{seed}/{split}"), first=first)
        said = (_word_captions([pair.caption], split, written.language) for pair in pairs)
        pairs = [replace(pair, caption=caption) for pair, (caption,) in zip(pairs, said, strict=True)]
        write_cirr(out / "cirr", split, pairs, {item.key: f"../images/{item.image}" for item in inside})
        first += len(pairs)
        written.queries[split] = len(pairs)


def _make_report(items: Sequence[Item], dropped: tuple[Dropped, ...], written: _Written) -> dict[str, Any]:
    """The content of report.json."""
    tally = CaptionTally(written.tally.kinds + written.further.kinds, written.tally.negated + written.further.negated)
    return {
        "pictures": len(items),
        "splits": {split: sum(item.split == split for item in items) for split in SPLITS},
        "left out": [{"record": drop.record, "reason": drop.reason} for drop in dropped],
        "pairs": written.pairs,
        "relative captions": {"captions": tally.captions, **tally.shares()},
        "sessions": written.sessions,
        "turns": written.turns,
        "transactions": written.transactions,
        "queries": written.queries,
    }


_TITLES, _PAIRS = 12, 6


def catalogue_sheet(out: Path, items: Sequence[Item], written: _Written) -> Image.Image:
    """Articles with their titles, pairs with their captions, a transaction of each setting; RGB."""
    pictures = out / "images"
    rows = rows_of_six([(pictures / item.image, item.title) for item in making.take_evenly(items, _TITLES)])
    couples: list[Captioned] = []
    for target, reference, said in making.take_evenly(written.shown, _PAIRS):
        couples.append((pictures / reference.image, f"shown: {reference.title}"))
        couples.append((pictures / target.image, f"wanted: {' / '.join(said)}"))
    rows += rows_of_six(couples)
    for chain, transaction in written.examples:
        said = (f"{chain.setting}: the FIRST", *transaction.modifications)
        named = zip(said, chain.items, strict=True)
        rows.append([(pictures / item.image, f"{words} ({item.title})") for words, item in named])
    return draw_sheet(rows, lines=12)
