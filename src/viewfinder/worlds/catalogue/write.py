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
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image, ImageDraw, ImageFont

from viewfinder.data.captions import SPLITS, Split
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
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.errors import BadInput
from viewfinder.worlds.catalogue.garments import draw_item
from viewfinder.worlds.catalogue.items import (
    COLUMNS,
    Item,
    attribute_lists,
    attribute_numbers,
    item_truth,
    largest_kinds,
    sample_item,
)
from viewfinder.worlds.catalogue.pairs import (
    CHOICES,
    CaptionTally,
    cirr_pairs,
    find_references,
    make_session,
    relative_captions,
)
from viewfinder.worlds.catalogue.photos import read_photos
from viewfinder.worlds.catalogue.statements import CAPTIONS, caption_item
from viewfinder.worlds.catalogue.transactions import SETTINGS, Chain, Setting, count_in_chains, make_transactions
from viewfinder.worlds.making import (
    MOST_PICTURES,
    Progress,
    WorldReport,
    claim_folder,
    link_file,
    world_marker,
    write_lines,
    write_rows,
)

KINDS = 3
"""Fashion IQ has three kinds of articles; here those with the most pictures."""

PER_PICTURE = 3
"""Transactions for each picture, by default."""

QUALITY = 90
VERSION = 1


@dataclass
class _Written:
    """What was written so far, as report.json has it."""

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
    progress: Progress = lambda written: None,
    workers: int = 1,
) -> WorldReport:
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
        progress: called with the number of pictures written so far.
        workers: unused while drawing takes about ten milliseconds an article.

    Raises:
        BadInput: a number out of range; `out` is a file, not empty, or not writable; `sprites` is no such folder.
        DiskFull: the disk is full.
    """
    least = 1 if sprites is None else 0
    if not least <= count <= MOST_PICTURES:
        raise BadInput(f"--count {count}: ask for {least} to {MOST_PICTURES} pictures")
    items, dropped, source = _items(count, seed, sprites)
    wanted = PER_PICTURE * len(items) if transactions is None else transactions
    if wanted < 0:
        raise BadInput(f"--transactions {wanted}: ask for 0 or more")
    if pairs < 1:
        raise BadInput(f"--pairs {pairs}: ask for 1 or more")
    made = world_marker("catalogue", VERSION, count, seed)
    made |= {"transactions": wanted, "sprites": source} | ({"pairs": pairs} if pairs > 1 else {})
    written = _Written()
    with claim_folder(out, made, ("images",)):
        for number, item in enumerate(items, start=1):
            if sprites is None:
                draw_item(item).save(out / "images" / item.image, quality=QUALITY)
            else:
                link_file(sprites / "images" / item.image, out / "images" / item.image)
            progress(number)
        _write_tables(out, items)
        _write_dialogues(out, items, seed, pairs, written)
        for setting, share in zip(SETTINGS, (wanted - wanted // 2, wanted // 2), strict=True):
            _write_transactions(out, items, setting, share, seed, written)
        _write_queries(out, items, seed, written)
        catalogue_sheet(out, items, written.shown, written.examples).save(out / "preview.png")
        write_json(out / "report.json", _account(items, dropped, written), indent=1)
    return WorldReport(
        out,
        "catalogue",
        seed,
        pictures=len(items),
        captions=CAPTIONS * len(items),
        things=len(items),
        pairs=sum(written.pairs.values()),
        sessions=sum(written.sessions.values()),
        transactions=sum(written.transactions.values()),
        queries=sum(written.queries.values()),
    )


def _items(count: int, seed: int, sprites: Path | None) -> tuple[list[Item], tuple[Dropped, ...], str | None]:
    """The articles, what was left out, and a digest of the table that they come from."""
    if sprites is None:
        return [sample_item(seed=seed, number=number) for number in range(1, count + 1)], (), None
    items, dropped = read_photos(sprites)
    if 0 < count < len(items):
        chosen = set(random.Random(f"viewfinder/catalogue/photos/{seed}").sample(range(len(items)), count))
        items = [item for place, item in enumerate(items) if place in chosen]
    return items, dropped, hashlib.blake2b((sprites / "products.csv").read_bytes(), digest_size=16).hexdigest()


def _write_tables(out: Path, items: Sequence[Item]) -> None:
    write_rows(out / "products.csv", COLUMNS, ([cell for _, cell in item.row] for item in items))
    said = ([item.image, caption] for item in items for caption in caption_item(item))
    write_rows(out / "captions.csv", ("image", "caption"), said)
    write_lines(out / TRUTH_FILE, (truth_line(item_truth(item)) for item in items))
    write_json(out / "attribute2idx.json", attribute_numbers(items))


def slug(kind: str) -> str:
    """A kind of article as part of a file's name.

    >>> slug("Casual Shoes")
    'casual-shoes'
    """
    return re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")


def _write_dialogues(out: Path, items: Sequence[Item], seed: int, pairs: int, written: _Written) -> None:
    """Fashion IQ and MT Fashion IQ, for every split of the busiest kinds; "all" has the sessions of every kind.

    For training there are `pairs` pairs a picture.
    """
    kinds = largest_kinds(items, KINDS)
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
    name, keys = slug(kind), [item.key for item in shop]
    attributes = {item.key: attribute_lists(item) for item in shop}
    likes = find_references(shop, most=max(CHOICES, most), rng=rng)
    pairs: list[FashionPair] = []
    for item in shop:
        for reference in likes[item.key][:1]:
            said = relative_captions(item, reference, written.tally, rng)
            pairs.append(FashionPair(item.key, reference.key, said))
            written.shown.append((item, reference, said))
        for reference in likes[item.key][1:most]:
            said = relative_captions(item, reference, written.further, rng_further)
            pairs.append(FashionPair(item.key, reference.key, said))
    choices = {key: found[:CHOICES] for key, found in likes.items()}
    sessions = [found for item in shop if (found := make_session(item, choices, written.tally, rng)) is not None]
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
        made = list(make_transactions(inside[split], setting, share, rng))
        write_transactions(out, setting, split, [transaction for _, transaction in made], gallery)
        operations = (chain.operations() for chain, _ in made)
        write_jsonl(out / "modifiers" / f"{setting}_{split}_operations.jsonl", operations)
        written.transactions[f"{setting}.{split}"] = len(made)
        written.examples += made[:1] if split == "train" else []


def _write_queries(out: Path, items: Sequence[Item], seed: int, written: _Written) -> None:
    """CIRR's queries, a file a split; their numbers go on from one split to the next."""
    first = 0
    for split in SPLITS:
        inside = [item for item in items if item.split == split]
        pairs = cirr_pairs(inside, random.Random(f"viewfinder/cirr/{seed}/{split}"), first=first)
        write_cirr(out / "cirr", split, pairs, {item.key: f"../images/{item.image}" for item in inside})
        first += len(pairs)
        written.queries[split] = len(pairs)


