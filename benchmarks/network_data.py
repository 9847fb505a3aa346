"""What network.py learns from: conversations as arrays, with the composer's scores of all pictures after every turn.

A turn is tokens, each a vector of the encoder in the box with a kind: the sentence (a rejection is negative), the
question that it answers, the picture that it names, what was on the screen, and last what the composer makes of all so
far, where the network's answer is read.

The encoder's head has learnt from the same training photographs and their captions, so it knows them better than any
that it is to find later. People therefore talk about fifths of them, each a gallery of its own, with a head that was
trained without that fifth; its space is turned to that of the shipped head, by the vectors of captions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from chat_tests import without_shown
from conversations import ROUNDS, STYLES, encode_files
from fusion_data import Part as DataPart
from fusion_data import read_tasks_of
from jaxtyping import Float, Float32, Int
from remembering import RememberingEncoder

from viewfinder.conversation import Answer, BackTo, Keep, Like, Reject, Say, Show, Turn
from viewfinder.data.splits import read_photographs
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import SENTENCE_WIDTH, sentence_encoder
from viewfinder.encoders.starter.fit import CaptionedVectors, fit_head
from viewfinder.encoders.starter.refine import train_head
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.pictures import Pictures, load_pictures, match_pictures
from viewfinder.evaluation.plan import load_system
from viewfinder.evaluation.replay import make_conversation, query_each_turn
from viewfinder.query import Part, Query
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.composer import _join_texts, _select_last
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all, sum_plain_parts
from viewfinder.session.session import Session
from viewfinder.tuning.starter import TRAINED
from viewfinder.users import AnnotatedPhotos, PhotoNotes, Screen, SpeakingStyle, photo_person, read_annotations
from viewfinder.users.photographs import photo_sentences
from viewfinder.wording.clauses import split_clauses
from viewfinder.wording.replies import is_dont_know

FOLDS, HALVES = 5, 2
"""People talk about the photographs of each fold, half by half."""

EPOCHS = 20
"""Of a head that has not seen a fold."""

AT_ONCE = 1000
"""Texts that are read together."""

MIN_CAPTIONS = 5

PEOPLE: dict[str, dict[str, Any]] = {
    "captions": {"speaks": "sentences", "policy": "describes"},
    "mixed": STYLES["mixed"],
}
"""Who talks about photographs."""


class Kind(IntEnum):
    """What a token holds."""

    SAID = 0
    UNWANTED = 1  # the negative of what is ruled out
    ASKED = 2
    ANSWERED = 3
    PICKED = 4
    BUT = 5  # what is said with a picture
    REJECTED = 6  # the negative of a picture
    SHOWN = 7  # the mean of what was on the screen
    COMPOSED = 8  # what the composer makes of all turns; the last token of a turn


Token = tuple[Kind, Float[np.ndarray, " d"]]


@dataclass(frozen=True, eq=False)
class Talks:
    """Conversations in one gallery: q moments (after a turn), m tokens, n pictures.

    Attributes:
        scores_qn: the composer's, in nats, with what answers add; -inf: excluded.
        dialogue_q, turn_q, target_q: of each moment; turns count from 0.
        back_m: how many turns before its own a token's turn goes back to; 0: to none.
    """

    pictures_nd: Float32[np.ndarray, "n d"]
    scores_qn: Float[np.ndarray, "q n"]
    dialogue_q: Int[np.ndarray, " q"]
    turn_q: Int[np.ndarray, " q"]
    target_q: Int[np.ndarray, " q"]
    vectors_md: Float[np.ndarray, "m d"]
    kind_m: Int[np.ndarray, " m"]
    turn_m: Int[np.ndarray, " m"]
    back_m: Int[np.ndarray, " m"]
    dialogue_m: Int[np.ndarray, " m"]

    def save(self, file: Path) -> None:
        """Writes them; numbers in half precision."""
        halves = {"scores_qn", "vectors_md"}
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays = {one.name: getattr(self, one.name) for one in fields(self)}
        np.savez(
            file, **{name: array.astype(np.float16) if name in halves else array for name, array in arrays.items()}
        )

    def turned(self, turn_dd: Float32[np.ndarray, "d d"]) -> Talks:
        """The same in another space, which a rotation leads to: all scores stay."""
        return replace(self, pictures_nd=self.pictures_nd @ turn_dd, vectors_md=self.vectors_md @ turn_dd)

    @classmethod
    def read(cls, file: Path) -> Talks:
        """Reads what `save` wrote."""
        with np.load(file) as kept:
            return cls(**{one.name: kept[one.name] for one in fields(cls)})


class Recorder:
    """Collects the moments and tokens of conversations in a gallery."""

    def __init__(self, gallery: Gallery, ranked_n: Int[np.ndarray, " n"] | None = None) -> None:
        self.gallery, self._ranked_n = gallery, slice(None) if ranked_n is None else ranked_n
        self._moments: list[tuple[Float32[np.ndarray, " n"], int, int, int]] = []
        self._tokens: list[tuple[Float[np.ndarray, " d"], int, int, int, int]] = []

    def note(
        self, dialogue: int, turn: Turn, shown: Sequence[str], number: int, target: int, query: Query,
        nats_n: Float32[np.ndarray, " n"],
    ) -> None:  # fmt: skip
        """Notes a turn and what the composer makes of it; `number` counts turns from 0."""
        back = max(number - (at - 1), 0) if (at := getattr(turn, "turn", None)) is not None else 0
        for kind, vector_d in list_tokens(turn, shown, query, self.gallery):
            self._tokens.append((vector_d, int(kind), number, back, dialogue))
        self._moments.append((nats_n, dialogue, number, target))

    def talks(self) -> Talks:
        """All of them."""
        nats, dialogue_q, turn_q, target_q = zip(*self._moments, strict=True)
        vectors, kind_m, turn_m, back_m, dialogue_m = zip(*self._tokens, strict=True)
        pictures_nd = np.asarray(self.gallery.snapshot.matrix_nd[self._ranked_n], np.float32)
        return Talks(
            pictures_nd, np.stack(nats), np.array(dialogue_q), np.array(turn_q), np.array(target_q), np.stack(vectors),
            np.array(kind_m), np.array(turn_m), np.array(back_m), np.array(dialogue_m),
        )  # fmt: skip


def list_tokens(turn: Turn, shown: Sequence[str], query: Query, gallery: Gallery) -> Iterator[Token]:
    """The tokens of a turn; `shown` was on the screen when it was said."""
    text, names = getattr(turn, "text", "") or "", tuple[str, ...]()
    match turn:
        case Say():
            yield from _list_said(text, Kind.SAID, gallery)
        case Answer(question):
            if question.text:
                yield Kind.ASKED, gallery.encode_texts([question.text])[0]
            if not is_dont_know(text):
                yield from _list_said(text, Kind.ANSWERED, gallery)
        case Like(picture):
            yield Kind.PICKED, _mean_of([picture], gallery)
            yield from _list_said(text, Kind.BUT, gallery)
        case Keep(attribute):
            yield from _list_said(attribute, Kind.BUT, gallery)
        case Reject(names):
            if gone := names or (() if text else shown):
                yield Kind.REJECTED, -_mean_of(gone, gallery)
            if text:
                yield Kind.UNWANTED, -gallery.encode_texts([text])[0]
        case Show() | BackTo():
            raise ValueError(f"no conversation here has such a turn: {turn}")
    if shown:
        yield Kind.SHOWN, _mean_of(shown, gallery)
    plain_d = sum_plain_parts(query).vector_d
    yield Kind.COMPOSED, np.zeros(gallery.snapshot.matrix_nd.shape[1], np.float32) if plain_d is None else plain_d


def _list_said(text: str, kind: Kind, gallery: Gallery) -> Iterator[Token]:
    clauses = split_clauses(text)
    if clauses.wanted:
        yield kind, gallery.encode_texts([clauses.wanted])[0]
    for piece in clauses.unwanted:
        yield Kind.UNWANTED, -gallery.encode_texts([piece])[0]


def _mean_of(names: Sequence[str], gallery: Gallery) -> Float32[np.ndarray, " d"]:
    rows = [gallery.row(name) for name in names]
    found_kd: Float32[np.ndarray, "k d"] = np.asarray(gallery.snapshot.matrix_nd[np.array(rows)], np.float32)
    return np.asarray(found_kd.mean(axis=0))


def score_in_nats(gallery: Gallery, query: Query) -> Float32[np.ndarray, " n"]:
    """The composer's scores times its sharpness, without what it excludes."""
    scores = score_all(gallery, query)
    return np.where(scores.excluded_n, -np.inf, scores.total_n * np.float32(query.sharpness)).astype(np.float32)


