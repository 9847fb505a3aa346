"""Small checkpoints with random weights of the true architectures, as their own libraries write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.models.chinese_clip.image_processing_pil_chinese_clip import ChineseCLIPImageProcessorPil
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.efficientnet.image_processing_pil_efficientnet import EfficientNetImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "patch_size": 8,
    "initializer_range": 0.5,  # larger than in life, so that pictures and texts differ visibly
}
TEXT = {**VISION, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def save_clip(folder: Path) -> None:
    tokens = ["<|startoftext|>", "<|endoftext|>", *LETTERS, *(letter + "</w>" for letter in LETTERS), "do"]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    merges: Any = [("d", "o")]
    transformers.CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=77).save_pretrained(folder)
    text = {**TEXT, "vocab_size": len(vocabulary), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 1}
    config = transformers.CLIPConfig(text_config=text, vision_config={**VISION, "image_size": 48}, projection_dim=16)
    transformers.CLIPModel(config).save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}).save_pretrained(folder)


def save_siglip(folder: Path) -> None:
    pieces = [("</s>", 0.0), ("<unk>", -10.0), ("▁", -2.0), *((letter, -3.0) for letter in LETTERS)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 0)])
    wrap: Any = transformers.PreTrainedTokenizerFast
    wrap(
        tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>", pad_token="</s>", model_max_length=64
    ).save_pretrained(folder)
    # The checkpoints on the hub name this class, which needs sentencepiece, and give the model no mask.
    edit_json(folder / "tokenizer_config.json", tokenizer_class="SiglipTokenizer", model_input_names=["input_ids"])
    # 52 is no multiple of 8, as 384 is none of 14 in siglip-so400m-patch14-384.
    vision = {**VISION, "image_size": 52}
    config = transformers.SiglipConfig(text_config={**TEXT, "vocab_size": len(pieces)}, vision_config=vision)
    transformers.SiglipModel(config).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": 52, "width": 52}).save_pretrained(folder)


def save_siglip2(folder: Path) -> None:
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS]
    transformers.Siglip2Tokenizer(
        vocab={token: row for row, token in enumerate(tokens)},
        merges=[],
        model_max_length=64,
        padding_side="right",
        model_input_names=["input_ids"],
    ).save_pretrained(folder)
    config = transformers.Siglip2Config(
        text_config={**TEXT, "vocab_size": len(tokens)}, vision_config={**VISION, "num_patches": 36}
    )
    transformers.Siglip2Model(config).save_pretrained(folder)
    Siglip2ImageProcessorPil(patch_size=8, max_num_patches=36).save_pretrained(folder)


def save_blip(folder: Path) -> None:
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + letter for letter in LETTERS)]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=512).save_pretrained(folder)
    transformers.BlipForImageTextRetrieval(blip_config(len(tokens))).save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(folder)


def blip_config(rows: int) -> transformers.BlipConfig:
    text = {
        **TEXT,
        "vocab_size": rows,
        "encoder_hidden_size": 32,
        "max_position_embeddings": 64,
        "sep_token_id": 3,
    }
    return transformers.BlipConfig(
        text_config=text,
        vision_config={**VISION, "image_size": 48},
        image_text_hidden_size=16,
        projection_dim=16,
    )


def edit_json(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def save_bert_tokenizer(folder: Path, words: str = "") -> int:
    """A tokenizer of letters (and some characters) like BERT's; gives how many tokens it knows."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *("##" + letter for letter in LETTERS), *words]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    transformers.BertTokenizer(vocab=vocabulary, model_max_length=512).save_pretrained(folder)
    return len(tokens)


def save_xlm_tokenizer(folder: Path, length: int) -> int:
    """A tokenizer of letters like XLM-RoBERTa's; gives how many tokens it knows."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -10.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in (*LETTERS, *(letter.upper() for letter in LETTERS))]
    pieces.append(("<mask>", 0.0))
    transformers.XLMRobertaTokenizer(vocab=pieces, model_max_length=length).save_pretrained(folder)
    return len(pieces)


def save_chinese_clip(folder: Path) -> None:
    """Chinese-CLIP: BERT beside CLIP's ViT."""
    rows = save_bert_tokenizer(folder, "狗猫船红")
    config = transformers.ChineseCLIPConfig(
        text_config={**TEXT, "vocab_size": rows, "max_position_embeddings": 64},
        vision_config={**VISION, "image_size": 48},
        projection_dim=16,
    )
    transformers.ChineseCLIPModel(config).save_pretrained(folder)
    ChineseCLIPImageProcessorPil(
        size={"height": 48, "width": 48}, crop_size={"height": 48, "width": 48}, do_center_crop=False
    ).save_pretrained(folder)


