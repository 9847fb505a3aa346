"""Parts of networks that several systems share, in torch: recurrent parts, regions, losses over scores, word vectors.

The parts of Drill-down (Tan et al. 2019) are laid out as in the published code, so that parameter counts agree with
the paper's table. `numpy_network` has the same for searching; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding, linear, normalize, pad, relu

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.errors import BadInput
from viewfinder.retrievers.shared.numpy_network import NO_WORD, split_words
from viewfinder.retrievers.shared.settings import WordSettings
from viewfinder.training.layers import standardise


class UpdateCell(nn.Module):
    """A GRU cell of six linear maps, each with a bias (the published state updater).

    r = sigmoid(reset), z = sigmoid(keep), n = tanh(new_query(q) + r * new_state(x)), x' = (1 - z) n + z x.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reset_query, self.reset_state = nn.Linear(width, width), nn.Linear(width, width)
        self.keep_query, self.keep_state = nn.Linear(width, width), nn.Linear(width, width)
        self.new_query, self.new_state = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, query: Float[Tensor, "*b d"], state: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        """The state after a query vector."""
        reset = torch.sigmoid(self.reset_query(query) + self.reset_state(state))
        keep = torch.sigmoid(self.keep_query(query) + self.keep_state(state))
        new = torch.tanh(self.new_query(query) + reset * self.new_state(state))
        return (1 - keep) * new + keep * state


