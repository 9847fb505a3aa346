"""Our measures of text against what pycocoevalcap said of the same sentences once; the file tells which version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.metrics import bleu, cider_d, rouge_l

STORED: dict[str, Any] = json.loads(Path(__file__).with_name("pycocoevalcap.json").read_text(encoding="utf-8"))
FORMS = [("as_they_are", "sentences", "references"), ("tokenised", "tokenised_sentences", "tokenised_references")]


@pytest.mark.parametrize(("form", "sentences", "references"), FORMS)
def test_bleu_is_theirs(form: str, sentences: str, references: str) -> None:
    assert bleu(STORED[sentences], STORED[references]).tolist() == pytest.approx(STORED[form]["bleu"], abs=1e-9)


@pytest.mark.parametrize(("form", "sentences", "references"), FORMS)
def test_rouge_l_is_theirs_of_the_corpus_and_of_each_sentence(form: str, sentences: str, references: str) -> None:
    found_s = rouge_l(STORED[sentences], STORED[references])
    assert found_s.tolist() == pytest.approx(STORED[form]["rouge_l_of_each"], abs=1e-9)
    assert found_s.mean() == pytest.approx(STORED[form]["rouge_l"], abs=1e-9)


@pytest.mark.parametrize(("form", "sentences", "references"), FORMS)
def test_cider_d_is_theirs_of_the_corpus_and_of_each_sentence(form: str, sentences: str, references: str) -> None:
    found_s = cider_d(STORED[sentences], STORED[references])
    assert found_s.tolist() == pytest.approx(STORED[form]["cider_d_of_each"], abs=1e-9)
    assert found_s.mean() == pytest.approx(STORED[form]["cider_d"], abs=1e-9)