def save_altclip(folder: Path) -> None:
    """AltCLIP: XLM-RoBERTa beside CLIP's ViT."""
    rows = save_xlm_tokenizer(folder, 512)
    text = {**TEXT, "vocab_size": rows, "max_position_embeddings": 66, "project_dim": 24, "pad_token_id": 1}
    config = transformers.AltCLIPConfig(
        text_config={**text, "bos_token_id": 0, "eos_token_id": 2},
        vision_config={**VISION, "image_size": 48},
        projection_dim=16,
    )
    transformers.AltCLIPModel(config).save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}).save_pretrained(folder)


def save_metaclip_2(folder: Path) -> None:
    """MetaCLIP 2: a CLIP with XLM-RoBERTa's tokens."""
    rows = save_xlm_tokenizer(folder, 77)
    text = {**TEXT, "vocab_size": rows, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = transformers.MetaClip2Config(
        text_config={**text, "max_position_embeddings": 77},
        vision_config={**VISION, "image_size": 48},
        projection_dim=16,
    )
    transformers.MetaClip2Model(config).save_pretrained(folder)
    CLIPImageProcessorPil(size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}).save_pretrained(folder)


def save_align(folder: Path) -> None:
    """ALIGN: BERT beside an EfficientNet, whose channels are rounded to multiples of 8."""
    rows = save_bert_tokenizer(folder)
    vision = {
        "image_size": 96,
        "width_coefficient": 1.0,
        "depth_coefficient": 1.0,
        "kernel_sizes": [3, 5],
        "in_channels": [32, 8],
        "out_channels": [8, 16],
        "strides": [1, 2],
        "num_block_repeats": [1, 1],
        "expand_ratios": [1, 2],
        "depthwise_padding": [],
        "hidden_dim": 64,
        "initializer_range": 0.5,
    }
    config = transformers.AlignConfig(
        text_config={**TEXT, "vocab_size": rows, "max_position_embeddings": 128},
        vision_config=vision,
        projection_dim=16,
    )
    network = transformers.AlignModel(config)
    for module in network.modules():  # as after a training: nothing of a picture would be left otherwise
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None and module.running_var is not None
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.02, 0.1)
    network.save_pretrained(folder)
    EfficientNetImageProcessorPil(
        size={"height": 56, "width": 56}, do_center_crop=True, crop_size={"height": 48, "width": 48}
    ).save_pretrained(folder)


def save_siglip2_of_fixed_size(folder: Path) -> None:
    """SigLIP 2 of fixed size: a SigLIP with Gemma's tokenizer, which knows capitals."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS, *(letter.upper() for letter in LETTERS)]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    transformers.GemmaTokenizer(
        vocab=vocabulary, merges=[], model_max_length=64, padding_side="right", add_bos_token=False, add_eos_token=True
    ).save_pretrained(folder)
    edit_json(folder / "tokenizer_config.json", model_input_names=["input_ids"])  # as those on the hub have it
    config = transformers.SiglipConfig(
        text_config={**TEXT, "vocab_size": len(tokens)}, vision_config={**VISION, "image_size": 48}
    )
    transformers.SiglipModel(config).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": 48, "width": 48}).save_pretrained(folder)


OPEN_CLIP_CONFIG: dict[str, Any] = {
    "model_cfg": {
        "embed_dim": 16,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 48, "layers": 2, "width": 32, "patch_size": 8, "head_width": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 55, "width": 24, "heads": 4, "layers": 2},
    },
    "preprocess_cfg": {
        "mean": [0.48145466, 0.4578275, 0.40821073],
        "std": [0.26862954, 0.26130258, 0.27577711],
    },
}


class QuickGELU(nn.Module):
    """x sigmoid(1.702 x)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)


