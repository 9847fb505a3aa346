"""Learning how pictures answer: P(answer | picture, question), two towers. In torch; `questioners.trained` runs it.

    logit(answer) = look(picture) . tower(question, answer) + bias(question, answer) + log prior(question, answer)

`look` ends in a unit vector; the tower reads the sentence vectors of question and answer, so that paraphrases and
things that are alike share what is learnt. Softmax over the answers of the question at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import normalize, relu

from viewfinder.questioners.trained import meaning
from viewfinder.retrievers.shared.sentences import SentenceVectors
from viewfinder.training import Batches, shuffled
from viewfinder.tuning.pool import PoolEntry, normalized_question
from viewfinder.tuning.replies import answer_value
from viewfinder.tuning.talks import QuestionDialogues


class AnswerColumns:
    """The answers of all questions that are foretold, one after the other: question q has some columns of them.

    `own_a` says which set of answers a column belongs to: paraphrases have one set between them, that of the most
    frequent of them.
    """

    def __init__(self, pool: Sequence[PoolEntry], vectors: SentenceVectors) -> None:
        self.asked = [at for at, question in enumerate(pool) if question.foretold and question.meaning == at]
        self.first = dict(zip(self.asked, _starts(pool, self.asked), strict=True))
        self.answers = {at: {answer: n for n, answer in enumerate(pool[at].answers)} for at in self.asked}
        pairs = [(pool[at].text, answer) for at in self.asked for answer in pool[at].answers]
        self.question_as = _vectors_of([question for question, _ in pairs], vectors)
        self.answer_as = _vectors_of([answer for _, answer in pairs], vectors)
        said_a = [
            pool[at].said[answer] / sum(pool[at].said.values()) for at in self.asked for answer in pool[at].answers
        ]
        self.log_prior_a = torch.log(torch.tensor(said_a, dtype=torch.float32))

    def of(self, question: int) -> range:
        """The columns of one of `asked`."""
        return range(self.first[question], self.first[question] + len(self.answers[question]))


def _starts(pool: Sequence[PoolEntry], asked: Sequence[int]) -> list[int]:
    return [int(start) for start in np.cumsum([0, *(len(pool[at].answers) for at in asked)])[:-1]]


def _vectors_of(texts: Sequence[str], vectors: SentenceVectors) -> Float[Tensor, "a s"]:
    return torch.from_numpy(vectors.matrix_ns[vectors.rows(texts)].astype(np.float32))


class AnswerBatch(NamedTuple):
    """Pictures, the columns of the question that was asked of each (padded, with a mask), and which was the answer."""

    raw_bg: Float[Tensor, "b g"]
    columns_ba: Int[Tensor, "b a"]
    there_ba: Bool[Tensor, "b a"]
    answer_b: Int[Tensor, " b"]


class AnswerData:
    """Every answer of the talks that is among the known ones of a question that is foretold."""

    def __init__(self, talks: QuestionDialogues, pool: Sequence[PoolEntry], columns: AnswerColumns) -> None:
        self.raw_mg, self._columns = talks.raw_mg, columns
        by_meaning = {meaning(pool[at].text): at for at in columns.asked}
        samples = [
            (row, at, columns.answers[at][value])
            for row, talk in zip(talks.rows_n.tolist(), talks.dialogues, strict=True)
            if row >= 0
            for said in talk.rounds
            if (at := by_meaning.get(meaning(normalized_question(said.question)))) is not None
            and (value := answer_value(said.question, said.answer)) in columns.answers[at]
        ]
        self.samples_n3 = np.array(samples, np.intp).reshape(-1, 3)
        self._widest = max((len(answers) for answers in columns.answers.values()), default=0)

    def __len__(self) -> int:
        return len(self.samples_n3)

    def batch(self, rows_b: Int[np.ndarray, " b"]) -> AnswerBatch:
        """Some of the answers."""
        rows, questions, answers = self.samples_n3[rows_b].T
        columns_ba = np.zeros((len(rows_b), self._widest), np.intp)
        there_ba = np.zeros(columns_ba.shape, bool)
        for row, question in enumerate(questions.tolist()):
            own = self._columns.of(question)
            columns_ba[row, : len(own)], there_ba[row, : len(own)] = own, True
        raw_bg = self.raw_mg[rows].astype(np.float32)
        return AnswerBatch(*map(torch.from_numpy, (raw_bg, columns_ba, there_ba, answers.copy())))

    def epoch(self, size: int, epoch: int, seed: int) -> Batches[AnswerBatch]:
        """What a `training.Job` calls batches."""
        return shuffled(len(self), min(size, len(self)), self.batch, epoch=epoch, seed=seed)


class AnswerNetwork(nn.Module):
    """The two towers."""

    question_as: Tensor
    answer_as: Tensor
    log_prior_a: Tensor
    mean_g: Tensor
    deviation_g: Tensor
    beta: Tensor

    def __init__(self, columns: AnswerColumns, raw_mg: Float[np.ndarray, "m g"], hidden: int, width: int) -> None:
        super().__init__()
        wide_mg = raw_mg.astype(np.float32)
        deviation_g = wide_mg.std(axis=0)
        self.register_buffer("mean_g", torch.from_numpy(wide_mg.mean(axis=0)))
        self.register_buffer("deviation_g", torch.from_numpy(np.maximum(deviation_g, 0.01 * deviation_g.mean() + 1e-6)))
        sentence = columns.question_as.shape[1]
        self.look_in = nn.Linear(raw_mg.shape[1], hidden)
        self.look_out = nn.Linear(hidden, width)
        self.tower_in = nn.Linear(2 * sentence, hidden)
        self.tower_out = nn.Linear(hidden, width + 1)
        self.own = nn.Parameter(torch.zeros(len(columns.log_prior_a), width + 1))
        self.few = nn.Dropout(0.3)
        self.fewer = nn.Dropout(0.3)
        self.register_buffer("beta", torch.ones(()))
        for name in ("question_as", "answer_as", "log_prior_a"):
            self.register_buffer(name, getattr(columns, name), persistent=False)

    def seen(self, raw_bg: Float[Tensor, "b g"]) -> Float[Tensor, "b k"]:
        """Unit vectors of pictures."""
        plain_bg = (raw_bg - self.mean_g) / self.deviation_g
        return normalize(self.look_out(self.fewer(relu(self.look_in(self.few(plain_bg))))), dim=1)

    def towers(self) -> Float[Tensor, "a kb"]:
        """For every answer what a picture is compared with, and in the last place the bias."""
        read_as = 4 * torch.cat([self.question_as, self.answer_as], dim=1)
        found_akb: Tensor = self.tower_out(relu(self.tower_in(read_as))) + self.own
        return found_akb

    def forward(self, batch: AnswerBatch) -> Float[Tensor, "b a"]:
        """Logits of the answers of each picture's question; -inf where there is none."""
        seen_bk = self.seen(batch.raw_bg)
        own_bak = self.towers()[batch.columns_ba]
        fits_ba = torch.einsum("bk,bak->ba", seen_bk, own_bak[..., :-1]) + own_bak[..., -1]
        logits_ba = self.beta * fits_ba + self.log_prior_a[batch.columns_ba]
        return logits_ba.masked_fill(~batch.there_ba, float("-inf"))

    def arrays(self) -> dict[str, Tensor]:
        """The weights as `questioners.trained` reads them."""
        towers_ak = self.beta * self.towers()
        return {
            "answering.mean_g": self.mean_g,
            "answering.deviation_g": self.deviation_g,
            "answering.in_hg": self.look_in.weight,
            "answering.in_h": self.look_in.bias,
            "answering.out_kh": self.look_out.weight,
            "answering.out_k": self.look_out.bias,
            "answering.towers_ak": towers_ak[:, :-1],
            "answering.bias_a": towers_ak[:, -1] + self.log_prior_a,
        }


