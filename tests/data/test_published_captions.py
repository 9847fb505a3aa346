"""Captioned sets as they are downloaded: COCO, Flickr8k, Flickr30k, Karpathy's splits, each in its own layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import published_sets as sets
from viewfinder.data import Dropped, read_captions, read_coco
from viewfinder.data.captions import has_captions, read_captioned
from viewfinder.data.splits import choose_split, split_of, split_reader, survey_captions
from viewfinder.errors import BadInput, UnknownName

NAMES = {f"10{number}_ab.jpg": number for number in range(10)}


def _captions(folder: Path) -> dict[str, tuple[str, ...]]:
    return {picture.path.relative_to(folder).as_posix(): picture.captions for picture in read_captioned(folder)[0]}


def _write_list(file: Path, names: list[str]) -> None:
    file.write_text("\n".join(names) + "\n")


# -- COCO


def test_of_coco_with_one_folder_unpacked_that_folder_is_read_and_the_other_named(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "train2017", range(7), pictures=False)
    sets.write_coco(tmp_path, "val2017", range(20, 24), pictures=True)
    pictures, report = read_captioned(tmp_path)
    assert [picture.path.parent.name for picture in pictures] == ["val2017"] * 4
    assert pictures[0].captions == tuple(sets.describe(20)) and pictures[0].split == "val2017"
    missing = Dropped("train2017", "35 captions of 7 pictures not here; the pictures belong in train2017/ or images/")
    assert (report.expected, report.found, report.dropped) == (11, 4, (missing,))
    assert read_coco(tmp_path) == (pictures, report)
    found = survey_captions(tmp_path)
    assert str(found) == (
        "found train2017 (35 captions, 0 pictures), val2017 (20 captions, 4 pictures): "
        "--split val2017; or train, val, test by the pictures' names"
    )
    assert {split_reader(tmp_path)(picture.path) for picture in pictures} == {
        split_of(picture.path) for picture in pictures
    }


def test_coco_without_any_picture_is_refused_with_what_belongs_where(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "train2017", range(2), pictures=False)
    sets.write_coco(tmp_path, "val2017", range(3, 4), pictures=False)
    wanted = (
        r"captions, but none of their pictures is here: train2017: 10 captions of 2 pictures not here; the pictures "
        r"belong in train2017/ or images/; val2017: 5 captions of 1 picture not here"
    )
    with pytest.raises(BadInput, match=wanted):
        read_captioned(tmp_path)
    assert str(survey_captions(tmp_path)).endswith(
        "val2017 (5 captions, 0 pictures): unpack their pictures beside them"
    )


@pytest.mark.parametrize("year", [2014, 2017])
def test_cocos_own_splits_hold_where_the_pictures_of_both_are_here(tmp_path: Path, year: int) -> None:
    sets.write_coco(tmp_path, f"train{year}", range(6), pictures=True)
    sets.write_coco(tmp_path, f"val{year}", range(20, 23), pictures=True)
    pictures, _ = read_captioned(tmp_path)
    of = split_reader(tmp_path)
    assert [of(picture.path) for picture in pictures] == ["train"] * 6 + ["val"] * 3
    assert survey_captions(tmp_path).splits == ("train", "val", f"train{year}", f"val{year}")
    for name in ("val", f"val{year}"):
        assert choose_split(tmp_path, pictures, name) == pictures[6:]
    with pytest.raises(
        UnknownName, match=rf"no split is called 'test'; there are: train, val, train{year}.*found train{year} \(30 "
    ):
        choose_split(tmp_path, pictures, "test")


def test_of_two_years_of_coco_the_later_one_says_what_is_for_training(tmp_path: Path) -> None:
    """Much of val2014 is in train2017: a mixture would test on what was learnt."""
    for split, numbers in {"train2014": [1], "val2014": [2], "train2017": [1, 2], "val2017": [3]}.items():
        sets.write_coco(tmp_path, split, numbers, pictures=True)
    of = split_reader(tmp_path)
    assert of("COCO_val2014_000000000002.jpg") is None and of("000000000002.jpg") == "train"
    assert "val2014" in survey_captions(tmp_path).splits


# -- Flickr8k and Flickr30k


def test_flickr8k_of_kaggle_is_read_from_images_and_captions_txt(tmp_path: Path) -> None:
    sets.draw_all(tmp_path / "Images", NAMES)
    sets.write_kaggle_captions(tmp_path / "captions.txt", NAMES)
    assert _captions(tmp_path) == {f"Images/{name}": tuple(sets.describe(number)) for name, number in NAMES.items()}
    assert split_reader(tmp_path) is split_of


def test_a_comma_that_nobody_quoted_belongs_to_the_caption(tmp_path: Path) -> None:
    sets.draw(tmp_path / "Images" / "1.jpg", 1)
    (tmp_path / "captions.txt").write_text("image,caption\n1.jpg,A dog , a cat , and snow .\n")
    assert _captions(tmp_path) == {"Images/1.jpg": ("A dog , a cat , and snow .",)}


def _write_flickr8k(folder: Path) -> list[str]:
    """As its authors gave it, with the one picture that they captioned under a name that no file has."""
    sets.draw_all(folder / "Flicker8k_Dataset", NAMES)
    sets.write_tokens(folder / "Flickr8k.token.txt", NAMES)
    with (folder / "Flickr8k.token.txt").open("a") as stream:
        stream.write("2258277193_586949ec62.jpg.1#0\tNobody has this file .\n")
    names = list(NAMES)
    for split, some in {"train": names[:5], "dev": names[5:7], "test": names[7:9]}.items():
        _write_list(folder / f"Flickr_8k.{split}Images.txt", some)
    return names


def test_flickr8k_of_its_authors_has_their_splits(tmp_path: Path) -> None:
    names = _write_flickr8k(tmp_path)
    pictures, report = read_captioned(tmp_path)
    assert [picture.captions for picture in pictures] == [tuple(sets.describe(number)) for number in NAMES.values()]
    assert report.dropped == (Dropped("2258277193_586949ec62.jpg.1", "no such file"),)
    of = split_reader(tmp_path)
    assert [of(name) for name in names] == ["train"] * 5 + ["val"] * 2 + ["test"] * 2 + [None]
    assert [picture.path.name for picture in choose_split(tmp_path, pictures, "dev")] == names[5:7]
    assert str(survey_captions(tmp_path)) == (
        "found train (25 captions, 5 pictures), dev (10 captions, 2 pictures), test (10 captions, 2 pictures), "
        "others (6 captions, 1 picture): --split train, --split val, --split test, --split dev"
    )


def test_its_texts_may_lie_in_the_folder_of_their_archive(tmp_path: Path) -> None:
    _write_flickr8k(tmp_path)
    (tmp_path / "Flickr8k_text").mkdir()
    for file in tmp_path.glob("*.txt"):
        file.rename(tmp_path / "Flickr8k_text" / file.name)
    assert len(read_captioned(tmp_path)[0]) == 10
    assert split_reader(tmp_path)("109_ab.jpg") is None


def test_a_line_that_is_no_token_line_is_named(tmp_path: Path) -> None:
    _write_flickr8k(tmp_path)
    with (tmp_path / "Flickr8k.token.txt").open("a") as stream:
        stream.write("101.jpg#x a caption without a tab\n")
    with pytest.raises(BadInput, match=r"Flickr8k\.token\.txt, line 52: a name, # and a number, a tab and a caption"):
        read_captioned(tmp_path)


def test_flickr30k_of_kaggle_is_read_with_its_one_broken_line(tmp_path: Path) -> None:
    """The line of 2199200615.jpg has no | before its caption."""
    home = tmp_path / "flickr30k_images"
    sets.draw_all(home / "flickr30k_images", NAMES)
    sets.write_kaggle_results(home / "results.csv", NAMES, broken="103_ab.jpg")
    assert "\n103_ab.jpg| 4   " in (home / "results.csv").read_text()
    wanted = {f"flickr30k_images/{name}": tuple(sets.describe(number)) for name, number in NAMES.items()}
    assert _captions(home) == wanted
    assert _captions(tmp_path) == {f"flickr30k_images/{name}": said for name, said in wanted.items()}
    assert read_captioned(home)[1].dropped == ()


def test_flickr30k_of_its_authors_has_the_splits_of_flickr30k_entities(tmp_path: Path) -> None:
    names = list(NAMES)
    sets.draw_all(tmp_path / "flickr30k-images", NAMES)
    sets.write_tokens(tmp_path / "results_20130124.token", NAMES)
    for split, some in {"train": names[:6], "val": names[6:8], "test": names[8:]}.items():
        _write_list(tmp_path / f"{split}.txt", [name.removesuffix(".jpg") for name in some])
    of = split_reader(tmp_path)
    assert [of(name) for name in names] == ["train"] * 6 + ["val"] * 2 + ["test"] * 2


def test_lists_called_train_and_test_say_nothing_of_other_sets(tmp_path: Path) -> None:
    sets.draw_all(tmp_path / "images", NAMES)
    sets.write_kaggle_captions(tmp_path / "captions.csv", NAMES)
    _write_list(tmp_path / "train.txt", ["100_ab"])
    assert split_reader(tmp_path) is split_of


def test_a_table_called_results_or_captions_that_holds_none_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("run,accuracy\n1,0.5\n")
    (tmp_path / "captions.txt").write_text("some notes\n")
    (tmp_path / "dataset_infos.json").write_text(json.dumps({"default": {"features": {"image": {}}}}))
    assert not has_captions(tmp_path)


# -- Karpathy's splits

SPLITS = {"train": [1, 2, 3], "restval": [20, 21], "val": [30], "test": [40, 41]}
HOMES = {"train": "train2014", "restval": "val2014", "val": "val2014", "test": "val2014"}


def _draw_coco2014(folder: Path, splits: list[str]) -> None:
    for split in splits:
        for number in SPLITS[split]:
            sets.draw(folder / HOMES[split] / f"COCO_{HOMES[split]}_{number:012d}.jpg", number)


def test_karpathys_split_of_coco_counts_restval_as_training(tmp_path: Path) -> None:
    _draw_coco2014(tmp_path, list(SPLITS))
    sets.write_karpathy(tmp_path / "dataset_coco.json", SPLITS, homes=HOMES)
    pictures, report = read_captioned(tmp_path)
    of = split_reader(tmp_path)
    assert [of(one.path) for one in pictures] == ["train"] * 5 + ["val"] + ["test"] * 2
    assert pictures[0].captions == tuple(sets.describe(1))
    assert report.dropped == ()
    assert [one.path.stem[-2:] for one in choose_split(tmp_path, pictures, "restval")] == ["20", "21"]


def test_it_goes_before_cocos_own_files(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "train2014", [1, 2, 3], pictures=True)
    sets.write_coco(tmp_path, "val2014", [20, 21, 30, 40, 41], pictures=True)
    sets.write_karpathy(tmp_path / "annotations" / "dataset_coco.json", SPLITS, homes=HOMES)
    assert survey_captions(tmp_path).splits == ("train", "val", "test", "restval")


def test_of_it_the_part_is_read_whose_pictures_are_here(tmp_path: Path) -> None:
    _draw_coco2014(tmp_path, ["train"])
    sets.write_karpathy(tmp_path / "dataset_coco.json", SPLITS, homes=HOMES)
    assert survey_captions(tmp_path).splits == ("train",)
    _, report = read_captioned(tmp_path)
    assert Dropped("test", "10 captions of 2 pictures not here; the pictures belong in val2014/") in report.dropped


def test_the_pictures_of_2017_serve_karpathys_names_of_2014(tmp_path: Path) -> None:
    sets.draw_all(tmp_path / "train2017", sets.coco_names([1, 2, 3, 20, 21, 30, 40]))
    sets.draw_all(tmp_path / "val2017", sets.coco_names([41]))
    sets.write_karpathy(tmp_path / "dataset_coco.json", SPLITS, homes=HOMES)
    pictures, _ = read_captioned(tmp_path)
    test = choose_split(tmp_path, pictures, "test")
    assert [one.path.relative_to(tmp_path).as_posix() for one in test] == [
        "train2017/000000000040.jpg",
        "val2017/000000000041.jpg",
    ]


@pytest.mark.parametrize("name", ["flickr8k", "flickr30k"])
def test_karpathys_split_of_flickr_finds_its_pictures_in_any_folder(tmp_path: Path, name: str) -> None:
    sets.draw_all(tmp_path / "Images", {f"{number}.jpg": number for some in SPLITS.values() for number in some})
    sets.write_karpathy(tmp_path / f"dataset_{name}.json", {k: v for k, v in SPLITS.items() if k != "restval"})
    pictures, _ = read_captioned(tmp_path)
    of = split_reader(tmp_path)
    assert [(one.path.name, of(one.path)) for one in pictures] == [
        ("1.jpg", "train"), ("2.jpg", "train"), ("3.jpg", "train"), ("30.jpg", "val"), ("40.jpg", "test"),
        ("41.jpg", "test"),
    ]  # fmt: skip


def test_of_all_three_files_of_his_archive_that_one_counts_whose_pictures_are_here(tmp_path: Path) -> None:
    for name, numbers in {"flickr30k": [7], "flickr8k": [8]}.items():
        sets.write_karpathy(tmp_path / f"dataset_{name}.json", {"test": numbers})
    sets.write_karpathy(tmp_path / "dataset_coco.json", SPLITS, homes=HOMES)
    sets.draw(tmp_path / "Images" / "8.jpg", 8)
    assert _captions(tmp_path) == {"Images/8.jpg": tuple(sets.describe(8))}


def test_a_split_that_karpathy_does_not_have_is_named(tmp_path: Path) -> None:
    sets.write_karpathy(tmp_path / "dataset_flickr8k.json", {"trian": [1]})
    with pytest.raises(BadInput, match=r"images\[0\], field 'split': one of train, restval, val, test is needed"):
        read_captioned(tmp_path)


# -- one file, for the pictures of a library


def test_every_published_file_gives_captions_by_the_names_of_pictures(tmp_path: Path) -> None:
    sets.write_coco(tmp_path, "val2017", [5], pictures=False)
    sets.write_karpathy(tmp_path / "dataset_flickr8k.json", {"test": [5]})
    sets.write_tokens(tmp_path / "Flickr8k.token.txt", {"5.jpg": 5})
    sets.write_kaggle_captions(tmp_path / "captions.txt", {"5.jpg": 5})
    sets.write_kaggle_results(tmp_path / "results.csv", {"5.jpg": 5})
    for name in (
        "annotations/captions_val2017.json",
        "dataset_flickr8k.json",
        "Flickr8k.token.txt",
        "captions.txt",
        "results.csv",
    ):
        [picture], _ = read_captions(tmp_path / name)
        assert picture.path.name in {"5.jpg", "000000000005.jpg"}, name
        assert picture.captions == tuple(sets.describe(5)), name
    sets.write_region_descriptions(tmp_path, [5], phrases=3)
    [picture], _ = read_captions(tmp_path / "region_descriptions.json")
    assert (picture.path.name, len(picture.captions)) == ("5.jpg", 3)
