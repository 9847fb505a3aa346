"""Conversations that a fusion leads itself: a simulated user looks at what it shows, and says what a person would.

Fashion IQ's dialogues of five turns, and the mixed people of conversations.py, who describe photographs, correct and
compare (nobody asks them anything). For validation of the first, two systems lead, and the scores of all are kept as
those of recorded dialogues are (`fusion_data`); in the test every way leads its own dialogues with the same users.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from conversations import ROUNDS, STYLES
from fusion_data import (
    LIMITS,
    SYSTEMS,
    Part,
    Queries,
    Scored,
    describe_conversation,
    mean_vectors,
    score_queries,
    write_queries,
    write_scores,
)
from fusion_fit import Gates, fuse, hits, standardise
from jaxtyping import Bool, Float, Float32
from remembering import RememberingEncoder
from side_by_side import TESTS, folder_name

from viewfinder.conversation import Conversation, Turn
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import choose_speaker, load_tasks, load_user_of_plan
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system
from viewfinder.evaluation.replay import RegionScorer, force_pictures
from viewfinder.evaluation.simulate import RESULTS_SHOWN, draw_first_pictures
from viewfinder.retrievers import Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.search.kernels import best_rows
from viewfinder.search.scores import find_excluded
from viewfinder.session.resolve import resolve_turn
from viewfinder.users import SimulatedUser, SpeakingStyle, photo_person, read_annotations
from viewfinder.users.base import Screen

TALKS_COLUMN = "fashioniq: five turns"
PEOPLE_COLUMN = "photographs: mixed people"
LEADERS = ("composer", "fashioniq")
"""Who leads the validation dialogues of Fashion IQ's form; of the people there are none: nothing is fitted on them."""

LED = (TALKS_COLUMN, PEOPLE_COLUMN)

PEOPLE = 150
"""Photographs of the test that people look for, taken evenly."""


class Lead(Protocol):
    """Orders pictures: `systems` must have scored them before."""

    @property
    def mark(self) -> str:
        """Tells it from others."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems whose scores are needed; the pictures that the first excludes are not shown."""

    def total(
        self, turns: Sequence[Turn], scores: Mapping[str, Float32[np.ndarray, " n"]], hall: Hall,
        out_n: Bool[np.ndarray, " n"],
    ) -> Float32[np.ndarray, " n"]:  # fmt: skip
        """The score of every picture after these turns."""


@dataclass(frozen=True)
class Alone:
    """One system leads."""

    system: str

    @property
    def mark(self) -> str:
        """Its name."""
        return self.system

    @property
    def systems(self) -> tuple[str, ...]:
        """That one."""
        return (self.system,)

    def total(
        self, turns: Sequence[Turn], scores: Mapping[str, Float32[np.ndarray, " n"]], hall: Hall,
        out_n: Bool[np.ndarray, " n"],
    ) -> Float32[np.ndarray, " n"]:  # fmt: skip
        """Its scores."""
        return scores[self.system]


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
class Moment:
    """What there is after a turn: all turns so far, the scores of the systems that listen, and the order of all."""

    turns: tuple[Turn, ...]
    scores: Mapping[str, Float32[np.ndarray, " n"]]
    outs: Mapping[str, Bool[np.ndarray, " n"]]
    total_n: Float32[np.ndarray, " n"]


def hold(hall: Hall, dialogue: SearchDialogue, lead: Lead, also: Sequence[str] = ()) -> Iterator[Moment]:
    """One dialogue that `lead` leads; `also`: other systems that listen."""
    gallery = hall.gallery
    listening = {name: hall.retrievers[name] for name in dict.fromkeys((*lead.systems, *also))}
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
        scores, outs = dict[str, Float32[np.ndarray, " n"]](), dict[str, Bool[np.ndarray, " n"]]()
        for name, retriever in listening.items():
            heard = resolve_turn(conversation, conversation.here, gallery, reads=retriever.reads)
            states[name] = retriever.step(states[name], heard)
            query = retriever.query(states[name])
            [scores[name]] = score_queries([query], gallery, all_n, hall.regions)
            outs[name] = np.isin(all_n, find_excluded(gallery, query))
        out_n = outs[lead.systems[0]]
        total_n = lead.total(turns, scores, hall, out_n)
        rows = best_rows(total_n, RESULTS_SHOWN, ~out_n, None, gallery.snapshot.ids_to_order)
        shown = tuple(ids[row] for row in rows)
        conversation = conversation.recorded(shown=shown, asked=None)
        yield Moment(turns, scores, outs, total_n)


def open_halls(name: str, work: Path, part: Part) -> Iterator[Hall]:
    """The tasks of a column, each with its user: of Fashion IQ's dialogue there is one a kind of garment."""
    encoder = RememberingEncoder()
    retrievers = {system: force_pictures(load_system(system)) for system in SYSTEMS}
    if name == PEOPLE_COLUMN:
        folder = "photographs"
        plan = Plan(system="composer", data=work / folder, protocol="captions", features=work / "features" / folder)
        style = SpeakingStyle(**STYLES["mixed"])
        person = photo_person(read_annotations(plan.data), style=style)
        pictures = load_pictures(plan, encoder, retrievers["drilldown"])
        for task in load_tasks(plan):
            known = replace(match_pictures(task, pictures, PEOPLE), rounds=ROUNDS)
            gallery = pictures.gallery(known.gallery)
            yield Hall(known, gallery, retrievers, person, mean_vectors(work), hides_wanted=True)
        return
    test = TESTS[name]
    plan = Plan(
        system="composer", data=work / test.data, protocol=test.protocol, task=test.task, split=part,
        limit=test.limit if part == "test" else LIMITS[part] // 6, features=work / "features" / test.data,
    )  # fmt: skip
    pictures = load_pictures(plan, encoder, retrievers["drilldown"])
    for task in load_tasks(plan):
        speaker = choose_speaker(task, plan, load_user_of_plan(plan, encoder))
        known = draw_first_pictures(match_pictures(task, pictures, plan.limit), plan.seed)
        assert speaker is not None, "nothing is recorded"
        yield Hall(known, pictures.gallery(known.gallery), retrievers, speaker, mean_vectors(work))


