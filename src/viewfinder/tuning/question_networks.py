"""The two networks of learnt questions and their training, in torch; `questioners.trained` runs them without torch.

Which question comes next is learnt by imitating dialogues. How pictures answer, P(answer | picture, question), is
learnt by two towers, with a softmax over the answers of the question at hand:

    logit(answer) = look(picture) . tower(question, answer) + bias(question, answer) + log prior(question, answer)

`look` ends in a unit vector; the tower reads the sentence vectors of question and answer, so that paraphrases and
similar things share what is learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float16, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, relu

from viewfinder.encoders.features.sentences import SentenceVectors
from viewfinder.questioners.trained import MAX_ROUNDS
from viewfinder.training import (
    Card,
    OneCycle,
    TrainingJob,
    TrainingResult,
    TrainingSettings,
    draw_epochs,
    load_network,
    seed_all,
)
from viewfinder.tuning.dialogues import DialogueSplits, QuestionDialogues
from viewfinder.tuning.pool import PoolEntry, answer_value, normalized_question
from viewfinder.tuning.question_plan import NetworkSettings, QuestionPlan
from viewfinder.wording.questions import question_meaning

NOT_THERE = -100
"""The target of a question that is not in the pool; torch ignores it."""

DEPTHS = (1, 5, 10)

MAX_ANSWERS_AT_ONCE = 512
"""Held-out answers measured in one batch."""

BETAS = tuple(round(0.05 * step, 2) for step in range(1, 41))
"""Inverse temperatures that are tried."""

STRENGTH = 1e-3
"""Regularisation of the logistic regression, in scikit-learn's convention: small is cautious."""

NO_ENCODER = "none"
"""The encoder on the card of a network that sees no pictures."""


class SelectorBatch(NamedTuple):
    """Dialogues as sentence vectors; `targets_br` are the pool's numbers of the questions."""

    captions_bs: Float[Tensor, "b s"]
    rounds_brt: Float[Tensor, "b r two_s"]
    targets_br: Int[Tensor, "b r"]


class SelectorData:
    """Dialogues by number, ready for batching; the questions in the pool are to be predicted."""

    def __init__(self, dialogues: QuestionDialogues, pool: Sequence[PoolEntry], vectors: SentenceVectors) -> None:
        place = {question.text: at for at, question in enumerate(pool)}
        self._vectors = vectors
        self._dialogues = dialogues.dialogues
        self._longest = max(len(dialogue.rounds) for dialogue in dialogues.dialogues)
        self.targets_nr = np.full((len(dialogues), self._longest), NOT_THERE)
        for row, dialogue in enumerate(dialogues.dialogues):
            for turn, said in enumerate(dialogue.rounds):
                self.targets_nr[row, turn] = place.get(normalized_question(said.question), NOT_THERE)

    def batch(self, rows_b: Int[np.ndarray, " b"]) -> SelectorBatch:
        """Some of the dialogues."""
        dialogues = [self._dialogues[row] for row in rows_b]
        captions_bs = self._look_up([dialogue.caption for dialogue in dialogues])
        width = captions_bs.shape[1]
        rounds_brt = np.zeros((len(dialogues), self._longest, 2 * width), np.float32)
        for row, dialogue in enumerate(dialogues):
            rounds_brt[row, : len(dialogue.rounds), :width] = self._look_up([said.question for said in dialogue.rounds])
            rounds_brt[row, : len(dialogue.rounds), width:] = self._look_up([said.answer for said in dialogue.rounds])
        return SelectorBatch(*map(torch.from_numpy, (captions_bs, rounds_brt, self.targets_nr[rows_b])))

    def _look_up(self, texts: Sequence[str]) -> Float[np.ndarray, "n s"]:
        return np.asarray(self._vectors.matrix_ns[self._vectors.rows(texts)], np.float32)

    def __len__(self) -> int:
        return len(self._dialogues)


