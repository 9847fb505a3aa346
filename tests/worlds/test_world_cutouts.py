import numpy as np
import pytest
from PIL import Image, ImageDraw

from viewfinder.worlds.cutouts import cut_out

SIDE = 200
Colour = tuple[int, int, int]


def _photo(
    background: Colour, *, thing: Colour = (200, 30, 30), box: tuple[int, int, int, int] = (60, 50, 139, 149)
) -> Image.Image:
    photo = Image.new("RGB", (SIDE, SIDE), background)
    ImageDraw.Draw(photo).rectangle(box, fill=thing)
    return photo


def test_a_thing_on_white_is_cropped_to_its_rim() -> None:
    cut = cut_out(_photo((255, 255, 255)))
    assert cut is not None and cut.mode == "RGBA"
    # 80 x 100 pixels; the rim may be drawn in or softened by one.
    assert abs(cut.width - 80) <= 2 and abs(cut.height - 100) <= 2
    alpha = np.asarray(cut)[..., 3]
    assert alpha[50, 40] == 255 and alpha.mean() > 230


def test_the_background_may_be_any_light_colour_with_some_noise() -> None:
    noise = np.random.default_rng(0).integers(-4, 5, (SIDE, SIDE, 3))
    photo = np.clip(np.asarray(_photo((240, 236, 228))).astype(int) + noise, 0, 255).astype(np.uint8)
    cut = cut_out(Image.fromarray(photo))
    assert cut is not None and abs(cut.width - 80) <= 2


@pytest.mark.parametrize("background", [(20, 20, 30), (120, 160, 120)])
def test_a_dark_background_is_refused(background: Colour) -> None:
    assert cut_out(_photo(background)) is None


def test_a_background_of_many_colours_is_refused() -> None:
    photo = np.random.default_rng(0).integers(150, 256, (SIDE, SIDE, 3)).astype(np.uint8)
    assert cut_out(Image.fromarray(photo)) is None


@pytest.mark.parametrize(("box", "why"), [((95, 95, 104, 104), "too little"), ((2, 2, 197, 197), "too much")])
def test_what_leaves_too_little_or_too_much_is_refused(box: tuple[int, int, int, int], why: str) -> None:
    assert cut_out(_photo((255, 255, 255), box=box)) is None, why


def test_nothing_to_see_is_refused() -> None:
    assert cut_out(Image.new("RGB", (SIDE, SIDE), (255, 255, 255))) is None


def test_a_hole_is_seen_through_and_a_pale_print_is_not() -> None:
    photo = _photo((255, 255, 255))
    ImageDraw.Draw(photo).rectangle((80, 70, 119, 99), fill=(255, 255, 255))
    ImageDraw.Draw(photo).rectangle((80, 110, 119, 139), fill=(248, 248, 248))
    cut = cut_out(photo)
    assert cut is not None
    alpha = np.asarray(cut)[..., 3]
    assert alpha[35, 40] == 0 and alpha[75, 40] == 255


def test_a_pale_garment_that_the_flood_ate_into_is_refused() -> None:
    photo = _photo((255, 255, 255))
    # A way in from below, 30 pixels wide: the middle of a white shirt lost to the background.
    ImageDraw.Draw(photo).rectangle((85, 70, 114, 199), fill=(255, 255, 255))
    assert cut_out(photo, solid=True) is None
    assert cut_out(photo) is not None  # of a bag or glasses, that may be how they are made


def test_specks_are_left_out() -> None:
    photo = _photo((255, 255, 255))
    ImageDraw.Draw(photo).rectangle((5, 5, 9, 9), fill=(0, 0, 0))
    cut = cut_out(photo)
    assert cut is not None and cut.width <= 82