def score_validation_talks(work: Path) -> None:
    """Keeps the scores of all systems in validation dialogues that some of them lead."""
    home = work / "scores" / "val" / folder_name(TALKS_COLUMN)
    if (home / "done").is_file():
        return
    for number, hall in enumerate(open_halls(TALKS_COLUMN, work, "val")):
        for at, leader in enumerate(LEADERS):
            held = [list(hold(hall, one, Alone(leader), SYSTEMS)) for one in hall.task.dialogues]
            keep_talks(home / str(len(LEADERS) * number + at), hall, held)
            print("val", TALKS_COLUMN, hall.task.name, leader, len(held), flush=True)
    (home / "done").touch()


def keep_talks(folder: Path, hall: Hall, held: Sequence[Sequence[Moment]]) -> None:
    """Keeps the scores of all systems in some dialogues, one for each of the task."""
    moments = [(place, moment) for place, talk in enumerate(held) for moment in talk]
    targets = [hall.gallery.row(one.target) for one in hall.task.dialogues]
    ends = {id(talk[-1]) for talk in held if talk}
    queries = Queries(
        tuple(one.id for one in hall.task.dialogues), np.array([place for place, _ in moments]),
        np.array([targets[place] for place, _ in moments]), np.array([id(one) in ends for _, one in moments]),
        np.array([describe_conversation(one.turns) for _, one in moments], np.float32),
        hall.gallery.snapshot.matrix_nd[:].mean(axis=0), captions=False,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_queries(folder, queries)
    for system in SYSTEMS:
        scores_qn, out_qn = (np.stack([some[system] for some in each]) for each in (
            [one.scores for _, one in moments], [one.outs for _, one in moments],
        ))  # fmt: skip
        write_scores(folder, system, Scored(scores_qn, out_qn, 0.0))


@dataclass(frozen=True, eq=False)
class Fused:
    """All systems lead together."""

    gates: Gates

    @property
    def mark(self) -> str:
        """A digest of its weights."""
        numbers = self.gates.a_s.tobytes() + self.gates.w_sx.tobytes()
        return hashlib.blake2b(numbers, digest_size=8).hexdigest()

    @property
    def systems(self) -> tuple[str, ...]:
        """All of them."""
        return SYSTEMS

    def total(
        self, turns: Sequence[Turn], scores: Mapping[str, Float32[np.ndarray, " n"]], hall: Hall,
        out_n: Bool[np.ndarray, " n"],
    ) -> Float32[np.ndarray, " n"]:  # fmt: skip
        """The weighted sum of their standardised scores."""
        none_q, said_qf = np.zeros(1, int), np.array([describe_conversation(turns)], np.float32)
        mean_d = hall.gallery.snapshot.matrix_nd[:].mean(axis=0)
        queries = Queries(("",), none_q, none_q, np.ones(1, bool), said_qf, mean_d, captions=False)
        scored = {name: Scored(scores_n[None], out_n[None], 0.0) for name, scores_n in scores.items()}
        one = standardise(TALKS_COLUMN, queries, scored, hall.means_wd)
        total_n: Float32[np.ndarray, " n"] = fuse(one.z_qsn, self.gates.weights(one))[0]
        return total_n


def talk_in_test(name: str, work: Path, leads: Mapping[str, Sequence[Lead]]) -> dict[str, Float[np.ndarray, "e c t"]]:
    """Whether the wanted picture is among the first ten after every turn, for every lead in dialogues of its own.

    What is done is kept, by the lead's weights. A dialogue that ends early keeps what it has found.
    """
    found: dict[str, list[list[list[float]]]] = {way: [[] for _ in some] for way, some in leads.items()}
    for number, hall in enumerate(open_halls(name, work, "test")):
        for way, some in leads.items():
            for seed, lead in enumerate(some):
                file = work / "talks" / folder_name(name) / f"{number}-{lead.mark}.npy"
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    np.save(file, np.array([list(hear_out(hall, one, lead)) for one in hall.task.dialogues]))
                found[way][seed] += np.load(file).tolist()
            print(name, hall.task.name, way, np.mean(found[way], axis=(0, 1)).round(3), flush=True)
    return {way: np.array(values) for way, values in found.items()}


def hear_out(hall: Hall, dialogue: SearchDialogue, lead: Lead) -> Iterator[float]:
    """Whether the wanted picture is among the first ten, turn by turn."""
    target_q, found = np.array([hall.gallery.row(dialogue.target)]), 0.0
    moments = hold(hall, dialogue, lead)
    for _ in range(hall.task.rounds):
        if (moment := next(moments, None)) is not None:
            out_1n = moment.outs[lead.systems[0]][None]
            [found] = hits(moment.total_n[None], target_q, out_1n).tolist()
        yield found