class SelectorNetwork(nn.Module):
    """Matches the dialogue so far, as its caption, the mean of its rounds and the last of them, to every question."""

    pool_qs: Tensor
    asked_q: Tensor

    def __init__(self, pool_qs: Float[Tensor, "q s"], asked_q: Float[Tensor, " q"], hidden: int, width: int) -> None:
        super().__init__()
        sentence = pool_qs.shape[1]
        self.caption = nn.Linear(sentence, hidden, bias=False)
        self.round = nn.Linear(2 * sentence, hidden)
        self.last = nn.Linear(2 * sentence, hidden, bias=False)
        self.count = nn.Embedding(MAX_ROUNDS + 1, hidden)
        self.talk = nn.Linear(hidden, width)
        self.question = nn.Linear(sentence, width, bias=False)
        self.bias_q = nn.Parameter(torch.log(asked_q / asked_q.sum()))
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("pool_qs", pool_qs, persistent=False)
        self.register_buffer("asked_q", asked_q, persistent=False)
        nn.init.normal_(self.question.weight, std=4 / sentence**0.5)
        nn.init.normal_(self.count.weight, std=0.02)

    def forward(self, batch: SelectorBatch) -> Float[Tensor, "b r q"]:
        """For every round, how much each question is due before it."""
        rounds_brh = relu(self.round(batch.rounds_brt))
        before_brh = torch.cat([torch.zeros_like(rounds_brh[:, :1]), rounds_brh.cumsum(dim=1)[:, :-1]], dim=1)
        number_r = torch.arange(rounds_brh.shape[1], device=rounds_brh.device)
        last_brt = torch.cat([torch.zeros_like(batch.rounds_brt[:, :1]), batch.rounds_brt[:, :-1]], dim=1)
        hidden_brh = (
            self.caption(batch.captions_bs)[:, None]
            + before_brh / number_r.clamp(min=1)[:, None]
            + self.last(last_brt)
            + self.count(number_r.clamp(max=MAX_ROUNDS))
        )
        talk_brk = self.talk(self.dropout(relu(hidden_brh)))
        logits_brq: Tensor = talk_brk @ self.question(self.pool_qs).T + self.bias_q
        return logits_brq

    def arrays(self) -> dict[str, Tensor]:
        """The weights under the names that `QuestionSelector` reads."""
        return {
            "selector.caption_hs": self.caption.weight,
            "selector.round_ht": self.round.weight,
            "selector.round_h": self.round.bias,
            "selector.last_ht": self.last.weight,
            "selector.count_nh": self.count.weight,
            "selector.talk_kh": self.talk.weight,
            "selector.talk_k": self.talk.bias,
            "selector.pool_qk": self.question(self.pool_qs),
            "selector.bias_q": self.bias_q,
        }


def selector_loss(network: nn.Module, batch: SelectorBatch) -> tuple[Tensor, Mapping[str, Tensor]]:
    """Cross-entropy of the questions that were asked, over the pool; questions outside it do not count."""
    return cross_entropy(network(batch).flatten(0, 1), batch.targets_br.flatten(), ignore_index=NOT_THERE), {}


def selector_figures(network: nn.Module, data: SelectorData) -> dict[str, float]:
    """For held-out questions in the pool: loss, and how many of them are among the k that the network ranks first.

    "frequency@k" is the same for a ranking by how often questions are asked; "in_pool" is the share of held-out
    questions that the pool has.
    """
    assert isinstance(network, SelectorNetwork)
    losses, ranks_of, common = [], [], []
    order_q = torch.argsort(torch.argsort(network.asked_q, descending=True, stable=True))
    for at in range(0, len(data.targets_nr), 64):
        batch = data.batch(np.arange(at, min(at + 64, len(data.targets_nr))))
        there = batch.targets_br != NOT_THERE
        logits_mq, targets_m = network(batch)[there], batch.targets_br[there]
        losses.append(cross_entropy(logits_mq, targets_m, reduction="none"))
        ranks_of.append((logits_mq > logits_mq.gather(1, targets_m[:, None])).sum(dim=1))
        common.append(order_q[targets_m])
    rank_m, common_m = torch.cat(ranks_of), torch.cat(common)
    figures = {"loss": torch.cat(losses).mean().item(), "in_pool": float((data.targets_nr != NOT_THERE).mean())}
    for depth in DEPTHS:
        figures[f"recall@{depth}"] = (rank_m < depth).float().mean().item()
        figures[f"frequency@{depth}"] = (common_m < depth).float().mean().item()
    return figures


