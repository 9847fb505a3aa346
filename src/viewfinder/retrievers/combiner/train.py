"""Training a Combiner: OUT/best.safetensors, and beside it what `training.fit` lists.

It is trained on FashionMT's transactions as vectors of the encoder's shared space. Axes: s transactions, t turns, n
pictures, x distinct modifications, g pictures of a gallery, b transactions of a batch, d width of the space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from viewfinder import training
from viewfinder.data.fashionmt import Transaction
from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput
from viewfinder.metrics import rank_bounds
from viewfinder.retrievers.combiner.network import CombinerNetwork
from viewfinder.retrievers.combiner.retriever import PROBE, mean_text_vector, modification_pieces
from viewfinder.retrievers.combiner.settings import CombinerPreset, CombinerSettings, Repeats
from viewfinder.retrievers.shared.network import DEPTH, target_cross_entropy
from viewfinder.retrievers.shared.train_plan import TrainPlan, TransactionRows, read_preset, read_transaction_rows
from viewfinder.training.progress import report_tenths
from viewfinder.wording.modifications import parse_ordinal_reference

NO_TURN = -1
"""Stands in place of a row: the transaction is over."""

Vectors = dict[str, Float32[np.ndarray, " d"]]
"""Vectors of texts."""

MAX_TEXTS_AT_ONCE = 512
"""How many texts are encoded together."""


@dataclass(frozen=True, eq=False)
class RecordedTransactions:
    """Transactions of one split.

    Attributes:
        pictures_nd: vectors of all pictures they are about, and of the galleries of their sources.
        gallery_g: the rows of the pictures searched for targets: the galleries, and the targets.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    gallery_g: Int[np.ndarray, " g"]
    transactions: tuple[TransactionRows, ...]  # each as in its file, and the rows of its pictures

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All modifications, each once, sorted."""
        return tuple(sorted({said for one, _ in self.transactions for said in one.modifications}))


@dataclass(frozen=True, eq=False)
class EncodedTransactions:
    """Transactions turn by turn, as rows of pictures and of distinct texts; `NO_TURN` after the last turn.

    `reference_st` is the picture that a turn is read with, `target_st` the one that it leads to.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    texts_xd: Float32[np.ndarray, "x d"]
    gallery_g: Int[np.ndarray, " g"]
    reference_st: Int[np.ndarray, "s t"]
    text_st: Int[np.ndarray, "s t"]
    target_st: Int[np.ndarray, "s t"]

    def __len__(self) -> int:
        return len(self.target_st)

    @classmethod
    def of(cls, recorded: RecordedTransactions, vectors: Vectors, model: CombinerSettings) -> EncodedTransactions:
        """`vectors`: those of all pieces of all texts."""
        row_of = {text: row for row, text in enumerate(recorded.texts)}
        of_pieces = ([vectors[piece] for piece in modification_pieces(text, model.texts)] for text in recorded.texts)
        found = recorded.transactions
        longest = max(len(one.targets) for one, _ in found)
        tables = np.full((3, len(found), longest), NO_TURN, np.intp)
        for at, (one, rows) in enumerate(found):
            said = [row_of[text] for text in one.modifications]
            tables[:, at, : len(one.targets)] = reference_rows(one, rows, model), said, rows[1:]
        texts_xd = np.stack([mean_text_vector(np.stack(known)) for known in of_pieces])
        return cls(recorded.pictures_nd, texts_xd, recorded.gallery_g, *tables)


