import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.fashion_iq import (
    MultiTurnFashionIQ,
    Reference,
    ShopSession,
    read_attributes,
    read_sessions,
    session_kinds,
    write_sessions,
)
from viewfinder.data.files import Dropped, ReadReport
from viewfinder.errors import BadInput, UnknownName

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = [pytest.mark.data, pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")]
MT_FASHION_IQ = SHARED / "mt-fashion-iq"

SESSION = ShopSession(
    (Reference("B1", ("is red", "darker"), "http://1"), Reference("B2", ("longer",))), "B3", "http://3"
)


@cache
def _all(split: str) -> tuple[MultiTurnFashionIQ, ReadReport]:
    return read_sessions(MT_FASHION_IQ, "all", split)


def _turns(data: MultiTurnFashionIQ) -> int:
    return sum(len(session.references) for session in data.sessions)


class TestRealData:
    pytestmark = needs_data

    def test_the_folder_has_four_kinds_and_a_file_that_is_of_no_split(self) -> None:
        assert session_kinds(MT_FASHION_IQ) == dict.fromkeys(("all", "dress", "shirt", "toptee"), ("train", "val"))
        assert (MT_FASHION_IQ / "data" / "dress.json").is_file()

    def test_all_kinds_together_have_11506_sessions_of_26507_turns(self) -> None:
        train, train_report = _all("train")
        val, val_report = _all("val")
        assert (train_report.expected, len(train.sessions)) == (9106, 9106)
        assert (val_report.expected, len(val.sessions)) == (2400, 2400)
        assert (_turns(train), _turns(val)) == (20_894, 26_507 - 20_894)
        reasons = Counter(drop.reason.split(" ")[0] for drop in train_report.dropped + val_report.dropped)
        assert reasons.pop("empty") == 9 + 4
        # 10,438 names of 10,398 products in train, 6,274 of 6,257 in val: some are in two kinds
        assert (len(train.gallery), len(val.gallery), sum(reasons.values())) == (10_398, 6_257, 40 + 17)

    def test_sessions_have_two_to_four_turns_and_one_has_a_single_turn(self) -> None:
        sessions = [session for split in ("train", "val") for session in _all(split)[0].sessions]
        assert Counter(len(session.references) for session in sessions) == {2: 8649, 3: 2216, 4: 640, 1: 1}

    def test_a_few_turns_have_one_or_three_captions(self) -> None:
        said: Counter[int] = Counter()
        for split in ("train", "val"):
            records = json.loads((MT_FASHION_IQ / "data" / f"all.{split}.json").read_text())
            sessions = _all(split)[0].sessions
            for session, record in zip(sessions, records, strict=True):
                said.update(len(captions) for _, captions, _ in record["reference"])
                spoken = [[text for text in captions if text.strip()] for _, captions, _ in record["reference"]]
                assert [list(shown.captions) for shown in session.references] == spoken
        assert said == {2: 26_474, 1: 21, 3: 12}

    @pytest.mark.parametrize(
        ("kind", "split", "sessions", "gallery"),
        [
            ("dress", "train", 3338, 4030),
            ("dress", "val", 1000, 2562),
            ("shirt", "train", 2994, 3112),
            ("shirt", "val", 681, 1770),
            ("toptee", "train", 2774, 3296),
            ("toptee", "val", 719, 1942),
        ],
    )
    def test_sizes_of_the_kinds(self, kind: str, split: str, sessions: int, gallery: int) -> None:
        data, report = read_sessions(MT_FASHION_IQ, kind, split)
        assert (report.expected, len(data.sessions), len(data.gallery)) == (sessions, sessions, gallery)

    def test_a_third_of_the_turns_has_the_captions_of_fashion_iq(self) -> None:
        files = (SHARED / "fashion-iq" / "captions").glob("cap.*.json")
        records = [record for file in files for record in json.loads(file.read_text()) if "target" in record]
        published = {(record["candidate"], record["target"], tuple(record["captions"])) for record in records}
        turns = [
            (shown.key, target, shown.captions)
            for split in ("train", "val")
            for session in _all(split)[0].sessions
            for shown, target in zip(session.references, session.keys[1:], strict=True)
        ]
        verbatim = sum(turn in published for turn in turns)
        assert verbatim / len(turns) == pytest.approx(0.34, abs=0.005)

    def test_attributes_cover_the_gallery_and_some_records_are_double(self) -> None:
        for split, double in (("train", 0), ("val", 33)):
            file = MT_FASHION_IQ / "attr" / f"asin2attr.dress.{split}.new.json"
            assert sum(len(types) == 12 for types in json.loads(file.read_text()).values()) == double
            data, _ = read_sessions(MT_FASHION_IQ, "dress", split)
            assert set(data.attributes) == set(data.gallery)
            assert {len(types) for types in data.attributes.values()} == {6}
        assert data.attributes["B004L0YLGE"][5] == ("mini", "cute", "girl", "youth", "bright", "pink")
        assert read_attributes(MT_FASHION_IQ, "shirt", "val") == {}


def _folder(folder: Path, *sessions: ShopSession, **options: Any) -> Path:
    usual = {"kind": "boots", "split": "val", "gallery": ["B3", "B1", "B2"], "attributes": {}}
    write_sessions(folder, sessions=sessions or (SESSION,), **(usual | options))
    return folder


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder = _folder(tmp_path, attributes={"B1": [["boots"], [], ["leather"], [], [], []]})
    data, report = read_sessions(folder, "boots", "val")
    attributes = {"B1": (("boots",), (), ("leather",), (), (), ())}
    assert data == MultiTurnFashionIQ("boots", "val", (SESSION,), ("B3", "B1", "B2"), attributes)
    assert (report.expected, report.found, report.dropped) == (1, 1, ())


def test_the_target_is_the_last_product_of_a_session() -> None:
    assert SESSION.keys == ("B1", "B2", "B3")


def test_captions_and_products_that_are_left_out_are_reported(tmp_path: Path) -> None:
    session = ShopSession((Reference("B1", ("", "red")),), "B2")
    data, report = read_sessions(_folder(tmp_path, session, gallery=["B1", "B2", "B1"]), "boots", "val")
    assert (data.sessions[0].references[0].captions, data.gallery) == (("red",), ("B1", "B2"))
    assert set(report.dropped) == {
        Dropped("boots.val.json: [0], field 'reference'[0], captions[0]", "empty caption"),
        Dropped("split.boots.val.json: [2]", "B1 is there already, at [0]"),
    }


@pytest.mark.parametrize(
    ("session", "field"),
    [
        (ShopSession((Reference("B1", ()),), "B9"), "target"),
        (ShopSession((Reference("B1", ()), Reference("B9", ())), "B2"), r"reference'\[1\]"),
    ],
)
def test_a_product_outside_the_gallery_is_named(tmp_path: Path, session: ShopSession, field: str) -> None:
    where = rf"boots\.val\.json: \[1\], field '{field}.*: B9 is not among the 3 of the gallery"
    with pytest.raises(BadInput, match=where):
        read_sessions(_folder(tmp_path, SESSION, session), "boots", "val")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"target": ["", "B1"]}, r": field 'reference' is needed \(list\)"),
        ({"target": ["", "B1"], "reference": []}, ", field 'reference': at least one turn is needed"),
        ({"reference": [["", ["red"], "B1"]]}, r", field 'target': \[url, key\] is needed"),
        ({"target": ["", "B1"], "reference": [["", ["red"]]]}, r", field 'reference'\[0\]: \[url, captions, key\]"),
        ({"target": ["", "B1"], "reference": [["", "red", "B2"]]}, r", field 'reference'\[0\]: a list of texts"),
    ],
)
def test_a_session_of_the_wrong_form_is_named(tmp_path: Path, record: Any, message: str) -> None:
    (_folder(tmp_path) / "data" / "boots.val.json").write_text(json.dumps([record]))
    with pytest.raises(BadInput, match=rf"boots\.val\.json: \[0\]{message}"):
        read_sessions(tmp_path, "boots", "val")


def test_an_unknown_split_and_a_truncated_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"boots\.dev\.json: no such file.*there are: boots\.val\.json"):
        read_sessions(_folder(tmp_path), "boots", "dev")
    file = tmp_path / "data" / "boots.val.json"
    file.write_text(file.read_text()[:-5])
    with pytest.raises(BadInput, match=r"boots\.val\.json, line 1, column \d+: damaged JSON"):
        read_sessions(tmp_path, "boots", "val")
