"""Tuning: fits a head on captions or catalogue columns of the user's own pictures, in minutes on a CPU.

Words that hold for many pictures of a collection are taught individually, besides whole captions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from viewfinder.data.matching import FileIndex
from viewfinder.data.picture_entries import PictureEntry
from viewfinder.data.picture_keys import PictureFinder
from viewfinder.encoders.base import Encoder
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head
from viewfinder.encoders.starter.fit import BANK_OF_OWN, OWN_TEMPERATURE, CaptionedVectors, HeadCorrection
from viewfinder.encoders.tuned import TunedEncoder, WordHead
from viewfinder.encoders.vectors import check_rows, check_texts
from viewfinder.errors import BadInput
from viewfinder.metrics import mean_reciprocal_rank, recall_at, target_ranks
from viewfinder.pictures import DecodedFile, Decoders
from viewfinder.pictures.scan import scan
from viewfinder.processors import count_processors
from viewfinder.query import Query
from viewfinder.search.gallery import Gallery
from viewfinder.search.own_scale import read_sayings
from viewfinder.store.descriptions import list_ids, read_tables
from viewfinder.store.store import Store
from viewfinder.tuning.verdicts import Written, calibrate_collection
from viewfinder.tuning.word_maps import CaptionedWords, WordMaps, choose_map
from viewfinder.wording.product_columns import PRODUCT

LABEL_SHARE = (0.002, 0.5)
"""A word is a label if the share of the pictures that it holds for is within these bounds ..."""

MIN_LABELLED = 10
"""... and for at least so many: two pictures do not make a kind of thing (small collections: a third of them)."""

NUMBER = re.compile(r"[\d.,:/ -]+")
"""A catalogue value that is not a word."""

_LITTLE_WORDS_TEXT = """
the and with for from into onto out off over under near next its his her their this that these those are was were has
have had one two three who which what while there here some any all other another each very being been but not him she
they them you your our through around behind front top down along across
"""
_LITTLE_WORDS = frozenset(_LITTLE_WORDS_TEXT.split())
"""Words that say nothing about a picture on their own."""


def add_labels(
    kind: CaptionedVectors, encoder: StarterEncoder, said: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> CaptionedVectors:
    """The kind together with the words that hold for many of its pictures; `said` as in `find_labels`."""
    labels, holds_nl = find_labels(said)
    if not labels:
        return kind
    return replace(kind, labels=tuple(labels), labels_ls=encoder.sentences(labels), holds_nl=holds_nl)


def find_labels(said: Sequence[tuple[Sequence[str], Sequence[str]]]) -> tuple[list[str], Bool[np.ndarray, "n l"]]:
    """Words of texts, and whole catalogue values, that hold for a fair share of the pictures.

    They teach the head what single words such as colours mean; whole names alone do not.

    >>> find_labels([(["Red shirt"], ["Men"]), (["Red dress"], ["Women"]), (["Blue hat"], ["Men"])])[0]
    ['blue', 'dress', 'hat', 'shirt', 'women']
    """
    words_n = [
        ({word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text.lower())} - _LITTLE_WORDS)
        | {value.lower() for value in values}
        for texts, values in said
    ]
    count = Counter(word for words in words_n for word in words)
    least = max(LABEL_SHARE[0] * len(said), min(MIN_LABELLED, len(said) / 3))
    most = LABEL_SHARE[1] * len(said)
    labels = sorted(word for word, held in count.items() if least <= held <= most)
    holds_nl = np.array([[label in words for label in labels] for words in words_n], dtype=bool)
    return labels, holds_nl.reshape(len(said), len(labels))


Tell = Callable[[str], None]

RIDGES = (3.0, 1.0, 0.3, 0.1, 0.03)
"""How closely a head keeps to what it knew while it learns a collection; small: learnt pictures lie at their texts.
Below the last value, pictures that share a kind and a colour are found less well."""

FOLDS = 5
MAX_COMPARED = 4000
"""Maximum number of pictures on which that is chosen."""

MIN_CAPTIONED = 20
"""With fewer captioned pictures there is nothing to hold out and compare with."""


class TunableLibrary(Protocol):
    """The library to tune: a `viewfinder.library.Library`, which is a layer higher and calls `tune`."""

    @property
    def store(self) -> Store:
        """The pictures and their raw vectors."""

    @property
    def encoder(self) -> Encoder:
        """The encoder with its current head."""

    def gallery(self) -> Gallery:
        """Its pictures in the form in which they are searched."""

    def use_head(self, head: Head | WordHead | None) -> None:
        """Switches to another head; None is the encoder's own."""


