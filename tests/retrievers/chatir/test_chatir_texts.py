"""A dialogue as one text, and what of it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from viewfinder.retrievers.chatir.retriever import DialogueTokens, RoundText, informative_rounds
from viewfinder.retrievers.chatir.settings import ModelSettings

WORD = st.sampled_from(["a", "b", "c", "ab"])
ROUND = st.tuples(st.one_of(st.just(""), WORD.map("{}?".format)), WORD)
ROUNDS = [("is it big?", "no"), ("what colour is it?", "brown"), ("", "it runs")]


def test_questions_have_their_mark_and_answers_their_words() -> None:
    assert informative_rounds([(" is  it big", " no "), ("", "red"), ("a or b?", "b")]) == (
        RoundText("is it big?", "no"),
        RoundText("", "red"),
        RoundText("a or b?", "b"),
    )
    assert informative_rounds([("Describe it.", "red")]) == (RoundText("Describe it.", "red"),)


@pytest.mark.parametrize("answer", ["", " ", "don't know", "Can't tell.", "I can't tell from here", "skip"])
def test_a_round_that_says_nothing_is_left_out(answer: str) -> None:
    assert informative_rounds([("is it big?", answer), ("is it old?", "not sure, maybe")]) == (
        RoundText("is it old?", "not sure, maybe"),
    )


MARK = "[SEP]"


def tokens(most: int, separator: Literal["comma", "sep"] = "comma", *, verbatim: bool = False) -> DialogueTokens:
    """A tokenizer that anybody can follow: a token a word or sign, and one at either end."""
    known = ["[CLS]", MARK, "</s>", "[UNK]"]
    words = [
        *known,
        *["a", "dog", "is", "it", "big", "?", "no", ",", "what", "colour", "brown", "runs", "b", "c", "ab"],
    ]
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.add_special_tokens(known[:3])
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="[CLS] $A </s>", special_tokens=[("[CLS]", 0), ("</s>", 2)])
    settings = ModelSettings(reads="tokens", most_tokens=most, separator=separator, verbatim=verbatim)
    return DialogueTokens(made.to_str(), MARK, settings)


def joined(found: DialogueTokens, caption: str, rounds: Sequence[tuple[str, str]]) -> str:
    [first] = found.cut([caption])
    numbers = found.join(first, [found.cut(part) for part in rounds])
    return str(found.tokenizer.decode(numbers, skip_special_tokens=False)).removeprefix("[CLS]").removesuffix("</s>")


def plain(text: str) -> str:
    """Without blanks, of which decoding makes others."""
    return text.replace(" ", "")


def test_the_dialogue_is_one_text_as_in_the_code_or_as_in_the_paper() -> None:
    assert plain(joined(tokens(99), "a dog", ROUNDS)) == "adog,isitbig?no,whatcolourisit?brown,itruns"
    marked = "a dog [SEP] is it big? [SEP] no [SEP] what colour is it? [SEP] brown [SEP] it runs"
    assert plain(joined(tokens(99, "sep"), "a dog", ROUNDS)) == plain(marked)


def test_what_is_masked_goes_with_its_separator() -> None:
    masked = [("is it big?", ""), ("", ""), ("", "no")]
    assert plain(joined(tokens(99), "", ROUNDS[:1])) == "isitbig?no"
    assert plain(joined(tokens(99), "a dog", masked)) == "adog,isitbig?,no"
    assert plain(joined(tokens(99, "sep"), "a dog", masked)) == "adog[SEP]isitbig?[SEP]no"
    assert not plain(joined(tokens(99), "", []))


def test_the_oldest_rounds_make_room_and_the_caption_stays() -> None:
    # 2 ends + "a dog" 2 + ", is it big ? no" 6 + ", what colour is it ? brown" 7 + ", it runs" 3 = 20
    assert plain(joined(tokens(20), "a dog", ROUNDS)) == "adog,isitbig?no,whatcolourisit?brown,itruns"
    assert plain(joined(tokens(19), "a dog", ROUNDS)) == "adog,whatcolourisit?brown,itruns"
    assert plain(joined(tokens(13), "a dog", ROUNDS)) == "adog,itruns"
    assert plain(joined(tokens(8), "a dog", [("", "what colour is it"), ("", "is it big ?")])) == "adog,isitbig"


def test_rounds_that_are_read_verbatim_all_stay_as_they_are() -> None:
    said = [("is it big", "no"), ("is it old?", "can't tell"), ("is it a dog no", ""), ("", "")]
    assert [str(one) for one in informative_rounds(said, verbatim=True)] == [
        "is it big no",
        "is it old? can't tell",
        "is it a dog no",
    ]


def test_a_text_that_is_read_verbatim_is_cut_at_its_end() -> None:
    # Of 13 tokens 2 are the ends; the other 11 are: a dog , is it big ? no , what colour
    assert plain(joined(tokens(13, verbatim=True), "a dog", ROUNDS)) == "adog,isitbig?no,whatcolour"
    marked = plain(joined(tokens(13, "sep", verbatim=True), "a dog", ROUNDS))
    assert marked == "adog[SEP]isitbig?[SEP]no[SEP]what"
    assert plain(joined(tokens(20, verbatim=True), "a dog", ROUNDS)) == plain(joined(tokens(20), "a dog", ROUNDS))


@given(st.one_of(st.just(""), WORD), st.lists(ROUND, max_size=6), st.integers(8, 30))
def test_what_fits_is_the_longest_ending_of_the_dialogue_that_does(
    caption: str, rounds: list[tuple[str, str]], most: int
) -> None:
    whole, found = tokens(999), tokens(most)
    endings = [joined(whole, caption, rounds[len(rounds) - kept :]) for kept in range(len(rounds) + 1)]
    fitting = [text for text in endings[min(len(rounds), 1) :] if len(found.cut([text])[0]) + 2 <= most]
    assert joined(found, caption, rounds) == fitting[-1]
