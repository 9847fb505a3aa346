"""Sentence vectors: those of the encoder, computed once, kept whatever happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float

from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import sentences
from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.errors import UnknownName, ViewfinderError
from viewfinder.testing import ColourEncoder

ENCODER = ColourEncoder()
SIX = ("red", "blue over red", "green", "white", "yellow", "black")


@dataclass(frozen=True)
class Reader(ColourEncoder):
    """Notes what it was given to read, and fails after `most` texts."""

    most: int = 1000
    asked: list[str] = field(default_factory=list, compare=False)

    def sentences(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        self.asked.extend(texts)
        if len(self.asked) > self.most:
            raise KeyboardInterrupt
        return ColourEncoder.sentences(self, texts)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "CHUNK", 2)


def test_rows_are_the_encoders_vectors_of_the_texts(tmp_path: Path) -> None:
    said = SentenceVectors.of([*SIX, "red"], ENCODER, tmp_path)
    assert said.texts == tuple(sorted(SIX))
    vectors_ns = said.matrix_ns[said.rows(["green", "red", "green"])]
    expected_ns = ENCODER.sentences(["green", "red", "green"]).astype(np.float16)
    np.testing.assert_array_equal(vectors_ns, expected_ns)


def test_a_second_call_reads_only_what_is_missing(tmp_path: Path) -> None:
    first = SentenceVectors.of(SIX[:4], ENCODER, tmp_path)
    reader = Reader()
    second = SentenceVectors.of(SIX[2:], reader, tmp_path)
    assert reader.asked == sorted(SIX[4:])
    assert second.texts == tuple(sorted(SIX[2:]))
    shared = SIX[2:4]
    np.testing.assert_array_equal(first.matrix_ns[first.rows(shared)], second.matrix_ns[second.rows(shared)])


def test_other_numbers_are_kept_apart(tmp_path: Path) -> None:
    SentenceVectors.of(SIX, ENCODER, tmp_path)
    reader = Reader(sentences_version="colours-said-2")
    assert SentenceVectors.of(SIX, reader, tmp_path).version == "colours-said-2"
    assert len(reader.asked) == 6


def test_an_interrupted_call_keeps_whole_chunks(tmp_path: Path, small_chunks: None) -> None:
    with pytest.raises(KeyboardInterrupt):
        SentenceVectors.of(SIX, Reader(most=4), tmp_path)  # the third chunk of two fails
    reader = Reader()
    SentenceVectors.of(SIX, reader, tmp_path)
    assert reader.asked == sorted(SIX)[4:]


@pytest.mark.parametrize("damage", [lambda whole: whole[:-3], lambda whole: b"", lambda whole: b"{}" * 9])
def test_a_damaged_file_is_made_again(damage: object, tmp_path: Path, small_chunks: None) -> None:
    before = SentenceVectors.of(SIX, ENCODER, tmp_path)
    file = sorted(tmp_path.rglob("*.safetensors"))[1]
    assert callable(damage)
    file.write_bytes(damage(file.read_bytes()))
    reader = Reader()
    after = SentenceVectors.of(SIX, reader, tmp_path)
    assert len(reader.asked) == 2
    np.testing.assert_array_equal(after.matrix_ns, before.matrix_ns)
    assert SentenceVectors.of(SIX, Reader(most=0), tmp_path).texts == after.texts  # all there again


def test_progress_is_told_in_tenths_at_most(tmp_path: Path, small_chunks: None) -> None:
    told: list[str] = []
    SentenceVectors.of([f"text {number:02}" for number in range(60)], ENCODER, tmp_path, told.append)
    assert len(told) <= 11
    assert told[-1] == "sentence vectors: 60 of 60"


def test_a_text_that_was_not_given_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'purple'"):
        SentenceVectors.of(SIX, ENCODER, tmp_path).rows(["red", "purple"])


@pytest.mark.slow
def test_several_processes_give_the_same_numbers(tmp_path: Path, small_chunks: None) -> None:
    encoder = load_encoder("starter")
    one = SentenceVectors.of(SIX, encoder, tmp_path / "one", processes=1)
    two = SentenceVectors.of(SIX, encoder, tmp_path / "two", processes=2)
    np.testing.assert_array_equal(one.matrix_ns, two.matrix_ns)
    np.testing.assert_allclose(np.linalg.norm(one.matrix_ns.astype(np.float64), axis=1), 1, atol=1e-3)


@pytest.mark.slow
@pytest.mark.afresh
def test_a_process_that_dies_is_an_error_of_one_line_and_what_is_done_is_kept(
    tmp_path: Path, small_chunks: None
) -> None:
    own = psutil.Process()
    others = set(own.children())

    def told(line: str) -> None:
        for process in set(own.children()) - others:
            process.kill()

    texts = [f"text {number:03}" for number in range(200)]
    with pytest.raises(ViewfinderError, match="repeat the command"):
        SentenceVectors.of(texts, load_encoder("starter"), tmp_path, told, processes=2)
    done = 2 * len(list(tmp_path.rglob("*.safetensors")))
    assert 2 <= done < 200
    assert set(own.children()) == others


@given(st.lists(st.text(max_size=5), min_size=1, max_size=8), st.lists(st.text(max_size=5), min_size=1, max_size=8))
def test_any_texts_in_any_order_have_their_vectors(first: list[str], second: list[str]) -> None:
    with TemporaryDirectory() as folder:
        for texts in (first, second):
            said = SentenceVectors.of(texts, ENCODER, Path(folder))
            expected_ns = ENCODER.sentences(texts).astype(np.float16)
            np.testing.assert_array_equal(said.matrix_ns[said.rows(texts)], expected_ns)
