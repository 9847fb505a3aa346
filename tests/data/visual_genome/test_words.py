import pickle
from pathlib import Path
from typing import Any

import pytest

from viewfinder.data.visual_genome import Vocabulary as Known
from viewfinder.data.visual_genome import build_vocabulary, read_vocabulary, tokenize
from viewfinder.data.visual_genome.words import SPECIAL
from viewfinder.errors import BadInput


class Vocabulary:
    """As the published pickle has it."""

    def __init__(self, word2idx: Any, idx2word: Any) -> None:
        self.word2idx, self.idx2word, self.idx = word2idx, idx2word, len(word2idx)


def pickled(folder: Path, words: list[Any], **changes: Any) -> Path:
    file = folder / "vg_vocab_6.pkl"
    fields = {"word2idx": {word: i for i, word in enumerate(words)}, "idx2word": dict(enumerate(words))}
    file.write_bytes(pickle.dumps(Vocabulary(**fields | changes), 4))
    return file


def test_words_are_kept_from_ten_occurrences_as_in_the_code() -> None:
    captions = ["a red kite"] * 9 + ["Red boat"] + ["a dog"] * 2
    # a 11, red 10, kite 9, boat 1, dog 2
    assert build_vocabulary(captions).words == ("<pad>", "<start>", "<end>", "<unk>", "a", "red")


def test_words_are_numbered_as_they_first_occur() -> None:
    assert build_vocabulary(["c b", "a b c"], fewest=1).words == (*SPECIAL, "c", "b", "a")


def test_a_sentence_ends_with_the_end_token_and_has_no_start() -> None:
    vocabulary = build_vocabulary(["a red kite"], fewest=1)  # a 4, red 5, kite 6
    assert vocabulary.encode("A red kite") == [4, 5, 6, 2]
    assert vocabulary.encode("") == [2]
    assert len(vocabulary) == 7


def test_unknown_words_are_read_where_rare_words_have_trained_their_vector() -> None:
    vocabulary = build_vocabulary(["a red kite", "a red boat", "a kite"], fewest=2)  # a 4, red 5, kite 6; boat is rare
    assert vocabulary.encode("A red dog, red kite") == [4, 5, 3, 3, 5, 6, 2]


@pytest.mark.parametrize("captions", [["a red kite"] * 2, ["a red kite"] * 500 + ["boat"]])  # none; 1 of 1,501
def test_unknown_words_are_left_out_where_training_has_hardly_any(captions: list[str]) -> None:
    vocabulary = build_vocabulary(captions, fewest=2)
    assert vocabulary.encode("A red dog, red kite") == [4, 5, 5, 6, 2]
    assert vocabulary.encode("dog") == [2]
    assert vocabulary.number_of("dog") == 3


def test_a_card_keeps_whether_unknown_words_are_left_out_and_an_older_one_reads_them() -> None:
    vocabulary = build_vocabulary(["a red kite"], fewest=1)
    assert Known.of_settings(vocabulary.settings) == vocabulary
    assert Known.of_settings({"words": [*SPECIAL, "a"]}) == Known((*SPECIAL, "a"), reads_unknown=True)


def test_sentences_are_divided_as_the_treebank_has_them() -> None:
    assert tokenize("The man's hat, isn't it red?") == ["the", "man", "'s", "hat", ",", "is", "n't", "it", "red", "?"]


def test_a_pickled_vocabulary_is_read(tmp_path: Path) -> None:
    read = read_vocabulary(pickled(tmp_path, [*SPECIAL, "kite", "red"]))
    assert read == Known((*SPECIAL, "kite", "red"))
    assert read.encode("red kite") == [5, 4, 2]


@pytest.mark.parametrize(
    ("words", "changes", "message"),
    [
        ([*SPECIAL, "kite"], {"idx2word": dict(enumerate([*SPECIAL, "kit"]))}, "disagree"),
        ([*SPECIAL], {"idx2word": {1: "<pad>"}}, "does not number its 1 words from 0"),
        ([*SPECIAL, 3], {}, "does not number its 5 words from 0"),
        (["kite", *SPECIAL], {}, "begins with kite, <pad>, <start>, <end>; <pad>, <start>, <end>, <unk> are expected"),
        ([*SPECIAL], {"word2idx": []}, "has no word2idx and idx2word"),
    ],
)
def test_a_vocabulary_that_contradicts_itself_is_named(
    tmp_path: Path, words: list[Any], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=rf"vg_vocab_6\.pkl: .*{message}"):
        read_vocabulary(pickled(tmp_path, words, **changes))


def test_another_pickle_is_no_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "list.pkl"
    file.write_bytes(pickle.dumps([1]))
    with pytest.raises(BadInput, match=r"list\.pkl: a pickled Vocabulary is needed, this is a list"):
        read_vocabulary(file)
