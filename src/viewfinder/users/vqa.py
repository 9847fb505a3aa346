"""Answers and descriptions by a model that sees the picture: BLIP and BLIP-2 of transformers, by name or folder.

ChatIR's simulated user is BLIP-2 (Levy et al. 2023, Sec. 4.2); the paper does not give its prompt, "Question: ...
Answer:" is BLIP-2's own. Decoding is greedy, so the same question about the same picture has the same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.conversation import Question
from viewfinder.encoders.checkpoints import CheckpointSource, explain_failures, find_checkpoint, silence_transformers
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.pictures import AtMost, decode_one
from viewfinder.users.words import DONT_KNOW, open_choices

PictureFiles = Callable[[str], Path]
"""Where the file of a picture is."""

PART = "the vision-language model"
BATCH = 16
MOST_TOKENS = 20
SIDE = 512
"""Pixels of the longer side to which a picture is decoded; the model's own processor makes it smaller."""


@dataclass(frozen=True)
class _ModelKind:
    """How a kind of model is asked: its class in transformers, its prompt, and what is left open (BLIP-2: both)."""

    network: str
    prompt: str


VQA = {
    "blip": _ModelKind("BlipForQuestionAnswering", "{}"),
    "blip-2": _ModelKind("Blip2ForConditionalGeneration", "Question: {} Answer:"),
}
CAPTIONERS = {
    "blip": _ModelKind("BlipForConditionalGeneration", "{}"),
    "blip-2": _ModelKind("Blip2ForConditionalGeneration", "{}"),
}


class VisionModel:
    """A loaded checkpoint that continues texts about pictures; `load_vqa` and `load_caption_describer` make one."""

    def __init__(self, source: CheckpointSource, kind: _ModelKind, device: str) -> None:
        import transformers

        self.name = source.name
        self.prompt = kind.prompt
        with silence_transformers(), explain_failures(source, PART):
            images: Callable[..., Any] = transformers.AutoImageProcessor.from_pretrained
            self._pixels = images(source.location, **source.options, backend="pil")
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(source.location, **source.options)
            load: Callable[..., Any] = getattr(transformers, kind.network).from_pretrained
            network, report = load(source.location, **source.options, output_loading_info=True)
        missing = sorted(report["missing_keys"]) + sorted(key for key, *_ in report["mismatched_keys"])
        if missing:
            raise EncoderMismatch(
                f"{source.location} is no {kind.network}: {len(missing)} weights are missing ({missing[0]}, ...); "
                f"give a checkpoint that was saved from {kind.network}"
            )
        self._network = network.to(device).eval()
        self._device = device

    def texts(self, pictures: Sequence[Path], prompts: Sequence[str]) -> list[str]:
        """What the model says of each picture to each prompt, greedily decoded; in batches.

        A batch has prompts of one length: BLIP's decoder would read padding as if it were words.
        """
        tokens = [self._tokens(prompt) for prompt in prompts]
        said = [""] * len(prompts)
        for length in sorted({len(ids) for ids in tokens}):
            alike = [at for at, ids in enumerate(tokens) if len(ids) == length]
            for start in range(0, len(alike), BATCH):
                batch = alike[start : start + BATCH]
                texts = self._batch([pictures[at] for at in batch], [tokens[at] for at in batch])
                for at, text in zip(batch, texts, strict=True):
                    said[at] = text
        return said

    def _batch(self, pictures: Sequence[Path], tokens: Sequence[list[int]]) -> list[str]:
        import torch

        images = [decode_one(path, AtMost(SIDE)).pixels for path in pictures]
        inputs: dict[str, Any] = dict(self._pixels(images=images, return_tensors="pt"))
        if tokens[0]:
            inputs["input_ids"] = torch.tensor(tokens)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs = {name: tensor.to(self._device) for name, tensor in inputs.items()}
        with torch.inference_mode():
            written = self._network.generate(**inputs, max_new_tokens=MOST_TOKENS, do_sample=False, num_beams=1)
        if self._repeats_prompt:
            written = written[:, len(tokens[0]) :]
        return [text.strip() for text in self._tokenizer.batch_decode(written, skip_special_tokens=True)]

    def _tokens(self, prompt: str) -> list[int]:
        """A prompt as the model reads it. BLIP describes without one; BLIP-2 has places for what it sees."""
        if not prompt and not self._is_blip2:
            return []
        ids: list[int] = self._tokenizer(prompt, truncation=True)["input_ids"]
        config = self._network.config
        return [config.image_token_index] * config.num_query_tokens + ids if self._is_blip2 else ids

    @property
    def _is_blip2(self) -> bool:
        return bool(self._network.config.model_type == "blip-2")

    @property
    def _repeats_prompt(self) -> bool:
        """Whether what is generated begins with what was asked: of BLIP-2 over a decoder-only language model."""
        return self._is_blip2 and not self._network.language_model.config.is_encoder_decoder


