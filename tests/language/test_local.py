"""With a causal model of random weights, saved as save_pretrained does. The real one: test_smollm2.py."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language.local import LoadedModel, LocalModel, find_local_model

LONG = 60.0
TEXT = "is it a the dog cat big small red blue on in where what ? : . Question Answer"
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers that says words at random."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    fast: Callable[..., Any] = PreTrainedTokenizerFast
    place = tmp_path_factory.mktemp("models") / "tiny"
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(["<s>", "</s>", *WORDS])}, unk_token="a"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    fast(tokenizer_object=made, bos_token="<s>", eos_token="</s>").save_pretrained(place)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS) + 2,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
        eos_token_id=1,
        bos_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    loaded = find_local_model(str(folder))
    loaded.wait()
    return loaded


def test_greedy_texts_are_the_same_each_time_and_seeds_make_others(model: LocalModel) -> None:
    def said(temperature: float, seed: int) -> str:
        return model.complete("where is the dog", temperature=temperature, seed=seed, most_tokens=6, seconds=LONG)

    assert said(0.0, 1) == said(0.0, 2)
    assert said(5.0, 1) == said(5.0, 1)
    assert len({said(5.0, seed) for seed in range(6)}) > 1


def test_sampling_leaves_the_random_numbers_of_others_alone(model: LocalModel) -> None:
    import torch

    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    model.complete("where is the dog", temperature=1.0, seed=1, seconds=LONG)
    assert torch.equal(torch.rand(3), expected)


def test_a_stop_ends_the_text_before_the_tokens_are_used_up(model: LocalModel) -> None:
    def said(*stop: str) -> str:
        return model.complete("where is the dog", stop=stop, temperature=5.0, seed=1, most_tokens=12, seconds=LONG)

    words = said().split()
    other = next(word for word in words if word != words[0])
    assert said(f" {other}").split() == words[: words.index(other)]


def test_a_text_that_takes_too_long_fails(model: LocalModel) -> None:
    with pytest.raises(LanguageModelFailed, match=r"^tiny took longer than 0\.05 s$"):
        model.complete("where is the dog", stop=(), most_tokens=5000, seconds=0.05)
    assert model.complete("where is the dog", seconds=LONG)  # and it is free again


def test_who_comes_while_it_speaks_waits_no_longer_than_agreed(model: LocalModel) -> None:
    with model._busy, pytest.raises(LanguageModelFailed, match="took longer than"):
        model.complete("where is the dog", seconds=0.05)


def test_it_is_still_loading_until_it_has_loaded() -> None:
    begun, released = threading.Event(), threading.Event()

    def load() -> LoadedModel:
        begun.set()
        released.wait()
        raise BadInput("no weights")

    model = LocalModel("slow", load, daemon=True)
    assert not begun.wait(0.01)  # not before it is used
    with pytest.raises(LanguageModelFailed, match=r"^slow is still loading$"):
        model.complete("a dog")
    assert begun.wait(LONG)
    released.set()
    with pytest.raises(BadInput, match="no weights"):
        model.wait()
    with pytest.raises(LanguageModelFailed, match=r"^slow cannot be loaded$"):
        model.complete("a dog")


def test_a_folder_without_weights_is_said_when_it_is_waited_for(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(BadInput, match=r"^the language model .* cannot be loaded \(.*\)$"):
        find_local_model(str(tmp_path)).wait()


def test_weights_that_are_missing_are_not_made_up(folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    weights.pop("model.layers.1.mlp.up_proj.weight")
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match=r"1 weights are missing \(model\.layers\.1\.mlp\.up_proj"):
        find_local_model(str(tmp_path)).wait()


def test_a_file_that_is_no_gguf_is_said(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF but no more")
    with pytest.raises(BadInput, match="the language model model cannot be loaded"):
        find_local_model(str(tmp_path / "model.gguf")).wait()


@pytest.mark.parametrize("source", ["/nowhere/model.gguf", "/nowhere", "a/b/c"])
def test_what_is_not_there_is_refused_at_once(source: str) -> None:
    with pytest.raises(BadInput, match="there is no"):
        find_local_model(source)


@pytest.mark.long
def test_a_program_may_end_while_a_model_loads(folder: Path) -> None:
    code = (
        "import sys\nfrom viewfinder.language import load_language_model\n"
        "try:\n    load_language_model(sys.argv[1]).complete('a dog')\nexcept Exception as error:\n    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "tiny is still loading\n", "")
