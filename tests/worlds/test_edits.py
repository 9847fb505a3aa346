"""A scene, the same with one thing changed, and what is said of it: checked against the truth of both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from viewfinder.data.picture_texts import read_instruct_pix2pix
from viewfinder.data.truth import read_truth
from viewfinder.errors import BadInput
from viewfinder.pictures.scan import scan
from viewfinder.worlds import WORLD_WRITERS, write_world
from viewfinder.worlds.edits import CHANGES, MIN_LEFT, Edit, sample_edit, write_edits
from viewfinder.worlds.kinds import HEIGHT, PLACES, WIDTH
from viewfinder.worlds.scene import Scene, Thing, is_box_free, kind_fits, sample_scene
from viewfinder.worlds.stock import stock_of

PRODUCTS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "fashion-products"
SAMPLED = 80


@cache
def edits() -> tuple[Edit, ...]:
    return tuple(sample_edit(seed=2, number=number) for number in range(1, SAMPLED + 1))


def of(change: str) -> list[Edit]:
    return [edit for edit in edits() if edit.change == change]


def looks(things: tuple[Thing, ...]) -> Counter[Thing]:
    """Things without their numbers."""
    return Counter(replace(thing, number=0) for thing in things)


def one_changed(edit: Edit) -> tuple[Thing, Thing]:
    """The only thing that is another afterwards."""
    gone, come = looks(edit.before.things), looks(edit.after.things)
    [old], [new] = (gone - come).elements(), (come - gone).elements()
    return old, new


def nouns(thing: Thing, scene: Scene) -> list[str]:
    return [singular for singular, _ in scene.stock.nouns[thing.kind]]


def named(text: str, thing: Thing, scene: Scene) -> bool:
    return any(noun in text for noun in nouns(thing, scene))


@given(st.integers(0, 10_000), st.integers(1, 10_000))
@settings(max_examples=25, deadline=None)
def test_one_thing_changes_and_the_rest_is_a_scene_as_before(seed: int, number: int) -> None:
    edit = sample_edit(seed=seed, number=number)
    before, after = edit.before, edit.after
    settings_differ = (before.place, before.light) != (after.place, after.light)
    gone, come = looks(before.things) - looks(after.things), looks(after.things) - looks(before.things)
    assert settings_differ != bool(gone + come) and gone.total() <= 1 and come.total() <= 1
    assert (after.seed, after.number) == (before.seed, before.number) == (seed, number)
    assert [thing.number for thing in after.things] == list(range(1, len(after.things) + 1))
    for thing in come:
        x, y, width, height = thing.box
        assert 0 <= x <= x + width <= WIDTH and 0 <= y <= y + height <= HEIGHT
    assert edit == sample_edit(seed=seed, number=number)


def test_every_kind_of_change_comes_about() -> None:
    assert {edit.change for edit in edits()} == set(CHANGES)


@pytest.mark.parametrize(("change", "field"), [("colour", "colour"), ("pattern", "pattern"), ("moved", "box")])
def test_a_thing_changes_in_nothing_else(change: str, field: str) -> None:
    for edit in of(change):
        old, new = one_changed(edit)
        assert getattr(old, field) != getattr(new, field)
        assert replace(old, **{field: getattr(new, field)}) == new
        assert named(edit.instruction, old, edit.before)


def test_the_new_colour_is_said_and_both_captions_have_theirs() -> None:
    for edit in of("colour"):
        old, new = one_changed(edit)
        assert edit.instruction.endswith({"purple": ("purple", "violet")}.get(new.colour, new.colour))
        pairs = zip(edit.input.split(), edit.output.split(), strict=True)
        differ = {pair for pair in pairs if pair[0] != pair[1]}
        assert (old.colour, new.colour) in differ and differ <= {(old.colour, new.colour), ("a", "an"), ("an", "a")}


def test_a_thing_is_moved_to_where_it_is_said_to_be_and_hides_nothing() -> None:
    for edit in of("moved"):
        old, new = one_changed(edit)
        assert edit.instruction.endswith(new.column) and new.column != old.column
        assert old.column in edit.input and new.column in edit.output
        assert is_box_free(new.box, [thing for thing in edit.before.things if thing.box != old.box])


def test_what_is_removed_was_named_so_that_only_it_could_be_meant() -> None:
    for edit in of("removed"):
        [gone] = (looks(edit.before.things) - looks(edit.after.things)).elements()
        assert named(edit.instruction, gone, edit.before) and len(edit.after.things) >= MIN_LEFT
        if edit.before.counts()[gone.kind] == 1:
            assert not named(edit.output, gone, edit.before)


def test_what_is_added_is_in_the_second_caption() -> None:
    for edit in of("added"):
        [come] = (looks(edit.after.things) - looks(edit.before.things)).elements()
        assert named(edit.instruction, come, edit.after) and named(edit.output, come, edit.after)
        assert come.colour in edit.output
        assert edit.after == sample_scene(seed=2, number=edit.after.number)


@pytest.mark.parametrize("change", ["place", "light"])
def test_things_can_be_where_and_when_they_are_put(change: str) -> None:
    for edit in of(change):
        scene = edit.after
        kinds, place = scene.stock.kinds, PLACES[scene.place]
        assert scene.light in place.lights and edit.before.things == scene.things
        for thing in scene.things:
            low, high = place.zones[kinds[thing.kind].zone]
            assert kind_fits(thing.kind, kinds[thing.kind], scene.place, scene.light) and low <= thing.bottom <= high
        if change == "light":
            assert edit.before.place == scene.place and edit.input != edit.output


@pytest.mark.data
@pytest.mark.skipif(not PRODUCTS.is_dir(), reason="the products are not here")
def test_products_are_exchanged_for_others_of_their_kind() -> None:
    stock = stock_of(PRODUCTS)
    made = [sample_edit(seed=4, number=number, stock=stock) for number in range(1, 13)]
    changed = [one_changed(edit) for edit in made if edit.change in ("colour", "pattern")]
    assert changed
    for old, new in changed:
        assert (old.kind, old.size, old.column, old.bottom) == (new.kind, new.size, new.column, new.bottom)
        assert old.product != new.product and (old.colour, old.pattern) != (new.colour, new.pattern)
        assert new.colour == old.colour or new.pattern == old.pattern


COUNT = 6

WRITE = """
import sys
from pathlib import Path
from viewfinder.worlds import write_world
if __name__ == "__main__":
    write_world(Path(sys.argv[1]), kind="edits", count=int(sys.argv[2]), seed=3, workers=int(sys.argv[3]))
