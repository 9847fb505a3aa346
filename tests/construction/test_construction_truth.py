from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from viewfinder.construction.pipelines import ImageTextPair, SampleNotMade
from viewfinder.construction.setup import read_captioned
from viewfinder.construction.truth import CaptionedWorld, TruthWriter, read_world, scene_from_truth
from viewfinder.data.truth import PictureTruth, ThingTruth, truth_line
from viewfinder.errors import BadInput
from viewfinder.worlds.grammar import change_clauses, list_absent_kinds, make_speaker
from viewfinder.worlds.scene import sample_scene
from viewfinder.worlds.stock import DRAWN


@pytest.fixture(scope="module")
def world(scenes: Path) -> CaptionedWorld:
    pictures, _ = read_captioned(scenes, "all")
    return read_world(scenes, {picture.name: picture.captions for picture in pictures})


def test_a_scene_read_back_is_the_scene_that_was_drawn(world: CaptionedWorld) -> None:
    assert len(world.images) == 40
    for number in (1, 17, 40):
        drawn, scene = sample_scene(seed=7, number=number), world.scenes[f"images/{number:012d}.jpg"]
        assert (scene.seed, scene.number, scene.place, scene.light) == (7, number, drawn.place, drawn.light)
        # Where one cannot see which way a thing faces, the truth does not tell.
        assert [replace(thing, faces="") for thing in scene.things] == [
            replace(thing, faces="") for thing in drawn.things
        ]


def test_a_change_tells_what_is_different(world: CaptionedWorld) -> None:
    writer = TruthWriter(world)
    reference, target = (ImageTextPair(name, "") for name in world.images[:2])
    said = writer.write_instruction(reference, target)
    speaker = make_speaker(world.scenes[target.image], f"construct/0/instruction/{reference.image}")
    assert any(clause in said for clause in change_clauses(speaker, world.scenes[reference.image])[:1])
    assert (
        said
        == writer.write_instruction(reference, target)
        != TruthWriter(world, seed=1).write_instruction(reference, target)
    )


def test_the_first_of_two_rounds_is_found_by_its_caption(world: CaptionedWorld) -> None:
    writer = TruthWriter(world)
    for image in world.images:
        rounds = writer.write_two_rounds(ImageTextPair(image, ""))
        found = world.find_best(rounds.caption, without=image)
        assert found.likeness == 1.0
        assert found.image in [near.image for near in world.find_nearest(image)]
        assert rounds.change == writer.write_instruction(ImageTextPair(found.image, ""), ImageTextPair(image, ""))


def test_the_nearest_come_first_and_never_the_picture_itself(world: CaptionedWorld) -> None:
    near = world.find_nearest(world.images[5], 10)
    assert len(near) == 10
    assert world.images[5] not in [found.image for found in near]
    assert [found.likeness for found in near] == sorted((found.likeness for found in near), reverse=True)


def small(captions: dict[str, tuple[str, ...]]) -> CaptionedWorld:
    return CaptionedWorld({name: sample_scene(seed=1, number=at) for at, name in enumerate(captions, 1)}, captions)


def test_a_text_that_is_no_caption_finds_the_rarest_words_in_common() -> None:
    world = small({"a": ("a red ball", "a ball"), "b": ("a red cup",), "c": ("a blue cup",), "d": ("a cup",)})
    # ball is in one picture of four, red in two, a in all: log 4, log 2, log 1. `a` has ball in 2 of 2, red in 1 of 2.
    found = world.find_best("is there a red ball?", without="d")
    assert found.image == "a"
    assert found.likeness == pytest.approx((math.log(4) + math.log(2) / 2) / (math.log(4) + math.log(2)))
    assert world.find_best("is there a red ball?", without="a").image == "b"


def test_a_caption_of_two_pictures_belongs_to_none() -> None:
    world = small({"a": ("A ball.",), "b": ("a ball",), "c": ("a cup",)})
    assert dict(world.own_captions) == {"a cup": "c"}


def test_a_text_without_a_known_word_finds_nothing() -> None:
    with pytest.raises(SampleNotMade, match="no picture answers"):
        small({"a": ("a ball",), "b": ("a cup",)}).find_best("zebras", without="a")


def beach(image: str, kind: str) -> PictureTruth:
    """A thing of a kind on a beach."""
    thing = ThingTruth(1, kind, ((kind, f"{kind}s"),), "red", "large", "", "", (9, 9, 50, 60), "left", "top")
    return PictureTruth(image, (thing,), place="beach", light="day")


def test_of_products_nothing_is_said_to_be_absent(tmp_path: Path) -> None:
    lines = [truth_line(beach(f"{number:012d}.jpg", kind)) for number, kind in enumerate(("dress", "shoe"), start=1)]
    (tmp_path / "truth.jsonl").write_text("\n".join(lines))
    (tmp_path / "world.json").write_text('{"seed": 1, "sprites": "abc"}')
    world = read_world(tmp_path, {"images/000000000001.jpg": ("x",), "images/000000000002.jpg": ("y",)})
    assert [list_absent_kinds(scene) for scene in world.scenes.values()] == [[], []]
    said = TruthWriter(world).write_instruction(*(ImageTextPair(name, "") for name in world.images))
    assert re.search(r"\bshoe", said) and not re.search("dress|without|no ", said)


def test_a_light_that_no_scene_has_is_named() -> None:
    with pytest.raises(BadInput, match=r"7\.jpg: the light 'dim'"):
        scene_from_truth(PictureTruth("7.jpg", place="beach", light="dim"), 1, DRAWN)


def test_a_world_without_scenes_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_text(truth_line(PictureTruth("1.jpg", title="A shoe")))
    with pytest.raises(BadInput, match="name a language model as --generator"):
        read_world(tmp_path, {"images/1.jpg": ("a shoe",)})
