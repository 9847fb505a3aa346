from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from viewfinder.encoders.base import Encoded, Pixels
from viewfinder.errors import PictureError, UnknownName
from viewfinder.pictures import picture_id
from viewfinder.search.gallery import Gallery
from viewfinder.search.grounding import CROPS, GRID_SIDE, Grounder, crop_boxes, crop_picture, spread_to_regions
from viewfinder.store.rows import FileRecord, PictureRow, build_columns, pictures_to_arrow
from viewfinder.store.snapshot import Snapshot
from viewfinder.testing import COLOURS, ColourEncoder, draw_halves

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


class Counting(ColourEncoder):
    """Knows colours, and how many pictures it has looked at."""

    looked_at = 0

    def pictures(self, batch: Sequence[Pixels], *, regions: bool = False) -> Encoded:
        Counting.looked_at += len(batch)
        return super().pictures(batch, regions=regions)


def gallery_of(*files: Path, encoder: ColourEncoder | None = None) -> Gallery:
    """A gallery of these files, which must be there; sorted by their ids."""
    encoder = encoder or ColourEncoder()
    names = {picture_id(file.read_bytes()): file for file in files}
    rows = [PictureRow(name, (FileRecord(str(names[name]), 1, 1),), 240, 160, "PNG", 1) for name in sorted(names)]
    matrix_nd = np.zeros((len(rows), 48), np.float32)
    table = pictures_to_arrow(rows)
    snapshot = Snapshot(matrix_nd, table, build_columns(table), space=encoder.version, generation="1", folder=None)
    return Gallery(snapshot, encoder)


def drawn(folder: Path, pixels: Pixels, name: str = "drawn.png") -> tuple[Path, str]:
    Image.fromarray(pixels).save(folder / name)
    return folder / name, picture_id((folder / name).read_bytes())


def test_words_for_the_upper_half_light_up_the_upper_half(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "blue", size=(240, 160)))
    looked = Grounder().ground(gallery_of(file), name, ["red", "blue"])
    red_yx, blue_yx = looked.weights_tr.reshape(2, GRID_SIDE, GRID_SIDE)
    assert red_yx[:3].sum() > 0.8 and blue_yx[3:].sum() > 0.8
    assert np.allclose(red_yx, red_yx[:, :1], atol=1e-6), "a row of one colour is lit evenly"


def test_a_small_thing_is_found_in_its_corner(tmp_path: Path) -> None:
    pixels = draw_halves("blue", "blue", size=(240, 160))
    pixels[120:, 180:] = COLOURS["yellow"]
    file, name = drawn(tmp_path, pixels)
    weights_r = Grounder().ground(gallery_of(file), name, ["yellow"]).weights_tr[0]
    assert int(weights_r.argmax()) == GRID_SIDE * GRID_SIDE - 1
    assert weights_r[-1] > 4 / (GRID_SIDE * GRID_SIDE)


def test_a_picture_that_is_alike_everywhere_is_lit_evenly(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "red", size=(240, 160)))
    weights_tr = Grounder().ground(gallery_of(file), name, ["red", "a boat"]).weights_tr
    assert np.allclose(weights_tr, 1 / (GRID_SIDE * GRID_SIDE), atol=1e-5)


def test_each_text_is_looked_for_by_itself(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "blue", size=(240, 160)))
    gallery, grounder = gallery_of(file), Grounder()
    both = grounder.ground(gallery, name, ["red", "blue"]).weights_tr
    alone = np.concatenate([grounder.ground(gallery, name, [text]).weights_tr for text in ("red", "blue")])
    assert np.allclose(both, alone, atol=1e-6)


def test_boxes_are_a_grid_over_the_whole_picture(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "blue"))
    boxes_r4 = Grounder().ground(gallery_of(file), name, ["red"]).boxes_r4
    assert boxes_r4.shape == (36, 4)
    assert np.allclose(boxes_r4[7], [1 / 6, 1 / 6, 2 / 6, 2 / 6])
    assert np.isclose((boxes_r4[:, 2:] - boxes_r4[:, :2]).prod(axis=1).sum(), 1.0)


def test_a_picture_is_cut_up_and_encoded_once(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "blue"))
    gallery, grounder = gallery_of(file, encoder=Counting()), Grounder()
    before = Counting.looked_at
    assert not grounder.has_crops(gallery, name)
    for text in ("red", "blue", "green"):
        grounder.ground(gallery, name, [text])
        assert grounder.has_crops(gallery, name)
    assert Counting.looked_at - before == CROPS * CROPS


def test_what_is_kept_stays_within_its_bound(tmp_path: Path) -> None:
    drawings = [drawn(tmp_path, draw_halves(top, "blue"), f"{top}.png") for top in ("red", "green", "white")]
    gallery = gallery_of(*(file for file, _ in drawings), encoder=Counting())
    grounder = Grounder(max_bytes=2 * (CROPS * CROPS * 48 * 4 + 128))  # two pictures of 25 crops of 48 float32
    for _, name in drawings:
        grounder.ground(gallery, name, ["red"])
    before = Counting.looked_at
    grounder.ground(gallery, drawings[1][1], ["red"])
    assert Counting.looked_at == before, "the last two are kept"
    grounder.ground(gallery, drawings[0][1], ["red"])
    assert Counting.looked_at == before + CROPS * CROPS, "the first had to go"


