"""Training the turn network: OUT/best.safetensors, and in OUT/network what `training.fit` lists.

It learns to add to the composer's scores, which only a search can give: so a training begins in
`viewfinder.tuning.picks`. Which weights are kept, and how many nats the opinion counts, is chosen on validation.

Axes: b turns, k pictures, d numbers of a vector, l tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from viewfinder import training
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.one.network import Batch, TorchTurnNetwork
from viewfinder.retrievers.one.picks import Moment, Record, RecordedTask, read_picks
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM
from viewfinder.retrievers.one.settings import TurnNetworkPreset
from viewfinder.retrievers.one.turn_network import KINDS
from viewfinder.retrievers.shared.network import DEPTH, target_ranks
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.training.batches import Batches
from viewfinder.weights import check_card, read_card

PRESETS = Path(__file__).with_name("presets.toml")
NETWORK = "network"

MAX_VALIDATED = 300
"""Validation turns of a task that are measured at most, evenly spread."""

SCALES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4)
"""Factors of scores that validation tries: an opinion counts in deviations, so how sure it is does not matter."""

NATS = 2.4
"""How much the opinion counts before that is chosen: as much as the shipped one's."""

TRIED_NATS = (0.0, 0.4, 0.8, 1.6, 2.4, 3.2, 4.8, 6.4)
SAME_RECALL, SAME_SCORES = 0.001, 1e-9
"""The smallest weight whose recall is within this of the best one's is chosen (0: the network adds nothing); scores
that deviate less than this are alike."""


def train(plan: TrainPlan, record: Record) -> training.TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset = training.load_preset(PRESETS, plan.preset, TurnNetworkPreset, plan.overrides)
    check_start(plan)
    both = [read_picks(plan, split) for split in ("train", "val")]  # what is missing is said before anything is encoded
    learnt, held = ([task for read in some for task in record(read)] for some in both)
    training.seed_all(plan.seed)
    network = TorchTurnNetwork(preset.model, learnt[0].pictures_nd.shape[1])
    encoder = plan.encoder.raw_version
    if plan.start is not None:
        training.load_network(plan.start, network, system=NETWORK_SYSTEM, encoder=encoder)
    known = {
        "encoder_version": plan.encoder.version, "layers": preset.model.layers, "heads": preset.model.heads,
        "nats": NATS,
    }  # fmt: skip
    card = training.Card(system=NETWORK_SYSTEM, preset=plan.preset, encoder=encoder, settings=known)
    validation = [make_whole_batch(task) for task in held]
    fitted = plan.fit(
        training.TrainingJob(
            network=network,
            batches=partial(draw_batches, learnt, preset),
            loss=measure_loss,
            settings=preset.training,
            card=card,
            validate=partial(measure_nats, batches=validation),
            selects="nats",
        ),
        plan.out / NETWORK,
    )
    if fitted.ended == "asked":
        return fitted
    # The best network again, with what its opinion is to count.
    training.load_network(fitted.best, network, system=NETWORK_SYSTEM, encoder=encoder)
    nats, figures = choose_nats(network.eval(), validation)
    figures = {**fitted.figures, **figures}
    card = replace(card, settings={**known, "nats": nats}, figures=figures, trained_on=plan.list_training())
    best = plan.out / "best.safetensors"
    training.save_network(best, network, card)
    return replace(fitted, best=best, figures=figures)


def check_start(plan: TrainPlan) -> None:
    """Refuses weights to start from that are of another system, or of another encoder.

    Raises:
        BadInput: there is no such file, or it is of another system.
        EncoderMismatch: they read vectors of another encoder.
    """
    if plan.start is None:
        return
    card = read_card(plan.start)
    check_card(plan.start, card, system=NETWORK_SYSTEM)
    if (version := card.settings["encoder_version"]) != plan.encoder.version:
        raise EncoderMismatch(
            f"{plan.start}: reads vectors of {version!r}, and this encoder's are {plan.encoder.version!r}; use the "
            "encoder it was trained with, or begin without --start"
        )


# -- batches


