"""A world of edits as files: as InstructPix2Pix's, the same for a seed, and resumed where it was left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from viewfinder.data.instruct_pix2pix import read_instruct_pix2pix
from viewfinder.data.truth import read_truth
from viewfinder.errors import BadInput
from viewfinder.pictures import scan
from viewfinder.worlds import WORLD_WRITERS, write_world
from viewfinder.worlds.edits import sample_edit
from viewfinder.worlds.edits_write import picture_of, write_edits
from viewfinder.worlds.kinds import HEIGHT, WIDTH

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
        said = (pair.text.before, pair.text.instruction, pair.text.after)
        assert said == (edit.input, edit.instruction, edit.output)
        assert (pair.source, pair.target) == (small / picture_of(edit, 0), small / picture_of(edit, 1))


def test_the_pictures_differ_where_the_edit_says_and_nowhere_else(small: Path) -> None:
    edits = (sample_edit(seed=3, number=number) for number in range(1, COUNT + 1))
    edit = next(edit for edit in edits if edit.change in ("removed", "added", "colour", "pattern"))
    before, after = (np.asarray(Image.open(small / picture_of(edit, which)), np.int16) for which in (0, 1))
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
        known = truth[picture_of(edit, which)]
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
