"""Text in pictures: drawn signs, receipts and screenshots are read, with their boxes, in a process that may fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from viewfinder.cli import run
from viewfinder.errors import PictureError
from viewfinder.library import Library
from viewfinder.pictures.facts.text_lines import list_text_lines
from viewfinder.pictures.text_reader import TextReader, is_ocr_installed
from viewfinder.store.describing import TextTeller

pytestmark = pytest.mark.skipif(not is_ocr_installed(), reason="the extra ocr is not installed")

RECEIPT = ["BAKERY ROSSI", "2 x Croissant 3.80", "Sourdough bread 5.20", "TOTAL 9.00", "Invoice 20194711"]


@pytest.fixture(scope="module")
def reader() -> Iterator[TextReader]:
    with TextReader() as made:
        yield made


def draw(
    lines: list[str], *, size: tuple[int, int] = (640, 480), paper: str = "white", ink: str = "black"
) -> Image.Image:
    image = Image.new("RGB", size, paper)
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((60, 50 + 80 * number), line, font=ImageFont.load_default(36), fill=ink)
    return image


def pixels_of(image: Image.Image) -> NDArray[np.uint8]:
    return np.asarray(image)


def test_lines_are_read_from_top_to_bottom_with_boxes_and_confidence(reader: TextReader) -> None:
    lines = reader.read(pixels_of(draw(RECEIPT)))
    assert [line.text for line in lines] == RECEIPT
    for number, line in enumerate(lines):
        left, top, right, bottom = line.box
        assert left == pytest.approx(60 / 640, abs=0.02)
        assert top * 480 < 50 + 80 * number + 25 < bottom * 480
        assert left < right <= 1
        assert 0.6 <= line.confidence <= 1


def test_light_letters_on_a_coloured_sign_are_read_in_their_place(reader: TextReader) -> None:
    sign = Image.effect_noise((900, 600), 40).convert("RGB")
    sign.paste(draw(["HARBOUR STREET"], size=(560, 140), paper="navy", ink="white"), (200, 300))
    [line] = reader.read(pixels_of(sign))
    assert line.text == "HARBOUR STREET"
    assert 200 / 900 < line.box[0] < line.box[2] < 760 / 900
    assert 0.5 < line.box[1] < line.box[3] < 440 / 600


def test_a_picture_without_writing_has_none(reader: TextReader) -> None:
    assert reader.read(pixels_of(Image.effect_noise((320, 240), 60).convert("RGB"))) == []
    assert reader.read(np.zeros((1, 1, 3), np.uint8)) == []


@pytest.mark.long
def test_a_process_that_takes_too_long_or_dies_costs_one_picture() -> None:
    picture = pixels_of(draw(["GATE 7"]))
    with TextReader(seconds=0.001) as reader:
        with pytest.raises(PictureError, match=r"took longer than 0\.001 s"):
            reader.read(picture)
        reader.seconds = 120.0
        assert [line.text for line in reader.read(picture)] == ["GATE 7"]
        assert reader.process is not None
        os.kill(reader.process.pid, signal.SIGKILL)
        with pytest.raises(PictureError, match="reading the text failed"):
            reader.read(picture)
        assert [line.text for line in reader.read(picture)] == ["GATE 7"]


@pytest.mark.slow
@pytest.mark.long
def test_signs_and_receipts_are_found_by_what_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, library = tmp_path / "pictures", tmp_path / "library"
    folder.mkdir()
    says = {
        "receipt": RECEIPT, "sign": ["HARBOUR STREET"], "screen": ["Connection timed out", "Error 504417"],
        "menu": ["Ristorante Velmora", "Gnocchi 11.50"],
    }  # fmt: skip
    for name, lines in says.items():
        draw(lines).save(folder / f"{name}.png")
    for number in range(12):
        Image.effect_noise((320, 240), 10 + 7 * number).convert("RGB").save(folder / f"noise{number}.png")
    assert run(["add", str(folder), "--library", str(library)]) == 0
    assert run(["describe", "--text-only", "--library", str(library)]) == 0
    assert "16 pictures to describe: 16 described (4 with text)" in capsys.readouterr().out
    opened = Library.open(library, create=False)
    for said, name in [
        ("bakery rossi", "receipt"), ("invoice 20194711", "receipt"), ("harbour street", "sign"), ("velmora", "menu"),
        ("error 504417", "screen"), ("connection timed out", "screen"),
    ]:  # fmt: skip
        assert opened.find(said)[0].path.stem == name, said
    [row] = [row for row in opened if row.path.stem == "receipt"]
    assert {fact.source for fact in row.machine} == {"read in the picture"}
    assert [line.text for line in list_text_lines(row.machine)] == RECEIPT
    lines = opened.show(row.id).to_json()["text_lines"]
    assert [line["text"] for line in lines] == RECEIPT
    with TextReader() as reader:
        assert opened.describe_by(TextTeller(reader)).chosen == 0  # also those in which there was nothing
