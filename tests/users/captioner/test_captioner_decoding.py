"""Ways of getting captions out of a network, against slow and obvious ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from viewfinder.users.captioner.captioner import (
    END,
    FORBIDDEN,
    PAD,
    START,
    caption_texts,
    decode_by_beams,
    decode_by_sampling,
    decode_greedily,
)
from viewfinder.users.captioner.network import CaptionerNetwork, CaptionState
from viewfinder.users.captioner.settings import PictureReading

Make = Callable[..., CaptionerNetwork]
Pairs = tuple[Tensor, Tensor]
KINDS = ["transformer", "recurrent"]


def chances_after(network: CaptionerNetwork, shown_g: Tensor, wanted_g: Tensor, words: list[int]) -> Tensor:
    """Log-chances of the next word, of a whole caption read anew."""
    with torch.no_grad():
        memory = network.see(shown_g[None], wanted_g[None])
        logits_v = network.logits(memory, torch.tensor([[START, *words]]))[0, -1]
    logits_v[list(FORBIDDEN)] = -torch.inf
    return logits_v.log_softmax(dim=0)


def said_slowly(network: CaptionerNetwork, shown_g: Tensor, wanted_g: Tensor, most: int) -> list[int]:
    words: list[int] = []
    while len(words) < most:
        word = int(chances_after(network, shown_g, wanted_g, words).argmax())
        if word == END:
            break
        words.append(word)
    return words + [PAD] * (most - len(words))


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_captions_are_those_of_reading_everything_again_for_every_word(
    make: Make, pairs: Pairs, kind: str
) -> None:
    network = make(kind)
    expected = [said_slowly(network, *pair, most=5) for pair in zip(*pairs, strict=True)]
    assert decode_greedily(network, *pairs).tolist() == expected
    lengths = {sum(word != PAD for word in words) for words in expected}
    assert len(lengths) > 1, "captions of several lengths are wanted here; draw other weights"


@pytest.mark.parametrize("kind", KINDS)
def test_one_beam_is_greedy(make: Make, pairs: Pairs, kind: str) -> None:
    network = make(kind)
    assert decode_by_beams(network, *pairs, beams=1).tolist() == decode_greedily(network, *pairs).tolist()


def all_captions(words: int, most: int) -> Iterator[list[int]]:
    """Every caption that can be said: with <end> where it is shorter than the most words."""
    sayable = [word for word in range(words) if word not in (*FORBIDDEN, END)]
    for length in range(most + 1):
        for caption in product(sayable, repeat=length):
            yield [*caption, END][:most]


def score(network: CaptionerNetwork, shown_g: Tensor, wanted_g: Tensor, caption: list[int], power: float) -> float:
    chances = [chances_after(network, shown_g, wanted_g, caption[:at])[word].item() for at, word in enumerate(caption)]
    return float(sum(chances) / len(caption) ** power)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("power", [0.0, 0.7, 2.0])
def test_enough_beams_find_the_best_of_all_captions(make: Make, kind: str, power: float) -> None:
    """Of two words, of which at most three are said, there are 1 + 2 + 4 + 8 captions."""
    network = make(kind, words=7, most_words=4, seed=2)
    shown_bg, wanted_bg = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(4))
    found_bt = decode_by_beams(network, shown_bg, wanted_bg, beams=15, power=power)
    for found_t, shown_g, wanted_g in zip(found_bt, shown_bg, wanted_bg, strict=True):
        captions = list(all_captions(7, 3))
        assert len(captions) == 15
        best = max(captions, key=lambda caption: score(network, shown_g, wanted_g, caption, power))
        assert [word for word in best if word != END] == [word for word in found_t.tolist() if word != PAD]


RED, LONG = 5, 6
"""The two words of a vocabulary made for beams on paper."""


class TableCaptioner(CaptionerNetwork):
    """Says the next word by the last one alone: `table_vv` has the chances, a row for each last word. So that the beams
    of a caption can be followed on paper."""

    def __init__(self, table_vv: Tensor, most_words: int) -> None:
        super().__init__(PictureReading(attributes=0, most_words=most_words), raw_width=1, labels=0)
        self.table_vv = table_vv

    def see(self, shown_bg: Tensor, wanted_bg: Tensor) -> tuple[Tensor, ...]:
        return (shown_bg,)

    def begin(self, memory: Any) -> Any:
        return TableState()

    def step(self, speech: Any, words_bt: Tensor) -> tuple[Tensor, Any]:
        return self.table_vv[words_bt].log(), speech


class TableState(CaptionState):
    """Nothing: only the last word counts, and a step is given that."""

    def of(self, rows: Tensor) -> TableState:
        return self


def table_captioner(chances: dict[int, dict[int, float]], most_words: int = 4) -> TableCaptioner:
    table_vv = torch.zeros(7, 7)
    for last, after in chances.items():
        for word, chance in after.items():
            table_vv[last, word] = chance
    return TableCaptioner(table_vv, most_words)


def both_ways(network: CaptionerNetwork, *, beams: int = 2) -> tuple[list[int], list[int]]:
    """What is said by ours and by the published beams, without what fills the rest."""
    nothing = torch.zeros(1, 1)
    ours, published = (
        decode_by_beams(network, nothing, nothing, beams=beams, official=official)[0].tolist()
        for official in (False, True)
    )
    return [word for word in ours if word != PAD], [word for word in published if word != PAD]


def test_by_hand_published_beams_go_on_after_an_end_and_so_lose_captions_that_ours_keep() -> None:
    """Two beams. The first words are "red" .6 and <end> .4; the second:

        red <end> .42    <end> .4, which rests (ours), or "<end> <end>" .16 (published)    red long .18

    Ours follows the first two. Both have ended: ln .42 / 2 ** .7 = -.53, ln .4 / 1 = -.92: "red".
    The published code follows "red <end>" and "red long". The third: "red <end> <end>" .42 * .4 = .168, "red long
    <end>" .18 * .9 = .162. Both have ended, by lengths of 2 and 3: ln .168 / 2 ** .7 = -1.10, ln .162 / 3 ** .7 = -.84:
    "red long".
    """
    network = table_captioner(
        {
            START: {RED: 0.6, END: 0.4},
            RED: {END: 0.7, LONG: 0.3},
            LONG: {END: 0.9, RED: 0.1},
            END: {END: 0.4, RED: 0.3, LONG: 0.3},
        }
    )
    assert both_ways(network) == ([RED], [RED, LONG])


def test_by_hand_the_likeliest_published_beam_is_said_whole_where_one_has_not_ended() -> None:
    """Two beams, two words at most. First: <end> .6, "red" .4. Second: "<end> red" .54 (ours rests at <end>, .6), "red
    long" .36, which has not ended. Ours: ln .6 / 1 = -.51, ln .36 / 2 ** .7 = -.63: nothing. Published: "red", which
    came after <end>."""
    network = table_captioner(
        {START: {END: 0.6, RED: 0.4}, RED: {LONG: 0.9, END: 0.1}, END: {RED: 0.9, LONG: 0.1}}, most_words=3
    )
    assert both_ways(network) == ([], [RED])


def said_as_published(network: CaptionerNetwork, shown_g: Tensor, wanted_g: Tensor, most: int) -> list[int]:
    """Five beams of one pair, every caption read anew: words and their log-chances, the likeliest first."""
    beams: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(most):
        longer = [
            ([*words, word], total + chance)
            for words, total in beams
            for word, chance in enumerate(chances_after(network, shown_g, wanted_g, words).tolist())
        ]
        beams = sorted(longer, key=lambda beam: -beam[1])[:5]
        if all(END in words for words, _ in beams):
            words, _ = max(beams, key=lambda beam: beam[1] / (beam[0].index(END) + 1) ** 0.7)
            return words[: words.index(END)]
    return [word for word in beams[0][0] if word != END]


@pytest.mark.parametrize("kind", KINDS)
def test_published_beams_are_those_of_one_pair_at_a_time_where_all_is_read_again(
    make: Make, pairs: Pairs, kind: str
) -> None:
    """Pairs of a batch are done at different words, and one that is done changes no more."""
    network = make(kind)
    expected = [said_as_published(network, *pair, most=5) for pair in zip(*pairs, strict=True)]
    found_bt = decode_by_beams(network, *pairs, official=True)
    assert [[word for word in words_t if word != PAD] for words_t in found_bt.tolist()] == expected
    assert found_bt.tolist() != decode_by_beams(network, *pairs).tolist()
    assert len({len(words) for words in expected}) > 1


def rows(raw_bg: Tensor) -> tuple[Tensor, ...]:
    return tuple(raw_g[None] for raw_g in raw_bg)


def test_a_beam_is_not_disturbed_by_the_other_pairs(make: Make, pairs: Pairs) -> None:
    """Beams of pairs are kept apart, whichever of them end first."""
    network = make()
    together_bt = decode_by_beams(network, *pairs, beams=3)
    alone = [
        decode_by_beams(network, shown_bg, wanted_bg, beams=3)
        for shown_bg, wanted_bg in zip(*map(rows, pairs), strict=True)
    ]
    assert together_bt.tolist() == torch.cat(alone).tolist()


def test_longer_captions_win_as_the_power_grows(make: Make, pairs: Pairs) -> None:
    network = make(seed=1)
    lengths = [int((decode_by_beams(network, *pairs, power=power) != PAD).sum()) for power in (0.0, 0.7, 3.0)]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_samples_follow_the_generator(make: Make, pairs: Pairs, kind: str) -> None:
    network = make(kind)
    first, again, other = (
        decode_by_sampling(network, *pairs, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_cold_samples_are_greedy(make: Make, pairs: Pairs) -> None:
    network = make()
    cold_bt = decode_by_sampling(network, *pairs, torch.Generator().manual_seed(1), temperature=1e-4)
    assert cold_bt.tolist() == decode_greedily(network, *pairs).tolist()


def test_words_are_drawn_by_their_chances(make: Make, pairs: Pairs) -> None:
    """4,000 first words; a share is off by 4 standard deviations at most."""
    network = make(most_words=2)
    shown_g, wanted_g = pairs[0][5], pairs[1][5]
    chance_v = chances_after(network, shown_g, wanted_g, []).exp()
    many = (shown_g.expand(4000, -1), wanted_g.expand(4000, -1))
    drawn_b = decode_by_sampling(network, *many, torch.Generator().manual_seed(7))[:, 0]
    for word in range(5, 9):
        share, chance = (drawn_b == word).float().mean().item(), chance_v[word].item()
        assert abs(share - chance) <= 4 * (chance * (1 - chance) / 4000) ** 0.5


@pytest.mark.parametrize("special", [PAD, START, *FORBIDDEN[2:]])
def test_special_words_are_not_said(make: Make, pairs: Pairs, special: int) -> None:
    """Even where a network would say nothing else."""
    network = make()
    with torch.no_grad():
        network.get_parameter("out.bias")[special] = 100.0
    generator = torch.Generator().manual_seed(1)
    for words_bt in (
        decode_greedily(network, *pairs),
        decode_by_beams(network, *pairs),
        decode_by_sampling(network, *pairs, generator),
    ):
        said = set(words_bt[words_bt != PAD].tolist())
        assert said and not said & set(FORBIDDEN)


def test_nothing_is_said_where_captions_end_at_once(make: Make, pairs: Pairs) -> None:
    network = make()
    with torch.no_grad():
        network.get_parameter("out.bias")[END] = 100.0
    for words_bt in (decode_greedily(network, *pairs), decode_by_beams(network, *pairs)):
        assert words_bt.shape == (12, 5) and not words_bt.any()


def test_decoding_leaves_a_network_in_training_as_it_was(make: Make, pairs: Pairs) -> None:
    """Dropout and batch norms of training have no part in captions."""
    network = make()
    expected = decode_greedily(network, *pairs).tolist()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    assert decode_greedily(network.train(), *pairs).tolist() == expected
    assert network.training and not decode_greedily(network, *pairs).requires_grad
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_no_pairs_are_no_captions(make: Make) -> None:
    nothing = torch.zeros(0, 6)
    assert decode_greedily(make(), nothing, nothing).shape == decode_by_beams(make(), nothing, nothing).shape == (0, 5)


def test_numbers_become_texts() -> None:
    words = ["<pad>", "<start>", "<end>", "<and>", "<unk>", "is", "n't", "red"]
    assert caption_texts(torch.tensor([[5, 6, 7], [7, 0, 0], [0, 0, 0]]), words) == ["isn't red", "red", ""]