"""


def written(out: Path, count: int = COUNT, workers: int = 1) -> Path:
    """A world written in a process of its own, where no types are checked and drawing is ten times as fast."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
    script = out.with_suffix(".py")  # a file, because processes that draw read it again
    script.write_text(WRITE)
    subprocess.run([sys.executable, str(script), str(out), str(count), str(workers)], check=True, env=environment)
    return out


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("edits") / "small")


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_reader_of_instruct_pix2pix_reads_it(small: Path) -> None:
    pairs, report = read_instruct_pix2pix(small)
    assert (report.expected, report.found, report.dropped) == (COUNT, COUNT, ())
    for number, pair in enumerate(pairs, start=1):
        edit = sample_edit(seed=3, number=number)
        prompt = json.loads((small / edit.folder / "prompt.json").read_text())
        assert (prompt["input"], pair.instruction, prompt["output"]) == (edit.input, edit.instruction, edit.output)
        assert (pair.source, pair.target) == (small / edit.picture(0), small / edit.picture(1))


def test_the_pictures_differ_where_the_edit_says_and_nowhere_else(small: Path) -> None:
    edits = (sample_edit(seed=3, number=number) for number in range(1, COUNT + 1))
    edit = next(edit for edit in edits if edit.change in ("removed", "added", "colour", "pattern"))
    before, after = (np.asarray(Image.open(small / edit.picture(which)), np.int16) for which in (0, 1))
    assert before.shape == (HEIGHT, WIDTH, 3)
    differs = np.abs(before - after).max(axis=2) > 24
    changed = set(edit.before.things) ^ set(edit.after.things)
    inside = np.zeros_like(differs)
    for x, y, width, height in (thing.box for thing in changed):
        inside[max(0, y - 8) : y + height + 16, max(0, x - 12) : x + width + 12] = True
    assert differs[inside].any() and not differs[~inside].any()


def test_the_truth_is_known_of_both_pictures(small: Path) -> None:
    truth, edit = read_truth(small), sample_edit(seed=3, number=2)
    assert len(truth) == 2 * COUNT
    for which, scene in enumerate((edit.before, edit.after)):
        known = truth[edit.picture(which)]
        assert (known.place, known.light, len(known.things)) == (scene.place, scene.light, len(scene.things))


def test_a_seed_gives_the_same_bytes_however_many_processes_draw_and_wherever_it_was_interrupted(
    small: Path, tmp_path: Path
) -> None:
    begun = written(tmp_path / "begun")
    (begun / "seeds.json").unlink()
    (begun / "0000004" / "prompt.json").unlink()
    assert files(written(begun, workers=2)) == files(small)


def test_a_pair_does_not_depend_on_how_many_there_are(small: Path, tmp_path: Path) -> None:
    few, many = files(written(tmp_path / "few", count=2)), files(small)
    pairs = [name for name in few if name.startswith("0000")]
    assert len(pairs) == 8 and all(few[name] == many[name] for name in pairs)


def test_only_the_pairs_count_as_pictures_of_the_data_set(small: Path) -> None:
    assert (small / "preview.png").is_file()
    assert len(scan([small]).files) == 2 * COUNT


def test_the_report_counts_pairs(tmp_path: Path) -> None:
    seen: list[int] = []
    report = write_world(tmp_path / "w", kind="edits", count=1, seed=3, progress=seen.append)
    assert (report.kind, report.pictures, report.captions, report.edits, seen) == ("edits", 2, 2, 1, [1])
    made = json.loads((tmp_path / "w" / "world.json").read_text())
    assert (made["kind"], made["count"], made["seed"]) == ("edits", 1, 3)


@pytest.mark.parametrize(("count", "workers", "named"), [(0, 1, "--count 0"), (1, 0, "--workers 0")])
def test_impossible_numbers_are_refused(tmp_path: Path, count: int, workers: int, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        write_edits(tmp_path / "w", count=count, seed=1, workers=workers)


def test_a_folder_that_holds_another_world_is_left_alone(small: Path) -> None:
    with pytest.raises(BadInput, match="this folder is not empty"):
        write_edits(small, count=COUNT + 1, seed=3)
    assert "edits" in WORLD_WRITERS


def test_only_a_catalogue_has_pairs_to_count(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--pairs 2: only the kind catalogue has pairs"):
        write_world(tmp_path / "w", kind="edits", count=2, seed=3, pairs=2)
