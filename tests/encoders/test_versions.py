"""Versions of checkpoints: of what makes numbers, not of bytes; and no photograph vanishes when files change.

Twenty-odd kinds of changed files, each as a function of the model's folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.encoders.tiny_checkpoints import save_clip
from viewfinder.encoders.checkpoints import load_checkpoint
from viewfinder.encoders.origins import hash_file, pin_encoder
from viewfinder.encoders.transformers import load_transformers_encoder
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.library import Library
from viewfinder.store import kept_encoders
from viewfinder.store.settings import read_settings, write_settings
from viewfinder.testing import tiny_pictures

Change = Callable[[Path], None]


def edited(file: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    def edit(folder: Path) -> None:
        data = json.loads((folder / file).read_text(encoding="utf-8"))
        change(data)
        (folder / file).write_text(json.dumps(data), encoding="utf-8")

    return edit


def resaved(file: str) -> Change:
    def save_again(folder: Path) -> None:
        data = json.loads((folder / file).read_text(encoding="utf-8"))
        turned = dict(reversed(list(data.items())))
        (folder / file).write_text(json.dumps(turned, indent=7), encoding="utf-8")

    return save_again


def weighed(change: Callable[[dict[str, torch.Tensor]], Any], **metadata: str) -> Change:
    def save_again(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        changed = change(weights)
        kept = changed if isinstance(changed, dict) else weights
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt", **metadata})

    return save_again


def save_as_bin(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def save_in_shards(folder: Path) -> None:
    model = transformers.CLIPModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="40KB")


def touch_all(folder: Path) -> None:
    for file in folder.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))


def add_readme(folder: Path) -> None:
    (folder / "README.md").write_text("# A model\n", encoding="utf-8")


def turn_merges(folder: Path) -> None:
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    data["model"]["merges"] = [["o", "d"]]
    data["model"]["vocab"]["od"] = data["model"]["vocab"].pop("do")
    (folder / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")


HARMLESS: dict[str, Change] = {
    "a key in tokenizer_config.json": edited("tokenizer_config.json", lambda data: data.update(note="hello")),
    "a key in config.json": edited("config.json", lambda data: data.update(note="hello")),
    "a key in the text's part of config.json": edited(
        "config.json", lambda data: data["text_config"].update(note="hello")
    ),
    "another transformers in config.json": edited(
        "config.json", lambda data: data.update(transformers_version="4.1.0", _name_or_path="/somewhere/else")
    ),
    "another kind of initial weights": edited("config.json", lambda data: data.update(initializer_factor=3.0)),
    "a key in preprocessor_config.json": edited("preprocessor_config.json", lambda data: data.update(note="hello")),
    "config.json in another order": resaved("config.json"),
    "preprocessor_config.json in another order": resaved("preprocessor_config.json"),
    "tokenizer.json in another order": resaved("tokenizer.json"),
    "tokenizer_config.json in another order": resaved("tokenizer_config.json"),
    "a file of notes": add_readme,
    "other times of files": touch_all,
    "weights in another order": weighed(lambda weights: dict(reversed(list(weights.items())))),
    "a note in the weights' file": weighed(lambda weights: None, note="hello"),
    "buffers of older versions in the weights": weighed(
        lambda weights: weights.update({"text_model.embeddings.position_ids": torch.arange(77)[None]})
    ),
    "weights in shards": save_in_shards,
    "weights as pytorch_model.bin": save_as_bin,
}
"""Changes that change no number."""

HARMFUL: dict[str, Change] = {
    "a weight of the pictures' side": weighed(lambda weights: weights["visual_projection.weight"].mul_(-1.5)),
    "a weight of the words' side": weighed(lambda weights: weights["text_projection.weight"][0].mul_(-1.5)),
    "all weights": weighed(
        lambda weights: {
            name: torch.randn(tensor.shape, generator=torch.Generator().manual_seed(7))
            for name, tensor in weights.items()
        }
    ),
    "another mean of the pixels": edited("preprocessor_config.json", lambda data: data.update(image_mean=[0.1] * 3)),
    "another way to resize": edited("preprocessor_config.json", lambda data: data.update(resample=0)),
    "another activation": edited("config.json", lambda data: data["vision_config"].update(hidden_act="relu")),
    "other merges of the tokenizer": turn_merges,
    "a scale of its logits": weighed(lambda weights: weights["logit_scale"].add_(1.0)),
}
"""Changes that change numbers, of pictures, of words, or of what is beside them."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "clip"
    torch.manual_seed(0)
    save_clip(folder)
    return folder


