"""A tokeniser that cuts at spaces, whose places can be counted by hand, and small networks with drawn numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from viewfinder.data.chatsearch import SUBTASKS, ChatSample, ChatTurn, ImageItem, Subtask, TextItem, write_chatsearch
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue, write_dialogues
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, InputSizes, draw_language_model
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenizerRecord
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings, ChatSearcherSettings
from viewfinder.testing import RAW_WIDTH, tiny_pictures

WORDS = "<s> </s> <unk> USER: ASSISTANT: red green blue over what is it yes more"
"""The piece of a word is its place here: red 5, over 8, more 13; [IMG] 14, [/IMG] 15, CLS 16, then the slots."""

SIZES = InputSizes(raw=RAW_WIDTH, regions=36, region=3, sentence=RAW_WIDTH)
"""Of vectors of `ColourEncoder`."""


@pytest.fixture(scope="session")
def tokeniser() -> TokenizerRecord:
    """Knows `WORDS`."""
    words: Any = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS.split())}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return TokenizerRecord(words.to_str(), begin=0, end=1, count=len(WORDS.split()))


@pytest.fixture(scope="session")
def codec(tokeniser: TokenizerRecord) -> SequenceCodec:
    """With two slots, 17 and 18; SAID would be 19."""
    return SequenceCodec(tokeniser, tokens=2)


@pytest.fixture(scope="session")
def small() -> ChatSearcherSettings:
    """A network of a few thousand numbers with two slots."""
    return ChatSearcherSettings(
        width=16, layers=2, heads=4, key_heads=2, hidden=24, longest=64, tokens=2, perceiver_width=12,
        perceiver_layers=2, perceiver_heads=2, perceiver_hidden=16, components=6, region_components=3, retrieval=8,
    )  # fmt: skip


@pytest.fixture(scope="session")
def network_of(tokeniser: TokenizerRecord) -> Callable[..., ChatSearcherNetwork]:
    """Makes a network over vectors of `ColourEncoder`, its numbers drawn: in biases, norms and scales as well."""

    def made(
        model: ChatSearcherSettings, loss: ChatSearcherLossSettings | None = None, seed: int = 0
    ) -> ChatSearcherNetwork:
        torch.manual_seed(seed)
        network = ChatSearcherNetwork(
            model, loss or ChatSearcherLossSettings(queue=4), SIZES, draw_language_model(model, tokeniser)
        )
        kept = ("frequencies", "language.rotary_emb", "queue.", "log_temperature")
        with torch.no_grad():
            for name, numbers in [*network.named_parameters(), *network.named_buffers()]:
                if not name.startswith(kept):
                    drawn_numbers = torch.rand_like(numbers) + 0.5 if "deviation" in name else torch.randn_like(numbers)
                    numbers.copy_(drawn_numbers if "deviation" in name else numbers + 0.3 * drawn_numbers)
        return network.eval()

    return made


@pytest.fixture(scope="session")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one colour over another with lessons of every kind, the last two at least for validation."""
    folder = tmp_path_factory.mktemp("data") / "colours"
    pictures = tiny_pictures(folder / "images", 24)
    names = [f"images/{one.path.name}" for one in pictures]
    rows = ["image,caption", *(f"{one.path.name},{one.caption}" for one in pictures)]
    (folder / "captions.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    about: list[Dialogue] = []
    chats: dict[Subtask, list[ChatSample]] = {"tChat": [], "iChat": [], "mChat": []}
    for at, one in enumerate(pictures):
        target, other = names[at], names[at - 1]
        wanted = ChatTurn("user", (TextItem(one.caption),))
        like = ChatTurn("user", (TextItem(f"more {one.top}"), ImageItem(other)))
        shows = ChatTurn("assistant", (TextItem("yes"), ImageItem(other)))
        for subtask, turns in zip(SUBTASKS, ((wanted,), (like,), (wanted, shows, wanted)), strict=True):
            chats[subtask].append(ChatSample(f"{subtask}-{at}", subtask, turns, target))
        about.append(make_dialogue(target, one.caption, [Round("what is over?", one.top), Round("is it red?", "no")]))
    (folder / "chatsearch").mkdir()
    (folder / "dialogues").mkdir()
    for subtask, samples in chats.items():
        write_chatsearch(folder / "chatsearch" / f"{subtask}_train.jsonl", samples)
    for split, some in (("train", about[:20]), ("val", about[20:])):
        write_dialogues(folder / "dialogues" / f"colours_{split}.json", some)
    return folder
