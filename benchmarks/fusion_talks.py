"""Conversations that a fusion leads itself: a simulated user looks at what it shows, and says what a person would.

Fashion IQ's dialogues of five turns, and the mixed people of conversations.py, who describe photographs, correct and
compare (nobody asks them anything). For validation some systems lead, and the scores of all are kept as those of
recorded dialogues are (`fusion_data`); in the test every way leads its own dialogues with the same users.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
from conversations import ROUNDS, STYLES
from fusion_data import (
    CHOSEN,
    COMPARED,
    LIMITS,
    Part,
    Queries,
    Scored,
    mean_vectors,
    score_queries,
    write_queries,
    write_scores,
)
from fusion_fit import Gates, fuse, hits, standardise
from jaxtyping import Bool, Float, Float32
from remembering import RememberingEncoder
from side_by_side import TESTS, folder_name
from turn_reader import TurnReader, deviate

from viewfinder.conversation import Conversation, Turn
from viewfinder.data.splits import split_of
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import choose_speaker, load_tasks, load_user_of_plan
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system
from viewfinder.evaluation.replay import RegionScorer, force_pictures
from viewfinder.evaluation.simulate import RESULTS_SHOWN, draw_first_pictures
from viewfinder.query import Query
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import PRODUCTS, describe_conversation
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import best_rows
from viewfinder.search.scores import find_excluded
from viewfinder.session.resolve import resolve_turn
from viewfinder.users import SimulatedUser, SpeakingStyle, photo_person, read_annotations
from viewfinder.users.base import Screen

TALKS_COLUMN = "fashioniq: five turns"
MIXED_TALKS = "mixed: fashioniq, five turns"
"""The same dialogues, searched among the products of all kinds."""

PEOPLE_COLUMN = "photographs: mixed people"
LED: dict[str, tuple[str, ...]] = {TALKS_COLUMN: ("composer", "fashioniq"), PEOPLE_COLUMN: ("composer",)}
"""Who leads the validation dialogues of these columns."""

PEOPLE = 150
"""Photographs that people look for, taken evenly."""


class Lead(Protocol):
    """Orders pictures: `systems` must have scored them before."""

    @property
    def mark(self) -> str:
        """Tells it from others."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems whose scores are needed; the pictures that the first excludes are not shown."""

    @property
    def readers(self) -> Mapping[str, Retriever[Any]]:
        """Systems of its own, by name."""

    def total(self, heard: Heard, hall: Hall) -> Float32[np.ndarray, " n"]:
        """The score of every picture after these turns."""


def mark_all(readers: Mapping[str, Retriever[Any]]) -> Iterator[str]:
    """The fingerprints of weights."""
    return (str(getattr(one, "fingerprint", "")) for one in readers.values())


@dataclass(frozen=True, eq=False)
class Alone:
    """One system leads; `readers`: with other weights than the shipped ones."""

    system: str
    readers: Mapping[str, Retriever[Any]] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """Its name, and what its own weights are."""
        return "-".join([self.system, *mark_all(self.readers)])

    @property
    def systems(self) -> tuple[str, ...]:
        """That one."""
        return (self.system,)

    def total(self, heard: Heard, hall: Hall) -> Float32[np.ndarray, " n"]:
        """Its scores."""
        return heard.scores[self.system]


@dataclass(eq=False)
class Hall:
    """The systems over the gallery of a task; what they make of its pictures is made once."""

    task: Task
    gallery: Gallery
    retrievers: Mapping[str, Retriever[Any]]
    user: SimulatedUser
    means_wd: Float32[np.ndarray, "w d"]
    hides_wanted: bool = False  # people who see what they look for would leave
    regions: dict[str, RegionScorer] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Heard:
    """What there is after a turn: all turns so far, and of every system that listens its query, its scores of all
    pictures, and those that it excludes."""

    turns: tuple[Turn, ...]
    queries: Mapping[str, Query]
    scores: Mapping[str, Float32[np.ndarray, " n"]]
    outs: Mapping[str, Bool[np.ndarray, " n"]]


@dataclass(frozen=True, eq=False)
class Moment:
    """What was heard, and the score of every picture by which the next are shown."""

    heard: Heard
    total_n: Float32[np.ndarray, " n"]