def test_a_file_that_is_another_picture_by_now_is_not_looked_at(tmp_path: Path) -> None:
    file, name = drawn(tmp_path, draw_halves("red", "blue"))
    gallery = gallery_of(file)
    drawn(tmp_path, draw_halves("green", "white"))
    with pytest.raises(PictureError, match="no file is the picture"):
        Grounder().ground(gallery, name, ["red"])
    with pytest.raises(UnknownName, match="no picture in this library"):
        Grounder().ground(gallery, "nobody", ["red"])


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (300, 2), (7, 5)])
def test_crops_of_tiny_and_narrow_pictures_have_a_pixel_at_least(size: tuple[int, int]) -> None:
    assert all(min(crop.shape[:2]) >= 1 for crop in crop_picture(np.zeros((size[1], size[0], 3), np.uint8)))


def test_crops_are_the_pixels_under_their_boxes() -> None:
    pixels = np.arange(100 * 100 * 3, dtype=np.int64).astype(np.uint8).reshape(100, 100, 3)
    for crop, (x0, y0, x1, y1) in zip(crop_picture(pixels), crop_boxes().tolist(), strict=True):
        expected = pixels[int(y0 * 100) : round(y1 * 100), int(x0 * 100) : round(x1 * 100)]
        assert np.array_equal(crop, expected)


@given(st.lists(st.floats(-1, 1, width=32), min_size=CROPS * CROPS, max_size=CROPS * CROPS))
def test_spreading_is_the_mean_over_the_points_of_a_region(likeness: list[float]) -> None:
    """Slow and obvious: sample points of each region, add up the crops that hold them."""
    weights_c = np.exp(15.0 * (np.array(likeness) - max(likeness)))
    fine = 40
    slow_r = np.zeros(GRID_SIDE * GRID_SIDE)
    for region in range(GRID_SIDE * GRID_SIDE):
        row, column = divmod(region, GRID_SIDE)
        points = (np.arange(fine) + 0.5) / fine / GRID_SIDE
        total = count = 0.0
        for weight, (x0, y0, x1, y1) in zip(weights_c, crop_boxes(), strict=True):
            inside = ((points + column / GRID_SIDE >= x0) & (points + column / GRID_SIDE < x1)).sum()
            inside *= ((points + row / GRID_SIDE >= y0) & (points + row / GRID_SIDE < y1)).sum()
            total, count = total + weight * inside, count + inside
        slow_r[region] = total / count
    fast_r = spread_to_regions(np.array([likeness]))[0]
    assert np.allclose(fast_r, slow_r / slow_r.sum(), atol=2e-3)
    assert np.isclose(fast_r.sum(), 1.0, atol=1e-5)


@pytest.mark.data
@pytest.mark.slow
def test_on_photos_a_named_thing_is_pointed_at_far_more_often_than_by_chance() -> None:
    """COCO: whether the strongest region lies (by half) within the boxes of the thing that is named."""
    import json

    from viewfinder.encoders import load_encoder

    notes = SHARED / "coco" / "annotations" / "instances_train2017.json"
    if not notes.exists():
        pytest.skip(f"needs {notes}")
    known = json.loads(notes.read_text())
    encoder, names = load_encoder("starter"), {it["id"]: it["name"] for it in known["categories"]}
    hits = by_chance = asked = 0.0
    for image in known["images"][:12]:
        with Image.open(SHARED / "coco" / "train2017" / image["file_name"]) as photo:
            pixels = np.asarray(photo.convert("RGB"))
        vectors_cd = encoder.project(encoder.pictures(crop_picture(pixels)).global_bd)
        for category in sorted({it["category_id"] for it in known["annotations"] if it["image_id"] == image["id"]}):
            cover_r = covered(
                image,
                [
                    it["bbox"]
                    for it in known["annotations"]
                    if it["image_id"] == image["id"] and it["category_id"] == category
                ],
            )
            if not 0.02 <= cover_r.mean() <= 0.5:
                continue
            likeness_1c = encoder.words([names[category]]) @ vectors_cd.T - encoder.background(vectors_cd)
            best = int(spread_to_regions(likeness_1c)[0].argmax())
            asked, hits, by_chance = asked + 1, hits + (cover_r[best] >= 0.5), by_chance + (cover_r >= 0.5).mean()
    assert asked >= 15
    assert hits / asked > 2 * by_chance / asked


def covered(image: dict[str, int], boxes: list[list[float]]) -> np.ndarray:
    """The share of each region that lies in any of the boxes (x, y, width, height in pixels)."""
    fine = np.zeros((60, 60), bool)
    for x, y, width, height in boxes:
        across, down = 60 / image["width"], 60 / image["height"]
        fine[int(y * down) : int((y + height) * down) + 1, int(x * across) : int((x + width) * across) + 1] = True
    return np.asarray(fine.reshape(6, 10, 6, 10).mean(axis=(1, 3)).reshape(-1))