# -- photographs


def talk_about(gallery: Gallery, notes: AnnotatedPhotos, targets: Sequence[str], style: SpeakingStyle) -> Talks:
    """People look for photographs in a session of the composer, which hides from them what they look for.

    Nobody asks them anything.
    """
    recorder, person = Recorder(gallery), photo_person(notes, style=style)
    for dialogue, target in enumerate(targets):
        session, row = Session(gallery, load_retriever("composer"), None), gallery.row(target)
        shown: tuple[str, ...] = ()
        for number in range(ROUNDS):
            seen = tuple(key for key in shown if key != target)
            said = person.reply(target, Screen(seen, None, number))
            if said is None:
                break
            result = session.take_turn(said)
            turn, query = session.conversation.here.turn, result.ranking.query
            assert turn is not None
            recorder.note(dialogue, turn, shown, number, row, query, score_in_nats(gallery, query))
            shown = session.conversation.here.shown
    return recorder.talks()


class BatchingEncoder(RememberingEncoder):
    """Remembers texts, and can read many ahead, with all processors."""

    def __init__(self, known: Mapping[str, Float[np.ndarray, " s"]], head_file: Path | None = None) -> None:
        super().__init__()
        self._head_file = head_file or self._head_file
        self._known |= {("sentences", text): vector_s for text, vector_s in known.items()}

    def read_ahead(self, texts: Iterable[str]) -> None:
        """Reads the texts that are not known."""
        new = [text for text in dict.fromkeys(texts) if ("sentences", text) not in self._known]
        found = zip(new, read_in_batches(new), strict=True)
        self._known |= {("sentences", text): vector_s for text, vector_s in found}


