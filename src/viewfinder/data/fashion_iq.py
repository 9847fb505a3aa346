"""Fashion IQ and MT Fashion IQ: what people say of a product to be shown another, in one turn or in several.

Fashion IQ (Wu et al., CVPR 2021): pairs of products and how the wanted one differs from the shown one.

captions/cap.<kind>.<split>.json           pairs with two relative captions each; test has no targets
image_splits/split.<kind>.<split>.json     the gallery
asin2attr.<kind>.<split>.json              attribute words by type, there or in attributes/ or attr/
data/shuffled.<kind>.<split>.json          the first picture shown for every target of the dialogue protocol

The kinds of the published set are dress, shirt and toptee; a folder may hold any others.

MT Fashion IQ (Yuan and Lam, "Conversational Fashion Image Retrieval via Multiturn Natural Language Feedback",
SIGIR 2021): sessions of several turns over the products of Fashion IQ.

data/<kind>.<split>.json                  sessions; the kind "all" holds those of every other kind
image_splits/split.<kind>.<split>.json    the gallery
attr/asin2attr.<kind>.<split>.new.json    attribute words by type
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from viewfinder.data.files import (
    Dropped,
    ReadReport,
    list_kinds_and_splits,
    need_field,
    need_folder,
    need_split_file,
    need_texts,
    read_json,
    read_keys,
    write_json,
)
from viewfinder.errors import BadInput

SPECIAL_WORDS = ("<pad>", "<start>", "<end>", "<and>", "<unk>")
"""The first words of a vocabulary; `<and>` stands between the two captions of a pair."""

Attributes = Mapping[str, tuple[tuple[str, ...], ...]]
"""Words of a product by its key, as lists: category, texture, fabric, shape, part, style."""

Record = TypeVar("Record", bound="FashionPair | ShopSession")

# CIRR keeps its own captions under similar names: cap.rc2.<split>.json.
_CAPTION_FILE = re.compile(r"cap\.(?!rc2\.)(?P<kind>.+)\.(?P<split>[^.]+)\.json")


@dataclass(frozen=True)
class FashionPair:
    """The words of a user who is shown `candidate` and wants `target` (None: kept secret, as in the test split)."""

    target: str | None
    candidate: str
    captions: tuple[str, ...]


@dataclass(frozen=True)
class FashionIQ:
    """One kind and split: its pairs, the gallery, and attributes if the folder has them."""

    kind: str
    split: str
    pairs: tuple[FashionPair, ...]
    gallery: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)

    def union(self) -> tuple[str, ...]:
        """The smaller gallery of the other single-turn protocol: only candidates and targets, in gallery order."""
        used = {key for pair in self.pairs for key in (pair.candidate, pair.target)}
        return tuple(key for key in self.gallery if key in used)


def fashion_kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    """Which splits of which kinds a folder has, by its caption files: {"dress": ("test", "train", "val")}."""
    return list_kinds_and_splits(need_folder(folder) / "captions", _CAPTION_FILE)


def read_fashion_iq(folder: Path, kind: str, split: str) -> tuple[FashionIQ, ReadReport]:
    """One kind and split of a Fashion IQ folder. The report counts pairs; an empty caption drops only itself."""
    file = need_split_file(need_folder(folder) / "captions" / f"cap.{kind}.{split}.json", "cap.*.json")
    pairs, gallery, report = _read_records(folder, file, f"{kind}.{split}", _parse_pair)
    return FashionIQ(kind, split, pairs, gallery, read_attributes(folder, kind, split)), report


def _read_records(
    folder: Path,
    file: Path,
    name: str,
    parse: Callable[[Path, int, Any, frozenset[str]], tuple[Record, list[Dropped]]],
) -> tuple[tuple[Record, ...], tuple[str, ...], ReadReport]:
    """The records of a file and their gallery."""
    gallery_file = folder / "image_splits" / f"split.{name}.json"
    gallery, dropped = read_keys(need_split_file(gallery_file, "split.*.json"))
    inside = frozenset(gallery)
    found: list[Record] = []
    for i, record in enumerate(read_json(file, list)):
        read, empty = parse(file, i, record, inside)
        found.append(read)
        dropped += empty
    return tuple(found), gallery, ReadReport(len(found), len(found), tuple(dropped))


def _parse_pair(file: Path, i: int, record: Any, gallery: frozenset[str]) -> tuple[FashionPair, list[Dropped]]:
    """The pair of a record, and its empty captions; targets of the test split are secret and may be missing."""
    where = f"{file}: [{i}]"
    candidate = _need_in_gallery(gallery, f"{where}, field 'candidate'", need_field(where, record, "candidate", str))
    target = None
    if "target" in record or not file.name.endswith(".test.json"):
        target = _need_in_gallery(gallery, f"{where}, field 'target'", need_field(where, record, "target", str))
    said = need_texts(f"{where}, field 'captions'", record.get("captions"))
    captions, empty = _split_captions(f"{file.name}: [{i}]", said)
    return FashionPair(target, candidate, captions), empty


def _need_in_gallery(gallery: frozenset[str], where: str, key: str) -> str:
    if key not in gallery:
        raise BadInput(f"{where}: {key} is not among the {len(gallery)} of the gallery; take the split it belongs to")
    return key


def _split_captions(record: str, captions: Sequence[str]) -> tuple[tuple[str, ...], list[Dropped]]:
    """The captions that are not empty, as they are, and a report of the empty ones."""
    empty = [k for k, caption in enumerate(captions) if not caption.strip()]
    said = tuple(caption for k, caption in enumerate(captions) if k not in empty)
    return said, [Dropped(f"{record}, captions[{k}]", "empty caption") for k in empty]


def join_captions(captions: Sequence[str]) -> str:
    """A pair's captions as one text, "Cap1 and cap2", as in CLIP4Cir (Baldrati et al., CVPRW 2022) and later work.

    >>> join_captions(["is red.", "Has longer Sleeves"])
    'Is red and Has longer Sleeves'
    """
    said = [words for caption in captions if (words := caption.strip(".?, "))]
    return " and ".join([words.capitalize() for words in said[:1]] + said[1:])


def read_attributes(folder: Path, kind: str, split: str) -> Attributes:
    """Attribute words of every product, by type; none if the folder has no such file.

    A few published records have twelve lists, i.e. two records of six in a row: they are merged type by type.
    """
    names = [f"asin2attr.{kind}.{split}{variant}.json" for variant in ("", ".new")]
    places = [folder / inside / name for inside in ("", "attributes", "attr") for name in names]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return {}
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for key, value in read_json(file, dict).items():
        if not isinstance(value, list) or not value or len(value) % 6:
            raise BadInput(f"{file}: {key}: six lists of words are needed; write the record again")
        words = [need_texts(f"{file}: {key}, list {k}", of_type) for k, of_type in enumerate(value)]
        merged = [[word for of_type in words[kind::6] for word in of_type if word] for kind in range(6)]
        found[key] = tuple(tuple(dict.fromkeys(of_type)) for of_type in merged)
    return found


def read_shuffled(file: Path, size: int) -> tuple[int, ...]:
    """`data/shuffled.<kind>.<split>.json`: for target k of a gallery of `size`, which picture is shown first.

    Raises:
        BadInput: damaged JSON, not `size` numbers, or a number outside the gallery (its place is named).
    """
    numbers = read_json(file, list)
    if len(numbers) != size:
        raise BadInput(f"{file}: {len(numbers)} numbers, but the gallery has {size}; generate the file again")
    for k, number in enumerate(numbers):
        if not isinstance(number, int) or not 0 <= number < size:
            raise BadInput(f"{file}: [{k}] is {number!r}; it must be 0 to {size - 1}; generate the file again")
    return tuple(numbers)


def shuffle_first_pictures(size: int, seed: int) -> tuple[int, ...]:
    """A first picture for each of `size` targets: every picture once, none for itself (unless there is only one).

    The published protocol fixes such a list but does not ship it. This one (Sattolo's algorithm) depends only on size
    and seed, on any machine.

    >>> shuffle_first_pictures(5, seed=0)
    (1, 4, 0, 2, 3)
    """
    random = Random(seed)
    order = list(range(size))
    for last in range(size - 1, 0, -1):
        other = int(random.random() * last)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def write_shuffled(folder: Path, kind: str, split: str, order: Sequence[int]) -> None:
    """Write first pictures where the published code looks for them."""
    write_json(folder / "data" / f"shuffled.{kind}.{split}.json", list(order))


def write_fashion_iq(
    folder: Path,
    kind: str,
    split: str,
    pairs: Iterable[FashionPair],
    gallery: Sequence[str],
    attributes: Mapping[str, Sequence[Sequence[str]]],
) -> None:
    """Write one kind and split in the published layout; no attributes file where `attributes` is empty."""
    records = []
    for pair in pairs:
        target = {} if pair.target is None else {"target": pair.target}
        records.append({**target, "candidate": pair.candidate, "captions": list(pair.captions)})
    write_json(folder / "captions" / f"cap.{kind}.{split}.json", records, indent=4)
    write_json(folder / "image_splits" / f"split.{kind}.{split}.json", list(gallery), indent=4)
    _write_attributes(folder / f"asin2attr.{kind}.{split}.json", attributes)


def _write_attributes(file: Path, attributes: Mapping[str, Sequence[Sequence[str]]]) -> None:
    if attributes:
        write_json(file, {key: [list(of_type) for of_type in types] for key, types in attributes.items()})


@dataclass(frozen=True)
class CaptionVocabulary:
    """Words of the training captions and their numbers; 0 to 4 are the special words."""

    words: tuple[str, ...]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number by word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, caption: str) -> tuple[int, ...]:
        """Numbers of the caption's words, without start and end; `<unk>` for what was not seen in training."""
        unknown = self.numbers["<unk>"]
        return tuple(self.numbers.get(word, unknown) for word in tokenize_captions([caption])[0])


def build_caption_vocabulary(captions: Iterable[str], *, least: int = 2) -> CaptionVocabulary:
    """The start kit's rule: words that occur at least `least` times, in order of first occurrence."""
    counts = Counter(word for words in tokenize_captions(captions) for word in words)
    return CaptionVocabulary((*SPECIAL_WORDS, *(word for word, count in counts.items() if count >= least)))


def tokenize_captions(captions: Iterable[str]) -> list[list[str]]:
    """Lower-cased words of each caption, as nltk's `word_tokenize` splits them.

    That function needs a downloaded list of abbreviations to find sentences; here every "." that ends a word ends a
    sentence, which matters only for abbreviations inside a caption.
    """
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    sentences, words = PunktSentenceTokenizer(), NLTKWordTokenizer()
    return [
        [word for sentence in sentences.tokenize(caption.lower()) for word in words.tokenize(sentence)]
        for caption in captions
    ]


_SESSION_FILE = re.compile(r"(?!shuffled\.)(?P<kind>.+)\.(?P<split>[^.]+)\.json")


@dataclass(frozen=True)
class Reference:
    """A product that is shown, and the captions about it, which lead to the next one."""

    key: str
    captions: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True)
