"""viewfinder.pictures as a whole: what importing it costs, and real photos through all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import viewfinder.pictures
from viewfinder.pictures import DecodedFile, Decoders, Stretch
from viewfinder.pictures.scan import scan

REPOSITORY = Path(__file__).resolve().parents[2]
FLICKR = REPOSITORY.parent / "shared" / "data" / "flickr8k" / "images"


@pytest.mark.afresh
def test_workers_import_nothing_heavy() -> None:
    heavy = {
        "torch",
        "lancedb",
        "pyarrow",
        "onnxruntime",
        "transformers",
        "jaxtyping",
        "rawpy",
        "pillow_heif",
    }
    code = "import sys, viewfinder.pictures.worker; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY / "src"
    )
    assert heavy & set(done.stdout.split()) == set()


def test_all_that_the_table_of_contents_names_is_there() -> None:
    assert all(hasattr(viewfinder.pictures, name) for name in viewfinder.pictures.__all__)
    assert viewfinder.pictures.__all__ == sorted(viewfinder.pictures.__all__)


@pytest.mark.data
@pytest.mark.skipif(not FLICKR.is_dir(), reason="the flickr8k photos are not here")
def test_real_photos_are_found_and_read() -> None:
    found = scan([FLICKR])
    assert {file.path for file in found.files} == {*FLICKR.glob("*.jpg")}
    assert found.unreadable == ()
    some = [file.path for file in found.files[::10]]
    with Decoders(2, fit=Stretch(224)) as decoders:
        outcomes = list(decoders.decode(some))
    assert all(isinstance(outcome, DecodedFile) for outcome in outcomes)
    assert len({outcome.id for outcome in outcomes if isinstance(outcome, DecodedFile)}) == len(some)