def read_in_batches(texts: Sequence[str]) -> Float32[np.ndarray, "m s"]:
    """Sentence vectors of texts, few enough at a time that the encoder remembers them until it hands them over."""
    encoder = sentence_encoder()
    batches = (encoder(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE))
    return np.concatenate([np.zeros((0, SENTENCE_WIDTH), np.float32), *batches])


@dataclass(frozen=True, eq=False)
class TrainingGallery:
    """A fold of the training photographs, with an encoder whose head has not seen them, and what turns its space
    into that of the shipped head."""

    pictures: Pictures
    notes: AnnotatedPhotos
    turn_dd: Float32[np.ndarray, "d d"]


def make_training_galleries(data: Path, work: Path) -> list[TrainingGallery]:
    """The photographs of `fit` with five captions, in as many galleries as folds."""
    chosen = {
        f"{name}/{one.path.name}": one
        for name, some in read_photographs(data, "fit").items()
        for one in some
        if name != "ade20k-sequences" and len(one.captions) >= MIN_CAPTIONS
    }
    keys = sorted(chosen)
    fold_n = np.random.default_rng(0).permutation(len(keys)) % FOLDS
    if not (file := work / "raw-fit.npz").is_file():
        raw_nr = encode_files([chosen[key].path for key in keys], StarterEncoder())
        np.savez(file, names=np.array(keys), raw=raw_nr)
    raw_nr = np.load(file)["raw"].astype(np.float32)
    said = [chosen[key].captions for key in keys]
    if not (file := work / "sentences.npz").is_file():
        texts = list(dict.fromkeys(text for some in said for text in some))
        np.savez(file, texts=np.array(texts), vectors=read_in_batches(texts))
    with np.load(file) as kept:
        known = dict(zip(map(str, kept["texts"]), kept["vectors"], strict=True))
    notes = AnnotatedPhotos({key: PhotoNotes(one.captions, path=one.path) for key, one in chosen.items()})
    shipped, found = BatchingEncoder(known), []
    for fold in range(FOLDS):
        if not (file := work / f"head-{fold}.safetensors").is_file():
            learns = np.flatnonzero(fold_n != fold)
            texts = [text for row in learns for text in said[row]]
            owners_m = np.repeat(np.arange(len(learns)), [len(said[row]) for row in learns])
            kind = CaptionedVectors(
                raw_nr[None, learns], np.stack([known[text] for text in texts]), owners_m, tuple(texts)
            )
            train_head(fit_head([kind]), [kind], replace(TRAINED, epochs=EPOCHS)).save(file)
        encoder, own = BatchingEncoder(known, file), np.flatnonzero(fold_n == fold)
        pictures = Pictures(tuple(keys[row] for row in own), encoder.project(raw_nr[own]).astype(np.float32), encoder)
        found.append(TrainingGallery(pictures, notes, align(encoder, shipped, list(known)[::4])))
    return found


def align(one: BatchingEncoder, other: BatchingEncoder, texts: Sequence[str]) -> Float32[np.ndarray, "d d"]:
    """The rotation that brings the vectors of texts by one encoder closest to those by another (Procrustes)."""
    left_dd, _, right_dd = np.linalg.svd(one.words(texts).T @ other.words(texts))
    return np.asarray(left_dd @ right_dd, np.float32)


@dataclass(frozen=True)
class Sitting:
    """Conversations of some people about the photographs of one gallery."""

    part: str  # fit, val or test
    people: str
    seed: int
    fold: int = 0
    half: int = 0  # of a training gallery

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.part}/{self.people}-{self.seed}-{self.fold}-{self.half}.npz"


PLACES = {"val": "chosen-photographs", "test": "photographs"}
"""Folders of fusion_data.py."""


