from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sprites", "nowhere"), "products.csv: cannot be read"),
        (("--workers", "0"), "--workers"),
        (("--kind", "dreams"), "there are: scenes, catalogue, edits"),
        (("--pairs", "2"), "--pairs 2: only the kind catalogue has pairs"),
        (("--kind", "catalogue", "--pairs", "0"), "--pairs"),
    ],
)
def test_what_cannot_be_made_is_wrong_use(
    viewfinder: Run, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    outcome = viewfinder("world", tmp_path / "w", "--count", 1, *options)
    assert outcome.code == 2 and words in outcome.err
    assert not (tmp_path / "w").exists()


def test_the_summary_says_what_to_do_next(viewfinder: Run, tmp_path: Path) -> None:
    out = tmp_path / "w"
    told = viewfinder("world", out, "--count", 3, "--workers", 2).out
    assert "3 pictures, 15 captions," in told and "3 dialogues and 7 chat-search samples in" in told
    assert f"viewfinder add {out / 'images'} --catalogue {out / 'catalogue.csv'}" in told.replace("\n", "")
    assert f"viewfinder evaluate composer --data {out}" in told.replace("\n", "")
    assert str(out / "preview.png") in told.replace("\n", "")


def test_of_edits_the_summary_says_that_they_are_to_learn_from(viewfinder: Run, tmp_path: Path) -> None:
    out = tmp_path / "w"
    told = viewfinder("world", out, "--kind", "edits", "--count", 1).out
    assert "2 pictures, 2 captions and 1 edit in" in told
    assert f"viewfinder train chatsearcher --data {out}" in told.replace("\n", "")
