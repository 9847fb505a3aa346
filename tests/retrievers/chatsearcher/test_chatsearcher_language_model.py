"""Beginning with what others have published: tiny models with drawn weights, saved as transformers saves them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from viewfinder.errors import BadInput
from viewfinder.retrievers.chatsearcher.network import Perceiver, load_perceiver, load_pretrained_language
from viewfinder.retrievers.chatsearcher.sequence import TextTokenizer
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherSettings

WORDS = ["<unk>", "<s>", "</s>", "USER:", "ASSISTANT:", "red", "over", "blue"]
SIZES: dict[str, Any] = {
    "vocab_size": 10,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
"""Ten pieces, of which the tokeniser knows eight: Llama's are often filled up."""

Save = Callable[..., Path]


def save_tokeniser(folder: Path, **known: Any) -> None:
    cuts: Any = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<unk>"))
    cuts.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    given = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", **known}
    make: Any = transformers.PreTrainedTokenizerFast
    make(tokenizer_object=cuts, **given).save_pretrained(folder)


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Saves a causal language model with its tokeniser: transformers' Llama unless another config is given."""

    def saved(kind: str = "Llama", tokeniser: dict[str, Any] | None = None, **config: Any) -> Path:
        torch.manual_seed(0)
        made: Any = getattr(transformers, f"{kind}Config")(**(SIZES | config))
        getattr(transformers, f"{kind}ForCausalLM")(made).save_pretrained(tmp_path / "model")
        save_tokeniser(tmp_path / "model", **(tokeniser or {}))
        return tmp_path / "model"

    return saved


def model(folder: Path | str, longest: int = 64) -> ChatSearcherSettings:
    return ChatSearcherSettings(language=str(folder), longest=longest)


def refused(folder: Path | str, longest: int = 64) -> str:
    with pytest.raises(BadInput) as told:
        load_pretrained_language(model(folder, longest))
    assert "\n" not in str(told.value)
    return str(told.value)


@torch.no_grad()
def scores(network: Any, head: Any, numbers_bl: Tensor) -> Tensor:
    states_blh = network(numbers_bl).last_hidden_state
    table_vh = network.embed_tokens.weight if head is None else head.weight
    found: Tensor = states_blh @ table_vh.T
    return found


