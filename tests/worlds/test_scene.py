from collections import Counter

import pytest

from viewfinder.worlds.kinds import HEIGHT, KINDS, PLACES, SIZES, WIDTH
from viewfinder.worlds.scene import FAR, Scene, Thing, box_area, box_overlap, relation_holds, sample_scene

SCENES = [sample_scene(seed=5, number=number) for number in range(1, 401)]


def _thing(box: tuple[int, int, int, int], kind: str = "ball") -> Thing:
    return Thing(1, kind, "red", "medium", "plain", "right", box)


def test_a_scene_depends_on_seed_and_number_only() -> None:
    assert sample_scene(seed=5, number=7) == SCENES[6]
    assert sample_scene(seed=6, number=7) != SCENES[6]


def test_scenes_have_three_to_eight_things_wholly_in_the_picture() -> None:
    assert {len(scene.things) for scene in SCENES} == {3, 4, 5, 6, 7, 8}
    for thing in (thing for scene in SCENES for thing in scene.things):
        x, y, width, height = thing.box
        assert x >= 0 and y >= 0 and width > 8 and height > 8 and x + width <= WIDTH and y + height <= HEIGHT


def test_every_kind_place_colour_size_and_pattern_occurs() -> None:
    things = [thing for scene in SCENES for thing in scene.things]
    assert {thing.kind for thing in things} == set(KINDS)
    assert len(KINDS) >= 20 and len(PLACES) >= 10
    assert {scene.place for scene in SCENES} == set(PLACES)
    assert len({thing.colour for thing in things}) == 10
    assert Counter(thing.size for thing in things).keys() == SIZES.keys()
    assert {thing.pattern for thing in things} == {"plain", "striped", "dotted", "checked"}


def test_most_scenes_have_several_things_of_one_kind() -> None:
    repeated = [max(scene.counts().values()) for scene in SCENES]
    assert 0.4 < sum(count > 1 for count in repeated) / len(repeated) < 0.9


def test_things_are_of_kinds_that_the_place_and_the_hour_allow() -> None:
    for scene in SCENES:
        place = PLACES[scene.place]
        for thing in scene.things:
            kind = KINDS[thing.kind]
            assert kind.zone in place.zones and thing.kind not in place.shows
            assert not (kind.outdoors and scene.light == "indoors")
            assert thing.colour in kind.colours and (kind.patterned or thing.pattern == "plain")
            assert not (thing.kind == "moon" and scene.light != "night")


def test_what_stands_lower_is_drawn_later_and_hides_little() -> None:
    for scene in SCENES:
        for far, near in zip(scene.things, scene.things[1:], strict=False):
            for_both = box_overlap(far.box, near.box)
            assert for_both == 0 or far.bottom < near.bottom
            assert for_both <= 0.28 * min(box_area(far.box), box_area(near.box)) + 1


def test_sizes_can_be_told_apart_however_far_things_are() -> None:
    small, medium, large = SIZES.values()
    assert small < medium * FAR and medium < large * FAR


@pytest.mark.parametrize(
    ("predicate", "a", "b", "expected"),
    [
        ("left of", (0, 100, 20, 20), (50, 110, 20, 20), True),
        ("left of", (0, 100, 60, 20), (50, 110, 20, 20), False),  # they overlap from the side
        ("left of", (0, 0, 20, 20), (50, 200, 20, 20), False),  # far above rather than left
        ("right of", (50, 110, 20, 20), (0, 100, 20, 20), True),
        ("above", (100, 0, 20, 20), (110, 60, 20, 20), True),
        ("above", (100, 0, 20, 70), (110, 60, 20, 20), False),
        ("below", (110, 60, 20, 20), (100, 0, 20, 20), True),
        ("next to", (0, 100, 20, 20), (59, 102, 20, 20), True),
        ("next to", (0, 100, 20, 20), (60, 102, 20, 20), False),  # a gap of 40 pixels
        ("next to", (0, 100, 20, 20), (15, 102, 20, 20), False),  # they overlap
        ("in front of", (0, 100, 20, 40), (10, 90, 20, 40), True),
        ("in front of", (10, 90, 20, 40), (0, 100, 20, 40), False),
        ("behind", (10, 90, 20, 40), (0, 100, 20, 40), True),
        ("in front of", (0, 100, 20, 40), (30, 90, 20, 40), False),  # they do not overlap
    ],
)
def test_relations_follow_from_boxes(
    predicate: str, a: tuple[int, int, int, int], b: tuple[int, int, int, int], expected: bool
) -> None:
    assert relation_holds(_thing(a), predicate, _thing(b)) is expected  # type: ignore[arg-type]


def test_a_scene_lists_each_relation_once_and_with_its_opposite() -> None:
    scene = next(scene for scene in SCENES if len(scene.things) == 8)
    found = {(r.subject.number, r.predicate, r.object.number) for r in scene.relations}
    assert len(found) == len(scene.relations) > 8
    opposite = {"left of": "right of", "above": "below", "in front of": "behind", "next to": "next to"}
    for a, predicate, b in found:
        if predicate in opposite:
            assert (b, opposite[predicate], a) in found


def test_thirds_of_the_picture_name_where_a_thing_is() -> None:
    assert (_thing((0, 0, 20, 20)).column, _thing((0, 0, 20, 20)).row) == ("left", "top")
    assert (_thing((428, 316, 20, 20)).column, _thing((428, 316, 20, 20)).row) == ("right", "bottom")
    assert (_thing((214, 158, 20, 20)).column, _thing((214, 158, 20, 20)).row) == ("middle", "centre")


def test_the_main_thing_takes_most_of_the_picture() -> None:
    small, large = _thing((0, 0, 20, 20)), _thing((50, 0, 40, 40), "hat")
    assert Scene(1, 1, "beach", "day", (small, large)).main() is large
