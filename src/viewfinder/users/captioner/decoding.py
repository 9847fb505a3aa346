"""Captions from a trained network: the likeliest word each time, the best of several beams, or sampled.

All return one form: numbers of words (b t), t the most that the settings allow, without <start>, and with <pad> in
place of <end> and of everything after it. In the published code greedy captions keep <start> and are filled with <end>,
and those of beams have no <start> and are filled with <pad>; there a caption may also hold special words. In torch,
without gradients and with the network in eval mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.fashion_iq import SPECIAL_WORDS
from viewfinder.users.captioner.network import CaptionerNetwork

_JOINED_TO_LAST = re.compile(r" (?=(?:n't|'(?:s|m|d|re|ve|ll)?|[.,!?;:%)\]])(?: |$))")
_JOINED_TO_NEXT = re.compile(r"(?<=[(\[$#]) ")


def join_words(words: Sequence[str]) -> str:
    """The text that these words were split from (see `data.fashion_iq.words_of`), as far as that can be told.

    >>> sentence("does n't have a v-neck , and is the girl 's".split())
    "doesn't have a v-neck, and is the girl's"
    """
    text = " ".join(words).replace("`` ", '"').replace(" ''", '"')
    return _JOINED_TO_NEXT.sub("", _JOINED_TO_LAST.sub("", text))


PAD, START, END = (SPECIAL_WORDS.index(word) for word in ("<pad>", "<start>", "<end>"))

FORBIDDEN = tuple(number for number, word in enumerate(SPECIAL_WORDS) if word != "<end>")
"""Words that are never said."""

BEAMS = 5
POWER = 0.7

Raw = Float[Tensor, "b g"]
"""Raw vectors of pictures, one per pair."""

Words = Int[Tensor, "b t"]
"""Numbers of words, <pad> after the last."""


def decode_greedily(network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw) -> Words:
    """The likeliest word each time."""
    return _one_by_one(network, shown_bg, wanted_bg, lambda logits_bv: logits_bv.argmax(dim=1))


def decode_by_sampling(
    network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw, generator: torch.Generator, temperature: float = 1.0
) -> Words:
    """Each word drawn by its probability; the lower the temperature (above 0), the more like `greedy`."""

    def drawn(logits_bv: Float[Tensor, "b v"]) -> Int[Tensor, " b"]:
        chances_bv = (logits_bv / temperature).softmax(dim=1)
        return torch.multinomial(chances_bv, 1, generator=generator)[:, 0]

    return _one_by_one(network, shown_bg, wanted_bg, drawn)


def _one_by_one(network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw, choose: Callable[[Tensor], Tensor]) -> Words:
    """Captions whose words are chosen by their logits, one after the other, until all have ended."""
    pairs, longest = len(shown_bg), network.settings.most_words - 1
    words_bt = torch.full((pairs, longest), PAD, device=shown_bg.device)
    with evaluating(network):
        speech = network.begin(network.see(shown_bg, wanted_bg))
        newest_b = words_bt.new_full((pairs,), START)
        ended_b = torch.zeros_like(newest_b, dtype=torch.bool)
        for place in range(longest):
            logits_btv, speech = network.step(speech, newest_b[:, None])
            newest_b = choose(forbid_words(logits_btv[:, -1]))
            ended_b = ended_b | (newest_b == END)
            if ended_b.all():
                break
            words_bt[:, place] = newest_b.masked_fill(ended_b, PAD)
    return words_bt


def decode_by_beams(
    network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw, beams: int = BEAMS, power: float = POWER
) -> Words:
    """The best of the captions that remain when only the likeliest `beams` are followed at a time.

    Once all have ended, it is the one with the largest log-probability / length ** power; the length counts <end>,
    which a caption of maximum length lacks. (The published code goes on adding log-probabilities to captions that have
    ended, and takes the first beam if one has not ended.)
    """
    pairs, longest = len(shown_bg), network.settings.most_words - 1
    with evaluating(network):
        found = _Beams(pairs, beams, shown_bg.device)
        first_r = torch.arange(pairs, device=shown_bg.device).repeat_interleave(beams)
        speech = network.begin(network.see(shown_bg, wanted_bg)).of(first_r)
        for _ in range(longest):
            logits_rtv, speech = network.step(speech, found.newest_r[:, None])
            speech = speech.of(found.follow(forbid_words(logits_rtv[:, -1]).log_softmax(dim=1)))
            if found.ended_bk.all():
                break
        return found.best(longest, power)


class _Beams:
    """The captions that are followed, k per pair; r counts all of them, pair by pair."""

    def __init__(self, pairs: int, beams: int, device: torch.device) -> None:
        self.words_bkt = torch.full((pairs, beams, 1), START, device=device)
        self.ended_bk: Bool[Tensor, "b k"] = torch.zeros(pairs, beams, dtype=torch.bool, device=device)
        # At first all are the same caption, so only one of them counts.
        self.scores_bk = torch.full((pairs, beams), -torch.inf, device=device)
        self.scores_bk[:, 0] = 0.0

    @property
    def newest_r(self) -> Int[Tensor, " r"]:
        """The last words."""
        return self.words_bkt[:, :, -1].flatten()

    def follow(self, chances_rv: Float[Tensor, "r v"]) -> Int[Tensor, " r"]:
        """Takes the best captions with one more word, by its log-probabilities; returns which captions they extend."""
        pairs, beams = self.scores_bk.shape
        words = chances_rv.shape[1]
        chances_bkv = chances_rv.view(pairs, beams, words)
        resting_v = chances_rv.new_full((words,), -torch.inf)
        resting_v[PAD] = 0.0  # ended captions stay as they are
        chances_bkv = torch.where(self.ended_bk[..., None], resting_v, chances_bkv)
        totals_bm = (self.scores_bk[..., None] + chances_bkv).flatten(1)
        self.scores_bk, at_bk = totals_bm.topk(beams, dim=1)
        from_bk, word_bk = at_bk // words, at_bk % words
        words_bkt = self.words_bkt.gather(1, from_bk[..., None].expand(-1, -1, self.words_bkt.shape[2]))
        self.words_bkt = torch.cat([words_bkt, word_bk[..., None]], dim=2)
        self.ended_bk = self.ended_bk.gather(1, from_bk) | (word_bk == END)
        return (from_bk + beams * torch.arange(pairs, device=from_bk.device)[:, None]).flatten()

    def best(self, longest: int, power: float) -> Words:
        """The best caption of each pair, in the form of this module."""
        words_bkt = self.words_bkt[:, :, 1:]
        length_bk = (words_bkt != PAD).sum(dim=2)
        best_b = (self.scores_bk / length_bk**power).argmax(dim=1)
        best_bt = words_bkt[torch.arange(len(best_b), device=best_b.device), best_b]
        best_bt = best_bt.masked_fill(best_bt == END, PAD)
        return torch.nn.functional.pad(best_bt, (0, longest - best_bt.shape[1]), value=PAD)


def caption_texts(words_bt: Words, vocabulary: Sequence[str]) -> list[str]:
    """Captions as texts; "" if nothing was said."""
    return [join_words([vocabulary[word] for word in words if word != PAD]) for words in words_bt.tolist()]


def forbid_words(logits_bv: Float[Tensor, "b v"]) -> Float[Tensor, "b v"]:
    """Logits that give the words of `FORBIDDEN` no probability."""
    return logits_bv.index_fill(1, torch.tensor(FORBIDDEN, device=logits_bv.device), -torch.inf)


@contextmanager
def evaluating(network: CaptionerNetwork) -> Iterator[None]:
    """The network in eval mode and without gradients; its mode is restored afterwards."""
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(was)
