"""viewfinder.pictures.formats"""

import pytest
from PIL import Image
from PIL.ExifTags import IFD, Base

from viewfinder.pictures.formats import read_camera, read_capture_date, read_orientation


def notes(**tags: object) -> Image.Exif:
    exif = Image.Exif()
    for name, value in tags.items():
        place = exif.get_ifd(IFD.Exif) if name.startswith(("DateTimeO", "DateTimeD")) else exif
        place[Base[name]] = value
    return exif


def test_the_moment_of_capture_comes_before_that_of_digitizing_and_the_last_change_never() -> None:
    both = notes(DateTimeOriginal="2019:12:31 23:59:58", DateTimeDigitized="2020:01:01 00:00:00")
    assert read_capture_date(both) == "2019-12-31T23:59:58"
    digitized = notes(DateTimeDigitized="2020:01:01 00:00:00", DateTime="2024:01:01 00:00:00")
    assert read_capture_date(digitized) == "2020-01-01T00:00:00"
    assert read_capture_date(notes(DateTime="2024:01:01 00:00:00")) is None


@pytest.mark.parametrize("text", ["", "0000:00:00 00:00:00", "    :  :     :  :  ", "yesterday", b"\xff\xfe", 7, None])
def test_a_date_that_is_none_is_none(text: object) -> None:
    assert read_capture_date(notes(DateTimeOriginal=text, DateTimeDigitized=text)) is None


def test_a_bad_original_date_falls_back_to_the_other() -> None:
    fallback = notes(DateTimeOriginal="0000:00:00 00:00:00", DateTimeDigitized="2024:01:01 00:00:00\x00")
    assert read_capture_date(fallback) == "2024-01-01T00:00:00"


@pytest.mark.parametrize(
    ("make", "model", "name"),
    [
        ("Canon", "Canon EOS 5D", "Canon EOS 5D"),
        ("NIKON CORPORATION\0", "NIKON D90\0\0", "NIKON CORPORATION NIKON D90"),
        ("Apple", "", "Apple"),
        ("", "X100", "X100"),
        ("", "", None),
        ("a\x07\n", "b" * 500, "a " + "b" * 98),
    ],
)
def test_a_camera_is_named_once_and_cleanly(make: str, model: str, name: str | None) -> None:
    assert read_camera(notes(Make=make, Model=model)) == name


@pytest.mark.parametrize("value", [0, 9, "6", None, (6, 6)])
def test_an_impossible_orientation_is_upright(value: object) -> None:
    assert read_orientation(notes(Orientation=value)) == 1
