"""Words of captions and catalogue: which pictures have those that were said, and how much that tells.

Pictures and words are compared as vectors, but no vector holds a brand, a model or a number. How much likelier a text
is said of this picture than of another is a mixture of two ways to speak. Most people describe, and then the words of
the catalogue tell nothing; some name, and then nearly all that is said is written there. So a name moves its picture
to the top, and a sentence in which a word happens to be a value moves nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from viewfinder.byte_cache import ByteCache
from viewfinder.encoders.base import Encoder
from viewfinder.query import LikelihoodRatios
from viewfinder.search.verdicts import UNHEARD
from viewfinder.store.rows import FACTS, AttributeColumn
from viewfinder.store.snapshot import Snapshot
from viewfinder.wording.stems import WORD, stem
from viewfinder.wording.stop_words import WITHOUT_CONTENT

NAMING = 0.4
"""The odds that a speaker names the picture rather than describes it."""

SAID_IF_THERE = 0.5
"""The chance that a speaker who names a picture says a word that is written about it."""

SAID_IF_NOT = 0.02
"""How much more rarely a speaker who names a picture says a word that is not written about it than others do."""

SAID_OF_CATALOGUE = 0.8
"""The share of the words of a speaker who names a picture that are written about some picture here."""

SAID_IF_NOWHERE, FREE_WORDS = 0.2, 2
"""The same for a word that is written about no picture here; so many of them cost nothing: "size 42", "elegant"."""

VALUE_GAIN, MAX_VALUE_WORDS = 4.0, 3
"""How much likelier a speaker who names a picture says a whole value of its row ("blue") than a part of one ("turquoise
blue"); words of such values."""

MIN_COVERAGE = 0.05
"""No catalogue is taken to have less of what people say."""

MIN_SAID = 2e-5
"""Words with a smaller share of what people say of pictures are said of none."""

MIN_USUAL, UNUSUAL = 0.02, 1e-3
"""An English word is said at least this often of other pictures; a name, so much more rarely than pictures have it."""

MIN_TELLING = -5.0
"""Log odds of naming below which a text moves nothing: it would be less than a hundredth of a nat."""

MAX_NAMES = 8
"""Names of files in a text of nothing else."""

MIN_NUMBER_DIGITS = 4
"""Digits from which on a number names a thing rather than a size or a count."""

MAX_ROUNDING = 1e-3
"""More than sums of such log odds differ by rounding."""

NAMED_NATS = 30.0
"""How much likelier a file's name is said of its picture than of others: above all that a picture may show."""

WRITTEN_IN_FILES = frozenset(
    ("title", "description", "keywords", "persons", "album", "creator", "place", "city", "region", "country")
)
"""What files tell in people's own words."""

MAX_NAME_PARTS, MIN_NUMBER = 8, 3
"""Parts of a text that may be a file's name, and the letters of a part that has a digit."""

ENDING = re.compile(r"(?<=.)\.[a-z][a-z0-9]{1,4}$")
"""What ends a file's name."""

NUMBER, LETTERS_OR_DIGITS = re.compile(r"\d"), re.compile(r"\d+|\D+")


class WordIndex:
    """Finds pictures by the words in their captions and catalogue rows.

    `blocks` are the entries of blocks of pictures (`pack_entries`), each with its first row. `headings` are the names
    of the columns.
    """

    def __init__(
        self, blocks: Sequence[tuple[int, Int32[np.ndarray, " _p"]]], pictures: int, headings: Iterable[str] = ()
    ) -> None:
        self._blocks = [(start, unpack_entries(packed_p)) for start, packed_p in blocks]
        self._pictures = pictures
        self._headings = frozenset(word for name in headings for word in said_words(name))

    def __len__(self) -> int:
        """The words of all pictures."""
        return sum(len(entries.rows_e) for _, entries in self._blocks)

    def rows(self, word: str) -> Int64[np.ndarray, " k"]:
        """The pictures that have a word, each once; `word` as `written_words` gives it."""
        key = _hash_word(word)
        return np.concatenate([start + entries.find(key) for start, entries in self._blocks])

    def rows_named(self, text: str) -> Int64[np.ndarray, " k"]:
        """The pictures of whose files a text is the name, or a part of it that nobody would say: one with a number.

        Of an index of names (`build_name_entries`).
        """
        named = re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", text.strip())
        if 1 < len(named) <= MAX_NAMES and all(NUMBER.search(name) and " " not in name for name in named):
            found = [self.rows_named(name) for name in named]  # "IMG_0100 and IMG_0200"
            if all(len(rows_k) for rows_k in found):
                return np.unique(np.concatenate(found))
        parts = split_name(text)
        if not 0 < len(parts) <= MAX_NAME_PARTS:
            return np.zeros(0, np.int64)
        whole_k = self.rows(f"={''.join(parts)}")
        if len(whole_k) or not any(len(part) >= MIN_NUMBER and NUMBER.search(part) for part in parts):
            return np.unique(whole_k) if len(whole_k) else whole_k  # it would import masked arrays, 10 ms
        return rows_of_all(np.unique(self.rows(part)) for part in parts)

    def find(self, text: str) -> dict[str, Int64[np.ndarray, " k"]]:
        """The pictures that have each of the `said_words` of a text, but for words that only say which column is meant
        ("sku 10111")."""
        found = {word: self.rows(word) for word in said_words(text)}
        return {word: rows_k for word, rows_k in found.items() if len(rows_k) or word not in self._headings}

    def find_values(self, text: str) -> list[Int64[np.ndarray, " k"]]:
        """The pictures that have what a text says as a whole value of their rows, a list a value; the longest values
        first, none of which overlaps another."""
        words, found = said_words(text), []
        taken: set[int] = set()
        for length in range(min(MAX_VALUE_WORDS, len(words)), 0, -1):
            for at in range(len(words) - length + 1):
                span = range(at, at + length)
                rows_k = self.rows(_join_value(words[at : at + length])) if taken.isdisjoint(span) else ()
                if len(rows_k):
                    found.append(np.asarray(rows_k))
                    taken.update(span)
        return found

    def measure_coverage(self, shares: Mapping[str, float]) -> float:
        """The share of what people say of pictures that is written about some picture here.

        `shares`: how often people say each word, as log10; 1 where that is not known.
        """
        said = {word: 10.0**share for word, share in shares.items() if word not in WITHOUT_CONTENT}
        written = sum(share for word, share in said.items() if len(self.rows(word)))
        return written / sum(said.values()) if said else 1.0

    def likelihood_ratios(
        self,
        found_by_word: Mapping[str, Int64[np.ndarray, " _k"]],
        share_of: Callable[[str], float],
        coverage: float = 1.0,
        values: Sequence[Int64[np.ndarray, " _k"]] = (),
    ) -> LikelihoodRatios | None:
        """How much likelier a text means each picture than a text that describes nothing of it would, in nats, >= 0.

        `found_by_word`: what `find` says of the text; None if no word of it is written about any picture. `share_of`:
        how often people say a word at all. `coverage`: the share of what people say of pictures that is written here
        (`measure_coverage`): where little of it is, somebody who says only such words has the catalogue in mind.
        `values`: as `find_values` has them.
        """
        found = []
        for word, rows_k in found_by_word.items():
            if len(rows_k):
                said, share = share_of(word), len(rows_k) / self._pictures
                # What people say of pictures is no name, so the list of English need not be asked.
                is_own = said < MIN_SAID and is_name(word)
                usual = max(said, share) * UNUSUAL if is_own else max(said, share, MIN_USUAL)
                found.append((float(np.log(SAID_IF_THERE / usual) - np.log(SAID_IF_NOT)), rows_k))
        if not found:
            return None
        # The most telling words first: once the rest could not matter alone, only pictures with one of the earlier
        # count.
        written, nowhere = len(found), len(found_by_word) - len(found)
        found += [(float(np.log(VALUE_GAIN)), rows_k) for rows_k in values]
        found.sort(key=lambda gain: -gain[0])
        strange = max(nowhere - FREE_WORDS, 0)
        names = written * max(float(np.log(SAID_OF_CATALOGUE / max(coverage, MIN_COVERAGE))), 0.0)
        nothing = float(names + np.log(NAMING) + written * np.log(SAID_IF_NOT) + strange * np.log(SAID_IF_NOWHERE))
        rest = sum(gain for gain, _ in found)
        if nothing + rest < MIN_TELLING - MAX_ROUNDING:  # not even a picture with all these words
            return LikelihoodRatios(np.zeros(0, np.float32), np.zeros(0, np.int64))
        naming_n = np.full(self._pictures, nothing, np.float32)
        hopeful_k: Int64[np.ndarray, " k"] | None = None
        for gain, rows_k in found:
            if nothing + rest < MIN_TELLING and hopeful_k is None:
                hopeful_k = np.flatnonzero(naming_n > nothing)
            if hopeful_k is None or len(rows_k) < len(hopeful_k):
                naming_n[rows_k] += np.float32(gain)
            else:
                place_k = np.minimum(np.searchsorted(rows_k, hopeful_k), len(rows_k) - 1)
                naming_n[hopeful_k[rows_k[place_k] == hopeful_k]] += np.float32(gain)
            rest -= gain
        telling_k = np.flatnonzero(naming_n > MIN_TELLING)
        nats_k = np.log1p(np.exp(naming_n[telling_k].astype(np.float64))).astype(np.float32)
        return LikelihoodRatios.of(nats_k, telling_k, self._pictures)


@dataclass(frozen=True, eq=False)
class Entries:
    """Words of a block of pictures: the keys of all words, ascending, and the rows of the pictures that have each,
    ascending: those of word `at` are `rows_e[starts[at]:starts[at + 1]]`."""

    keys_u: Int64[np.ndarray, " u"]
    starts: Int32[np.ndarray, " bounds"]
    rows_e: Int32[np.ndarray, " e"]

    def find(self, key: int) -> Int64[np.ndarray, " k"]:
        """The rows that have a word."""
        at = int(self.keys_u.searchsorted(key))
        if at == len(self.keys_u) or self.keys_u[at] != key:
            return np.zeros(0, np.int64)
        return self.rows_e[self.starts[at] : self.starts[at + 1]].astype(np.int64)


def unpack_entries(packed_p: Int32[np.ndarray, " p"]) -> Entries:
    """The entries in an array of `pack_entries`, which are views into it."""
    words = int(packed_p[0])
    keys_u, starts = packed_p[2 : 2 + 2 * words].view(np.int64), packed_p[2 + 2 * words : 3 + 3 * words]
    return Entries(keys_u, starts, packed_p[3 + 3 * words :])


@dataclass(frozen=True, eq=False)
class WeighedText:
    """A text looked up in what is written about the pictures.

    `rows_of_all`: the pictures of which all words of the text are written; None if it has none that may be names.
    """

    ratios: LikelihoodRatios | None
    rows_of_all: Int64[np.ndarray, " k"] | None


class WrittenWords:
    """What people wrote about the pictures of a snapshot, and how their files are called, looked up for texts.

    `encoder` knows how often people say a word of a picture. Texts that were looked up are kept in `memory`.
    """

    def __init__(self, snapshot: Snapshot, encoder: Encoder, memory: ByteCache) -> None:
        self._snapshot, self._encoder, self._memory = snapshot, encoder, memory

    @cached_property
    def words(self) -> WordIndex | None:
        """The words written about the pictures; None if there are none."""
        headings = set(self._snapshot.columns()) - set(FACTS) - self._snapshot.file_columns
        index = WordIndex(self._snapshot.derived_by_block("words-5", build_entries), len(self._snapshot), headings)
        return index if len(index) else None

    @cached_property
    def file_names(self) -> WordIndex:
        """The names of the pictures' files."""
        return WordIndex(self._snapshot.derived_by_block("names-2", build_name_entries), len(self._snapshot))

    def weigh_text(self, text: str) -> WeighedText:
        """How much likelier a text is said of each picture given what is written about it."""
        return self._memory.remember(text, lambda: self._weigh(text))

    def find_rows_of_all(self, texts: Sequence[str]) -> Int64[np.ndarray, " k"]:
        """The pictures of which all words of the texts are written."""
        found = [rows_k for text in texts if (rows_k := self.weigh_text(text).rows_of_all) is not None]
        return rows_of_all(found)

    def _weigh(self, text: str) -> WeighedText:
        named_k, pictures, written_k = self.file_names.rows_named(text), len(self._snapshot), None
        ratios: LikelihoodRatios | None = None
        if self.words is not None:
            known, found = self._familiar, self.words.find(text)
            ratios = self.words.likelihood_ratios(
                found, lambda word: 10.0 ** known.get(word, UNHEARD), self._coverage, self.words.find_values(text)
            )
            written_k = rows_of_all(found.values()) if found else None
            if not len(named_k) and written_k is not None and known and known.keys().isdisjoint(found):
                named_k = written_k  # a name, or another language: what the encoder makes of it says nothing
        if len(named_k):
            return WeighedText(add_named(ratios, named_k, pictures), named_k)
        return WeighedText(ratios, written_k)

    @property
    def _familiar(self) -> Mapping[str, float]:
        calibration = self._encoder.calibration
        return {} if calibration is None else calibration.familiar

    @cached_property
    def _coverage(self) -> float:
        """The share of what people say of pictures that is written about these."""
        return 1.0 if self.words is None else self.words.measure_coverage(self._familiar)


def is_name(word: str) -> bool:
    """Whether a word, as `said_words` gives it, is one of a thing's own: a long number, or no English word.

    >>> [is_name(word) for word in ("velmora", "10111", "42", "siz", "handbag")]
    [True, True, False, False, False]
    """
    if word.isdigit():
        return len(word) >= MIN_NUMBER_DIGITS
    from viewfinder.wording.lexicon import is_english_word

    return not any(is_english_word(word + ending) for ending in ("", "e", "s", "y", "ed", "ing"))


def add_named(
    ratios: LikelihoodRatios | None, named_k: Int64[np.ndarray, " k"], pictures: int
) -> LikelihoodRatios | None:
    """The ratios of a text that is also the name of these of so many pictures."""
    if not len(named_k):
        return ratios
    total_n = np.zeros(pictures, np.float32)
    if ratios is not None:
        ratios.add_to(total_n, 1.0)
    total_n[named_k] += np.float32(NAMED_NATS)
    telling_k = np.flatnonzero(total_n)
    return LikelihoodRatios.of(total_n[telling_k], telling_k, pictures)


def rows_of_all(found: Iterable[Int64[np.ndarray, " _k"]]) -> Int64[np.ndarray, " k"]:
    """The pictures that are in all of some lists of rows; none if there are no lists."""
    shortest_first = sorted(found, key=len)
    rows_k = shortest_first[0] if shortest_first else np.zeros(0, np.int64)
    for more_m in shortest_first[1:]:
        if not len(rows_k):
            break
        rows_k = rows_k[np.isin(rows_k, more_m, assume_unique=True)]
    return rows_k


def build_entries(snapshot: Snapshot) -> Int32[np.ndarray, " p"]:
    """A block's entries in a `WordIndex`: captions, catalogue columns except those that files fill as well, and what
    people wrote into files.

    Also the names of files that have catalogue rows: a shop names them by the number or the code of the product.
    """
    of_files = snapshot.file_columns
    catalogue = [snapshot.column(name) for name in set(snapshot.columns()) - set(FACTS) - of_files]
    keys, rows = _list_column_words(catalogue, as_values=True)
    for row in np.unique(np.concatenate(rows)).tolist():
        found = [_hash_word(word) for path in snapshot.paths(row) for word in written_words(Path(path).stem)]
        keys.append(np.array(found, np.int64))
        rows.append(np.full(len(found), row))
    told_keys, told_rows = _list_column_words([snapshot.column(name) for name in WRITTEN_IN_FILES & of_files])
    keys, rows = keys + told_keys, rows + told_rows
    for row in range(len(snapshot) if snapshot.has_captions else 0):
        found = [_hash_word(word) for caption in snapshot.captions(row) for word in written_words(caption)]
        keys.append(np.array(found, np.int64))
        rows.append(np.full(len(found), row))
    return pack_entries(np.concatenate(keys), np.concatenate(rows))


def build_name_entries(snapshot: Snapshot) -> Int32[np.ndarray, " p"]:
    """A block's entries in an index of the names of files, by which they are found whole or in part."""
    found = [
        (_hash_word(part), row)
        for row in range(len(snapshot))
        for path in snapshot.paths(row)
        for part in name_parts(path)
    ]
    keys_e, rows_e = np.array(found, np.int64).reshape(-1, 2).T
    return pack_entries(keys_e, rows_e)


def build_column_entries(columns: Sequence[AttributeColumn]) -> Int32[np.ndarray, " p"]:
    """A block's entries in an index of the words in these columns alone."""
    keys, rows = _list_column_words(columns)
    return pack_entries(np.concatenate(keys), np.concatenate(rows))


def pack_entries(keys_e: Int64[np.ndarray, " e"], rows_e: Int64[np.ndarray, " e"]) -> Int32[np.ndarray, " p"]:
    """Entries by key, then by row, each once, in one array that can be stored beside a snapshot and mapped.

    Most words are those of many pictures: a key for each of these would take most of the memory. First the number of
    words, then their keys, where the rows of each begin, and the rows.
    """
    order_e = np.lexsort((rows_e, keys_e))
    keys_e, rows_e = keys_e[order_e], rows_e[order_e]
    is_new_e = np.ones(len(keys_e), bool)
    is_new_e[1:] = (keys_e[1:] != keys_e[:-1]) | (rows_e[1:] != rows_e[:-1])
    keys_u, starts = np.unique(keys_e[is_new_e], return_index=True)
    bounds = np.append(starts, np.count_nonzero(is_new_e)).astype(np.int32)
    head, keys = np.array([len(keys_u), 0], np.int32), keys_u.astype(np.int64).view(np.int32)
    return np.concatenate([head, keys, bounds, rows_e[is_new_e].astype(np.int32)])


def _list_column_words(
    columns: Sequence[AttributeColumn], *, as_values: bool = False
) -> tuple[list[Int64[np.ndarray, " _e"]], ...]:
    """The keys of the words in some columns, and the rows of the pictures that have them; `as_values`: and of whole
    values."""
    keys, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for column in columns:
        # First the words of each value, once; then those of each picture.
        keys_v = [[_hash_word(word) for word in _list_entries(value, as_values=as_values)] for value in column.values]
        count_v = np.array([len(found) for found in keys_v], np.int64)
        first_v, count_c = np.cumsum(count_v) - count_v, count_v[column.codes]
        place_e = np.arange(count_c.sum()) + np.repeat(first_v[column.codes] - np.cumsum(count_c) + count_c, count_c)
        keys.append(np.array(list(chain.from_iterable(keys_v)), np.int64)[place_e])
        rows.append(np.repeat(column.rows, count_c))
    return keys, rows


def _list_entries(value: str, *, as_values: bool) -> Iterator[str]:
    yield from written_words(value)
    words = said_words(value) if as_values else []
    if 0 < len(words) <= MAX_VALUE_WORDS:
        yield _join_value(words)


def _join_value(words: Sequence[str]) -> str:
    return f"={' '.join(words)}"


def name_parts(name: str) -> Iterator[str]:
    """What a file's name can be found by: the whole, marked as such, and each part of it.

    >>> list(name_parts("IMG_0398.JPG")), list(name_parts("dsc01234.jpg"))
    (['=img0398', 'img', '0398', '398'], ['=dsc01234', 'dsc01234', 'dsc', '01234', '1234'])
    """
    parts = split_name(name)
    yield f"={''.join(parts)}"
    for part in parts:
        yield part
        for run in LETTERS_OR_DIGITS.findall(part):
            if run != part:
                yield run
            if run[0] == "0":
                yield run.lstrip("0")


def split_name(name: str) -> list[str]:
    """The parts of a file's name, or of what somebody typed for one, without folders and an ending.

    >>> split_name("holiday/IMG_0398.JPG"), split_name("img 0398")
    (['img', '0398'], ['img', '0398'])
    """
    last = name.strip().strip("\"'").replace("\\", "/").rpartition("/")[2].casefold()
    return WORD.findall(ENDING.sub("", last))


def written_words(text: str) -> Iterator[str]:
    """The words of a text without inflection, and also joined into one where marks separate them; a single letter only
    with the word it is attached to.

    >>> list(written_words("Men's WR-200 watches")), list(written_words("T-Shirt"))
    (['man', 's', 'man', 'wr', '200', 'wr200', 'watch'], ['tshirt'])
    """
    for piece in text.casefold().split():
        words = WORD.findall(piece)
        if not (len(words) == 2 and len(words[0]) == 1 and words[0].isalpha()):
            yield from map(stem, words)
        if len(words) > 1:
            yield stem("".join(words))


def said_words(text: str) -> list[str]:
    """The words of a text that may be names, each once; a single letter counts with the word it is attached to.

    >>> said_words("a v-neck T-Shirt, size 7, of Levi's")
    ['vneck', 'tshirt', 'siz', '7', 'levi']
    """
    found: list[str] = []
    for piece in text.casefold().split():
        words = WORD.findall(piece)
        found += map(stem, ["".join(words)] if len(words) == 2 and len(words[0]) == 1 else words)
    named = (word for word in found if word not in WITHOUT_CONTENT and (len(word) > 1 or word.isdigit()))
    return list(dict.fromkeys(named))


@lru_cache(maxsize=65_536)
def _hash_word(word: str) -> int:
    # 62 bits: the key and the one after it fit into 64 with a sign.
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 2
