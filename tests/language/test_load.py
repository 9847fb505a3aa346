from pathlib import Path

import pytest

from viewfinder.errors import BadInput
from viewfinder.language.base import LanguageModel, LoadsInBackground
from viewfinder.language.local import MODEL_VARIABLE, load_language_model


def test_an_address_is_an_endpoint_and_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_language_model("http://localhost:1/v1#tiny")
    assert isinstance(model, LanguageModel) and not isinstance(model, LoadsInBackground)
    monkeypatch.setenv(MODEL_VARIABLE, "http://localhost:1/v1#tiny")
    assert load_language_model() is model


def test_a_file_is_a_model_that_loads(tmp_path: Path) -> None:
    (tmp_path / "some.Q4.gguf").write_bytes(b"")
    model = load_language_model(str(tmp_path / "some.Q4.gguf"))
    assert isinstance(model, LoadsInBackground) and model.name == "some.Q4"


def test_a_model_that_failed_to_load_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "some.gguf").write_bytes(b"")
    model = load_language_model(str(tmp_path / "some.gguf"))
    assert isinstance(model, LoadsInBackground)
    assert load_language_model(str(tmp_path / "some.gguf")) is model
    with pytest.raises(BadInput):
        model.wait()
    assert load_language_model(str(tmp_path / "some.gguf")) is not model


def test_where_nothing_is_named_it_is_said_what_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)
    with pytest.raises(BadInput, match="no language model is named: give http://host/v1#MODEL"):
        load_language_model(" ")