class WordReader(nn.Module):
    """Reads sentences with a table of word vectors and a GRU: the output at the last word, which is the end token."""

    def __init__(self, words: int, word_width: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, word_width)
        self.gru = nn.GRU(word_width, width, batch_first=True)

    def forward(
        self, ids_nl: Int[Tensor, "n l"], lengths_n: Int[Tensor, " n"], before_nd: Float[Tensor, "n d"] | None = None
    ) -> Float[Tensor, "n d"]:
        """One vector a sentence, ignoring what lies beyond its length; `before_nd`: the state it continues from.

        The GRU takes one step for all sentences that began alike so far, and a word is mapped to the gates once: some
        six tenths of the multiplications of a packed sequence for descriptions of regions, and the same vectors.
        """
        known_w, word_nl = torch.unique(ids_nl, return_inverse=True)
        [[of_word_gi, of_state_gd, bias_g, state_bias_g]] = self.gru.all_weights
        from_word_wg = linear(self.embedding(known_w), of_word_gi, bias_g)
        begun_n = torch.arange(len(ids_nl), device=ids_nl.device)
        if before_nd is None:
            before_nd, begun_n = from_word_wg.new_zeros(1, self.gru.hidden_size), torch.zeros_like(begun_n)
        states, last_n, read = [before_nd], begun_n.clone(), len(before_nd)
        for place in range(int(lengths_n.max())):
            goes_on_n = lengths_n > place
            beginnings = begun_n[goes_on_n] * len(known_w) + word_nl[goes_on_n, place]
            beginning_u, begun_n[goes_on_n] = torch.unique(beginnings, return_inverse=True)
            state_ud = states[-1][beginning_u // len(known_w)]
            from_state_ug = linear(state_ud, of_state_gd, state_bias_g)
            states.append(gru_step(from_word_wg[beginning_u % len(known_w)], from_state_ug, state_ud))
            last_n[goes_on_n] = read + begun_n[goes_on_n]
            read += len(beginning_u)
        return torch.cat(states)[last_n]


def gru_step(
    from_input_ng: Float[Tensor, "n g"], from_state_ng: Float[Tensor, "n g"], state_nd: Float[Tensor, "n d"]
) -> Float[Tensor, "n d"]:
    """A GRU's state after one more input, by torch's three maps of the input and of the state (g = 3 d)."""
    reset_in, keep_in, new_in = from_input_ng.chunk(3, dim=1)
    reset_by, keep_by, new_by = from_state_ng.chunk(3, dim=1)
    new_nd = torch.tanh(new_in + torch.sigmoid(reset_in + reset_by) * new_by)
    return torch.lerp(new_nd, state_nd, torch.sigmoid(keep_in + keep_by))


def initialise_network(network: nn.Module) -> None:
    """The published initialisation: Xavier-uniform matrices (GRU stacks as one), zero biases."""
    for name, parameter in network.named_parameters():
        if parameter.dim() >= 2:
            nn.init.xavier_uniform_(parameter)
        elif "bias" in name:
            nn.init.zeros_(parameter)


class InputWidths(NamedTuple):
    """Input widths: raw regions, raw global vectors, sentence vectors, and how many words are known."""

    regions: int
    whole: int
    sentences: int
    words: int


def add_scale(network: nn.Module, name: str, width: int) -> None:
    """Gives a network the buffers `<name>_mean` and `<name>_deviation`, which have no effect until measured."""
    network.register_buffer(f"{name}_mean", torch.zeros(width))
    network.register_buffer(f"{name}_deviation", torch.ones(width))


def scale_raw(network: nn.Module, name: str, raw: Float[Tensor, "*b e"]) -> Float[Tensor, "*b e"]:
    """Raw vectors standardised by the scale of this name; vectors of zeros (nothing there) stay zeros."""
    return standardise(raw, network.get_buffer(f"{name}_mean"), network.get_buffer(f"{name}_deviation"))


EPS = 1e-10


class RegionProjection(nn.Linear):
    """Raw region vectors to unit vectors of the states' width; a raw vector of zeros (no region) stays zeros."""

    def forward(self, raw: Float[Tensor, "*b e"]) -> Float[Tensor, "*b d"]:
        """Unit vectors."""
        there = (raw != 0).any(dim=-1, keepdim=True)
        return normalize(super().forward(raw), dim=-1, eps=EPS) * there


def region_similarity(
    vectors_nkd: Float[Tensor, "n k d"],
    slots_bmd: Float[Tensor, "b m d"],
    weights_bm: Float[Tensor, "b m"],
    temperature: float,
) -> Float[Tensor, "n b"]:
    """s(X, I) of every picture and set of states: the weighted mean over slots of sum_k softmax_k(temperature * c) c,
    which is Eq. 1 without its 1/N (`share_of_regions` puts it back)."""
    (n, k, d), (b, m, _) = vectors_nkd.shape, slots_bmd.shape
    cosines_nkq = (vectors_nkd.reshape(n * k, d) @ slots_bmd.reshape(b * m, d).T).view(n, k, b * m)
    attention_nkq = torch.softmax(temperature * cosines_nkq, dim=1)
    attended_nbm = (attention_nkq * cosines_nkq).sum(dim=1).view(n, b, m)
    shares_bm = weights_bm / weights_bm.sum(dim=1, keepdim=True).clamp_min(EPS)
    return (attended_nbm * shares_bm).sum(dim=-1)


def paired_similarity(
    vectors_bkd: Float[Tensor, "b k d"], slots_bamd: Float[Tensor, "b a m d"], temperature: float
) -> Float[Tensor, "b a"]:
    """The score of each dialogue's own picture for each of `a` alternative sets of states; all slots count alike."""
    cosines_bamk = torch.einsum("bkd,bamd->bamk", vectors_bkd, slots_bamd)
    return (torch.softmax(temperature * cosines_bamk, dim=-1) * cosines_bamk).sum(dim=-1).mean(dim=-1)


def hardest_triplet_loss(scores_nb: Float[Tensor, "n n"], margin: float = 0.2) -> Float[Tensor, " n"]:
    """For each pair, how far its hardest wrong picture and its hardest wrong dialogue come within the margin.

    [margin + max_j s_ij - s_ii]+ + [margin + max_i s_ij - s_jj]+ over j != i (Faghri et al. 2018; Tan et al., Eq. 4).
    """
    right_n = scores_nb.diagonal()
    wrong_nb = scores_nb.masked_fill(torch.eye(len(scores_nb), dtype=torch.bool, device=scores_nb.device), -torch.inf)
    by_picture_n = relu(margin + wrong_nb.amax(dim=1) - right_n)
    by_dialogue_n = relu(margin + wrong_nb.amax(dim=0) - right_n)
    return by_picture_n + by_dialogue_n


def every_triplet_loss(scores_nb: Float[Tensor, "n n"], margin: float = 0.2) -> Float[Tensor, " n"]:
    """For each pair, how far all wrong pictures and dialogues come within the margin, summed.

    It is for sentences that fit many pictures, whose hardest wrong picture is often right (see `hardest_triplet_loss`).
    """
    right_n = scores_nb.diagonal()
    wrong_nb = ~torch.eye(len(scores_nb), dtype=torch.bool, device=scores_nb.device)
    by_picture_n = (relu(margin + scores_nb - right_n[:, None]) * wrong_nb).sum(dim=1)
    by_dialogue_n = (relu(margin + scores_nb - right_n) * wrong_nb).sum(dim=0)
    return by_picture_n + by_dialogue_n


TRIPLET_LOSSES = {"hardest": hardest_triplet_loss, "every": every_triplet_loss}
"""The losses, by the kind that settings name."""


def target_cross_entropy(logits_bn: Float[Tensor, "b n"], targets_b: Int[Tensor, " b"]) -> Float[Tensor, ""]:
    """Mean cross-entropy of each row's own column among all: those of the batch, then any others.

    Columns of another row with the same target are left out: they are as good an answer as the row's own.
    """
    elsewhere_bb = same_target_elsewhere(targets_b)
    beside_bn = pad(elsewhere_bb, (0, logits_bn.shape[1] - len(targets_b)))
    own_b = torch.arange(len(targets_b), device=targets_b.device)
    return cross_entropy(logits_bn.masked_fill(beside_bn, -torch.inf), own_b)


DEPTH = 10
"""The depth at which validation measures recall."""


def target_ranks(scores_bn: Float[Tensor, "b n"], targets_b: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """How many pictures have a higher score than the target; ties favour it, scores that are not numbers do not."""
    return (~(scores_bn <= scores_bn.gather(1, targets_b[:, None]))).sum(dim=1)


def same_target_elsewhere(targets_b: Int[Tensor, " b"]) -> Bool[Tensor, "b b"]:
    """Marks where another row of the batch has the same target."""
    return (targets_b[:, None] == targets_b) & ~torch.eye(len(targets_b), dtype=torch.bool, device=targets_b.device)


def contrastive_loss(scores_nb: Float[Tensor, "n n"], scale: Float[Tensor, ""]) -> Float[Tensor, " n"]:
    """Cross-entropy of the right one among all of the batch, the mean of both ways (van den Oord et al. 2018)."""
    right_n = torch.arange(len(scores_nb), device=scores_nb.device)
    logits_nb = scale * scores_nb
    by_picture_n = cross_entropy(logits_nb, right_n, reduction="none")
    by_dialogue_n = cross_entropy(logits_nb.T, right_n, reduction="none")
    return (by_picture_n + by_dialogue_n) / 2


@dataclass(frozen=True)
class WordNumbers:
    """The words that a network knows, the first of which has the number 1, and how many words of a text it reads.

    `cut` splits a text into words.
    """

    vocabulary: tuple[str, ...]
    most: int
    cut: Callable[[str], Sequence[str]] = split_words

    def __call__(self, texts: Sequence[str]) -> Int[Tensor, "c {self.most}"]:
        """The word numbers of texts, `NO_WORD` after the last; unknown words are left out."""
        table_cl = np.full((len(texts), self.most), NO_WORD)
        for row_l, text in zip(table_cl, texts, strict=True):
            known = [number for word in self.cut(text) if (number := self._numbers.get(word))][: self.most]
            row_l[: len(known)] = known
        return torch.from_numpy(table_cl)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vocabulary, start=1)}