def _account(items: Sequence[Item], dropped: tuple[Dropped, ...], written: _Written) -> dict[str, Any]:
    """What report.json says."""
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


# A sheet to look at

_WIDTH, _SIDE, _GAP, _LINE = 1240, 190, 16, 15
_TITLES, _PAIRS = 12, 6
_INK, _QUIET, _PAPER = (30, 30, 34), (110, 110, 118), (255, 255, 255)

Thing = TypeVar("Thing")
Text = tuple[str, tuple[int, int, int]]


def catalogue_sheet(
    out: Path,
    items: Sequence[Item],
    pairs: Sequence[tuple[Item, Item, tuple[str, ...]]],
    chains: Sequence[tuple[Chain, Transaction]],
) -> Image.Image:
    """Articles with their titles, pairs with their captions, a transaction of each setting; RGB."""
    pictures = out / "images"
    cards = [_card(pictures, item, [(item.title, _INK)]) for item in _spread(items, _TITLES)]
    rows = [_row(cards[start : start + 6]) for start in range(0, len(cards), 6)]
    couples = [_couple(pictures, *pair) for pair in _spread(pairs, _PAIRS)]
    rows += [_row(couples[start : start + 3]) for start in range(0, len(couples), 3)]
    rows += [_chain(pictures, chain, transaction) for chain, transaction in chains]
    sheet = Image.new("RGB", (_WIDTH, sum(row.height for row in rows) + _GAP), _PAPER)
    top = _GAP
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height
    return sheet


def _spread(things: Sequence[Thing], count: int) -> list[Thing]:
    return [things[place * len(things) // count] for place in range(count)] if len(things) > count else list(things)


def _row(cards: Sequence[Image.Image]) -> Image.Image:
    row = Image.new("RGB", (_WIDTH, max((card.height for card in cards), default=0) + _GAP), _PAPER)
    for place, card in enumerate(cards):
        row.paste(card, (_GAP + place * (card.width + _GAP), 0))
    return row


def _card(pictures: Path, item: Item, texts: Sequence[Text]) -> Image.Image:
    """A picture with texts below it."""
    with Image.open(pictures / item.image) as picture:
        picture.thumbnail((_SIDE, _SIDE))
        photo = picture.convert("RGB")
    lines = [(line, ink) for text, ink in texts for line in textwrap.wrap(text, _SIDE // 7) or [""]]
    card = Image.new("RGB", (_SIDE, _SIDE + _LINE * len(lines) + 6), _PAPER)
    card.paste(photo, ((_SIDE - photo.width) // 2, (_SIDE - photo.height) // 2))
    draw, font = ImageDraw.Draw(card), ImageFont.load_default(12)
    for number, (line, ink) in enumerate(lines):
        draw.text((0, _SIDE + 4 + number * _LINE), line, fill=ink, font=font)
    return card


def _couple(pictures: Path, target: Item, reference: Item, said: Sequence[str]) -> Image.Image:
    """The reference, then the target with what is said of it."""
    left = _card(pictures, reference, [("shown", _QUIET), (reference.title, _QUIET)])
    right = _card(pictures, target, [(f"wanted: {caption}", _INK) for caption in said])
    couple = Image.new("RGB", (2 * _SIDE + _GAP // 2, max(left.height, right.height)), _PAPER)
    couple.paste(left, (0, 0))
    couple.paste(right, (_SIDE + _GAP // 2, 0))
    return couple


def _chain(pictures: Path, chain: Chain, transaction: Transaction) -> Image.Image:
    """The four pictures of a transaction, each target with the modification that leads to it."""
    said = (f"{chain.setting}: the FIRST", *transaction.modifications)
    texts = [[(words, _INK), (item.title, _QUIET)] for words, item in zip(said, chain.items, strict=True)]
    return _row([_card(pictures, item, text) for item, text in zip(chain.items, texts, strict=True)])
