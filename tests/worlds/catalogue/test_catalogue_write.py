import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.data import read_catalogue, read_flickr8k
from viewfinder.data.fashion_iq import (
    fashion_kinds,
    read_fashion_iq,
    read_sessions,
    read_shuffled,
)
from viewfinder.data.fashionmt import read_transactions
from viewfinder.data.files import read_jsonl
from viewfinder.data.splits import SPLITS, split_of
from viewfinder.data.truth import read_truth
from viewfinder.errors import BadInput
from viewfinder.wording.modifications import parse_ordinal_reference
from viewfinder.worlds.catalogue import write_catalogue
from viewfinder.worlds.catalogue.items import COLUMNS

COUNT = 150
PRODUCTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "fashion-products"


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _shop(folder: Path, colours: str) -> Path:
    """A folder of product photos, one a letter: r(ed), b(lue), and R, the same file as r."""
    (folder / "images").mkdir(parents=True)
    rows = [",".join(COLUMNS)]
    for number, letter in enumerate(colours, start=1):
        shade = {"r": (200, 0, 9 * number), "b": (0, 9 * number, 200), "R": (200, 0, 9)}[letter]
        name = {"b": "Blue"}.get(letter, "Red")
        Image.new("RGB", (16, 16), shade).save(folder / "images" / f"{number}.jpg")
        rows.append(f"{number},Men,Apparel,Topwear,Shirts,{name},Fall,2011,Casual,Lee Men Solid {name} Shirt")
    (folder / "products.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_fashion_iq_is_read_back(drawn_world: Path) -> None:
    kinds = fashion_kinds(drawn_world)
    assert len(kinds) == 3 and all(set(splits) == set(SPLITS) for splits in kinds.values())
    account = json.loads((drawn_world / "report.json").read_text())
    truths = read_truth(drawn_world)
    for kind in kinds:
        for split in SPLITS:
            found, report = read_fashion_iq(drawn_world, kind, split)
            assert all((drawn_world / "images" / f"{key}.jpg").is_file() for key in found.gallery)
            assert not report.dropped and report.found == account["pairs"][f"{kind}.{split}"]
            assert {pair.target for pair in found.pairs} <= set(found.gallery)
            assert all(split_of(key) == split for key in found.gallery)
            assert all(len(set(pair.captions)) == 2 and pair.target != pair.candidate for pair in found.pairs)
            for key, (_, texture, *_rest) in found.attributes.items():
                assert texture == truths[f"{key}.jpg"].attributes["texture"]
            order = read_shuffled(drawn_world / f"data/shuffled.{kind}.{split}.json", len(found.gallery))
            assert len(order) == len(found.gallery)


def test_attribute_numbers_cover_all_words(drawn_world: Path) -> None:
    index = json.loads((drawn_world / "attribute2idx.json").read_text())
    types = ("texture", "fabric", "shape", "part", "style")
    words = {word for truth in read_truth(drawn_world).values() for name in types for word in truth.attributes[name]}
    assert set(index) == words and sorted(index.values()) == list(range(len(words)))


def test_sessions_are_read_back(drawn_world: Path) -> None:
    kinds = fashion_kinds(drawn_world)
    for split in SPLITS:
        everything, _ = read_sessions(drawn_world, "all", split)
        each = [read_sessions(drawn_world, kind, split)[0] for kind in kinds]
        assert Counter(everything.sessions) == Counter(dialogue for found in each for dialogue in found.sessions)
        for dialogue in everything.sessions:
            assert 2 <= len(dialogue.references) <= 4 and len(set(dialogue.keys)) == len(dialogue.keys)
            assert all(len(set(shown.captions)) == 2 for shown in dialogue.references)


def test_transactions_are_read_back(drawn_world: Path) -> None:
    counts = json.loads((drawn_world / "report.json").read_text())["transactions"]
    assert sum(counts.values()) == 200
    for setting in ("rollback", "combination"):
        for split in SPLITS:
            found, report = read_transactions(drawn_world, setting, split)
            shown = {*found.gallery, *(picture for one in found.transactions for picture in one.pictures)}
            assert all((drawn_world / picture).is_file() for picture in shown)
            assert not report.dropped and report.found == counts[f"{setting}.{split}"]
            assert len(found.gallery) == COUNT
            operations = drawn_world / f"modifiers/{setting}_{split}_operations.jsonl"
            for told, (_, operation) in zip(found.transactions, read_jsonl(operations), strict=True):
                back = parse_ordinal_reference(told.modifications[-1])
                assert back is not None and back.setting == operation["setting"] == setting
                assert {split_of(Path(picture).stem) for picture in told.pictures} == {split}
                assert len(told.captions) == 4


def test_tables_fit_the_readers(drawn_world: Path) -> None:
    catalogue = read_catalogue(drawn_world / "products.csv")
    matched = catalogue.matches((drawn_world / "images").iterdir())
    assert (catalogue.attributes, len(matched.rows), matched.unmatched) == (COLUMNS[1:], COUNT, ())
    pictures, report = read_flickr8k(drawn_world)
    assert (len(pictures), report.dropped) == (COUNT, ()) and {len(p.captions) for p in pictures} == {3}
    assert len(read_truth(drawn_world)) == COUNT


def test_captions_keep_to_the_published_shares(drawn_world: Path) -> None:
    said = json.loads((drawn_world / "report.json").read_text())["relative captions"]
    assert said["direct"] == pytest.approx(0.49, abs=0.03) and said["comparison"] == pytest.approx(0.32, abs=0.03)
    assert said["single"] == pytest.approx(0.3, abs=0.03) and 0.03 <= said["negation"] <= 0.05


def test_the_same_call_writes_the_same_bytes_and_finishes_what_was_begun(tmp_path: Path) -> None:
    write_catalogue(tmp_path / "a", count=30, seed=2)

    def stop(written: int) -> None:
        if written == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_catalogue(tmp_path / "b", count=30, seed=2, progress=stop)
    report = write_catalogue(tmp_path / "b", count=30, seed=2)
    assert _files(tmp_path / "a") == _files(tmp_path / "b")
    assert (report.kind, report.pictures, report.captions, report.regions) == ("catalogue", 30, 90, 0)
    with pytest.raises(BadInput, match="not empty"):
        write_catalogue(tmp_path / "b", count=30, seed=3)


def test_further_pairs_for_training_come_after_the_best_and_change_nothing_else(tmp_path: Path) -> None:
    plain = write_catalogue(tmp_path / "plain", count=30, seed=4)
    more = write_catalogue(tmp_path / "more", count=30, seed=4, pairs=3)
    before, after = _files(tmp_path / "plain"), _files(tmp_path / "more")
    changed = {name for name in after if after[name] != before[name]}
    kinds = fashion_kinds(tmp_path / "more")
    assert changed == {f"captions/cap.{kind}.train.json" for kind in kinds} | {"report.json", "world.json"}
    assert before.keys() == after.keys() and more.pairs > 1.5 * plain.pairs and more.sessions == plain.sessions
    for kind in kinds:
        alone = read_fashion_iq(tmp_path / "plain", kind, "train")[0].pairs
        with_more = read_fashion_iq(tmp_path / "more", kind, "train")[0]
        found, most = with_more.pairs, min(3, len(with_more.gallery) - 1)
        firsts = {pair.target: pair for pair in reversed(found)}
        assert list(firsts.values())[::-1] == list(alone)
        assert len({(pair.target, pair.candidate) for pair in found}) == len(found)
        assert max(Counter(pair.target for pair in found).values()) == most
    told = json.loads((tmp_path / "more/report.json").read_text())
    turns = json.loads((tmp_path / "plain/report.json").read_text())["relative captions"]["captions"]
    assert told["relative captions"]["captions"] == turns + 2 * (more.pairs - plain.pairs)


def test_photos_are_taken_as_they_are_and_twins_once(tmp_path: Path) -> None:
    shop = _shop(tmp_path / "shop", "rRbrbrbrb")
    report = write_catalogue(tmp_path / "w", count=0, seed=1, sprites=shop)
    again = write_catalogue(tmp_path / "w", count=0, seed=1, sprites=shop)
    photos = {name: data for name, data in _files(shop / "images").items() if name != "2.jpg"}
    assert _files(tmp_path / "w/images") == photos and report == again
    left_out = json.loads((tmp_path / "w/report.json").read_text())["left out"]
    assert left_out == [{"record": "2", "reason": "the same file as images/1.jpg"}]
    pairs = [pair for split in SPLITS for pair in read_fashion_iq(tmp_path / "w", "shirts", split)[0].pairs]
    colours = {str(number): letter for number, letter in enumerate("rRbrbrbrb", start=1)}
    assert pairs and all({colours[str(pair.target)], colours[pair.candidate]} == {"r", "b"} for pair in pairs)


def test_some_photos_are_chosen_by_the_seed(tmp_path: Path) -> None:
    shop = _shop(tmp_path / "shop", "rbrbrbrbrb")
    chosen: list[set[str]] = []
    for seed in (1, 1, 2):
        out = tmp_path / f"w{len(chosen)}"
        assert write_catalogue(out, count=5, seed=seed, sprites=shop).pictures == 5
        chosen.append(set(_files(out / "images")))
    assert chosen[0] == chosen[1] != chosen[2]


def test_wrong_numbers_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--count 0: ask for 1 to 1000000 pictures"):
        write_catalogue(tmp_path / "w", count=0, seed=1)
    with pytest.raises(BadInput, match="ask for 0 or more"):
        write_catalogue(tmp_path / "w", count=1, seed=1, transactions=-1)
    with pytest.raises(BadInput, match="no such folder"):
        write_catalogue(tmp_path / "w", count=1, seed=1, sprites=tmp_path / "nowhere")
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInput, match="not empty"):
        write_catalogue(tmp_path, count=1, seed=1)
    with pytest.raises(BadInput, match="this is a file"):
        write_catalogue(tmp_path / "letter.txt", count=1, seed=1)