def load_vqa(name_or_path: str, pictures: PictureFiles, *, device: str = "cpu") -> VqaAnswerer:
    """The answerer over a BLIP or BLIP-2 checkpoint: a hub name, or a folder that save_pretrained wrote.

    Raises:
        BadInput: nothing there, another kind of model, or a file that cannot be read.
        EncoderMismatch: weights are missing.
    """
    return VqaAnswerer(_load(name_or_path, VQA, device), pictures)


def load_caption_describer(name_or_path: str, pictures: PictureFiles, *, device: str = "cpu") -> CaptioningDescriber:
    """The describer over a BLIP or BLIP-2 checkpoint; as `load_vqa`.

    Raises:
        BadInput, EncoderMismatch: as `load_vqa`.
    """
    return CaptioningDescriber(_load(name_or_path, CAPTIONERS, device), pictures)


def _load(name_or_path: str, kinds: dict[str, _ModelKind], device: str) -> VisionModel:
    from transformers import PretrainedConfig

    source = find_checkpoint(name_or_path)
    with silence_transformers(), explain_failures(source, PART):
        config, _ = PretrainedConfig.get_config_dict(source.location, local_files_only=source.folder is not None)
    kind = config.get("model_type")
    if kind not in kinds:
        raise BadInput(f"{source.location} is of model type {kind!r}; give one of type {', '.join(sorted(kinds))}")
    return VisionModel(source, kinds[kind], device)


@dataclass(frozen=True)
class VqaAnswerer:
    """The `Answerer` that looks at the picture."""

    model: VisionModel
    pictures: PictureFiles

    def answer(self, question: Question, picture: str) -> str:
        """What the model answers; with choices, the one that it names, else "don't know"."""
        return self.answers([question], [picture])[0]

    def answers(self, questions: Sequence[Question], pictures: Sequence[str]) -> list[str]:
        """As `answer`, for many questions at once, which is faster.

        Raises:
            ValueError: there are not as many questions as pictures.
            UnknownName: there is no such picture.
            PictureError: a picture cannot be read.
        """
        if len(questions) != len(pictures):
            raise ValueError(f"{len(questions)} questions about {len(pictures)} pictures: give one picture a question")
        prompts = [self.model.prompt.format(question.text) for question in questions]
        said = self.model.texts([_file(self.pictures, picture) for picture in pictures], prompts)
        return [_chosen(question, text) for question, text in zip(questions, said, strict=True)]


def _chosen(question: Question, text: str) -> str:
    choices = open_choices(question.choices)
    if not choices:
        return text or DONT_KNOW
    return next((choice for choice in choices if choice.lower() in text.lower()), DONT_KNOW)


@dataclass
class CaptioningDescriber:
    """The `Describer` that looks at the picture. After the caption it goes on with openings that ask for more."""

    model: VisionModel
    pictures: PictureFiles
    openings: tuple[str, ...] = ("", "a picture of", "in the background", "on the left", "on the right")
    _told: Counter[str] = field(default_factory=Counter, repr=False)

    def describe(self, picture: str) -> str:
        """One sentence about the picture, begun with the next of the openings.

        Raises:
            UnknownName: there is no such picture.
            PictureError: the picture cannot be read.
        """
        opening = self.openings[self._told[picture] % len(self.openings)]
        self._told[picture] += 1
        said = self.model.texts([_file(self.pictures, picture)], [self.model.prompt.format(opening)])[0]
        return said if said.startswith(opening) else f"{opening} {said}".strip()


def _file(pictures: PictureFiles, picture: str) -> Path:
    file = pictures(picture)
    if not file.is_file():
        raise UnknownName(f"{picture}: no such picture ({file} is no file)")
    return file