def list_sittings() -> list[Sitting]:
    """All of them, in the order in which they are made."""

    def learn(people: str, half: int) -> list[Sitting]:
        return [Sitting("fit", people, 0, fold, half) for fold in range(FOLDS)]

    measured = [Sitting(part, people, 0) for part in ("val", "test") for people in ("captions", "mixed")]
    return [
        *measured,
        *(one for half in range(HALVES) for people in ("captions", "mixed") for one in learn(people, half)),
    ]


def open_pictures(part: str, fusion: Path) -> tuple[Pictures, AnnotatedPhotos]:
    """The photographs to validate on or to test, in the folders of fusion_data.py."""
    folder = PLACES[part]
    plan = Plan(system="composer", data=fusion / folder, protocol="captions", features=fusion / "features" / folder)
    return load_pictures(plan, BatchingEncoder({}), load_system("composer")), read_annotations(plan.data)


def make_talks(data: Path, work: Path, fusion: Path) -> None:
    """Holds all sittings that are not there."""
    fit = make_training_galleries(data, work)
    for sitting in list_sittings():
        if (file := work / "talks" / sitting.name).is_file():
            continue
        if sitting.part == "fit":
            here = fit[sitting.fold]
            pictures, known, turn_dd = here.pictures, here.notes, here.turn_dd
            targets = pictures.keys[sitting.half :: HALVES]
        else:
            pictures, known = open_pictures(sitting.part, fusion)
            targets = tuple(key for key in pictures.keys if len(known.of(key).captions) >= MIN_CAPTIONS)
            turn_dd = np.eye(pictures.vectors_nd.shape[1], dtype=np.float32)
        style = SpeakingStyle(**PEOPLE[sitting.people], seed=sitting.seed)
        assert isinstance(pictures.encoder, BatchingEncoder)
        pictures.encoder.read_ahead(list_texts(known, targets, style))
        talks = talk_about(pictures.gallery(), known, targets, style)
        talks.turned(turn_dd).save(file)
        print(sitting.name, len(targets), measure_composer(talks), flush=True)


def list_texts(notes: AnnotatedPhotos, targets: Sequence[str], style: SpeakingStyle) -> Iterator[str]:
    """What people will say of photographs; of those who only describe, also what the composer reads together."""
    sentences = photo_sentences(notes, speaks=style.speaks, seed=style.seed)
    for target in targets:
        said = [split_clauses(text.strip().rstrip(" .")).wanted for text in sentences(target)]
        yield from said
        if style.policy == "describes":
            yield from (join_last(said[: turn + 1]) for turn in range(1, min(len(said), ROUNDS)))


def join_last(said: Sequence[str]) -> str:
    """Descriptions as the composer reads them together."""
    last = _select_last(tuple(Part("words", 0, text, 1.0) for text in said))
    return _join_texts(last) if last else said[-1]


def measure_composer(talks: Talks) -> list[float]:
    """R@10 of the composer turn by turn."""
    wanted_q1 = np.take_along_axis(talks.scores_qn, talks.target_q[:, None], axis=1)
    hits_q = (talks.scores_qn > wanted_q1).sum(axis=1) < 10
    return [round(float(hits_q[talks.turn_q == turn].mean()), 3) for turn in range(talks.turn_q.max() + 1)]


# -- recorded dialogues of other worlds


def record(task: Task, gallery: Gallery) -> Talks:
    """The recorded dialogues of a task, said to the composer; the task's own gallery alone is scored."""
    ranked_n = np.sort(np.array(gallery.rows(task.gallery), np.int64))
    place = {int(row): at for at, row in enumerate(ranked_n)}
    recorder, composer = Recorder(gallery, ranked_n), load_retriever("composer")
    for number, dialogue in enumerate(task.dialogues):
        out_n = [place[row] for row in gallery.rows(dialogue.leaves_out) if row in place]
        queries = query_each_turn(make_conversation(dialogue.turns), gallery, composer)
        for turn, (node, query) in enumerate(queries):
            nats_n = score_in_nats(gallery, query)[ranked_n]
            nats_n[out_n] = -np.inf
            wanted = dialogue.targets[turn] if dialogue.targets else dialogue.target
            assert node.turn is not None
            recorder.note(number, node.turn, (), turn, place[gallery.row(wanted)], query, nats_n)
    return recorder.talks()


def record_column(name: str, part: DataPart, fusion: Path, data: Path, encoder: RememberingEncoder) -> Iterator[Talks]:
    """The dialogues of a column of fusion_data.py, task by task."""
    tasks, plan = read_tasks_of(name, part, fusion, data)
    pictures = load_pictures(plan, encoder, load_system("composer"))
    for task in tasks:
        known = without_shown(match_pictures(task, pictures, plan.limit))
        yield record(known, pictures.gallery(tuple(known.pictures()), known.captions if plan.captions else None))