class AnswerColumns:
    """All answers that are predicted, one after the other: each question has some of these columns.

    `asked` are the questions that have columns, `first` where those of each begin; paraphrases share the columns of the
    most frequent one.
    """

    def __init__(self, pool: Sequence[PoolEntry], vectors: SentenceVectors) -> None:
        self.asked = [at for at, question in enumerate(pool) if question.predicted and question.meaning == at]
        starts = np.cumsum([0, *(len(pool[at].answers) for at in self.asked)]).tolist()
        self.first = dict(zip(self.asked, starts, strict=False))
        self.answers = {at: {answer: n for n, answer in enumerate(pool[at].answers)} for at in self.asked}
        pairs = [(pool[at].text, answer) for at in self.asked for answer in pool[at].answers]
        self.question_as, self.answer_as = (
            torch.from_numpy(vectors.matrix_ns[vectors.rows([pair[part] for pair in pairs])].astype(np.float32))
            for part in (0, 1)
        )
        totals = {at: sum(pool[at].said.values()) for at in self.asked}
        said_a = [pool[at].said[answer] / totals[at] for at in self.asked for answer in pool[at].answers]
        self.log_prior_a = torch.log(torch.tensor(said_a, dtype=torch.float32))

    def of(self, question: int) -> range:
        """The columns of one of `asked`."""
        return range(self.first[question], self.first[question] + len(self.answers[question]))


class AnswerBatch(NamedTuple):
    """Pictures, the columns of the question asked about each (padded, with a mask), and which was the answer."""

    raw_bg: Float[Tensor, "b g"]
    columns_ba: Int[Tensor, "b a"]
    there_ba: Bool[Tensor, "b a"]
    answer_b: Int[Tensor, " b"]


class AnswerData:
    """Every answer in the dialogues that is a known answer of a question whose answers are predicted."""

    def __init__(self, dialogues: QuestionDialogues, pool: Sequence[PoolEntry], columns: AnswerColumns) -> None:
        self.raw_mg, self._columns = dialogues.raw_mg, columns
        by_meaning = {question_meaning(pool[at].text): at for at in columns.asked}
        samples = [
            (row, at, columns.answers[at][value])
            for row, dialogue in zip(dialogues.rows_n.tolist(), dialogues.dialogues, strict=True)
            if row >= 0
            for said in dialogue.rounds
            if (at := by_meaning.get(question_meaning(normalized_question(said.question)))) is not None
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
        """For every answer the vector that a picture is compared with, and in the last place the bias."""
        read_as = 4 * torch.cat([self.question_as, self.answer_as], dim=1)
        found_akb: Tensor = self.tower_out(relu(self.tower_in(read_as))) + self.own
        return found_akb

    def forward(self, batch: AnswerBatch) -> Float[Tensor, "b a"]:
        """Logits of the answers of each picture's question; -inf at the padding."""
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
    """Cross-entropy of the given answers, over those of the question."""
    return cross_entropy(network(batch), batch.answer_b), {}


class HeldOutAnswers(NamedTuple):
    """Held-out answers: the sample's question, whether the likeliest answer was right, and log-probabilities in nats.

    `plain_n` and `log_plain_n` are the same without knowing the picture.
    """

    question_n: Int[np.ndarray, " n"]
    right_n: Bool[np.ndarray, " n"]
    plain_n: Bool[np.ndarray, " n"]
    log_n: Float[np.ndarray, " n"]
    log_plain_n: Float[np.ndarray, " n"]


@torch.no_grad()
def measure_answers(network: AnswerNetwork, data: AnswerData) -> HeldOutAnswers:
    """How the network performs on held-out answers."""
    parts = []
    for at in range(0, len(data), MAX_ANSWERS_AT_ONCE):
        rows = np.arange(at, min(at + MAX_ANSWERS_AT_ONCE, len(data)))
        batch = data.batch(rows)
        prior_ba = network.log_prior_a[batch.columns_ba].masked_fill(~batch.there_ba, float("-inf"))
        logs = [torch.log_softmax(logits_ba, dim=1) for logits_ba in (network(batch), prior_ba)]
        right = [(log_ba.argmax(dim=1) == batch.answer_b).cpu().numpy() for log_ba in logs]
        given = [log_ba.gather(1, batch.answer_b[:, None])[:, 0].cpu().numpy() for log_ba in logs]
        parts.append((data.samples_n3[rows, 1], *right, *given))
    return HeldOutAnswers(*map(np.concatenate, zip(*parts, strict=True)))


def answer_figures(network: nn.Module, data: AnswerData) -> dict[str, float]:
    """Means over held-out answers; "bits" is what the picture adds to the usual answers to a question."""
    assert isinstance(network, AnswerNetwork)
    told = measure_answers(network, data)
    return {
        "loss": float(-told.log_n.mean()),
        "accuracy": float(told.right_n.mean()),
        "baseline": float(told.plain_n.mean()),
        "bits": float((told.log_n - told.log_plain_n).mean() / np.log(2)),
    }


def calibrate_answers(network: AnswerNetwork, data: AnswerData) -> float:
    """Sets the inverse temperature of the picture's term that makes held-out answers likeliest; returns it."""
    losses = []
    for beta in BETAS:
        network.beta.fill_(beta)
        losses.append(answer_figures(network, data)["loss"])
    best = BETAS[int(np.argmin(losses))]
    network.beta.fill_(best)
    return best


def fit_familiarity(
    network: AnswerNetwork, known_ng: Float16[np.ndarray, "n g"], against_mg: Float16[np.ndarray, "m g"]
) -> dict[str, Tensor]:
    """Distinguishes pictures like those learnt from others, about which nothing should be predicted.

    Weights and bias of a logistic regression over raw vectors as the network sees them; both kinds weigh the same,
    however many pictures there are of each.
    """
    from sklearn.linear_model import LogisticRegression

    raw_ag = np.concatenate([known_ng, against_mg]).astype(np.float32)
    seen_ag = (raw_ag - network.mean_g.numpy()) / network.deviation_g.numpy()
    is_known_a = np.arange(len(seen_ag)) < len(known_ng)
    fitted = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=500).fit(seen_ag, is_known_a)
    return {
        "answering.familiar_g": torch.from_numpy(fitted.coef_[0].astype(np.float32)),
        "answering.familiar": torch.tensor(float(fitted.intercept_[0])),
    }