class WordVectors(nn.Module):
    """The table of word vectors by number; the row of `NO_WORD` is zeros and stays so.

    An encoder's table is not saved with a network: a search has the encoder, and asks it.
    """

    table: Float[Tensor, "v+1 s"]

    def __init__(self, settings: WordSettings, table_vs: Float[Tensor, "v s"] | None, vocabulary_size: int) -> None:
        """`table_vs`: the vectors of the vocabulary, in its order, if they are frozen; else None."""
        super().__init__()
        if settings.words == "learned":
            rows_vs = torch.randn(vocabulary_size, settings.word_width)
        elif table_vs is None or len(table_vs) != vocabulary_size:
            raise ValueError(f"frozen words ({settings.words!r}) need a table of {vocabulary_size} vectors")
        else:
            rows_vs = table_vs.half() if settings.words == "glove" else table_vs.float()
        table_ws = torch.cat([rows_vs.new_zeros(1, rows_vs.shape[1]), rows_vs])
        if settings.words == "learned":
            self.table = nn.Parameter(table_ws)
        else:
            self.register_buffer("table", table_ws, persistent=settings.words == "glove")

    @property
    def width(self) -> int:
        """s, the width of a vector."""
        return self.table.shape[1]

    def forward(self, words_bl: Int[Tensor, "b l"]) -> Float[Tensor, "b l s"]:
        """The vectors of these word numbers."""
        return embedding(words_bl, self.table, padding_idx=NO_WORD).float()