@dataclass(frozen=True)
class TuneReport:
    """The result of `tune`: which head is kept, and how many texts find their picture first, with each head.

    `own` counts the pictures that were learnt, `held_out` pictures that were not (by cross-validation): what a new one
    gains. Both are searched as the library searches: also by captions or a catalogue, if it has them. `others_lose`:
    whether every other head than the shipped one finds new pictures less well.
    """

    pictures: int
    texts: int
    chosen: str
    own: dict[str, float]
    held_out: dict[str, float]
    space: str
    others_lose: bool


def tune(
    library: TunableLibrary,
    *,
    captions: Path | None = None,
    catalogue: Path | None = None,
    key: str | Sequence[str] | None = None,
    report: Tell | None = None,
) -> TuneReport:
    """Learns the pictures of a library from captions or catalogue columns; switches if new ones gain too.

    The new space is built beside the present one from stored raw vectors, without reading a picture again; the switch
    is one atomic step, and `Library.switch_back` undoes it. `key` names the column that tells the picture.

    Of the starter, pictures and words are moved, and what scores mean is learnt; of other encoders, words alone.

    Raises:
        BadInput: too few captioned pictures, or a damaged table.
    """
    tell = report or (lambda line: None)
    encoder = library.encoder
    said = _read_texts(library, captions, catalogue, key, tell)
    if len(said) < MIN_CAPTIONED:
        raise BadInput(f"{len(said)} pictures with captions were found; tuning needs at least {MIN_CAPTIONED}")
    tell(f"{sum(len(texts) for texts, _ in said.values())} texts of {len(said)} pictures")
    if not isinstance(encoder, StarterEncoder):
        return _tune_words(library, encoder.untuned if isinstance(encoder, TunedEncoder) else encoder, said, tell)
    kind, paths = _encode_captioned(library, encoder, said)
    shipped = StarterEncoder().head  # a head tuned before has seen what is held out here
    tell("how closely to follow them: tried on pictures that are learnt and on others")
    chosen = choose_ridge(shipped, kind, lambda rows_k: _find_written(library, [paths[row] for row in rows_k.tolist()]))
    head = shipped
    if chosen.ridge is not None:
        head = _set_vocabulary(HeadCorrection(shipped, kind).head_with(chosen.ridge), kind)
    if shipped.calibration is not None:
        tell("what scores mean on these pictures")
        asked, files = kind.of(chosen.rows_k), [paths[row] for row in chosen.rows_k.tolist()]
        values = [said[file][1] or held for file, held in zip(files, _list_labels(asked), strict=True)]
        calibration = calibrate_collection(
            shipped.calibration, head, encoder.sentences, asked, chosen.new, values, chosen.written
        )
        head = replace(head, calibration=calibration)
    tell("the space of all pictures")
    library.use_head(head)
    name = "shipped" if chosen.ridge is None else "tuned"
    space = library.encoder.version
    return TuneReport(len(kind), len(kind.captions_ms), name, chosen.own, chosen.held_out, space, chosen.others_lose)


def _tune_words(library: TunableLibrary, encoder: Encoder, said: Mapping[Path, PictureTexts], tell: Tell) -> TuneReport:
    """Moves the words of an encoder that is not the starter; a head of before has seen what is held out here."""
    paths, raw_nr = _read_raw(library, encoder, said)
    texts = [(owner, text) for owner, path in enumerate(paths) for text in said[path][0]]
    words = [text for _, text in texts]
    kind = CaptionedWords(
        check_rows(encoder.project(raw_nr), len(paths), encoder).astype(np.float32),
        check_texts(encoder.words(words), words, encoder).astype(np.float32),
        np.array([owner for owner, _ in texts], np.int64),
    )
    tell("how closely to follow them: tried on pictures that are learnt and on others")
    rows_k = np.sort(np.random.default_rng(0).permutation(len(kind))[:MAX_COMPARED])
    compared, asked = kind.of(rows_k)
    written = _find_written(library, [paths[row] for row in rows_k.tolist()])
    if written is not None:
        nats = [written(words[at]) for at in asked.tolist()]
        nothing_k = np.zeros(len(rows_k), np.float32)
        compared = replace(compared, adds_mn=np.stack([nothing_k if one is None else one for one in nats]))
    sayings_bd = np.asarray(encoder.words(read_sayings()), np.float32)
    chosen = choose_map(compared, sayings_bd, encoder.version, sharpness=Query(()).sharpness)
    name, head = "shipped", None
    if chosen.ridge is not None:
        tell("the space of all pictures")
        name, head = "tuned", WordMaps(kind, encoder.version).head_with(chosen.ridge)
    if head is not None or isinstance(library.encoder, TunedEncoder):
        library.use_head(head)
    space = library.encoder.version
    return TuneReport(len(kind), len(words), name, chosen.own, chosen.held_out, space, chosen.others_lose)