@pytest.fixture(scope="module")
def version(model: Path) -> str:
    return load_transformers_encoder(str(model)).version


@pytest.fixture(scope="module")
def filled(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, pictures and a library of them."""
    home = tmp_path_factory.mktemp("filled")
    tiny_pictures(home / "pictures", 5)
    shutil.copytree(model, home / "clip")
    library = Library.open(home / "library", encoder=str(home / "clip"))
    library.add(home / "pictures", workers=1, without_starter=True)
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A copy of that, whose library knows its pictures and its model where they lie now."""
    shutil.copytree(filled, tmp_path / "home")
    home = tmp_path / "home"
    file = home / "library/library.json"
    settings = read_settings(file)
    assert settings.pin is not None
    pin = replace(settings.pin, folder=str(home / "clip"))
    write_settings(home / "library", replace(settings, encoder=str(home / "clip"), pin=pin))
    Library.open(home / "library").add(home / "pictures", workers=1)
    return home


@pytest.mark.parametrize("change", HARMLESS)
def test_the_version_stays_when_no_number_changes(change: str, model: Path, version: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "clip"))
    HARMLESS[change](folder)
    assert load_transformers_encoder(str(folder)).version == version


@pytest.mark.parametrize("change", HARMFUL)
def test_the_version_changes_when_numbers_change(change: str, model: Path, version: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "clip"))
    HARMFUL[change](folder)
    assert load_transformers_encoder(str(folder)).version != version


def count_found(folder: Path) -> int:
    return len(Library.open(folder, create=False).find("a dog", n=100))


@pytest.mark.parametrize(
    "change",
    [*HARMFUL, *(pytest.param(change, marks=pytest.mark.long) for change in HARMLESS)],
)
def test_no_photograph_vanishes_when_files_of_the_model_change(change: str, home: Path) -> None:
    ({**HARMLESS, **HARMFUL})[change](home / "clip")
    more = tiny_pictures(home / "more", 9)  # five of them are there already
    library = Library.open(home / "library")
    before = library.settings.space
    try:
        library.add(home / "more", workers=1)
    except EncoderMismatch as error:
        assert change in HARMFUL
        assert "\n" not in str(error)
        assert f"`viewfinder add --encoder {home / 'clip'}`" in str(error)
        with pytest.raises(EncoderMismatch):
            count_found(home / "library")
        assert read_settings(home / "library/library.json").space == before
        Library.open(home / "library").add(home / "more", encoder=str(home / "clip"), workers=1)
    assert count_found(home / "library") == len(more)
    assert not Library.open(home / "library").verify()


def test_what_changed_of_the_words_alone_reads_no_picture_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    HARMFUL["a weight of the words' side"](home / "clip")
    with pytest.raises(EncoderMismatch, match="reads words otherwise than when it was added, pictures as before"):
        count_found(home / "library")
    monkeypatch.setattr(kept_encoders, "read_again", None)
    Library.open(home / "library").add(encoder=str(home / "clip"), workers=1)
    assert count_found(home / "library") == 5


