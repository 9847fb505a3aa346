"""Tuning on a user's own captions, with the real encoder on a drawn world."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

import viewfinder
from viewfinder.data import read_coco
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import Head
from viewfinder.errors import BadInput
from viewfinder.library import Library
from viewfinder.tuning import tune
from viewfinder.worlds import write_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "scenes"
    write_world(folder, kind="scenes", count=48, seed=3)
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows([picture.path.name, text] for picture in read_coco(folder)[0] for text in picture.captions)
    return folder


@pytest.fixture
def library(drawn: Path, tmp_path: Path) -> Library:
    library: Library = viewfinder.open(tmp_path / "library")
    library.add(drawn / "images")
    return library


def test_tuning_learns_the_pictures_and_keeps_no_head_that_loses_new_ones(drawn: Path, library: Library) -> None:
    before = library.status()["space"]
    report = tune(library, captions=drawn / "captions.csv")
    assert (report.pictures, report.texts) == (48, 240)
    assert (report.chosen == "shipped") == (library.status()["space"] == before)
    assert report.held_out[report.chosen] >= report.held_out["shipped"]
    assert report.own[report.chosen] >= report.own["shipped"]
    assert len(library.find("a red ball", n=5)) == 5


def test_what_is_learnt_of_texts_that_tell_nothing_is_not_kept(drawn: Path, library: Library, tmp_path: Path) -> None:
    names = sorted(path.name for path in (drawn / "images").iterdir())
    said = [picture.captions[0] for picture in read_coco(drawn)[0]]
    table = tmp_path / "wrong.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption"])
        writer.writerows(zip(names, said[7:] + said[:7], strict=False))  # each has that of another picture
    before = library.status()["space"]
    report = tune(library, captions=table)
    assert report.chosen == "shipped" or report.held_out["tuned"] >= report.held_out["shipped"]
    assert (report.chosen == "shipped") == (library.status()["space"] == before)


@pytest.mark.long
def test_where_names_are_written_the_vectors_stay_and_only_what_scores_mean_is_learnt(
    drawn: Path, library: Library, tmp_path: Path
) -> None:
    table = tmp_path / "names.csv"
    files = sorted(path.name for path in (drawn / "images").iterdir())
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(("image", "caption"))
        csv.writer(file).writerows((name, f"maker{at} line{at} model{at} edition{at}") for at, name in enumerate(files))
    library.add(captions=table)
    space, before = library.status()["space"], meaning_of_scores(library)
    report = tune(library, captions=table)
    assert (report.chosen, report.held_out["shipped"]) == ("shipped", 1.0)  # words alone find every one
    assert not report.others_lose
    assert library.status()["space"] == space
    assert meaning_of_scores(library) != before
    library.switch_back()
    assert meaning_of_scores(library) == before


def test_a_tuned_library_can_be_switched_back_and_forth(drawn: Path, library: Library) -> None:
    first = [hit.id for hit in library.find("a house at night")]
    library.use_head(mirrored_head(library))
    tuned = library.status()["space"]
    library.switch_back()
    assert [hit.id for hit in library.find("a house at night")] == first
    library.switch_back()
    assert library.status()["space"] == tuned


@pytest.mark.long
def test_pictures_beside_the_table_serve_where_the_library_has_none_of_them(drawn: Path, tmp_path: Path) -> None:
    other = viewfinder.open(tmp_path / "other")
    other.add(drawn / "images" / "000000000001.jpg")
    assert tune(other, captions=drawn / "captions.csv").pictures == 48


def test_too_few_captions_are_refused_with_their_number(drawn: Path, library: Library, tmp_path: Path) -> None:
    table = tmp_path / "few.csv"
    table.write_text("image,caption\n000000000001.jpg,a thing\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"^1 pictures with captions were found; tuning needs at least 20$"):
        tune(library, captions=table)


def meaning_of_scores(library: Library) -> tuple[float, ...]:
    """The curve by which a score is a match."""
    assert library.encoder.calibration is not None
    return tuple(library.encoder.calibration.match)


def mirrored_head(library: Library) -> Head:
    """Another head for the same library: the one in the box, mirrored in its first direction."""
    encoder = library.encoder
    assert isinstance(encoder, StarterEncoder)
    visual_xd, bias_d, sentence_sd = (
        array.copy() for array in (encoder.head.visual_xd, encoder.head.visual_bias_d, encoder.head.sentence_sd)
    )
    visual_xd[:, 0] *= -1
    bias_d[0] *= -1
    sentence_sd[:, 0] *= -1
    return replace(encoder.head, visual_xd=visual_xd, visual_bias_d=bias_d, sentence_sd=sentence_sd)