@dataclass(frozen=True, eq=False)
class RidgeChoice:
    """How strongly to correct a head, None: not at all; and what was compared.

    `rows_k` are the pictures that it was chosen on, `new` their vectors and backgrounds as if new to it, `written` the
    library's texts about them.
    """

    ridge: float | None
    own: dict[str, float]
    held_out: dict[str, float]
    rows_k: Int[np.ndarray, " k"]
    new: tuple[Float[np.ndarray, "k d"], Float[np.ndarray, " k"]]
    written: Written | None
    others_lose: bool = True
    """Whether all other corrections than none make new pictures harder to find."""


def choose_ridge(
    shipped: Head,
    kind: CaptionedVectors,
    written_of: Callable[[Int[np.ndarray, " k"]], Written | None],
    *,
    seed: int = 0,
) -> RidgeChoice:
    """The correction that finds own and new pictures best together, new ones never worse than before.

    A picture counts as new if it is in another fold than those learnt; it is sought among all the others as learnt.
    """
    rng = np.random.default_rng(seed)
    rows_k = np.sort(rng.permutation(len(kind))[:MAX_COMPARED])
    compared = kind.of(rows_k)
    fold_k = rng.permutation(len(compared)) % FOLDS
    correction = HeadCorrection(shipped, compared)
    before_kd, texts_md = shipped.pictures(compared.raw_vnr[0]), correction.texts_md
    fold_m = fold_k[compared.owners_m]
    # The same share of the texts as the head will know of all.
    known_m = rng.random(len(texts_md)) < BANK_OF_OWN / len(kind.captions_ms)
    adds_mk = np.zeros((len(texts_md), len(compared)), np.float32)
    if (written := written_of(rows_k)) is not None:
        for at, text in enumerate(compared.texts):
            if (nats_k := written(text)) is not None:
                adds_mk[at] = nats_k / Query(()).sharpness

    def found(
        head: Head, learnt_kd: Float[np.ndarray, "k d"], new_kd: Float[np.ndarray, "k d"]
    ) -> tuple[float, float, Float[np.ndarray, " k"]]:
        """The share of texts that find their picture first, the mean reciprocal rank, and the fold's backgrounds."""
        ranks, background_k = [], np.zeros(len(compared), np.float32)
        for fold in range(FOLDS):
            seen_kd = np.where((fold_k == fold)[:, None], new_kd, learnt_kd)
            if head is not shipped:
                head = replace(head, bank_md=texts_md[known_m & ((fold_m != fold) | (new_kd is learnt_kd))])
            seen_k = head.background(seen_kd)
            background_k[fold_k == fold] = seen_k[fold_k == fold]
            scores_mk = texts_md[fold_m == fold] @ seen_kd.T - seen_k + adds_mk[fold_m == fold]
            ranks.append(target_ranks(scores_mk, compared.owners_m[fold_m == fold]))
        ranks_m = np.concatenate(ranks)
        return float(recall_at(1, ranks_m)), mean_reciprocal_rank(ranks_m), background_k

    tuned = replace(shipped, bank_temperature=OWN_TEMPERATURE)
    first, reciprocal, before_k = found(shipped, before_kd, before_kd)
    best = (
        reciprocal * 2,
        RidgeChoice(None, {"shipped": first}, {"shipped": first}, rows_k, (before_kd, before_k), written),
    )
    others_lose = True
    for ridge in RIDGES:
        learnt_kd, new_kd = correction.learnt_and_new(ridge, fold_k)
        own_first, own, _ = found(tuned, learnt_kd, learnt_kd)
        new_first, new, new_k = found(tuned, learnt_kd, new_kd)
        if new < reciprocal or new_first < first:
            continue
        others_lose = False
        if own + new > best[0]:
            figures = {"shipped": first, "tuned": own_first}, {"shipped": first, "tuned": new_first}
            best = own + new, RidgeChoice(ridge, *figures, rows_k, (new_kd, new_k), written)
    return replace(best[1], others_lose=others_lose)


def _set_vocabulary(head: Head, kind: CaptionedVectors) -> Head:
    """The head whose vocabulary is the words that hold for many pictures of the collection, if there are any."""
    if kind.labels_ls is None:
        return head
    return replace(head, labels=kind.labels, labels_ld=head.sentences(kind.labels_ls, kind.labels)).rounded()


def _list_labels(kind: CaptionedVectors) -> list[list[str]]:
    """The labels that hold for each picture."""
    if kind.holds_nl is None:
        return [[] for _ in range(len(kind))]
    return [[kind.labels[at] for at in np.flatnonzero(holds_l)] for holds_l in kind.holds_nl]