def read_word_table(
    settings: WordSettings, vocabulary: Sequence[str], sentences: Callable[[Sequence[str]], SentenceVectors]
) -> tuple[Float[Tensor, "v s"] | None, str]:
    """The frozen vectors of a vocabulary, and the version of the sentence vectors they are; "" if they are none.

    Raises:
        BadInput: there is no such GloVe file, or it is damaged.
    """
    if settings.words == "learned":
        return None, ""
    if settings.words == "glove":
        return torch.from_numpy(read_glove(Path(settings.glove), vocabulary)), ""
    known = sentences(vocabulary)
    return torch.from_numpy(known.matrix_ns[known.rows(vocabulary)].astype(np.float32)), known.version


def read_glove(file: Path, vocabulary: Sequence[str]) -> Float32[np.ndarray, "v s"]:
    """The vectors of words from a file with a word and its vector on each line, separated by spaces.

    A word that the file does not have gets the mean of all its vectors (published).

    Raises:
        BadInput: no such file, or a line whose count of numbers differs from the first one's (it is named).
    """
    if not file.is_file():
        raise BadInput(f"{file}: no such file; fetch GloVe's vectors, or choose words 'encoder' or 'learned'")
    row_of = {word: row for row, word in enumerate(vocabulary)}
    found: dict[int, Float32[np.ndarray, " s"]] = {}
    total_s, count = np.zeros(0), 0
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            word, _, numbers = line.rstrip("\n").partition(" ")
            try:
                vector_s = np.array(numbers.split(), np.float64)
            except ValueError:
                vector_s = np.zeros(0)
            if not vector_s.size or (count and vector_s.size != total_s.size):
                wanted = total_s.size or "some"
                raise BadInput(f"{file}, line {number}: a word and {wanted} numbers are needed; fetch the file again")
            total_s, count = vector_s + (total_s if count else 0.0), count + 1
            if word in row_of:
                found[row_of[word]] = vector_s.astype(np.float32)
    if not count:
        raise BadInput(f"{file}: is empty; fetch GloVe's vectors again")
    table_vs = np.tile((total_s / count).astype(np.float32), (len(vocabulary), 1))
    for row, vector_s in found.items():
        table_vs[row] = vector_s
    return table_vs