def hold(hall: Hall, dialogue: SearchDialogue, lead: Lead, also: Sequence[str] = ()) -> Iterator[Moment]:
    """One dialogue that `lead` leads; `also`: other systems that listen."""
    gallery = hall.gallery
    known = {**hall.retrievers, **lead.readers}
    listening = {name: known[name] for name in dict.fromkeys((*lead.systems, *also))}
    states = {name: retriever.begin() for name, retriever in listening.items()}
    conversation, turns = Conversation(), tuple[Turn, ...]()
    shown: tuple[str, ...] = (dialogue.first,) if dialogue.first else ()
    all_n, ids = np.arange(len(gallery)), gallery.snapshot.ids
    for number in range(hall.task.rounds):
        seen = tuple(key for key in shown if not (hall.hides_wanted and key == dialogue.target))
        turn = hall.user.reply(dialogue.target, Screen(seen, None, number))
        if turn is None:
            return
        conversation, turns = conversation.then(turn), (*turns, turn)
        queries: dict[str, Query] = {}
        for name, retriever in listening.items():
            resolved = resolve_turn(conversation, conversation.here, gallery, reads=retriever.reads)
            states[name] = retriever.step(states[name], resolved)
            queries[name] = retriever.query(states[name])
        heard = Heard(
            turns,
            queries,
            {name: score_queries([query], gallery, all_n, hall.regions)[0] for name, query in queries.items()},
            {name: np.isin(all_n, find_excluded(gallery, query)) for name, query in queries.items()},
        )
        out_n, total_n = heard.outs[lead.systems[0]], lead.total(heard, hall)
        rows = best_rows(total_n, RESULTS_SHOWN, ~out_n, None, gallery.snapshot.ids_to_order)
        shown = tuple(ids[row] for row in rows)
        conversation = conversation.recorded(shown=shown, asked=None)
        yield Moment(heard, total_n)