def read_recorded(plan: TrainPlan, split: str, preset: CombinerPreset) -> RecordedTransactions:
    """The transactions of a split in all data sets of a plan; what is left out is reported.

    Raises:
        UnknownName: a data set has no such source.
        BadInput: data is missing or damaged, or no transaction has all its pictures.
    """
    vectors: list[Float32[np.ndarray, "m d"]] = []
    gallery: set[int] = set()
    found: list[TransactionRows] = []
    first = 0
    for folder in plan.data:
        features, part, names = read_transaction_rows(plan, folder, split, preset.sources, most=preset.transactions)
        shown = {row for name in set(names) if (row := features.find_row(name.lstrip("/"))) is not None}
        rows = sorted(shown.union(*(its_rows for _, its_rows in part)))
        place = {row: first + at for at, row in enumerate(rows)}
        found += [(one, tuple(place[row] for row in its_rows)) for one, its_rows in part]
        gallery |= {place[row] for row in shown}
        vectors.append(np.asarray(plan.encoder.project(features.raw_nd[rows]), np.float32))
        first += len(rows)
    if not found:
        raise BadInput(
            f"{', '.join(map(str, plan.data))}: no transaction of {split!r} has all its pictures; needed are "
            f"modifiers/<source>_{split}_cap.json and images/"
        )
    wanted = {row for _, its_rows in found for row in its_rows[1:]}
    return RecordedTransactions(np.concatenate(vectors), np.array(sorted(gallery | wanted), np.intp), tuple(found))


def reference_rows(one: Transaction, rows: Sequence[int], model: CombinerSettings) -> list[int]:
    """The picture that each turn is read with: the one it is about, or an earlier one to which it goes back."""
    found = []
    for turn, said in enumerate(one.modifications):
        back = parse_ordinal_reference(said) if model.rollback == "replace" else None
        goes_back = back is not None and back.setting == "rollback" and back.places[0] <= turn
        found.append(rows[back.places[0] if back is not None and goes_back else turn])
    return found


def encode_texts(texts: Iterable[str], encoder: Encoder, notify: Callable[[str], None]) -> Vectors:
    """The vectors of distinct texts in the shared space; progress is reported at every tenth."""
    wanted = sorted(set(texts))
    found: Vectors = {}
    progress = report_tenths(notify, "encoded", things="texts")
    for at in range(0, len(wanted), MAX_TEXTS_AT_ONCE):
        some = wanted[at : at + MAX_TEXTS_AT_ONCE]
        found |= dict(zip(some, np.asarray(encoder.words(some), np.float32), strict=True))
        progress(len(found), len(wanted))
    return found


SYSTEM = "combiner"
PRESETS = Path(__file__).with_name("presets.toml")

MAX_TRANSACTIONS_AT_ONCE = 1024
"""How many transactions validation reads together."""


class Batch(NamedTuple):
    """Transactions as vectors; `rows_bt` are the rows of the targets, `NO_TURN` where there is no such turn."""

    texts_btd: Float[Tensor, "b t d"]
    pictures_btd: Float[Tensor, "b t d"]
    targets_btd: Float[Tensor, "b t d"]
    rows_bt: Int[Tensor, "b t"]


def train(plan: TrainPlan) -> training.TrainingResult:
    """Train as the plan says; `plan.resume` continues an interrupted training. Raises as `train_system`."""
    preset, _ = read_preset(plan, PRESETS, CombinerPreset)
    model = preset.model
    recorded = [read_recorded(plan, split, preset) for split in ("train", "val")]
    wanted = {piece for part in recorded for text in part.texts for piece in modification_pieces(text, model.texts)}
    vectors = encode_texts(wanted, plan.encoder, plan.notify)
    train, val = (EncodedTransactions.of(part, vectors, model) for part in recorded)
    training.seed_all(plan.seed)
    network = CombinerNetwork(model, train.pictures_nd.shape[1])
    network.probe.copy_(torch.from_numpy(np.asarray(plan.encoder.words([PROBE])[0], np.float32)))
    space = plan.encoder.version
    if plan.start is not None:
        training.load_network(plan.start, network, system=SYSTEM, encoder=space)
    known = {"model": asdict(model), "scale": preset.scale, "exclude_shown": preset.exclude_shown}
    return plan.fit(
        training.TrainingJob(
            network=network,
            batches=training.draw_epochs(len(train), preset.batch, lambda rows_b, rng: make_batch(train, rows_b)),
            loss=partial(_measure_loss, scale=preset.scale, repeats=preset.repeats),
            settings=preset.training,
            card=training.Card(system=SYSTEM, preset=plan.preset, encoder=space, settings=known),
            validate=partial(validate_network, turns=val, scale=preset.scale, repeats=preset.repeats),
            selects=preset.selects,
            higher=True,
            may_leave_unused=True,
        )
    )


