"""Words that people wrote into files, and the files' own names: both are found, and change nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from viewfinder.byte_cache import ByteCache
from viewfinder.encoders.base import Calibration
from viewfinder.pictures.facts.model import Fact
from viewfinder.retrievers import Composer
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hits
from viewfinder.search.written_words import (
    NAMED_NATS,
    WordIndex,
    build_entries,
    build_name_entries,
    name_parts,
    split_name,
    unpack_entries,
)
from viewfinder.session.candidates import select_candidates
from viewfinder.session.session import Session
from viewfinder.store.rows import FileRecord, PictureRow, build_columns, pictures_to_arrow
from viewfinder.store.snapshot import Snapshot
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves

LOOKS = [(top, bottom) for top in COLOURS for bottom in COLOURS][:12]
NEVER = Calibration((0.0,) * 9 + (-9.0,), (0.0,) * 9 + (-9.0,), (0.0, 0.0), np.zeros(49, np.float32))
"""By its looks, no picture is what was said."""

NAMES = {
    0: "IMG_0398.JPG", 1: "IMG_0399.JPG", 2: "DSC01234.ARW", 3: "20190714_153012.jpg", 4: "beach sunset.jpg",
    5: "holiday 2019-07-14 (3).png", 6: "Ｗ１２３４.jpg",
}  # fmt: skip


def snapshot_of(told: Mapping[int, Sequence[Fact]] | None = None, count: int = len(LOOKS)) -> Snapshot:
    """Pictures of `LOOKS` whose files have these names and facts."""
    encoder = ColourEncoder()
    rows = [
        PictureRow(
            f"p{at:03}",
            (FileRecord(f"/photos/{NAMES.get(at, f'{chr(97 + at)}.png')}", 1, 1, 0, tuple((told or {}).get(at, ()))),),
            24, 16, "PNG", 1,
        )
        for at in range(count)
    ]  # fmt: skip
    matrix_nd = encoder.project(encoder.pictures([draw_halves(*look) for look in LOOKS[:count]]).global_bd)
    table = pictures_to_arrow(rows)
    return Snapshot(matrix_nd, table, build_columns(table), space=encoder.version, generation="g", folder=None)


def search(text: str, snapshot: Snapshot) -> tuple[Hits, Session]:
    gallery = Gallery(snapshot, ColourEncoder(calibration=NEVER), match_words=True)
    session = Session(gallery, Composer(), None, n=len(snapshot), memo=ByteCache())
    return session.say(text), session


@pytest.mark.parametrize(
    ("typed", "rows"),
    [
        ("IMG_0398", [0]), ("img_0398.jpg", [0]), ("0398", [0]), ("398", [0]), ("IMG 0399", [1]), ("img", []),
        ("dsc01234", [2]), ("1234", [2]), ("01234.arw", [2]), ("20190714", [3]), ("20190714 153012", [3]),
        ("beach sunset", [4]), ("Beach-Sunset.JPG", [4]), ("beach", []), ("sunset", []), ("holiday 2019", [5]),
        ("/photos/IMG_0398.JPG", [0]), ('"IMG_0398"', [0]), ("a dog of 0398", []), ("0398 0399", []), ("", []),
        (".", []), ("398 " * 9, []), ("39", []), ("ｗ１２３４", [6]),
    ],
)  # fmt: skip
def test_a_file_is_found_by_its_name_whole_or_in_a_part_with_a_number(typed: str, rows: list[int]) -> None:
    index = WordIndex([(0, build_name_entries(snapshot_of()))], len(LOOKS))
    assert index.rows_named(typed).tolist() == rows


@pytest.mark.parametrize("count", [2, 12])
@pytest.mark.parametrize("typed", ["IMG_0399", "0399", "img_0399.jpg"])
def test_a_name_that_is_typed_moves_its_picture_to_the_top_also_of_a_few(typed: str, count: int) -> None:
    hits, session = search(typed, snapshot_of(count=count))
    assert hits[0].id == "p001"
    assert hits.verdict == "found"
    assert [hit.id for hit in hits if hit.match == "likely"] == ["p001"]
    assert [match.text for match in session.ranking().query.word_matches] == [typed.removesuffix(".jpg")]


def test_what_is_no_name_is_not_looked_for() -> None:
    _, session = search("red over blue", snapshot_of())
    assert session.ranking().query.word_matches == ()
    nothing = Gallery(snapshot_of(), ColourEncoder(), match_words=True).written
    assert nothing is not None and nothing.words is None


def test_the_names_of_all_files_of_a_folder_are_entries_once() -> None:
    entries = unpack_entries(build_name_entries(snapshot_of()))
    assert (np.diff(entries.keys_u) > 0).all()
    for start, end in pairwise(entries.starts.tolist()):
        assert end > start and (np.diff(entries.rows_e[start:end]) > 0).all()
    assert entries.starts[-1] == len(entries.rows_e)
    assert list(name_parts("")) == ["="]
    assert split_name(".jpg") == ["jpg"]


def test_what_people_wrote_into_files_is_words_and_the_rest_is_not() -> None:
    told = {
        3: [
            Fact("title", ("Grandmother's garden",), "XMP"), Fact("keywords", ("roses", "WR-200"), "XMP"),
            Fact("persons", ("Anna Meier",), "XMP"), Fact("city", ("Lisbon",), "GPS"),
            Fact("lens", ("Planar",), "EXIF"),
            Fact("rating", ("5",), "XMP"), Fact("latitude", ("38.7",), "EXIF"),
        ]
    }  # fmt: skip
    index = WordIndex([(0, build_entries(snapshot_of(told)))], len(LOOKS))
    for word in ("garden", "ros", "wr200", "anna", "meier", "lisbon"):
        assert index.rows(word).tolist() == [3]
    for word in ("planar", "5", "38", "20190714"):
        assert index.rows(word).tolist() == []
    hits, _ = search("Anna Meier", snapshot_of(told))
    assert [hit.id for hit in hits if hit.match == "likely"] == ["p003"]


def test_words_that_the_encoder_never_heard_mean_all_pictures_of_which_they_are_written() -> None:
    told = {at: [Fact("persons", ("Käthe Kollwitz", "Anna"), "XMP")] for at in (2, 5, 9)}
    told[7] = [Fact("keywords", ("Anna",), "XMP")]
    calibration = replace(NEVER, familiar={"red": -1.0, "over": -1.0, "blue": -1.0})
    for text, meant in (("Käthe", {"p002", "p005", "p009"}), ("Anna", {"p002", "p005", "p007", "p009"})):
        gallery = Gallery(snapshot_of(told), ColourEncoder(calibration=calibration), match_words=True)
        hits = Session(gallery, Composer(), None, n=len(LOOKS), memo=ByteCache()).say(text)
        assert {hit.id for hit in hits[: len(meant)]} == {hit.id for hit in hits if hit.match == "likely"} == meant
        assert hits[len(meant) - 1].score > hits[len(meant)].score
    for text in ("Käthe in red", "Käthe Zuse"):  # partly known, partly written of nothing
        assert gallery.written is not None
        ratios = gallery.written.weigh_text(text).ratios
        assert ratios is None or ratios.nats_k.max(initial=0) < NAMED_NATS


def test_a_questioner_sees_what_people_may_have_in_mind_alone() -> None:
    told = {
        at: [
            Fact("title", (f"Title {at}",), "XMP"), Fact("keywords", ("sea", "sun"), "XMP"),
            Fact("latitude", ("1.5",), "EXIF"), Fact("lens", ("Planar",), "EXIF"), Fact("city", ("Rome",), "IPTC"),
        ]
        for at in range(12)
    }  # fmt: skip
    _, session = search("red", snapshot_of(told))
    view = select_candidates(session.ranking(), session.conversation, settled=frozenset())
    assert {"keywords", "city", "folder"} <= view.columns.keys()
    assert not {"title", "latitude", "lens"} & view.columns.keys()
    assert view.file_columns >= {"keywords", "city"}