class ShopSession:
    """Products in the order of the turns, and the one to which the last captions lead."""

    references: tuple[Reference, ...]
    target: str
    url: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The products of the session, the target last."""
        return (*(shown.key for shown in self.references), self.target)


@dataclass(frozen=True)
class MultiTurnFashionIQ:
    """One kind and split: its sessions, the gallery, and attributes if the folder has them."""

    kind: str
    split: str
    sessions: tuple[ShopSession, ...]
    gallery: tuple[str, ...]
    attributes: Attributes = field(default_factory=dict)


def session_kinds(folder: Path) -> dict[str, tuple[str, ...]]:
    """Which splits of which kinds a folder has, by its session files: {"all": ("train", "val"), ..}."""
    return list_kinds_and_splits(need_folder(folder) / "data", _SESSION_FILE)


def read_sessions(folder: Path, kind: str, split: str) -> tuple[MultiTurnFashionIQ, ReadReport]:
    """One kind and split of an MT Fashion IQ folder. The report counts sessions.

    Most sessions have two to four turns of two captions. The few with other numbers are kept as they are; of an empty
    caption, or a product that the gallery repeats, only that item is dropped.
    """
    file = need_split_file(need_folder(folder) / "data" / f"{kind}.{split}.json", "*.*.json")
    sessions, gallery, report = _read_records(folder, file, f"{kind}.{split}", _parse_session)
    return MultiTurnFashionIQ(kind, split, sessions, gallery, read_attributes(folder, kind, split)), report


def _parse_session(file: Path, i: int, record: Any, gallery: frozenset[str]) -> tuple[ShopSession, list[Dropped]]:
    """A record `{"target": [url, key], "reference": [[url, captions, key], ...]}`, and its empty captions."""
    shown = need_field(f"{file}: [{i}]", record, "reference", list)
    if not shown:
        raise BadInput(f"{file}: [{i}], field 'reference': at least one turn is needed; write the record again")
    references: list[Reference] = []
    dropped: list[Dropped] = []
    for k, turn in enumerate(shown):
        at = f"[{i}], field 'reference'[{k}]"
        url, captions, key = _need_parts(f"{file}: {at}", turn, "[url, captions, key]", 3)
        said = need_texts(f"{file}: {at}", captions)
        told, empty = _split_captions(f"{file.name}: {at}", said)
        references.append(Reference(_need_in_gallery(gallery, f"{file}: {at}", key), told, url))
        dropped += empty
    target = f"{file}: [{i}], field 'target'"
    url, key = _need_parts(target, record.get("target"), "[url, key]", 2)
    return ShopSession(tuple(references), _need_in_gallery(gallery, target, key), url), dropped


def _need_parts(where: str, value: Any, form: str, count: int) -> list[Any]:
    """The parts of a list that stands for a picture: a url first, a key last."""
    parts = value if isinstance(value, list) else []
    if len(parts) != count or not isinstance(parts[0], str) or not isinstance(parts[-1], str):
        raise BadInput(f"{where}: {form} is needed, this is {str(value)[:60]}; fetch or write the file again")
    return parts


def write_sessions(
    folder: Path,
    kind: str,
    split: str,
    sessions: Iterable[ShopSession],
    gallery: Sequence[str],
    attributes: Mapping[str, Sequence[Sequence[str]]],
) -> None:
    """Write one kind and split in the published layout; no attributes file where `attributes` is empty."""
    records = [
        {
            "target": [session.url, session.target],
            "reference": [[shown.url, list(shown.captions), shown.key] for shown in session.references],
        }
        for session in sessions
    ]
    write_json(folder / "data" / f"{kind}.{split}.json", records)
    write_json(folder / "image_splits" / f"split.{kind}.{split}.json", list(gallery))
    _write_attributes(folder / "attr" / f"asin2attr.{kind}.{split}.new.json", attributes)
