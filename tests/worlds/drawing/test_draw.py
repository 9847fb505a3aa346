import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageChops

from viewfinder.worlds.drawing.draw import PAINTINGS, SCALE, Scenery, caption_sheet, draw_scene, draw_sheet
from viewfinder.worlds.drawing.sprites import SPRITES, draw_sprite
from viewfinder.worlds.kinds import COLOURS, HEIGHT, KINDS, PATTERNS, PLACES, WIDTH
from viewfinder.worlds.scene import Scene, Thing, sample_scene

MAGENTA = (255, 0, 254)


def test_equal_scenes_give_equal_pixels_and_others_do_not() -> None:
    first, again = (draw_scene(sample_scene(seed=3, number=2)) for _ in range(2))
    assert (first.size, first.mode) == ((WIDTH, HEIGHT), "RGB")
    assert first.tobytes() == again.tobytes()
    assert draw_scene(sample_scene(seed=4, number=2)).tobytes() != first.tobytes()


@pytest.mark.parametrize("place", PLACES)
def test_a_background_covers_every_pixel(place: str) -> None:
    for seed in range(3):
        for light in sorted(set(PLACES[place].lights)):
            canvas = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), MAGENTA)
            PAINTINGS[place](Scenery(canvas, light, random.Random(seed)))
            assert not (np.asarray(canvas) == MAGENTA).all(axis=-1).any(), f"{place} by {light}, seed {seed}"


def test_there_is_a_sprite_for_every_kind_and_a_painting_for_every_place() -> None:
    assert SPRITES.keys() == KINDS.keys()
    assert PAINTINGS.keys() == PLACES.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_sprite_touches_all_sides_of_its_box_and_shows_its_colour(kind: str) -> None:
    size = (round(60 * SCALE * KINDS[kind].aspect), 60 * SCALE)
    for colour in KINDS[kind].colours[::4]:
        image = draw_sprite(kind, colour, "plain", size, mirrored=False)
        assert image.size == size and image.getbbox() == (0, 0, *size)
        pixels = np.asarray(image).reshape(-1, 4)
        seen = pixels[pixels[:, 3] > 200][:, :3].astype(int)
        close = np.abs(seen - COLOURS[colour]).max(axis=1) < 48
        # Of a bicycle there is only the frame to be coloured.
        assert close.mean() > (0.08 if kind == "bicycle" else 0.15), f"{colour} {kind}: {close.mean():.2f}"


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.patterned])
def test_patterns_can_be_seen_and_differ(kind: str) -> None:
    looks = {draw_sprite(kind, "black", pattern, (180, 180), mirrored=False).tobytes() for pattern in PATTERNS}
    assert len(looks) == len(PATTERNS)


def test_a_thing_changes_pixels_in_its_box_and_its_shadow_only() -> None:
    thing = Thing(1, "dog", "brown", "large", "plain", "left", (200, 200, 100, 80))
    empty = draw_scene(Scene(1, 1, "meadow", "day", ()))
    changed = ImageChops.difference(empty, draw_scene(Scene(1, 1, "meadow", "day", (thing,)))).getbbox()
    assert changed is not None
    left, top, right, bottom = changed
    assert (left, top) >= (195, 200) and right <= 305 and bottom <= 290
    assert top <= 201 and bottom >= 279


def test_facing_left_is_the_mirror_of_facing_right() -> None:
    right = draw_sprite("dog", "black", "plain", (120, 90), mirrored=False)
    left = draw_sprite("dog", "black", "plain", (120, 90), mirrored=True)
    assert right.tobytes() != left.tobytes()
    assert right.transpose(Image.Transpose.FLIP_LEFT_RIGHT).tobytes() == left.tobytes()


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


def test_a_row_is_as_high_as_its_longest_caption(tmp_path: Path) -> None:
    *short, long = _pictures(tmp_path, 7)
    low, high = draw_sheet([short[:2], short[:2]], lines=12), draw_sheet([short[:2], [long]], lines=12)
    assert low.size == (466, 422)
    assert high.width == 466 and high.height > low.height