def train_selector(
    plan: QuestionPlan, dialogues: DialogueSplits, pool: tuple[PoolEntry, ...], vectors: SentenceVectors
) -> tuple[SelectorNetwork, TrainingResult]:
    """Learns which question of the pool comes next."""
    numbers = plan.settings.selector
    train, val = SelectorData(dialogues.train, pool, vectors), SelectorData(dialogues.val, pool, vectors)
    seed_all(plan.seed)
    rows = vectors.rows([question.text for question in pool])
    pool_qs = torch.from_numpy(vectors.matrix_ns[rows]).float()
    asked_q = torch.tensor([float(question.asked) for question in pool])
    network = SelectorNetwork(pool_qs, asked_q, numbers.hidden, numbers.width)
    card, out = Card(system="questions/selector", preset="", encoder=NO_ENCODER), plan.out / "selector"
    figures = partial(selector_figures, data=val)
    return network, _train_network(plan, numbers, network, card, out, train, selector_loss, figures)


def train_answers(
    plan: QuestionPlan, dialogues: DialogueSplits, pool: tuple[PoolEntry, ...], vectors: SentenceVectors, *, fewest: int
) -> tuple[AnswerNetwork, AnswerData, TrainingResult] | None:
    """Learns how pictures answer; the calibrated network and the held-out answers. None if too few are known."""
    numbers = plan.settings.answers
    columns = AnswerColumns(pool, vectors)
    train, val = AnswerData(dialogues.train, pool, columns), AnswerData(dialogues.val, pool, columns)
    if dialogues.raw_version is None or len(train) < fewest or not len(val):
        return None
    plan.notify(f"answers: {len(train):,} to learn from, {len(val):,} held out")
    seed_all(plan.seed)
    network = AnswerNetwork(columns, dialogues.train.raw_mg, numbers.hidden, numbers.width)
    card = Card(system="questions/foretelling", preset="", encoder=dialogues.raw_version)
    figures = partial(answer_figures, data=val)
    fitted = _train_network(plan, numbers, network, card, plan.out / "answers", train, answer_loss, figures)
    if fitted.ended != "asked":
        calibrate_answers(network.eval(), val)
    return network, val, fitted


def _train_network(
    plan: QuestionPlan,
    numbers: NetworkSettings,
    network: nn.Module,
    card: Card,
    out: Path,
    data: SelectorData | AnswerData,
    loss: Callable[..., Any],
    validate: Callable[[nn.Module], Mapping[str, float]],
) -> TrainingResult:
    """Trains a network in its own folder, and leaves the best weights in it."""
    make: Callable[..., Any] = data.batch
    batches = draw_epochs(len(data), min(numbers.batch, len(data)), lambda rows_b, rng: make(rows_b))
    settings = TrainingSettings(
        learning_rate=numbers.learning_rate, epochs=numbers.epochs, weight_decay=numbers.weight_decay,
        schedule=OneCycle(),
    )  # fmt: skip
    job = TrainingJob(network=network, batches=batches, loss=loss, settings=settings, card=card, validate=validate)
    fitted = plan.fit(job, out)
    if fitted.ended != "asked":
        load_network(fitted.best, network, system=card.system, encoder=card.encoder)
    network.eval()
    return fitted