def draw_batches(tasks: Sequence[RecordedTask], preset: TurnNetworkPreset, epoch: int, seed: int) -> Batches[Batch]:
    """The batches of an epoch: every turn once, those of a batch in one gallery."""
    drawn = np.random.default_rng([seed, epoch])
    size = preset.batch
    parts = [
        (task, rows_b)
        for task in tasks
        for rows_b in np.array_split(drawn.permutation(len(task.moments)), -(-len(task.moments) // size))
    ]

    def make(places: Int[np.ndarray, " 1"]) -> Batch:
        task, rows_b = parts[places[0]]
        random = np.random.default_rng([seed, epoch, int(places[0])])
        pool = np.arange(len(task.pictures_nd)) if random.random() < preset.among_all else task.gallery_g
        others_k = random.choice(pool, min(preset.pictures, len(pool)), replace=False)
        return make_batch(task, [task.moments[row] for row in rows_b], others_k)

    return Batches(drawn.permutation(len(parts)), 1, make)


def make_batch(task: RecordedTask, moments: Sequence[Moment], others_k: Int[np.ndarray, " k"]) -> Batch:
    """Turns, with these pictures and all that the turns look for."""
    tokens = [[token for turn in one.turns for token in turn] for one in moments]
    turns = [np.repeat(np.arange(len(one.turns)), [len(turn) for turn in one.turns]) for one in moments]
    vectors = [torch.from_numpy(np.stack([vector_d for _, vector_d in some]).astype(np.float32)) for some in tokens]
    kinds = [torch.tensor([KINDS.index(kind) for kind, _ in some]) for some in tokens]
    count_b = torch.tensor([len(some) for some in tokens])
    wanted_b = np.array([one.wanted for one in moments])
    rows_k = np.union1d(others_k, wanted_b)
    place_b = np.searchsorted(rows_k, wanted_b)
    out_bk = np.stack([np.isin(rows_k, one.out_k) for one in moments])
    out_bk[np.arange(len(moments)), place_b] = False
    return Batch(
        vectors_bld=_pad_rows(vectors),
        kind_bl=_pad_rows(kinds),
        turn_bl=_pad_rows([torch.from_numpy(turn_l) for turn_l in turns]),
        there_bl=torch.arange(int(count_b.max())) < count_b[:, None],
        last_b=count_b - 1,
        pictures_kd=torch.from_numpy(task.pictures_nd[rows_k]),
        composed_bk=torch.from_numpy(np.stack([one.nats(rows_k) for one in moments])),
        out_bk=torch.from_numpy(out_bk),
        wanted_b=torch.from_numpy(place_b),
    )


def _pad_rows(rows: Sequence[Tensor]) -> Tensor:
    return pad_sequence(list(rows), batch_first=True)


def make_whole_batch(task: RecordedTask) -> Batch:
    """Some turns of a task, with its whole gallery."""
    last = len(task.moments) - 1
    chosen = np.linspace(0, last, min(last + 1, MAX_VALIDATED)).round().astype(int)
    return make_batch(task, [task.moments[at] for at in chosen], task.gallery_g)


# -- what is learnt, and what it is judged by


def measure_loss(network: TorchTurnNetwork, batch: Batch) -> tuple[Tensor, Mapping[str, Tensor]]:
    """The cross entropy of the wanted picture in nats: the mean of the turns."""
    return cross_entropy(network(batch).masked_fill(batch.out_bk, -torch.inf), batch.wanted_b), {}


def measure_nats(network: TorchTurnNetwork, batches: Sequence[Batch]) -> dict[str, float]:
    """The figures of validation, means of the tasks: "nats", the cross entropy at the best scale, and "alone", R@10."""
    nats, found = [], []
    for batch in batches:
        scores_bk = network(_move(batch, network)).cpu().masked_fill(batch.out_bk, -torch.inf)
        nats.append(min(float(cross_entropy(scale * scores_bk, batch.wanted_b)) for scale in SCALES))
        found.append(measure_recall(scores_bk, batch))
    return {"nats": float(np.mean(nats)), "alone": float(np.mean(found))}


def measure_recall(scores_bk: Float[Tensor, "b k"], batch: Batch) -> float:
    """The share of turns whose wanted picture is among the first ten of those that are not excluded."""
    ranks_b = target_ranks(scores_bk.masked_fill(batch.out_bk, -torch.inf), batch.wanted_b)
    return float((ranks_b < DEPTH).float().mean())


def choose_nats(network: TorchTurnNetwork, batches: Sequence[Batch]) -> tuple[float, dict[str, float]]:
    """How much the opinion is to count beside the composer, and R@10 without it ("composer") and with it ("recall")."""
    found = np.zeros((len(batches), len(TRIED_NATS)))
    with torch.no_grad():
        for batch, found_w in zip(batches, found, strict=True):
            scores_bk = network(_move(batch, network)).cpu()
            deviation_b1 = scores_bk.std(dim=1, keepdim=True, correction=0).clamp_min(SAME_SCORES)
            opinion_bk = (scores_bk - scores_bk.mean(dim=1, keepdim=True)) / deviation_b1
            found_w[:] = [measure_recall(batch.composed_bk + nats * opinion_bk, batch) for nats in TRIED_NATS]
    mean_w = found.mean(axis=0)
    chosen = next(at for at, recall in enumerate(mean_w) if recall > mean_w.max() - SAME_RECALL)
    return TRIED_NATS[chosen], {"composer": float(mean_w[0]), "recall": float(mean_w[chosen])}


def _move(batch: Batch, network: TorchTurnNetwork) -> Batch:
    return Batch(*(tensor.to(network.kinds.device) for tensor in batch))