def make_batch(turns: EncodedTransactions, rows_b: Int[np.ndarray, " b"]) -> Batch:
    """Some transactions; where one has no such turn, the last rows of all stand in and are ignored."""
    return Batch(
        texts_btd=torch.from_numpy(turns.texts_xd[turns.text_st[rows_b]]),
        pictures_btd=torch.from_numpy(turns.pictures_nd[turns.reference_st[rows_b]]),
        targets_btd=torch.from_numpy(turns.pictures_nd[turns.target_st[rows_b]]),
        rows_bt=torch.from_numpy(turns.target_st[rows_b]),
    )


def tell_targets_apart(
    logits_qq: Float[Tensor, "q q"], rows_q: Int[Tensor, " q"], repeats: Repeats
) -> Float[Tensor, ""]:
    """Mean cross-entropy of each turn's own target among those of all turns, of which some may be the same picture."""
    if repeats == "left_out":
        return target_cross_entropy(logits_qq, rows_q)
    return cross_entropy(logits_qq, torch.arange(len(rows_q), device=rows_q.device))


def _measure_loss(
    network: CombinerNetwork, batch: Batch, *, scale: float, repeats: Repeats
) -> tuple[Tensor, Mapping[str, Tensor]]:
    """The loss of all turns of a batch, each told from the targets of all turns of all processes' batches."""
    queries_btd = training.gather_with_gradient(network(batch.texts_btd, batch.pictures_btd))
    targets_btd, rows_bt = (
        training.gather_with_gradient(batch.targets_btd),
        training.gather_with_gradient(batch.rows_bt),
    )
    there_bt = rows_bt != NO_TURN
    return tell_targets_apart(scale * queries_btd[there_bt] @ targets_btd[there_bt].T, rows_bt[there_bt], repeats), {}


def validate_network(
    network: CombinerNetwork, *, turns: EncodedTransactions, scale: float, repeats: Repeats = "left_out"
) -> dict[str, float]:
    """The figures of validation: every turn looks for its target in the gallery of the sources.

    "recall" is Recall@10 over all turns, "first" and "last" that of the first and of the last turn of a transaction.
    """
    device = network.probe.device
    queries, lost = [], []
    for at in range(0, len(turns), MAX_TRANSACTIONS_AT_ONCE):
        rows_b = np.arange(at, min(at + MAX_TRANSACTIONS_AT_ONCE, len(turns)))
        batch = Batch(*(tensor.to(device) for tensor in make_batch(turns, rows_b)))
        queries_btd, there_bt = network(batch.texts_btd, batch.pictures_btd), batch.rows_bt != NO_TURN
        logits_qq = scale * queries_btd[there_bt] @ batch.targets_btd[there_bt].T
        lost.append((float(tell_targets_apart(logits_qq, batch.rows_bt[there_bt], repeats)), len(rows_b)))
        queries.append(queries_btd.float().cpu().numpy())
    found_st = mark_found(np.concatenate(queries), turns)
    last_s = (turns.target_st != NO_TURN).sum(axis=1) - 1
    return {
        "loss": float(np.average([loss for loss, _ in lost], weights=[size for _, size in lost])),
        "recall": float(np.nanmean(found_st)),
        "first": float(found_st[:, 0].mean()),
        "last": float(found_st[np.arange(len(turns)), last_s].mean()),
    }


def mark_found(queries_std: Float[np.ndarray, "s t d"], turns: EncodedTransactions) -> Float[np.ndarray, "s t"]:
    """1 where the target is among the first ten of the gallery, else 0; NaN where there is no such turn.

    Equal scores share the mean of their ranks.
    """
    place_n = np.full(len(turns.pictures_nd), NO_TURN)
    place_n[turns.gallery_g] = np.arange(len(turns.gallery_g))
    there_st = turns.target_st != NO_TURN
    targets_q = place_n[turns.target_st[there_st]]
    best_q, worst_q = rank_bounds(queries_std[there_st], turns.pictures_nd[turns.gallery_g], targets_q)
    found_st = np.full(there_st.shape, np.nan)
    found_st[there_st] = (best_q + worst_q) / 2 < DEPTH
    return found_st