def _find_written(library: TunableLibrary, paths: Sequence[Path]) -> Written | None:
    """The library's own texts about these pictures; None if there are none, or if some pictures are not in it."""
    gallery = library.gallery()
    ids = {file.path: row.id for row in library.store.rows() for file in row.files}
    found = gallery.snapshot.rows_of(ids.get(str(path), "") for path in paths)
    rows = [row for row in found if row is not None]
    known = gallery.written
    if known is None or known.words is None or len(rows) < len(paths):
        return None

    def written(text: str) -> Float32[np.ndarray, " n"] | None:
        ratios = known.weigh_text(text).ratios
        return None if ratios is None else ratios.at(np.array(rows, np.int64))

    return written


PictureTexts = tuple[list[str], list[str]]
"""Texts about a picture, and catalogue values that hold for it."""


def _read_texts(
    library: TunableLibrary, captions: Path | None, catalogue: Path | None, key: str | Sequence[str] | None, tell: Tell
) -> dict[Path, PictureTexts]:
    """The texts and values of the tables, by file: pictures of the library, or else files beside the table."""
    rows = library.store.rows()
    there, ids = [Path(file.path) for row in rows for file in row.files], list_ids(rows)
    said: dict[Path, PictureTexts] = {}
    for table in read_tables(captions, catalogue, key):
        finder = table.finder(there, ids)
        entries, left_out = table.read_entries(finder)
        for note in table.note_left_out(left_out):
            tell(note)
        plain = [{name: ", ".join(cell) for name, cell in it.values.items() if cell} for it in entries]
        prose = prose_columns(plain)
        for path, positions in _match_files(entries, finder).items():
            texts, values = said.setdefault(path, ([], []))
            for at in positions:
                texts += entries[at].captions
                if table.kind == "captions":
                    continue
                told = [(name, one) for name, cell in entries[at].values.items() if name != PRODUCT for one in cell]
                known = [one for name, one in told if name not in prose and not NUMBER.fullmatch(one)]
                values += known
                texts += [cell for name, cell in plain[at].items() if name in prose] or [" ".join(known)]
    return said


def _match_files(entries: Sequence[PictureEntry], finder: PictureFinder) -> dict[Path, list[int]]:
    """Positions of the entries by file; files beside the table are used if the library has none of that name."""
    named = [(key, at) for at, entry in enumerate(entries) for key in entry.keys]
    found = finder.index.match([key for key, _ in named])
    files = {path: [named[it][1] for it in positions] for path, positions in found.files.items()}
    if found.unmatched and finder.folder is not None:
        beside = replace(finder, index=FileIndex(file.path for file in scan([finder.folder.resolve()]).files), ids={})
        lost = [(key, named[it][1]) for it in found.unmatched for key in beside.find(named[it][0])]
        for path, positions in beside.index.match([key for key, _ in lost]).files.items():
            files.setdefault(path, []).extend(lost[it][1] for it in positions)
    return files


def prose_columns(rows: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """Columns of free text per row (names, descriptions) rather than of values chosen from a few."""
    values: dict[str, list[str]] = {}
    for row in rows:
        for name, cell in row.items():
            values.setdefault(name, []).append(cell)
    many = {name: sum(len(cell.split()) > 1 for cell in cells) for name, cells in values.items()}
    return frozenset(n for n, cells in values.items() if min(len(set(cells)), many[n]) > len(cells) / 2)


def _encode_captioned(
    library: TunableLibrary, encoder: StarterEncoder, said: Mapping[Path, PictureTexts]
) -> tuple[CaptionedVectors, list[Path]]:
    """Raw vectors of the pictures, sentence vectors of texts; the files."""
    paths, raw_nr = _read_raw(library, encoder, said)
    texts = [said[path][0] for path in paths]
    owners_m = np.repeat(np.arange(len(paths)), [len(found) for found in texts])
    captions = tuple(text for found in texts for text in found)
    kind = CaptionedVectors(raw_nr[None], encoder.sentences(captions), owners_m, captions)
    return add_labels(kind, encoder, [said[path] for path in paths]), paths


def _read_raw(
    library: TunableLibrary, encoder: Encoder, said: Mapping[Path, PictureTexts]
) -> tuple[list[Path], Float32[np.ndarray, "n raw"]]:
    """The files, and their raw vectors: stored ones if the library has them."""
    ids = {file.path: row.id for row in library.store.rows() for file in row.files}
    known = [path for path in said if str(path) in ids]
    stored_nr = library.store.read_vectors_of(encoder.raw_version, [ids[str(path)] for path in known])
    raw = dict(zip(known, stored_nr.astype(np.float32), strict=True))
    if others := [path for path in said if path not in raw]:
        # Files outside the library; those that are not pictures are left out.
        with Decoders(count_processors(), fit=encoder.fit) as decoders:
            for outcome in decoders.decode(others):
                if isinstance(outcome, DecodedFile):
                    raw[outcome.path] = encoder.pictures([outcome.pixels]).global_bd[0]
    paths = sorted(raw)
    return paths, np.stack([raw[path] for path in paths])