def test_a_library_of_an_earlier_viewfinder_is_searched_without_reading_a_picture(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its space has the name of that time, a hash of all files; its settings have the name as it was typed, no more."""
    former = load_checkpoint(str(home / "clip")).former_versions()[0]
    folder, settings = home / "library", read_settings(home / "library/library.json")
    store = Library.open(folder).store
    store.name_alike(str(settings.space), former)
    store.forget_spaces([str(settings.space)])
    shutil.rmtree(folder / "snapshots")
    write_settings(folder, replace(settings, encoder="clip", space=former, raw=None, pin=None, said=()))
    monkeypatch.chdir(home)
    with monkeypatch.context() as patch:
        patch.setattr(kept_encoders, "Decoders", None)
        assert count_found(folder) == 5
    found = read_settings(folder / "library.json")
    assert (found.space, found.known_as) == (settings.space, (former,))
    Library.open(folder).add(home / "pictures", workers=1)
    pinned = read_settings(folder / "library.json")
    assert pinned.pin is not None
    assert pinned.pin.folder == str(home / "clip")
    monkeypatch.chdir("/")
    assert count_found(folder) == 5


def test_a_path_as_it_was_typed_is_never_asked_for_on_the_hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, settings = home / "library", read_settings(home / "library/library.json")
    write_settings(folder, replace(settings, encoder="models/clip", pin=None))
    monkeypatch.chdir("/")
    asked: list[object] = []
    monkeypatch.setattr(
        "huggingface_hub.file_download.get_hf_file_metadata", lambda *given, **named: asked.append(given)
    )
    with pytest.raises(BadInput, match="`viewfinder encoder move models/clip FOLDER` says where it lies"):
        count_found(folder)
    assert not asked
    assert Library.open(folder).move_encoder("models/clip", home / "clip") == str(home / "clip")
    assert count_found(folder) == 5


def test_a_path_as_it_was_typed_and_the_absolute_one_are_one_encoder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_settings(home / "library/library.json")
    write_settings(home / "library", replace(settings, encoder="clip", pin=None))
    monkeypatch.chdir(home)
    Library.open(home / "library").add(encoder=str(home / "clip"), workers=1)
    assert [one.name for one in Library.open(home / "library").encoders()] == ["clip"]
    monkeypatch.chdir("/")
    assert count_found(home / "library") == 5


# -- pins


def test_a_folder_is_known_by_its_absolute_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    library = Library.open(home / "second", encoder="./clip")
    assert library.settings.encoder == str(home / "clip")
    assert library.settings.pin is not None
    [file] = library.settings.pin.files
    weights = home / "clip/model.safetensors"
    assert (file.name, file.size, file.hash) == ("model.safetensors", weights.stat().st_size, hash_file(weights))
    assert Library.open(home / "second", encoder="clip").encoder.version == library.encoder.version


def test_a_library_whose_model_is_gone_is_looked_at_without_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "clip").rename(home / "moved")
    problems = Library.open(home / "library").verify()
    assert len(problems) == 1 and "is gone: put it back" in problems[0]
    monkeypatch.chdir(home)
    assert Library.open(home / "library").move_encoder("./clip", "moved") == str(home / "moved")
    assert Library.open(home / "library").verify() == []


def test_a_model_that_was_moved_is_named_anew_and_another_one_is_refused(home: Path, model: Path) -> None:
    (home / "clip").rename(home / "moved")
    with pytest.raises(BadInput, match=r"is gone: put it back, or say with `viewfinder encoder move .* FOLDER`"):
        count_found(home / "library")
    other = Path(shutil.copytree(model, home / "other"))
    HARMFUL["all weights"](other)
    with pytest.raises(EncoderMismatch, match="nothing was changed"):
        Library.open(home / "library").move_encoder("clip", other)
    assert Library.open(home / "library").move_encoder("clip", home / "moved") == str(home / "moved")
    assert count_found(home / "library") == 5


def test_weights_that_are_as_they_were_pinned_are_not_hashed_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_settings(home / "library/library.json")
    with monkeypatch.context() as patch:
        patch.setattr("viewfinder.encoders.checkpoint_versions.hash_arrays", None)
        assert load_transformers_encoder(settings.encoder, settings.pin).version == settings.space
        touch_all(home / "clip")  # other times: the bytes are looked at, and are the same
        assert load_transformers_encoder(settings.encoder, settings.pin).version == settings.space
    HARMFUL["a weight of the pictures' side"](home / "clip")
    assert load_transformers_encoder(settings.encoder, settings.pin).version != settings.space


def test_a_commit_on_the_hub_is_pinned(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new commit that the hub's cache gets later, of another model, is not what the library's name means."""
    first, second = "1" * 40, "2" * 40
    repository = tmp_path / "hub/models--tiny--clip"
    shutil.copytree(model, repository / "snapshots" / first)
    HARMFUL["all weights"](Path(shutil.copytree(model, repository / "snapshots" / second)))
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(first, encoding="utf-8")
    for name in ("transformers.utils.hub.constants", "huggingface_hub.constants"):
        monkeypatch.setattr(f"{name}.HF_HUB_CACHE", str(tmp_path / "hub"), raising=False)
        monkeypatch.setattr(f"{name}.HF_HUB_OFFLINE", True, raising=False)
    tiny_pictures(tmp_path / "pictures", 5)
    library = Library.open(tmp_path / "library", encoder="tiny/clip")
    library.add(tmp_path / "pictures", workers=1, without_starter=True)
    assert library.settings.pin is not None
    assert (library.settings.pin.commit, library.settings.pin.folder) == (first, None)
    (repository / "refs/main").write_text(second, encoding="utf-8")
    assert load_transformers_encoder("tiny/clip").version != library.settings.space
    assert count_found(tmp_path / "library") == 5
    assert Library.open(tmp_path / "library").encoder.version == library.settings.space


def test_an_encoder_without_files_has_no_pin() -> None:
    from viewfinder.testing import ColourEncoder

    assert pin_encoder(ColourEncoder()) is None
