"""What every reader of a published format must keep: it tells what it read, reads the same twice, and answers what is
not there in one line. A new reader adds its line to `READERS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data import ReadReport, read_coco
from viewfinder.data.captions import read_instances
from viewfinder.data.chatsearch import read_chatsearch
from viewfinder.data.dialogues import read_dialogues, read_pool, read_visdial
from viewfinder.data.fashion_iq import read_fashion_iq, read_sessions
from viewfinder.data.picture_texts import read_instruct_pix2pix
from viewfinder.data.visual_genome import read_visual_genome
from viewfinder.errors import BadInput
from viewfinder.testing import check_report
from viewfinder.worlds import write_world

Reader = Callable[[Path], tuple[Any, ReadReport]]

READERS: dict[str, tuple[str, Reader]] = {
    "coco": ("scenes", read_coco),
    "instances": ("scenes", read_instances),
    "visual genome": ("scenes", lambda folder: read_visual_genome(folder, "train", fewest=1)),
    "visdial": ("scenes", lambda folder: read_visdial(folder / "visdial", "train")),
    "chatir dialogues": ("scenes", lambda folder: read_dialogues(folder / "dialogues" / "world_train.json")),
    "chatir pool": ("scenes", lambda folder: read_pool(folder / "ChatIR_Protocol" / "Search_Space_train.json")),
    "chatsearch": ("scenes", lambda folder: read_chatsearch(folder / "chatsearch" / "tChat_train.jsonl")),
    "fashion iq": ("catalogue", lambda folder: read_fashion_iq(folder, "shirts", "train")),
    "mt fashion iq": ("catalogue", lambda folder: read_sessions(folder, "shirts", "train")),
    "instruct pix2pix": ("edits", read_instruct_pix2pix),
}
each = pytest.mark.parametrize("name", sorted(READERS))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small world of every kind."""
    folder = tmp_path_factory.mktemp("worlds")
    for kind, count in {"scenes": 12, "catalogue": 24, "edits": 2}.items():
        write_world(folder / kind, kind=kind, count=count, seed=1)
    return {path.name: path for path in folder.iterdir()}


def size_of(read: Any) -> int:
    """How many items a reader gave: of a list itself, else of the list of pairs, sessions or the like that counts."""
    return len(read) if hasattr(read, "__len__") else len(read.pairs if hasattr(read, "pairs") else read.sessions)


@each
def test_a_reader_tells_what_it_read_and_reads_the_same_twice(name: str, worlds: dict[str, Path]) -> None:
    world, read = READERS[name]
    items, report = read(worlds[world])
    assert size_of(items) > 0
    check_report(size_of(items), report)
    again, same = read(worlds[world])
    assert (str(again), same) == (str(items), report)


@each
def test_a_reader_answers_an_empty_folder_in_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        READERS[name][1](tmp_path)
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_report_that_counts_wrong_is_noticed() -> None:
    with pytest.raises(AssertionError, match="3 items were read, 2 are reported"):
        check_report(3, ReadReport(3, 2))
