"""viewfinder.pictures.facts.dates"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures.facts.dates import (
    read_camera_date,
    read_date,
    read_iptc_date,
    read_mac_seconds,
    read_offset,
    read_written_date,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2019:07:14 10:03:00", "2019-07-14T10:03:00"),
        ("2019:07:14 10:03:00\0", "2019-07-14T10:03:00"),
        ("2019-07-14T10:03:00.25+02:00", "2019-07-14T10:03:00.25+02:00"),
        ("2019-07-14T10:03Z", "2019-07-14T10:03+00:00"),
        ("2019:7:4 9:3:5", "2019-07-04T09:03:05"),
        ("2019/07/14 10:03", "2019-07-14T10:03"),
        ("2019:07:14 10:03:00 PM", "2019-07-14T22:03:00"),
        ("2019:07:14 12:03:00 am", "2019-07-14T00:03:00"),
        ("2019:07:14 下午 03:10:00", "2019-07-14"),
        ("2019:07:14 24:00:00", "2019-07-14"),
        ("2019:07:14 10:03:60", "2019-07-14T10:03"),
        ("2019:07:14", "2019-07-14"),
        ("2019:07:14   :  :  ", "2019-07-14"),
        ("2019:07:00 00:00:00", "2019-07"),
        ("2019:07:   :  :  ", "2019-07"),
        ("2019:00:00 00:00:00", "2019"),
        ("2019:07", "2019-07"),
        ("2019", "2019"),
        ("20190714", "2019-07-14"),
        ("1970:01:01 00:00:00", "1970-01-01T00:00:00"),
        ("0000:00:00 00:00:00", None),
        ("0001-01-01T00:00:00", None),
        ("    :  :     :  :  ", None),
        ("2019:13:01 00:00:00", None),
        ("2019:02:30 10:00:00", None),
        ("yesterday", None),
        ("", None),
        ("2019" * 40, None),
    ],
)
def test_a_date_is_as_exact_as_it_is_written(text: str, said: str | None) -> None:
    assert read_date(text) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (("2019:07:14 10:03:00", "25 ", "+02:00"), "2019-07-14T10:03:00.25+02:00"),
        (("2019:07:14 10:03:00", "", "-3:30"), "2019-07-14T10:03:00-03:30"),
        (("2019:07:14 10:03:00", "no", "   :  "), "2019-07-14T10:03:00"),
        (("2019:07:14 10:03:00+01:00", "25", "+02:00"), "2019-07-14T10:03:00+01:00"),
        (("2019:07:14 10:03:00.5", "25", "+99:00"), "2019-07-14T10:03:00.5"),
        (("2019:07:14", "25", "+02:00"), "2019-07-14"),
        (("0000:00:00 00:00:00", "25", "+02:00"), None),
    ],
)
def test_the_parts_of_a_cameras_date_are_put_together(fields: tuple[str, str, str], said: str | None) -> None:
    assert read_camera_date(*fields) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Sun, 14 Jul 2019 10:03:00 +0200", "2019-07-14T10:03:00+02:00"),
        ("14 Jul 2019 10:03:00", "2019-07-14T10:03:00"),
        ("2019:07:14 10:03:00", "2019-07-14T10:03:00"),
        ("last summer", None),
        ("Sun, 99 Jul 2019 10:03:00 +0200", None),
        ("x" * 100, None),
    ],
)
def test_a_date_as_mails_have_it_is_read(text: str, said: str | None) -> None:
    assert read_written_date(text) == said


def test_zero_is_no_time_of_quicktime() -> None:
    assert [read_mac_seconds(seconds) for seconds in (0, -1, 2**40)] == [None] * 3
    assert read_mac_seconds(3_645_943_380) == "2019-07-14T10:03:00+00:00"


@given(st.text(alphabet="0123456789:-/.T ZAPM+", max_size=30) | st.text(max_size=70))
def test_no_text_is_too_odd(text: str) -> None:
    for said in (
        read_date(text),
        read_written_date(text),
        read_iptc_date(text, text),
        read_camera_date(text, text, text),
    ):
        assert said is None or said[:4].isdecimal()
    assert read_offset(text) is None or len(read_offset(text) or "") == len("+02:00")