class Block(nn.Module):
    """A pre-norm residual block, under open_clip's names."""

    def __init__(self, width: int, heads: int, act: nn.Module) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(width, 4 * width))
        self.mlp.add_module("gelu", act)
        self.mlp.add_module("c_proj", nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        normed = self.ln_1(x)
        x = x + self.attn(normed, normed, normed, need_weights=False, attn_mask=mask)[0]
        return x + self.mlp(self.ln_2(x))  # type: ignore[no-any-return]


class Stack(nn.Module):
    """Blocks one after the other."""

    def __init__(self, width: int, heads: int, layers: int, act: nn.Module) -> None:
        super().__init__()
        self.resblocks = nn.ModuleList(Block(width, heads, act) for _ in range(layers))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        for block in self.resblocks:
            x = block(x, mask)
        return x


class Visual(nn.Module):
    """open_clip's ViT: patches, a class token, places, blocks, the class token's projection."""

    def __init__(self, cfg: dict[str, Any], embed: int, act: nn.Module) -> None:
        super().__init__()
        width, patch, side = cfg["width"], cfg["patch_size"], cfg["image_size"] // cfg["patch_size"]
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(width))
        self.positional_embedding = nn.Parameter(torch.randn(side * side + 1, width))
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        self.transformer = Stack(width, width // cfg["head_width"], cfg["layers"], act)
        self.proj = nn.Parameter(torch.randn(width, embed))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        patches = self.conv1(pixels).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(len(pixels), 1, -1)
        tokens = torch.cat([first, patches], dim=1) + self.positional_embedding
        return self.ln_post(self.transformer(self.ln_pre(tokens))[:, 0]) @ self.proj  # type: ignore[no-any-return]


class OpenClip(nn.Module):
    """open_clip's CLIP from its formula: the text's vector is that of its last token, the one of the largest number."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        model = config["model_cfg"]
        text, embed = model["text_cfg"], model["embed_dim"]
        act: nn.Module = QuickGELU() if model.get("quick_gelu") else nn.GELU()
        self.visual = Visual(model["vision_cfg"], embed, act)
        self.token_embedding = nn.Embedding(text["vocab_size"], text["width"])
        self.positional_embedding = nn.Parameter(torch.randn(text["context_length"], text["width"]))
        self.transformer = Stack(text["width"], text["heads"], text["layers"], act)
        self.ln_final = nn.LayerNorm(text["width"])
        self.text_projection = nn.Parameter(torch.randn(text["width"], embed))
        self.logit_scale = nn.Parameter(torch.tensor(2.66))

    def encode_text(self, ids: torch.Tensor) -> torch.Tensor:
        length = ids.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        tokens = self.token_embedding(ids) + self.positional_embedding[:length]
        tokens = self.ln_final(self.transformer(tokens, mask))
        return tokens[torch.arange(len(ids)), ids.argmax(dim=1)] @ self.text_projection  # type: ignore[no-any-return]


def save_open_clip(folder: Path, *, as_bin: bool = False, **changes: Any) -> OpenClip:
    """A folder as open_clip pushes it to the hub; `changes` replace what model_cfg says."""
    folder.mkdir(parents=True)
    config = {**OPEN_CLIP_CONFIG, "model_cfg": {**OPEN_CLIP_CONFIG["model_cfg"], **changes}}
    tokens = [*LETTERS, *(letter + "</w>" for letter in LETTERS), "do", "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    merges: Any = [("d", "o")]
    transformers.CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=77).save_pretrained(folder)
    model = OpenClip(config).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, 0, 0.3)
    weights = {name: one.detach().contiguous() for name, one in model.state_dict().items()}
    if as_bin:
        torch.save(weights, folder / "open_clip_pytorch_model.bin")
    else:
        save_file(weights, folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return model


def save_sentence_transformers(folder: Path) -> None:
    """A CLIP as sentence-transformers keeps it: in a folder of its own beside a list of parts."""
    save_clip(folder / "0_CLIPModel")
    parts = [{"idx": 0, "name": "0", "path": "0_CLIPModel", "type": "sentence_transformers.models.CLIPModel"}]
    (folder / "modules.json").write_text(json.dumps(parts))
    (folder / "config_sentence_transformers.json").write_text("{}")
