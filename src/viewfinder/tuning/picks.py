"""Trains the network with which `one` reads pictures that are picked with words, on any encoder's vectors.

The network adds to the composer's scores. Here recorded dialogues are looked up as a session looks them up, and said to
the composer in a gallery of the data set's pictures; `retrievers.one.train` learns from what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.conversation import Conversation
from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput
from viewfinder.query import Query, Words
from viewfinder.retrievers.composer import Composer
from viewfinder.retrievers.one.picks import FolderPicks, Moment, PickDialogue, RecordedTask
from viewfinder.retrievers.one.turn_network import Tokens, list_tokens
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import express_query, find_excluded, score_rows
from viewfinder.session.resolve import resolve_turn
from viewfinder.store.rows import FileRecord, PictureRow, build_columns, pictures_to_arrow
from viewfinder.store.snapshot import Snapshot
from viewfinder.training import TrainingResult
from viewfinder.training.progress import report_tenths
from viewfinder.wording.clauses import split_clauses

MAX_TEXTS_AT_ONCE = 64
"""How many texts are encoded together."""


def train_one(plan: TrainPlan) -> TrainingResult:
    """Trains the turn network of `one`. Raises as `train_system`."""
    from viewfinder.retrievers.one.train import train

    return train(plan, partial(record, encoder=plan.encoder, notify=plan.notify))


def record(read: FolderPicks, *, encoder: Encoder, notify: Callable[[str], None]) -> list[RecordedTask]:
    """The turns of a data set as the turn network reads them, with what the composer makes of them.

    Raises:
        BadInput: there is no turn that the network reads.
    """
    gallery = Gallery(_make_snapshot(read, encoder), encoder)
    words = _remember(gallery.encode_texts)
    _read_ahead(read, words, notify)
    scale = np.float32(gallery.measures.scale.pictures)
    place = {key: row for row, key in enumerate(read.keys)}
    found = []
    for task in read.tasks:
        moments = tuple(moment for one in task.dialogues for moment in _hear_dialogue(one, gallery, words))
        if moments:
            gallery_g = np.array([place[key] for key in task.gallery])
            found.append(RecordedTask(task.name, scale * read.vectors_nd, gallery_g, moments))
    if not found:
        raise BadInput("no picture is picked with words in this data")
    return found


def _hear_dialogue(dialogue: PickDialogue, gallery: Gallery, words: Words) -> Iterator[Moment]:
    """The turns that the network reads, of a dialogue that is said to the composer."""
    composer, conversation, picks = Composer(), Conversation(), tuple[Tokens, ...]()
    state = composer.begin()
    for said, wanted in zip(dialogue.turns, dialogue.targets, strict=True):
        conversation = conversation.then(said)
        turn = replace(resolve_turn(conversation, conversation.here, gallery, reads=composer.reads), words=words)
        state = composer.step(state, turn)
        query = composer.query(state)
        if tokens := list_tokens(turn, query, picks):
            picks = (*picks, tokens)
            expressed = express_query(query, gallery.measures.scale)
            out_k = find_excluded(gallery, query)
            yield Moment(picks, gallery.row(wanted), out_k, partial(_score_in_nats, gallery, expressed))


def _score_in_nats(gallery: Gallery, query: Query, rows_r: Int[np.ndarray, " r"]) -> Float32[np.ndarray, " r"]:
    return np.float32(query.sharpness) * score_rows(gallery, query, rows_r)


def _make_snapshot(read: FolderPicks, encoder: Encoder) -> Snapshot:
    """The pictures of a data set in memory; nothing is known of them but their vectors."""
    table = pictures_to_arrow([PictureRow(key, (FileRecord(key, 0, 0),), 0, 0, "", 0) for key in read.keys])
    return Snapshot(
        read.vectors_nd, table, build_columns(table), space=encoder.version, generation="training", folder=None
    )


def _remember(encode: Words) -> Words:
    """Vectors of texts, each read once: the composer and the network ask for the same."""
    known: dict[str, Float[np.ndarray, " d"]] = {}

    def words(texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, np.asarray(encode(new), np.float32), strict=True))
        return np.stack([known[text] for text in texts])

    return words


def _read_ahead(read: FolderPicks, words: Words, notify: Callable[[str], None]) -> None:
    """Reads most of what will be asked for, many texts at once; progress is reported at every tenth."""
    said = {turn.text for task in read.tasks for one in task.dialogues for turn in one.turns}
    clauses = [split_clauses(text) for text in sorted(said)]
    texts = sorted({piece for one in clauses for piece in (one.wanted, *one.unwanted) if piece})
    progress = report_tenths(notify, "encoded", things="texts")
    for at in range(0, len(texts), MAX_TEXTS_AT_ONCE):
        words(texts[at : at + MAX_TEXTS_AT_ONCE])
        progress(min(at + MAX_TEXTS_AT_ONCE, len(texts)), len(texts))