def open_halls(
    name: str, work: Path, part: Part | Literal["train"], systems: Sequence[str] = COMPARED
) -> Iterator[Hall]:
    """The tasks of a column, each with its user: of Fashion IQ's dialogue there is one a kind of garment.

    `systems`: that will listen; pictures are prepared for them.
    """
    encoder = RememberingEncoder()
    retrievers = {system: force_pictures(load_system(system)) for system in systems}
    reads_most = retrievers["drilldown" if "drilldown" in systems else systems[0]]
    if name == PEOPLE_COLUMN:
        folder = "photographs" if part == "test" else CHOSEN
        plan = Plan(system="composer", data=work / folder, protocol="captions", features=work / "features" / folder)
        style = SpeakingStyle(**STYLES["mixed"])
        person = photo_person(read_annotations(plan.data), style=style)
        pictures = load_pictures(plan, encoder, reads_most)
        for task in load_tasks(plan):
            known = replace(match_pictures(task, pictures, PEOPLE), rounds=ROUNDS)
            gallery = pictures.gallery(known.gallery)
            yield Hall(known, gallery, retrievers, person, mean_vectors(work), hides_wanted=True)
        return
    test = TESTS[TALKS_COLUMN if name == MIXED_TALKS else name]
    plan = Plan(
        system="composer", data=work / test.data, protocol=test.protocol, task=test.task, split=part,
        limit={"test": test.limit, "val": LIMITS["val"] // 6, "train": None}[part],
        features=work / "features" / test.data,
    )  # fmt: skip
    pictures = load_pictures(plan, encoder, reads_most)
    for task in load_tasks(plan):
        speaker = choose_speaker(task, plan, load_user_of_plan(plan, encoder))
        known = draw_first_pictures(match_pictures(task, pictures, plan.limit), plan.seed)
        assert speaker is not None, "nothing is recorded"
        if name == MIXED_TALKS:
            known = replace(known, gallery=tuple(key for key in pictures.keys if split_of(key) == part))
        yield Hall(known, pictures.gallery(known.gallery), retrievers, speaker, mean_vectors(work))


def score_validation_talks(work: Path, own: Mapping[str, Retriever[Any]] = MappingProxyType({})) -> None:
    """Keeps the scores of all systems in validation dialogues that some of them lead; `own`: or those of other ones."""
    for name, leaders in LED.items():
        home = work / "scores" / "val" / folder_name(name)
        new = [one for one in own or COMPARED if not (home / f"{one}.done").is_file()]
        if not new:
            continue
        for number, hall in enumerate(open_halls(name, work, "val")):
            for at, leader in enumerate(leaders):
                held = [list(hold(hall, one, Alone(leader, own), new)) for one in hall.task.dialogues]
                keep_talks(home / str(len(leaders) * number + at), hall, held, new)
                print("val", name, hall.task.name, leader, new, len(held), flush=True)
        for one in new:
            (home / f"{one}.done").touch()


def keep_talks(folder: Path, hall: Hall, held: Sequence[Sequence[Moment]], systems: Sequence[str]) -> None:
    """Keeps the scores of systems in some dialogues, one for each of the task."""
    moments = [(place, moment) for place, talk in enumerate(held) for moment in talk]
    targets = [hall.gallery.row(one.target) for one in hall.task.dialogues]
    ends = {id(talk[-1]) for talk in held if talk}
    queries = Queries(
        tuple(one.id for one in hall.task.dialogues), np.array([place for place, _ in moments]),
        np.array([targets[place] for place, _ in moments]), np.array([id(one) in ends for _, one in moments]),
        np.array([describe_conversation(one.heard.turns) for _, one in moments], np.float32),
        hall.gallery.snapshot.matrix_nd[:].mean(axis=0), captions=False,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_queries(folder, queries)
    for system in systems:
        write_scores(folder, system, stack_heard([one.heard for _, one in moments], system))


def stack_heard(some: Sequence[Heard], system: str) -> Scored:
    """What a system made of every moment."""
    return Scored(
        np.stack([heard.scores[system] for heard in some]),
        np.stack([heard.outs[system] for heard in some]),
        np.array([heard.queries[system].sharpness for heard in some], np.float32),
        0.0,
    )


@dataclass(frozen=True, eq=False)
class Fused:
    """Systems lead together; `reader`: with the opinion of a turn network, of a weight; `own`: some systems with other
    weights than the shipped ones; `members`: whose scores are added up; `asked`: as `standardise`."""

    gates: Gates
    least: float = 0.0  # systems of a smaller share are left out
    reader: TurnReader | None = None
    nats: float = 0.0
    own: Mapping[str, Retriever[Any]] = field(default_factory=dict)
    members: Sequence[str] = COMPARED
    asked: Mapping[str, Sequence[str]] | None = None

    @property
    def mark(self) -> str:
        """A digest of its weights."""
        numbers = self.gates.a_s.tobytes() + self.gates.w_sx.tobytes() + str(self.least).encode()
        if self.reader is not None:
            numbers += self.reader.fingerprint + str(self.nats).encode()
        numbers += "".join(mark_all(self.own)).encode()
        if self.asked is not None:
            numbers += repr(sorted(self.asked.items())).encode()
        return hashlib.blake2b(numbers, digest_size=8).hexdigest()

    @property
    def systems(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(dict.fromkeys((*self.members, *self.readers)))

    @property
    def readers(self) -> Mapping[str, Retriever[Any]]:
        """Those with weights of their own, and the turn network, if it is heard."""
        return dict(self.own) if self.reader is None else {**self.own, self.reader.name: self.reader}

    def total(self, heard: Heard, hall: Hall) -> Float32[np.ndarray, " n"]:
        """The weighted sum of their standardised scores."""
        none_q, said_qf = np.zeros(1, int), np.array([describe_conversation(heard.turns)], np.float32)
        mean_d = hall.gallery.snapshot.matrix_nd[:].mean(axis=0)
        queries = Queries(("",), none_q, none_q, np.ones(1, bool), said_qf, mean_d, captions=False)
        scored = {name: stack_heard([heard], name) for name in self.members}
        one = standardise(TALKS_COLUMN, queries, scored, hall.means_wd, self.asked)
        total_n: Float32[np.ndarray, " n"] = fuse(one.z_qsn, self.gates.kept_weights(one, self.least))[0]
        if self.reader is not None and one.world == PRODUCTS:
            total_n = total_n + np.float32(self.nats) * deviate(heard.scores[self.reader.name][None])[0]
        return total_n


def lead_talks(
    name: str, work: Path, leads: Mapping[str, Sequence[Lead]], part: Part = "test"
) -> dict[str, Float[np.ndarray, "e c t"]]:
    """Whether the wanted picture is among the first ten after every turn, for every lead in dialogues of its own.

    A dialogue that ends early keeps what it has found.
    """
    return hear_leads(name, work, leads, part, lambda hall, one, lead: list(hear_out(hall, one, lead)))


def hear_leads(
    name: str,
    work: Path,
    leads: Mapping[str, Sequence[Lead]],
    part: Part,
    hear: Callable[[Hall, SearchDialogue, Lead], Sequence[float]],
) -> dict[str, Float[np.ndarray, "e c v"]]:
    """What is heard of every dialogue, for every lead in dialogues of its own; what is done is kept, by its weights."""
    found: dict[str, list[list[Sequence[float]]]] = {way: [[] for _ in some] for way, some in leads.items()}
    home = work / "talks" / part / folder_name(name)
    for number, hall in enumerate(open_halls(name, work, part)):
        for way, some in leads.items():
            for seed, lead in enumerate(some):
                file = home / f"{number}-{lead.mark}.npy"
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    np.save(file, np.array([hear(hall, one, lead) for one in hall.task.dialogues]))
                found[way][seed] += np.load(file).tolist()
            print(name, hall.task.name, way, np.mean(found[way], axis=(0, 1)).round(3), flush=True)
    return {way: np.array(values) for way, values in found.items()}


def hear_out(hall: Hall, dialogue: SearchDialogue, lead: Lead) -> Iterator[float]:
    """Whether the wanted picture is among the first ten, turn by turn."""
    target_q, found = np.array([hall.gallery.row(dialogue.target)]), 0.0
    moments = hold(hall, dialogue, lead)
    for _ in range(hall.task.rounds):
        if (moment := next(moments, None)) is not None:
            out_1n = moment.heard.outs[lead.systems[0]][None]
            [found] = hits(moment.total_n[None], target_q, out_1n).tolist()
        yield found
