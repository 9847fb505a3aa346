import random

import numpy as np
import pytest
from PIL import Image, ImageChops

from viewfinder.worlds.backgrounds import PAINTINGS, SCALE, Scenery
from viewfinder.worlds.draw import draw_scene
from viewfinder.worlds.kinds import COLOURS, HEIGHT, KINDS, PATTERNS, PLACES, WIDTH
from viewfinder.worlds.scene import Scene, Thing, sample_scene
from viewfinder.worlds.sprites import SPRITES, draw_sprite

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