def test_one_article_makes_a_world_without_pairs(tmp_path: Path) -> None:
    report = write_catalogue(tmp_path / "w", count=1, seed=1)
    assert (report.pictures, report.dialogues) == (1, 0)
    kind, splits = next(iter(fashion_kinds(tmp_path / "w").items()))
    assert [len(read_fashion_iq(tmp_path / "w", kind, split)[0].pairs) for split in splits] == [0, 0, 0]


REAL = """
import sys
from pathlib import Path
from viewfinder.worlds.catalogue import write_catalogue
print(write_catalogue(Path(sys.argv[1]), count=0, seed=1, sprites=Path(sys.argv[2])).pictures)
"""


@pytest.mark.long
@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not PRODUCTS.is_dir(), reason="../shared/data/fashion-products is absent")
def test_all_real_photos_make_twenty_thousand_transactions(tmp_path: Path) -> None:
    # In a process of its own, because of the type checks of the test run.
    command = [sys.executable, "-c", REAL, str(tmp_path / "w"), str(PRODUCTS)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3] / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) == 8082 - 80  # 78 pairs and one group of three identical files
    account = json.loads((tmp_path / "w/report.json").read_text())
    assert sum(account["transactions"].values()) >= 20_000
    assert set(fashion_kinds(tmp_path / "w")) == {"tshirts", "shirts", "casual-shoes"}
    truths = read_truth(tmp_path / "w")
    pairs = [pair for kind in fashion_kinds(tmp_path / "w") for split in SPLITS
             for pair in read_fashion_iq(tmp_path / "w", kind, split)[0].pairs]  # fmt: skip
    assert len(pairs) > 3000
    for pair in pairs:
        one, other = truths[f"{pair.target}.jpg"], truths[f"{pair.candidate}.jpg"]
        assert one.category == other.category and one.attributes != other.attributes
    test = read_transactions(tmp_path / "w", "combination", "test")[0]
    assert all(a != b for told in test.transactions for a, b in pairwise(told.pictures))
