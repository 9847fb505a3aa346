"""The day in a file's name: every form that programs write, and numbers that are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.pictures.facts.file_names import read_file_name

MOMENTS = {
    "IMG_20190714_100300.jpg": ("2019-07-14T10:03:00", "camera"),
    "IMG20190714100300.jpg": ("2019-07-14T10:03:00", "camera"),
    "IMG_20190714_100300_HDR.jpg": ("2019-07-14T10:03:00", "camera"),
    "VID_20190714_100300.jpg": ("2019-07-14T10:03:00", "camera"),
    "00000IMG_00000_BURST20190714100300123_COVER.jpg": ("2019-07-14T10:03:00.123", "camera"),
    "MVIMG_20190714_100300.jpg": ("2019-07-14T10:03:00", "Google camera"),
    "PXL_20210101_123456789.jpg": ("2021-01-01T12:34:56.789+00:00", "Google camera"),
    "PXL_20210101_123456789.PORTRAIT-01.COVER.jpg": ("2021-01-01T12:34:56.789+00:00", "Google camera"),
    "20190714_100300.jpg": ("2019-07-14T10:03:00", None),
    "20190714_100300(0).jpg": ("2019-07-14T10:03:00", None),
    "P20260105-205639.jpg": ("2026-01-05T20:56:39", None),
    "P_20190714_100300.jpg": ("2019-07-14T10:03:00", None),
    "JPEG_20190714_100300_123456789.jpg": ("2019-07-14T10:03:00", None),
    "image20210414_141823091.jpg": ("2021-04-14T14:18:23.091", None),
    "DJI_20230714100300_0001_D.JPG": ("2023-07-14T10:03:00", "DJI"),
    "WP_20140714_10_03_00_Pro.jpg": ("2014-07-14T10:03:00", "Windows Phone"),
    "WP_20140714_001.jpg": ("2014-07-14", "Windows Phone"),
    "WIN_20190714_10_03_00_Pro.jpg": ("2019-07-14T10:03:00", "Windows camera"),
    "20190714_100300565_iOS.jpg": ("2019-07-14T10:03:00.565+00:00", "OneDrive"),
    "IMG-20190714-WA0003.jpg": ("2019-07-14", "WhatsApp, when it was sent"),
    "WhatsApp Image 2019-07-14 at 10.03.00.jpeg": ("2019-07-14T10:03:00", "WhatsApp, when it was sent"),
    "WhatsApp Image 2019-07-14 at 10.03.00 PM (1).jpeg": ("2019-07-14T22:03:00", "WhatsApp, when it was sent"),
    "WhatsApp Bild 2019-07-14 um 10.03.00_1a2b3c4d.jpg": ("2019-07-14T10:03:00", "WhatsApp, when it was sent"),
    "signal-2019-07-14-100300.jpg": ("2019-07-14T10:03:00", "Signal, when it was sent"),
    "signal-2019-07-14-10-03-00-123.jpg": ("2019-07-14T10:03:00.123", "Signal, when it was sent"),
    "signal-2019-07-14-100300_002.jpg": ("2019-07-14T10:03:00", "Signal, when it was sent"),
    "photo_2019-07-14_10-03-00.jpg": ("2019-07-14T10:03:00", "Telegram, when it was sent"),
    "photo_12@14-07-2019_10-03-00.jpg": ("2019-07-14T10:03:00", "Telegram, when it was sent"),
    "FB_IMG_1563098580000.jpg": ("2019-07-14T10:03:00+00:00", "Facebook, when it was saved"),
    "mmexport1563098580123.jpg": ("2019-07-14T10:03:00.123+00:00", "WeChat"),
    "KakaoTalk_Photo_2019-07-14-10-03-00.jpeg": ("2019-07-14T10:03:00", None),
    "Screenshot_20190714-100300_App.png": ("2019-07-14T10:03:00", "screenshot"),
    "Screenshot_2019-07-14-10-03-00-123_com.app.jpg": ("2019-07-14T10:03:00.123", "screenshot"),
    "Screenshot 2019-07-14 at 10.03.00.png": ("2019-07-14T10:03:00", "screenshot"),
    "Screenshot 2019-07-14 at 9.03.00\u202fPM.png": ("2019-07-14T21:03:00", "screenshot"),
    "Screen Shot 2019-07-14 at 12.03.00 AM.png": ("2019-07-14T00:03:00", "screenshot"),
    "Bildschirmfoto 2019-07-14 um 10.03.00.png": ("2019-07-14T10:03:00", "screenshot"),
    "Capture d’écran 2019-07-14 à 10.03.00.png": ("2019-07-14T10:03:00", "screenshot"),
    "Captura de pantalla 2019-07-14 a la(s) 10.03.00.png": ("2019-07-14T10:03:00", "screenshot"),
    "スクリーンショット 2019-07-14 10.03.00.png": ("2019-07-14T10:03:00", "screenshot"),
    "Screenshot from 2019-07-14 10-03-00.png": ("2019-07-14T10:03:00", "screenshot"),
    "Screenshot 2024-01-05 134512.png": ("2024-01-05T13:45:12", "screenshot"),
    "Scan_20190714 (2).png": ("2019-07-14", "scanner"),
    "2019-07-14 10.03.00.jpg": ("2019-07-14T10:03:00", None),
    "2019-07-14 14.03.00 am Strand.jpg": ("2019-07-14T14:03:00", None),
    "2019-07-14 10.03.00-1.jpg": ("2019-07-14T10:03:00", None),
    "2019-07-14 10-03 Holiday.jpg": ("2019-07-14T10:03", None),
    "2019-07-14 Holiday.jpg": ("2019-07-14", None),
    "2020-02-29_001.tif": ("2020-02-29", None),
    "1923-05-01 wedding.jpg": ("1923-05-01", None),
    "Adobe Scan Jul 14, 2019.jpg": ("2019-07-14", "scanner"),
    "Wedding 4 July 1985.jpg": ("1985-07-04", None),
    "00000012-PHOTO-2019-07-14-10-03-00.jpg": ("2019-07-14T10:03:00", "WhatsApp, when it was sent"),
    "2019-07-14_10-03-00_UTC.jpg": ("2019-07-14T10:03:00+00:00", None),
    "20190714T100300Z.jpg": ("2019-07-14T10:03:00+00:00", None),
    "14.07.1985 Oma.jpg": ("1985-07-14", None),
    "original_1d4caa6f-16c6-4c3d-901b-9387de10e528_PXL_20220516_164814158.jpg": (
        "2022-05-16T16:48:14.158+00:00",
        "Google camera",
    ),
}

NO_DATES = (
    *("20191399.jpg", "20190714.jpg", "IMG_20453.jpg", "IMG_0001.HEIC", "DSC_0104.JPG", "Snapchat-1563098580.jpg"),
    *("4006381333931.jpg", "1563098580000.jpg", "+49-170-20190714.jpg", "978-2019-07-14-3.jpg", "192.168.2019.jpg"),
    *("a3f20190714100300bb.jpg", "550e8400-e29b-41d4-a716-446655440000.jpg", "20191015_1234567.jpg"),
    *("IMG_20193014_100300.jpg", "IMG_30190714_100300.jpg", "20190714_993000.jpg", "2019-02-29 x.jpg"),
    *("LRM_EXPORT_20190714_100300.jpg", "2019-07-14-5551234567.jpg", "FB_IMG_9999999999999.jpg", "", ".jpg"),
    *("March 20190.jpg", "31 February 2019.jpg", "Nissan Juke 10 2019x.jpg", "market 12 2019.jpg"),
)


@pytest.mark.parametrize("name", MOMENTS)
def test_each_program_s_way_of_writing_the_moment_is_read_and_its_name_told(name: str) -> None:
    captured, program = MOMENTS[name]
    (fact,) = read_file_name(name)
    assert (fact.name, fact.values) == ("captured", (captured,))
    assert fact.source == ("file name" if program is None else f"file name ({program})")


@pytest.mark.parametrize("name", NO_DATES)
def test_a_number_that_is_no_date_is_taken_for_none(name: str) -> None:
    assert read_file_name(name) == ()


@given(st.text(max_size=300))
def test_any_name_at_all_gives_at_most_one_date(name: str) -> None:
    assert len(read_file_name(name)) <= 1


@given(st.datetimes())
def test_a_camera_s_name_for_a_moment_gives_that_moment_back_if_there_were_cameras_then(moment: object) -> None:
    text = f"IMG_{moment:%Y%m%d_%H%M%S}.jpg"
    values = [value for fact in read_file_name(text) for value in fact.values]
    assert values == ([f"{moment:%Y-%m-%dT%H:%M:%S}"] if 1990 <= moment.year < 2100 else [])  # type: ignore[attr-defined]


@pytest.mark.parametrize("unit", ["2019-07-14 ", "20190714_", "IMG_", "1", "a la(s) ", "2019-07-14 a b ", "-"])
def test_a_name_made_to_cost_time_costs_little(unit: str) -> None:
    started = time.process_time()
    read_file_name(unit * 100_000)
    assert time.process_time() - started < 1
