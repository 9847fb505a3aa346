from pathlib import Path

import numpy as np
from PIL import Image

from viewfinder.worlds.preview import caption_sheet


def _pictures(folder: Path, count: int) -> list[tuple[Path, str]]:
    files = []
    for at in range(count):
        file = folder / f"{at}.png"
        Image.new("RGB", (448, 336), (10 * at, 0, 200)).save(file)
        files.append((file, f"picture {at} " + "with very many words " * at))
    return files


def test_pictures_stand_six_in_a_row(tmp_path: Path) -> None:
    sheet = caption_sheet(_pictures(tmp_path, 7))
    # 6 x (224 + 6) + 6 wide; two rows of 168 + 34 + 6, and 6.
    assert sheet.size == (1386, 422)
    assert sheet.getpixel((6 + 230 + 100, 6 + 80)) == (10, 0, 200)
    assert sheet.getpixel((6 + 100, 6 + 208 + 80)) == (60, 0, 200)
    assert sheet.getpixel((6 + 230 + 100, 6 + 208 + 80)) == (255, 255, 255)


def test_one_picture_makes_a_small_sheet_with_a_caption(tmp_path: Path) -> None:
    sheet = caption_sheet(_pictures(tmp_path, 1))
    assert sheet.width == 236
    assert (np.asarray(sheet)[176:190] < 100).any()


def test_long_captions_stay_in_their_two_lines(tmp_path: Path) -> None:
    sheet = np.asarray(caption_sheet(_pictures(tmp_path, 6)))
    assert (sheet[-6:] == 255).all() and (sheet[:, -6:] == 255).all()