@pytest.mark.parametrize("kind", ["Llama", "Mistral", "Qwen2"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_language_model_scores_pieces_as_transformers_does(save: Save, kind: str, tied: bool) -> None:
    folder = save(kind, tie_word_embeddings=tied)
    found = load_pretrained_language(model(folder))
    assert (found.head is None) == tied
    load: Callable[..., Any] = transformers.AutoModelForCausalLM.from_pretrained
    numbers_bl = torch.tensor([[1, 3, 5, 6, 7, 4]])
    with torch.no_grad():
        stock_blv = load(folder)(numbers_bl).logits
    torch.testing.assert_close(scores(found.model, found.head, numbers_bl), stock_blv)


def test_its_pieces_are_those_of_its_tokeniser(save: Save) -> None:
    tokeniser = load_pretrained_language(model(save())).tokenizer
    assert (tokeniser.begin, tokeniser.end, tokeniser.count) == (1, 2, 10)
    assert TextTokenizer(tokeniser).encode("USER: red over blue") == [3, 5, 6, 7]


def test_a_tokeniser_may_know_more_pieces_than_the_model(save: Save) -> None:
    """Pieces that were added later have no vectors yet: they get some."""
    found = load_pretrained_language(model(save(vocab_size=6, tie_word_embeddings=False)))
    assert found.tokenizer.count == 8
    assert found.head is not None and found.head.weight.shape == found.model.embed_tokens.weight.shape == (8, 16)


def test_where_nothing_begins_a_text_what_ends_one_does(save: Save) -> None:
    tokeniser = load_pretrained_language(model(save(tokeniser={"bos_token": None}))).tokenizer
    assert (tokeniser.begin, tokeniser.end) == (2, 2)


# -- what is refused


@pytest.mark.parametrize(
    ("config", "what"),
    [
        ({"attention_bias": True}, "has biases where Llama has none"),
        ({"mlp_bias": True}, "has biases where Llama has none"),
        ({"hidden_act": "gelu"}, "has the activation 'gelu'"),
        ({"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}, "positions of its own"),
    ],
    ids=str,
)
def test_what_does_not_compute_as_llama_is_refused(save: Save, config: dict[str, Any], what: str) -> None:
    said = refused(save(**config))
    assert what in said and "give a model of type llama, mistral, qwen2" in said


def test_other_architectures_are_refused_before_their_weights_are_read(tmp_path: Path) -> None:
    transformers.GPT2Config().save_pretrained(tmp_path)
    assert "is of type 'gpt2', and only what computes as Llama does can search" in refused(tmp_path)


def test_dialogues_longer_than_it_reads_are_refused(save: Save) -> None:
    assert refused(save("Mistral", sliding_window=32), 40).endswith("reads 32 pieces at most; --set model.longest=32")
    assert load_pretrained_language(model(save("Mistral", sliding_window=32), 32)).model.config.sliding_window == 32


def test_what_is_missing_is_named(save: Save, tmp_path: Path) -> None:
    folder = save(tie_word_embeddings=False)
    tensors = load_file(folder / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert "1 weights are missing (lm_head.weight" in refused(folder)
    bare = copytree(folder, tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    assert "cannot load the weights" in refused(bare)
    (bare / "tokenizer.json").unlink()
    assert "has no tokeniser (none of tokenizer.json" in refused(bare)
    assert "give a .gguf file, a model folder or a hub name" in refused(tmp_path / "none.gguf")
    assert "no model folder (no config.json)" in refused(tmp_path)


def test_a_tokeniser_without_an_end_is_refused(save: Save) -> None:
    assert "a piece for the end of a text" in refused(save(tokeniser={"eos_token": None}))


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF but not really")
    assert str(file) in refused(file)


# -- the perceiver


@pytest.fixture(scope="module", params=["ForConditionalGeneration", "ForImageTextRetrieval"])
def blip2(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BLIP-2 whose Q-Former looks at pictures of 12 numbers, with and without texts."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("blip2")
    reads = request.param == "ForImageTextRetrieval"
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    looks: dict[str, Any] = {"encoder_hidden_size": 12, "use_qformer_text_input": reads, "vocab_size": 9}
    opt = {"model_type": "opt", "hidden_size": 8, "ffn_dim": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = transformers.Blip2Config(
        qformer_config=sizes | looks,
        vision_config=sizes | {"hidden_size": 12, "image_size": 16, "patch_size": 8},
        text_config=opt | {"word_embed_proj_dim": 8, "vocab_size": 9, "max_position_embeddings": 8},
        num_query_tokens=4,
        image_text_hidden_size=8,
    )
    made: Any = getattr(transformers, f"Blip2{request.param}")(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    made.save_pretrained(folder)
    return folder


def perceiver(region_width: int, **sizes: int) -> Perceiver:
    torch.manual_seed(1)
    known: dict[str, Any] = {"perceiver_width": 16, "perceiver_heads": 2, "perceiver_hidden": 24, "cross_every": 2}
    return Perceiver(ChatSearcherSettings(tokens=4, **(known | sizes)), regions=36, region_width=region_width).eval()


@torch.no_grad()
def test_slots_look_at_patches_as_those_of_blip2_do(blip2: Path) -> None:
    own = perceiver(12)
    load_perceiver(str(blip2), own)
    kind = getattr(transformers, json.loads((blip2 / "config.json").read_text())["architectures"][0])
    stock = kind.from_pretrained(blip2).eval()
    patches_bix = torch.randn(2, 36, 12)
    seen_bix = stock.vision_model.post_layernorm(patches_bix)
    tokens_bth = stock.query_tokens.expand(2, -1, -1)
    known: dict[str, Any] = {"query_length": 4} if stock.config.qformer_config.use_qformer_text_input else {}
    expected_bth = stock.qformer(query_embeds=tokens_bth, encoder_hidden_states=seen_bix, **known).last_hidden_state
    torch.testing.assert_close(own(patches_bix), expected_bth, atol=1e-5, rtol=1e-4)


def test_of_pictures_with_other_numbers_all_but_their_maps_is_kept(blip2: Path) -> None:
    before, after = perceiver(5).state_dict(), perceiver(5)
    load_perceiver(str(blip2), after)
    drawn = {name for name, numbers in after.state_dict().items() if torch.equal(numbers, before[name])}
    maps = {
        f"qformer.encoder.layer.0.crossattention.attention.{which}.{what}"
        for which in ("key", "value")
        for what in ("weight", "bias")
    }
    assert drawn == maps | {"positions", "norm.weight", "norm.bias"}


def test_sizes_must_be_those_of_the_settings_and_are_told(blip2: Path) -> None:
    with pytest.raises(BadInput) as told:
        load_perceiver(str(blip2), perceiver(12, perceiver_layers=3, cross_every=1))
    assert "is of other sizes than the settings say (perceiver_layers 3, cross_every 1)" in str(told.value)
    assert str(told.value).endswith("--set model.perceiver_layers=2 --set model.cross_every=2")


def test_other_checkpoints_are_no_blip2(save: Save) -> None:
    with pytest.raises(BadInput, match=r"is 'llama'; give weights of BLIP-2, such as"):
        load_perceiver(str(save()), perceiver(12))
