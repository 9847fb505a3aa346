"""Answers and captions by a model that sees the picture: BLIP and BLIP-2 from transformers, by name or folder.

ChatIR's simulated user is BLIP-2 (Levy et al. 2023, Sec. 4.2); the paper does not give its prompt; "Question: ...
Answer:" is BLIP-2's own. Decoding is greedy, so the same question about the same picture gets the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.conversation import Question
from viewfinder.encoders.checkpoint_sources import (
    CheckpointSource,
    explain_failures,
    find_checkpoint,
    silence_transformers,
)
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.pictures import AtMost, decode_one
from viewfinder.wording.replies import DONT_KNOW, drop_dont_know

PictureFiles = Callable[[str], Path]
"""Gives the file of a picture."""

PART = "the vision-language model"
MAX_TOKENS = 20
MAX_SIDE = 512
"""Longer side, in pixels, to which a picture is decoded; the model's own processor makes it smaller."""

_BLIP2 = "Blip2ForConditionalGeneration"
VQA = {"blip": ("BlipForQuestionAnswering", "{}"), "blip-2": (_BLIP2, "Question: {} Answer:")}
CAPTIONERS = {"blip": ("BlipForConditionalGeneration", "{}"), "blip-2": (_BLIP2, "{}")}
"""For each kind of model its class in transformers and its prompt."""


class VisionModel:
    """A loaded checkpoint that continues texts about pictures; `load_vqa` and `load_captioner` make one."""

    def __init__(self, source: CheckpointSource, network_class: str, prompt: str, device: str) -> None:
        import transformers

        self.name, self.prompt, self._device = source.name, prompt, device
        with silence_transformers(), explain_failures(source, PART):
            images: Callable[..., Any] = transformers.AutoImageProcessor.from_pretrained
            self._pixels = images(source.location, **source.options, backend="pil")
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(source.location, **source.options)
            load: Callable[..., Any] = getattr(transformers, network_class).from_pretrained
            network, report = load(source.location, **source.options, output_loading_info=True)
        missing = sorted(report["missing_keys"]) + sorted(key for key, *_ in report["mismatched_keys"])
        if missing:
            raise EncoderMismatch(
                f"{source.location} is no {network_class}: {len(missing)} weights are missing ({missing[0]}, ...); "
                f"give a checkpoint that was saved from {network_class}"
            )
        self._network = network.to(device).eval()

    def text(self, picture: Path, prompt: str = "") -> str:
        """Continues a prompt about a picture, decoded greedily."""
        import torch

        config = self._network.config
        is_blip2 = config.model_type == "blip-2"
        # BLIP describes without a prompt; BLIP-2 puts placeholders for the picture before it.
        tokens: list[int] = self._tokenizer(prompt, truncation=True)["input_ids"] if prompt or is_blip2 else []
        if is_blip2:
            tokens = [config.image_token_index] * config.num_query_tokens + tokens
        image = decode_one(picture, AtMost(MAX_SIDE)).pixels
        inputs: dict[str, Any] = dict(self._pixels(images=[image], return_tensors="pt"))
        if tokens:
            inputs["input_ids"] = torch.tensor([tokens])
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs = {name: tensor.to(self._device) for name, tensor in inputs.items()}
        with torch.inference_mode():
            written = self._network.generate(**inputs, max_new_tokens=MAX_TOKENS, do_sample=False, num_beams=1)
        # BLIP-2 over a decoder-only language model repeats what was asked.
        start = len(tokens) if is_blip2 and not self._network.language_model.config.is_encoder_decoder else 0
        said: str = self._tokenizer.batch_decode(written[:, start:], skip_special_tokens=True)[0]
        return said.strip()


def load_vqa(name_or_path: str, pictures: PictureFiles, *, device: str = "cpu") -> VqaAnswerer:
    """The answerer over a BLIP or BLIP-2 checkpoint: a hub name, or a folder that save_pretrained wrote.

    Raises:
        BadInput: nothing there, another kind of model, or an unreadable file.
        EncoderMismatch: weights are missing.
    """
    return VqaAnswerer(_load(name_or_path, VQA, device), pictures)


def load_captioner(name_or_path: str) -> VisionModel:
    """A BLIP or BLIP-2 checkpoint that says what it sees in a picture; raises as `load_vqa`."""
    return _load(name_or_path, CAPTIONERS, "cpu")


def _load(name_or_path: str, kinds: dict[str, tuple[str, str]], device: str) -> VisionModel:
    from transformers import PretrainedConfig

    source = find_checkpoint(name_or_path)
    with silence_transformers(), explain_failures(source, PART):
        config, _ = PretrainedConfig.get_config_dict(source.location, local_files_only=source.folder is not None)
    kind = config.get("model_type")
    if kind not in kinds:
        raise BadInput(f"{source.location} is of model type {kind!r}; give one of type {', '.join(sorted(kinds))}")
    return VisionModel(source, *kinds[kind], device)


@dataclass(frozen=True)
class VqaAnswerer:
    """The `Answerer` that looks at the picture."""

    model: VisionModel
    pictures: PictureFiles

    def answer(self, question: Question, picture: str) -> str:
        """The model's answer; with choices, the one that it names, else "don't know".

        Raises:
            UnknownName: there is no such picture.
            PictureError: the picture cannot be read.
        """
        file = self.pictures(picture)
        if not file.is_file():
            raise UnknownName(f"{picture}: no such picture ({file} is no file)")
        said = self.model.text(file, self.model.prompt.format(question.text))
        choices = drop_dont_know(question.choices) or ((said,) if said else ())
        return next((choice for choice in choices if choice.lower() in said.lower()), DONT_KNOW)
