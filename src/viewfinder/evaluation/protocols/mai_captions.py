"""What is written about the pictures of FashionMT: by its transactions, by the published files, by captions.csv.

A gallery has to be described in one manner. Transactions name few of its pictures besides those that are wanted, and
were the rest described otherwise (by a shop's titles, say), a system could tell the wanted ones by that alone. So of
the captions that captions.csv has of a picture the one is taken that stands where the transactions took theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from viewfinder.data import match_keys, read_captions_csv
from viewfinder.data.fashionmt import Transaction, product_of, read_caption_files, read_titles

CAPTION_FOLDERS = {
    "200k": "image_captions_200k",
    "shoes": "shoes_dataset/blip2_captions_combine",
    "Fiq": "fashion-iq/blip2_captions_combine",
}
"""Where the published code has a text file a product or picture, by source; of FC there are titles instead."""


def transaction_captions(transactions: Iterable[Transaction]) -> dict[str, str]:
    """The captions that transactions bring along, by picture: the first, where they differ."""
    found: dict[str, str] = {}
    for one in transactions:
        for picture, caption in zip(one.pictures, one.captions, strict=False):  # there may be none at all
            if caption:
                found.setdefault(picture, caption)
    return found


def published_captions(folder: Path, source: str, names: Iterable[str]) -> dict[str, str]:
    """The captions of these pictures in the source's own files, as far as they are there.

    Raises:
        BadInput: a damaged file.
    """
    titles = folder / "modifiers" / f"{source}-caption.json"
    texts = folder / CAPTION_FOLDERS.get(source, "")
    if titles.is_file():
        known = read_titles(titles)
    elif source in CAPTION_FOLDERS and texts.is_dir():
        known = read_caption_files(texts)
    else:
        return {}
    return {name: caption for name in names if (caption := known.get(product_of(source, name), ""))}


def table_captions(folder: Path, names: Sequence[str], said: Mapping[str, str]) -> dict[str, str]:
    """The captions of these pictures in the folder's captions.csv, if there is one: of each the one at the same place.

    `said` are captions that are known of some of the names. The place is where most of them stand; the first, if none
    is known. Where they stand nowhere, the table describes pictures in another manner, and is not used.

    Raises:
        BadInput: a damaged file.
    """
    file = folder / "captions.csv"
    if not file.is_file():
        return {}
    rows = {picture.path: picture.captions for picture in read_captions_csv(file)[0]}
    captions = {names[at]: rows[path] for path, found in match_keys(names, rows).files.items() for at in found}
    agree = Counter(captions[name].index(said[name]) for name in names if said.get(name) in captions.get(name, ()))
    if said and not agree:
        return {}
    place = min(agree, key=lambda place: (-agree[place], place), default=0)
    return {name: texts[place] for name, texts in captions.items() if place < len(texts)}
