"""Conversations that a fusion leads itself: a simulated user looks at what it shows, and says what a person would.

Fashion IQ's dialogues of five turns: for validation the composer and Fashion IQ lead, and the scores of all systems are
kept as those of recorded dialogues are (`fusion_data`); in the test every way leads its own dialogues with the same
users, who begin with the same pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
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
from viewfinder.users import SimulatedUser
from viewfinder.users.base import Screen

TALKS_COLUMN = "fashioniq: five turns"
LEADERS = ("composer", "fashioniq")
"""Who leads the validation dialogues."""


class Lead(Protocol):
    """Orders pictures: `systems` must have scored them before."""

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
    means_wd: Float32[np.ndarray, "w d"]
    regions: dict[str, RegionScorer] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Moment:
    """What there is after a turn: all turns so far, the scores of the systems that listen, and the order of all."""

    turns: tuple[Turn, ...]
    scores: Mapping[str, Float32[np.ndarray, " n"]]
    outs: Mapping[str, Bool[np.ndarray, " n"]]
    total_n: Float32[np.ndarray, " n"]


def hold(
    hall: Hall, dialogue: SearchDialogue, user: SimulatedUser, lead: Lead, also: Sequence[str] = ()
) -> Iterator[Moment]:
    """One dialogue that `lead` leads; `also`: other systems that listen."""
    gallery = hall.gallery
    listening = {name: hall.retrievers[name] for name in dict.fromkeys((*lead.systems, *also))}
    states = {name: retriever.begin() for name, retriever in listening.items()}
    conversation, turns = Conversation(), tuple[Turn, ...]()
    shown: tuple[str, ...] = (dialogue.first,) if dialogue.first else ()
    all_n, ids = np.arange(len(gallery)), gallery.snapshot.ids
    for number in range(hall.task.rounds):
        turn = user.reply(dialogue.target, Screen(shown, None, number))
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


def open_halls(work: Path, part: Part) -> Iterator[tuple[Hall, SimulatedUser]]:
    """The tasks of Fashion IQ's dialogue, one a kind of garment, each with its user."""
    test = TESTS[TALKS_COLUMN]
    limit = test.limit if part == "test" else LIMITS[part] // 3
    plan = Plan(
        system="composer", data=work / test.data, protocol=test.protocol, task=test.task, split=part, limit=limit,
        features=work / "features" / test.data,
    )  # fmt: skip
    encoder = RememberingEncoder()
    retrievers = {name: force_pictures(load_system(name)) for name in SYSTEMS}
    pictures = load_pictures(plan, encoder, retrievers["drilldown"])
    for task in load_tasks(plan):
        speaker = choose_speaker(task, plan, load_user_of_plan(plan, encoder))
        known = draw_first_pictures(match_pictures(task, pictures, limit), plan.seed)
        gallery = pictures.gallery(known.gallery)
        assert speaker is not None, "nothing is recorded"
        yield Hall(known, gallery, retrievers, mean_vectors(work)), speaker


def score_validation_talks(work: Path) -> None:
    """Keeps the scores of all systems in validation dialogues that the composer and Fashion IQ lead."""
    home = work / "scores" / "val" / folder_name(TALKS_COLUMN)
    if (home / "done").is_file():
        return
    for number, (hall, user) in enumerate(open_halls(work, "val")):
        for at, leader in enumerate(LEADERS):
            ids = [one.id for one in hall.task.dialogues]
            held = [list(hold(hall, one, user, Alone(leader), SYSTEMS)) for one in hall.task.dialogues]
            moments = [(place, moment) for place, talk in enumerate(held) for moment in talk]
            targets = [hall.gallery.row(one.target) for one in hall.task.dialogues]
            folder = home / str(len(LEADERS) * number + at)
            folder.mkdir(parents=True, exist_ok=True)
            queries = Queries(
                tuple(ids),
                np.array([place for place, _ in moments]),
                np.array([targets[place] for place, _ in moments]),
                np.array([len(one.turns) == hall.task.rounds for _, one in moments]),
                np.array([describe_conversation(one.turns) for _, one in moments], np.float32),
                hall.gallery.snapshot.matrix_nd.mean(axis=0),
                captions=False,
            )
            write_queries(folder, queries)
            for name in SYSTEMS:
                scores_qn = np.stack([one.scores[name] for _, one in moments])
                write_scores(folder, name, Scored(scores_qn, np.stack([one.outs[name] for _, one in moments]), 0.0))
            print("val", TALKS_COLUMN, hall.task.name, leader, len(moments), flush=True)
    (home / "done").touch()


@dataclass(frozen=True, eq=False)
class Fused:
    """All systems lead together."""

    gates: Gates

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
        mean_d = hall.gallery.snapshot.matrix_nd.mean(axis=0)
        queries = Queries(("",), none_q, none_q, np.ones(1, bool), said_qf, mean_d, captions=False)
        scored = {name: Scored(scores_n[None], out_n[None], 0.0) for name, scores_n in scores.items()}
        one = standardise(TALKS_COLUMN, queries, scored, hall.means_wd)
        total_n: Float32[np.ndarray, " n"] = fuse(one.z_qsn, self.gates.weights(one))[0]
        return total_n


def talk_in_test(work: Path, leads: Mapping[str, Sequence[Lead]]) -> dict[str, Float[np.ndarray, "e c"]]:
    """Whether the wanted picture is among the first ten after the last turn, for every lead in dialogues of its own."""
    found: dict[str, list[list[float]]] = {name: [[] for _ in some] for name, some in leads.items()}
    for hall, user in open_halls(work, "test"):
        for name, some in leads.items():
            for seed, lead in enumerate(some):
                for dialogue in hall.task.dialogues:
                    *_, end = hold(hall, dialogue, user, lead)
                    target_q, out_n = np.array([hall.gallery.row(dialogue.target)]), end.outs[lead.systems[0]]
                    found[name][seed] += hits(end.total_n[None], target_q, out_n[None]).tolist()
            print(TALKS_COLUMN, hall.task.name, name, np.mean(found[name]), flush=True)
    return {name: np.array(values) for name, values in found.items()}
