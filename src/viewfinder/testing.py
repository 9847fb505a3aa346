"""Parts for tests, ours and other people's: an encoder that knows only colours, pictures it can tell apart, contracts.

`check_retriever` and its like check a part of another package against the contract that ours keep; they need no test
runner.

`ColourEncoder` is a whole encoder in a few lines: no model, no network, the same numbers everywhere. A picture is
the mean colours of a 4 x 4 grid; words are the colours they name ("red", "red over blue").
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float16
from PIL import Image

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show
from viewfinder.data import ReadReport
from viewfinder.encoders.base import REGIONS, Calibration, Encoded, Encoder, Pixels, Vocabulary, grid_boxes, unit_rows
from viewfinder.encoders.scale import BOX, Scale
from viewfinder.pictures import Fit, Stretch, picture_id
from viewfinder.pictures.formats import PictureReader, detect_format
from viewfinder.query import Reads, ResolvedTurn, SentenceEncoder
from viewfinder.questioners.base import Candidates, Questioner
from viewfinder.retrievers import AnsweringRetriever, Retriever, RetrieverClass, load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_picture
from viewfinder.search.scores import score_all
from viewfinder.store.rows import FileRecord, PictureRow
from viewfinder.store.snapshot import Snapshot

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (230, 20, 20),
    "green": (20, 200, 20),
    "blue": (20, 20, 230),
    "yellow": (235, 225, 20),
    "purple": (150, 20, 200),
    "orange": (240, 130, 20),
    "white": (250, 250, 250),
    "black": (5, 5, 5),
}
GRID = 4
FINE = 12
"""Pixels per side that are read: a multiple of both grids, 4 x 4 and the 6 x 6 of regions."""
RAW_WIDTH = GRID * GRID * 3


@dataclass(frozen=True)
class ColourEncoder:
    """Pictures and colour words in one space of 48 numbers; `channels` weights red, green and blue, as a head would."""

    name: str = "colours"
    channels: tuple[float, float, float] = (1.0, 1.0, 1.0)
    calibration: Calibration | None = None
    vocabulary: Vocabulary | None = None
    raw_version: str = "colours-raw-1"
    sentences_version: str = "colours-said-1"
    scale: ClassVar[Scale] = BOX  # what is tested with it holds for the encoder in the box
    fit: Fit = Stretch(FINE)  # noqa: RUF009 (frozen)

    @property
    def version(self) -> str:
        """Other weights of the channels are another space."""
        return f"{self.raw_version}-" + "-".join(f"{weight:g}" for weight in self.channels)

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        """Mean colours, from -0.5 to 0.5: of a 4 x 4 grid (b 48), and of a 6 x 6 grid as regions (b 36 3)."""
        if not batch:
            return Encoded(np.zeros((0, RAW_WIDTH), np.float32))
        raw_bd = np.stack([_mean_colours(pixels, GRID).reshape(-1) for pixels in batch])
        return Encoded(raw_bd, np.stack([_mean_colours(pixels, 6) for pixels in batch]) if regions else None)

    def project(self, raw_nd: Float[np.ndarray, "n raw"]) -> Float[np.ndarray, "n d"]:
        """Unit vectors, each channel weighted."""
        return unit_rows(np.asarray(raw_nd, np.float32) * np.tile(np.array(self.channels, np.float32), GRID * GRID))

    def words(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """The vector of a picture in the named colours; a text that names none points in a direction of its own."""
        return self.project(np.array([_said(text) for text in texts], np.float32).reshape(-1, RAW_WIDTH))

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        """`words` with all channels weighted equally."""
        return unit_rows(np.array([_said(text) for text in texts], np.float32).reshape(-1, RAW_WIDTH))

    def region_boxes(self, width: int, height: int) -> Float[np.ndarray, "r 4"]:
        """A grid of 6 x 6."""
        return grid_boxes(width, height)

    def background(self, pictures_nd: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The mean likeness to all colours."""
        mean_n: Float[np.ndarray, " n"] = pictures_nd @ self.words(list(COLOURS)).mean(axis=0)
        return mean_n.astype(np.float32)