def answer_loss(network: nn.Module, batch: AnswerBatch) -> tuple[Tensor, Mapping[str, Tensor]]:
    """Cross-entropy of the answers that were given, over those of the question."""
    logits_ba = network(batch)
    return nn.functional.cross_entropy(logits_ba, batch.answer_b), {}


class HeldOutAnswers(NamedTuple):
    """Held-out answers: the sample's question, whether the likeliest answer was right, and log-chances in nats.

    `plain` and `log_plain` are the same for knowing nothing of the picture.
    """

    question_n: Int[np.ndarray, " n"]
    right_n: Bool[np.ndarray, " n"]
    plain_n: Bool[np.ndarray, " n"]
    log_n: Float[np.ndarray, " n"]
    log_plain_n: Float[np.ndarray, " n"]


def measure_answers(network: AnswerNetwork, data: AnswerData) -> HeldOutAnswers:
    """How the network does on held-out answers."""
    with torch.no_grad():
        parts = [_told(network, data, at) for at in range(0, len(data), 512)]
    question, right, plain, log, log_plain = (np.concatenate(column) for column in zip(*parts, strict=True))
    return HeldOutAnswers(question, right, plain, log, log_plain)


def _told(network: AnswerNetwork, data: AnswerData, at: int) -> list[np.ndarray]:
    """The next few held-out answers, columns as in `Told`."""
    rows = np.arange(at, min(at + 512, len(data)))
    batch = data.batch(rows)
    prior_ba = network.log_prior_a[batch.columns_ba].masked_fill(~batch.there_ba, float("-inf"))
    logs = [torch.log_softmax(logits_ba, dim=1) for logits_ba in (network(batch), prior_ba)]
    right = [(log_ba.argmax(dim=1) == batch.answer_b).cpu().numpy() for log_ba in logs]
    given = [log_ba.gather(1, batch.answer_b[:, None])[:, 0].cpu().numpy() for log_ba in logs]
    return [data.samples_n3[rows, 1], *right, *given]


def answer_figures(network: nn.Module, data: AnswerData) -> dict[str, float]:
    """Means over held-out answers; "bits" is what the picture adds to knowing how a question is usually answered."""
    assert isinstance(network, AnswerNetwork)
    told = measure_answers(network, data)
    return {
        "loss": float(-told.log_n.mean()),
        "accuracy": float(told.right_n.mean()),
        "baseline": float(told.plain_n.mean()),
        "bits": float((told.log_n - told.log_plain_n).mean() / np.log(2)),
    }


BETAS = tuple(round(0.05 * step, 2) for step in range(1, 41))


def calibrate_answers(network: AnswerNetwork, data: AnswerData) -> float:
    """Sets the inverse temperature of what the picture says, so that held-out answers are likeliest; gives it."""
    losses = []
    for beta in BETAS:
        network.beta.fill_(beta)
        losses.append(answer_figures(network, data)["loss"])
    best = BETAS[int(np.argmin(losses))]
    network.beta.fill_(best)
    return best