def load_colour_encoder(
    name: str, *, head_file: Path | None = None, pin: object = None, may_fetch: bool = True
) -> ColourEncoder:
    """Stands in for `encoders.load_encoder`; a head file is a JSON list of three weights."""
    if head_file is None:
        return ColourEncoder(name)
    red, green, blue = map(float, json.loads(head_file.read_text(encoding="utf-8")))
    return ColourEncoder(name, (red, green, blue))


@dataclass(frozen=True)
class TinyPicture:
    """A drawing: one colour over another."""

    path: Path
    top: str
    bottom: str

    @property
    def caption(self) -> str:
        """A description that `ColourEncoder` understands."""
        return f"{self.top} over {self.bottom}"


def tiny_pictures(folder: Path, count: int, *, size: tuple[int, int] = (24, 16)) -> list[TinyPicture]:
    """Draws `count` PNG files into `folder`: all pairs of colours in turn, no two files alike (at most 16,000)."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = list(product(COLOURS, repeat=2))
    drawn = []
    for number in range(count):
        # Neighbours differ in both colours; every full round is a shade darker or lighter at one side.
        top, bottom = pairs[number * 11 % len(pairs)]
        picture = TinyPicture(folder / f"{number:04}-{top}-{bottom}.png", top, bottom)
        pixels = draw_halves(top, bottom, size=size)
        pixels[0, 0] = (number // len(pairs), number % len(pairs), 128)
        Image.fromarray(pixels).save(picture.path)
        drawn.append(picture)
    return drawn


def draw_halves(top: str, bottom: str, *, size: tuple[int, int] = (24, 16)) -> Pixels:
    """A picture (width, height) of one named colour over another."""
    width, height = size
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[: height // 2], pixels[height // 2 :] = COLOURS[top], COLOURS[bottom]
    return pixels


def tiny_snapshot(
    looks: Sequence[tuple[str, str]],
    attributes: Sequence[Mapping[str, tuple[str, ...]]] | None = None,
    *,
    encoder: Encoder | None = None,
) -> Snapshot:
    """A snapshot in memory of pictures `p000`, `p001` ... with these looks (top, bottom): no disk, no Lance.

    Pictures of equal looks have equal vectors, as copies under other names would.
    """
    from viewfinder.store.rows import build_columns, pictures_to_arrow

    encoder = encoder or ColourEncoder()
    known = attributes or [{} for _ in looks]
    rows = [
        PictureRow(f"p{at:03}", (FileRecord(f"/pictures/p{at:03}.png", 1, 1),), 24, 16, "PNG", 1, attributes=said)
        for at, said in enumerate(known)
    ]
    matrix_nd = encoder.project(encoder.pictures([draw_halves(top, bottom) for top, bottom in looks]).global_bd)
    mark = picture_id(json.dumps([looks, known, encoder.version]).encode())
    table = pictures_to_arrow(rows)
    return Snapshot(matrix_nd, table, build_columns(table), space=encoder.version, generation=mark, folder=None)


@dataclass(frozen=True)
class TinyRaw:
    """The raw vectors of `tiny_snapshot(looks)` with regions, a few pictures per batch; those `without` have zeros.

    By default mean colours of a 4 x 4 grid (b 48), and of a 6 x 6 grid (b 36 3) as regions.

    `reads` lists the size of every batch that was read.
    """

    looks: Sequence[tuple[str, str]]
    without: frozenset[str] = frozenset()
    raw_version: str = ColourEncoder.raw_version
    batch: int = 5
    encoder: Encoder = ColourEncoder()
    reads: list[int] = field(default_factory=list, compare=False)

    def batches(
        self, ids: Sequence[str], *, regions: bool
    ) -> Iterator[tuple[Float[np.ndarray, "b g"], Float16[np.ndarray, "b r e"] | None]]:
        """The vectors as the encoder makes them; regions if asked for."""
        for start in range(0, len(ids), self.batch):
            some = ids[start : start + self.batch]
            self.reads.append(len(some))
            seen = self.encoder.pictures([draw_halves(*self.looks[int(name[1:])]) for name in some], regions=regions)
            known_b = np.array([name not in self.without for name in some], np.float32)
            global_bg = seen.global_bd * known_b[:, None]
            regions_brd = None if seen.regions_brd is None else seen.regions_brd * known_b[:, None, None]
            yield global_bg, None if regions_brd is None else regions_brd.astype(np.float16)


def _mean_colours(pixels: Pixels, side: int) -> Float[np.ndarray, "cells 3"]:
    fine = np.asarray(Image.fromarray(pixels).resize((FINE, FINE), Image.Resampling.BOX), np.float32) / 255 - 0.5
    cell = FINE // side
    mean_yx3: Float[np.ndarray, "y x 3"] = fine.reshape(side, cell, side, cell, 3).mean(axis=(1, 3))
    return mean_yx3.reshape(side * side, 3).astype(np.float32)


def _said(text: str) -> Float[np.ndarray, " raw"]:
    found = [word for word in re.findall(r"\w+", text.lower()) if word in COLOURS]
    if not found:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(RAW_WIDTH).astype(np.float32) * 0.1
    if len(found) == 2 and re.search(rf"{found[0]} over {found[1]}", text.lower()):
        return _mean_colours(draw_halves(found[0], found[1]), GRID).reshape(-1)
    mean_3 = np.mean([COLOURS[word] for word in found], axis=0) / 255 - 0.5
    return np.tile(mean_3, GRID * GRID).astype(np.float32)


# -- contracts: what every part of a kind must keep, ours and other people's


LOOKS = tuple((top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS)
"""The pictures on which retrievers are tested, as `draw_halves` draws them."""


def check_retriever(retriever: str | Retriever[Any] | RetrieverClass, *, encoder: Encoder | None = None) -> None:
    """Raises an AssertionError if a retriever breaks the contract of `retrievers.base`.

    It takes every kind of turn over 32 drawn pictures. From a name or class it makes two retrievers, which must agree.

    Args:
        encoder: the one on whose vectors the retriever was trained; by default one that knows colours.

    Raises:
        UnknownName, BadInput, EncoderMismatch: there is no such retriever, or it reads vectors of another encoder.
    """
    encoder = encoder or ColourEncoder()
    one, other = (_that_shows_pictures(load_retriever(retriever)) for _ in range(2))
    gallery = _gallery_of(LOOKS, encoder)
    turns = every_kind_of_turn(one, gallery)
    states = _states_after(one, turns)
    start = one.query(one.begin())
    assert one.name, "it has no name"
    assert start.space == (one.reads.space or "global"), "its first query looks in another space than it declares"
    assert (start.parts, start.excluded, start.adapters) == ((), frozenset(), ()), "it asks before anything was said"
    scores_sn = [_scores(one, state, gallery) for state in states]
    for number, scores_n in enumerate(scores_sn):
        assert scores_n.shape == (len(LOOKS),), f"after turn {number}: one score a picture"
        assert np.isfinite(scores_n).all(), f"after turn {number}: finite scores"
    again = [_scores(other, state, gallery) for state in _states_after(other, turns)]
    np.testing.assert_array_equal(again, scores_sn, "the same turns, other scores")
    for state in states:
        for turn in turns:
            one.step(state, turn)
    after = [_scores(one, state, gallery) for state in states]
    np.testing.assert_array_equal(after, scores_sn, "a step changed a state that was there before it")
    order = np.random.default_rng(0).permutation(len(LOOKS))
    shuffled = _gallery_of([LOOKS[row] for row in order], encoder)
    for state, scores_n in zip(states, scores_sn, strict=True):
        found_n = _scores(one, state, shuffled)
        np.testing.assert_allclose(found_n, scores_n[order], atol=1e-5, err_msg="the order of pictures changes scores")
    for turn, before, now in zip(turns, map(one.query, states), map(one.query, states[1:]), strict=False):
        used = any(part.turn == turn.number for part in now.parts) or now.excluded != before.excluded
        silent = turn.text == "don't know"  # it says nothing that could be taken
        assert used or silent or len(now.adapters) > len(before.adapters), (
            f"it swallowed turn {turn.number} ({type(turn.turn).__name__}): no part of it, and no adapter says so"
        )


def every_kind_of_turn(retriever: Retriever[Any], gallery: Gallery) -> list[ResolvedTurn]:
    """Nine turns over pictures of `LOOKS`, which come as this retriever reads them."""
    return _list_turns(retriever.reads, gallery)


def _list_turns(reads: Reads, gallery: Gallery) -> list[ResolvedTurn]:
    encoder = gallery.encoder
    p, q, r = (read_picture(gallery, name, reads) for name in ("p003", "p009", "p017"))
    red = {"top": ("red",)}
    turns = [
        ResolvedTurn(Say("red, no blue"), 1, encoder.words, "red, no blue"),
        ResolvedTurn(Answer(Question("Top?", attribute="top"), "red"), 2, encoder.words, "red", (), (p, q), red),
        ResolvedTurn(Answer(Question("Bottom?"), "don't know"), 3, encoder.words, "don't know"),
        ResolvedTurn(Like("p003", "green"), 4, encoder.words, "green", (p,)),
        ResolvedTurn(Show("mine.png"), 5, encoder.words, "", (q,)),
        ResolvedTurn(Keep("top", 1), 6, encoder.words, "red", (p,), (), red),
        ResolvedTurn(Reject(("p009",), "blue"), 7, encoder.words, "blue", (q,), (p, q)),
        ResolvedTurn(Reject(), 8, encoder.words, "", (), (r,)),
        ResolvedTurn(Like("p009", "", 1), 9, encoder.words, "", (q,)),
    ]
    sentences = SentenceEncoder(encoder.sentences_version, encoder.sentences)
    return [
        replace(
            turn,
            sentences=sentences,
            collection=lambda: gallery.collection,
            look_up_for=partial(_look_up, gallery, at),
        )
        for at, turn in enumerate(turns)
    ]


def _look_up(gallery: Gallery, at: int, reads: Reads) -> ResolvedTurn:
    """One of these turns for another retriever."""
    return _list_turns(reads, gallery)[at]


def _that_shows_pictures(retriever: Retriever[Any]) -> Retriever[Any]:
    """Makes a retriever that answers always show pictures: an answer in words changes no results."""
    return retriever.with_picture_bias(inf) if isinstance(retriever, AnsweringRetriever) else retriever


def _gallery_of(looks: Sequence[tuple[str, str]], encoder: Encoder) -> Gallery:
    snapshot = tiny_snapshot(looks, [{"top": (top,)} for top, _ in looks], encoder=encoder)
    return Gallery(snapshot, encoder, TinyRaw(looks, raw_version=encoder.raw_version, encoder=encoder))


def _states_after(retriever: Retriever[Any], turns: Sequence[ResolvedTurn]) -> list[Any]:
    """The states after 0, 1, 2 ... turns."""
    states = [retriever.begin()]
    for turn in turns:
        states.append(retriever.step(states[-1], turn))
    return states


def _scores(retriever: Retriever[Any], state: Any, gallery: Gallery) -> Float[np.ndarray, " n"]:
    return np.asarray(score_all(gallery, retriever.query(state)).total_n)


def check_encoder(encoder: Encoder) -> None:
    """Raises an AssertionError if an encoder breaks the contract of `encoders.base`."""
    assert isinstance(encoder, Encoder), "it lacks something of the protocol"
    pictures = [draw_halves(top, "white", size=size) for top, size in (("red", (64, 48)), ("blue", (40, 90)))]
    seen, again = encoder.pictures(pictures, regions=True), encoder.pictures(pictures[::-1])
    assert seen.regions_brd is not None and seen.regions_brd.shape[:2] == (2, REGIONS), "36 regions a picture"
    assert again.regions_brd is None, "regions only when they are asked for"
    np.testing.assert_allclose(again.global_bd[::-1], seen.global_bd, atol=1e-4, err_msg="order changes vectors")
    shared_nd, words_nd = encoder.project(seen.global_bd), encoder.words(["red", "a blue thing"])
    assert shared_nd.shape == words_nd.shape, "pictures and words are vectors of one space"
    sentences_ns = encoder.sentences(["red", "a blue thing"])
    for units in (shared_nd, words_nd, sentences_ns):
        assert np.isfinite(units).all(), "finite numbers"
        np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1.0, atol=1e-3, err_msg="unit vectors")
    np.testing.assert_allclose(encoder.words(["a blue thing"])[0], words_nd[1], atol=1e-4, err_msg="company matters")
    assert len(encoder.words([])) == len(encoder.pictures([]).global_bd) == 0, "no texts, no pictures: empty blocks"
    boxes_r4 = encoder.region_boxes(64, 48)
    assert boxes_r4.shape == (REGIONS, 4), "a box a region"
    assert (boxes_r4[:, :2] < boxes_r4[:, 2:]).all() and (boxes_r4 >= 0).all(), "boxes have an inside"
    assert (boxes_r4[:, 2] <= 64.001).all() and (boxes_r4[:, 3] <= 48.001).all(), "boxes lie in the picture"
    assert encoder.background(shared_nd).shape == (2,), "a background a picture"


def check_questioner(questioner: Questioner, candidates: Candidates) -> None:
    """Raises an AssertionError if a questioner breaks the contract of `questioners.base` over these candidates."""
    assert isinstance(questioner, Questioner), "it lacks something of the protocol"
    question = questioner.ask(candidates)
    assert questioner.ask(candidates) == question, "the same candidates, another question"
    if question is None:
        return
    assert question.text.strip() and question.by and question.why, "a question says what it asks, by whom and why"
    assert len(set(question.choices)) == len(question.choices), "a choice stands twice"
    again = questioner.ask(replace(candidates, asked=(*candidates.asked, question)))
    assert again is None or again.text != question.text, "it asks the same twice"


def check_picture_reader(reader: PictureReader, data: bytes) -> None:
    """Raises an AssertionError if a reader breaks the contract of `pictures.formats`; `data`: a file it reads."""
    assert isinstance(reader, PictureReader), "it lacks something of the protocol"
    assert reader.format and reader.extensions and reader.starts, "it says what it reads: format, extensions, starts"
    assert all(ending == ending.lower().lstrip(".") for ending in reader.extensions), "extensions are like 'png'"
    assert data.startswith(reader.starts), "the picture does not begin with any of `starts`"
    assert detect_format(data) is None, "viewfinder reads files that begin so itself, the reader would never be asked"
    assert reader.read_picture(data).size == reader.read_size(data), "the header says another size"
    for length in (len(reader.starts[0]), len(data) // 2):
        try:
            picture = reader.read_picture(data[:length])
        except Exception:  # any error: which one is up to the reader
            continue
        raise AssertionError(f"{length} of {len(data):,} bytes are taken for a whole picture of {picture.size}")


def check_report(kept: int, report: ReadReport) -> None:
    """Raises an AssertionError if what a reader of a format reports is not what it read."""
    assert report.found == kept, f"{kept} items were read, {report.found} are reported"
    assert report.expected is None or report.expected >= report.found, "more were found than expected"
    assert all(dropped.record and dropped.reason for dropped in report.dropped), "left out with no name or reason"
