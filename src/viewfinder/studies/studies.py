"""Studies with people: created, taken part in, exported; their conversations belong to them and are in no list.

A participant's steps: `join` (the consent is kept), then for each trial `start` (the picture comes into view), `take` a
turn as often as there are rounds, and `end`. The state of a trial is read from its conversation, so a reloaded page or
a restarted server continues where it was.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from viewfinder.conversation import Answer, Conversation, Like, Reject, Say, Turn
from viewfinder.server.access.tokens import Caller
from viewfinder.server.conversations.schemas import AnswerTurn, LikeTurn, RejectTurn, SayTurn, SessionIn, TurnIn
from viewfinder.server.database import StudyRow, StudyRows, TrialRow
from viewfinder.server.problems import Problem, not_found
from viewfinder.store.snapshot import Snapshot
from viewfinder.studies.figures import (
    FOUND,
    GIVEN_UP,
    GONE,
    MISTAKEN,
    ROUNDS_OVER,
    Count,
    EndedTrial,
    export_archive,
    export_lines,
    make_runs,
    select_trials,
    study_figures,
)
from viewfinder.studies.plan import (
    Asked,
    Drawn,
    Kind,
    Participation,
    PublicStudy,
    SeenPicture,
    SettledPlan,
    Study,
    StudyCounts,
    StudyFigures,
    StudyPlan,
    Trial,
    TrialTurn,
    assign_trials,
    draw_targets,
    participant_group,
)

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.conversations.conversations import Conversations
    from viewfinder.server.database import RequestKey


def check_turn(task: Kind, turn: TurnIn, conversation: Conversation) -> TurnIn:
    """The turn as it is taken, after what was said in a trial so far.

    Raises:
        Problem: the task has no such turn now (what it has is said), or a picture is named that was not shown.
    """
    asked, named = conversation.pending is not None, list[str]()
    match task, turn:
        case ("describe" | "feedback", SayTurn()):
            pass
        case ("answer", SayTurn()) if not asked:
            pass
        case ("answer", AnswerTurn(answer=text)) if asked:
            turn = AnswerTurn(answer=text)  # to the question that is open, whatever the request says it answers
        case ("feedback", LikeTurn(like=picture)):
            named = [picture]
        case ("feedback", RejectTurn(reject=pictures)):
            named = pictures
        case ("feedback", _):
            raise Problem(422, "not-in-this-study", "this study takes the turns say, like and reject")
        case _:
            now = "answer" if task == "answer" and asked else "say"
            raise Problem(422, "not-in-this-study", f"at this point of the study the turn is: {now}")
    check_shown(named, conversation)
    return turn


def check_shown(pictures: Sequence[str], conversation: Conversation) -> None:
    """Raises Problem 422 for a picture that was not among the results of a trial."""
    seen = {picture for node in conversation.nodes for picture in node.shown}
    for picture in pictures:
        if picture not in seen:
            raise Problem(422, "not-shown", f"{picture} was not among the results of this trial")


def describe_trial_turn(turn: Turn) -> TrialTurn:
    """A turn as its participant sees it."""
    match turn:
        case Say(text):
            return TrialTurn(kind="say", text=text, pictures=[], question=None)
        case Answer(question, text):
            return TrialTurn(kind="answer", text=text, pictures=[], question=question.text)
        case Like(picture, text):
            return TrialTurn(kind="like", text=text, pictures=[picture], question=None)
        case Reject(pictures, text):
            return TrialTurn(kind="reject", text=text, pictures=list(pictures), question=None)
        case _:
            raise ValueError(f"{turn} is no turn of a study")


def show_trial(plan: StudyPlan, row: TrialRow, conversation: Conversation, snapshot: Snapshot, now: float) -> Trial:
    """A trial as its participant sees it at the moment `now`: no retriever, file, score or place of the target.

    A picture to remember is in view for a while, before the first turn: what comes after is from memory.
    """
    rounds, started = len(conversation), row.started is not None
    left = None
    if row.started is not None and plan.target == "remembered" and not rounds:
        left = max(row.started + plan.seconds - now, 0.0) or None
    in_view = started and (plan.target == "shown" or left is not None)
    asked = conversation.pending if rounds < plan.rounds else None
    shown = conversation.here.shown if rounds else None
    return Trial(
        id=row.id,
        number=row.number,
        task=plan.task,
        started=started,
        target=next(iter(_show_pictures([row.target], snapshot)), None) if in_view else None,
        seconds_left=left,
        rounds_left=plan.rounds - rounds,
        said=[describe_trial_turn(node.turn) for node in conversation.nodes if node.turn is not None],
        results=None if shown is None else _show_pictures(shown, snapshot),
        question=None if asked is None else Asked(text=asked.text, choices=list(asked.choices)),
    )


def _show_pictures(ids: Sequence[str], snapshot: Snapshot) -> list[SeenPicture]:
    """These pictures; what has left the library meanwhile is left out."""
    there = [(picture, row) for picture in ids if (row := snapshot.row_of(picture)) is not None]
    sizes = [(picture, *snapshot.size(row)) for picture, row in there]
    return [SeenPicture(id=picture, width=width, height=height) for picture, width, height in sizes]


_ID = re.compile(r"[0-9a-f-]{36}")

LOCKS = 64
"""How many trials are worked on at a time; two requests for one trial wait for each other."""


class Studies:
    """All studies of a server."""

    def __init__(self, rows: StudyRows, conversations: Conversations, library: Library) -> None:
        self._rows = rows
        self._conversations = conversations
        self._library = library
        self._locks = [threading.Lock() for _ in range(LOCKS)]
        self._figures: dict[tuple[str, Count], tuple[int, StudyFigures]] = {}

    # -- for those who run a study

    def create(self, plan: StudyPlan) -> Study:
        """A study, open at once.

        Raises:
            UnknownName, BadInput: there is no such picture, retriever or questioner; or too few pictures.
            Problem: a retriever has yet to be prepared.
        """
        gallery = self._library.gallery()
        targets = draw_targets(gallery.snapshot.ids, plan.targets) if isinstance(plan.targets, Drawn) else plan.targets
        for target in targets:
            gallery.row(target)
        study = str(uuid.uuid4())
        for arm in range(len(plan.retrievers)):  # what cannot be is said now
            self._conversations.delete(_owner(study), self._begin_conversation(study, plan, arm))
        settled = SettledPlan(plan=plan, targets=targets, pictures=len(gallery), encoder=gallery.encoder.version)
        row = StudyRow(study, plan.name, settled.model_dump(mode="json"), True, time.time())
        self._rows.create(row)
        return self._study(row)

    def all(self) -> list[Study]:
        """Every study, the newest first."""
        return [self._study(row) for row in self._rows.all()]

    def close(self, study: str) -> Study:
        """From now on nobody joins; who takes part may go on to the end."""
        self._row(study)
        self._rows.close(study)
        return self._study(self._row(study))

    def figures(self, study: str, count: Count) -> StudyFigures:
        """What it came to so far; a large study takes seconds, so the last answer is kept until a trial ends."""
        row = self._row(study)
        ended = self._ended(row)
        known = self._figures.get((study, count))
        if known is None or known[0] != len(ended):  # a trial that has ended does not change any more
            known = len(ended), study_figures(_settled(row), ended, count)
            self._figures[study, count] = known
        return known[1]

    def lines(self, study: str) -> Iterator[str]:
        """All of it as JSON lines: the study, then a line a participant with trials, conversations and ranks."""
        row = self._row(study)
        return export_lines(
            row, self._rows, lambda session: self._conversations.export(_owner(study), session).conversation
        )

    def archive(self, study: str, count: Count) -> bytes:
        """A run folder for each retriever, zipped, as `viewfinder compare` reads them."""
        row = self._row(study)
        runs = make_runs(_settled(row), select_trials(self._ended(row), count))
        if not runs:
            raise Problem(409, "no-trials", f"no trial of the study {row.name!r} has ended yet")
        return export_archive(runs)

    # -- for participants

    def public(self, study: str) -> PublicStudy:
        """What one may know before taking part."""
        row = self._row(study)
        settled = _settled(row)
        plan = settled.plan
        return PublicStudy(
            id=row.id,
            name=row.name,
            consent=plan.consent,
            instructions=plan.instructions,
            task=plan.task,
            target=plan.target,
            seconds=plan.seconds if plan.target == "remembered" else None,
            rounds=plan.rounds,
            trials=len(assign_trials(settled, 1)),
            open=row.open,
            participants=len(self._rows.participants(study)),
        )

    def join(self, study: str) -> Participation:
        """A new participant, who has agreed to the consent text; Problem 409 where the study is closed."""
        row = self._row(study)
        if not row.open:
            raise Problem(409, "study-closed", f"the study {row.name!r} takes no more participants")
        settled = _settled(row)
        participant = self._rows.add_participant(study, settled.plan.consent, time.time())
        self._rows.add_trials(
            [
                TrialRow(str(uuid.uuid4()), participant.id, trial.number, trial.arm, trial.target)
                for trial in assign_trials(settled, participant.number)
            ]
        )
        return self.participation(study, participant.id)

    def participation(self, study: str, participant: str) -> Participation:
        """How far a participant is, and the trial that is next or under way."""
        row = self._row(study)
        self._check_takes_part(study, participant)
        trials = self._rows.trials(participant)
        done = sum(trial.outcome is not None for trial in trials)
        waiting = next((trial for trial in trials if trial.outcome is None), None)
        trial = None
        if waiting is not None:
            snapshot, conversation = self._library.gallery().snapshot, self._conversation(study, waiting)
            trial = show_trial(_settled(row).plan, waiting, conversation, snapshot, time.time())
        return Participation(id=participant, done=done, of=len(trials), trial=trial)

    def start(self, study: str, participant: str, trial: str) -> Participation:
        """The picture comes into view, and the clock runs; starting again changes nothing."""
        with self._lock(trial):
            plan, row = self._under_way(study, participant, trial)
            if row.started is None:
                session = self._begin_conversation(study, plan, row.arm)
                self._rows.change_trial(trial, session=session, started=time.time())
        return self.participation(study, participant)

    def take(
        self, study: str, participant: str, trial: str, turn: TurnIn, key: RequestKey | None = None
    ) -> Participation:
        """One round; where the plan asks, the next question is chosen as well. With a `key` that took a round before,
        none is taken.

        Raises:
            Problem: the trial has not started, has ended or has no rounds left; the study has no such turn.
        """
        with self._lock(trial):
            plan, row = self._under_way(study, participant, trial)
            conversation = self._conversation(study, row)
            if row.session is None:
                raise Problem(409, "not-started", "this trial has not started yet")
            if (said := self._conversations.find_said(row.session, key)) is None:
                if len(conversation) >= plan.rounds:
                    raise Problem(409, "rounds-over", f"all {plan.rounds} rounds of this trial were taken")
                if self._library.gallery().snapshot.row_of(row.target) is None:
                    raise Problem(
                        409, "picture-gone", "the picture to find has left the library: go on to the next one"
                    )
                turn = check_turn(plan.task, turn, conversation)
                number = self._conversations.take(_owner(study), row.session, turn, key).turn
            else:  # its first request may have ended between the turn and what follows from it
                number = said.number
            self._conversations.question(row.session, number)
            self._rows.change_trial(trial, ranks=self._ranks(row, number))
        return self.participation(study, participant)

    def end(self, study: str, participant: str, trial: str, found: str | None) -> Participation:
        """The trial is over: a picture was found, the rounds were not enough, or the participant gave up.

        Raises:
            Problem: it has not started or has ended; `found` was not among the results.
        """
        with self._lock(trial):
            plan, row = self._under_way(study, participant, trial)
            if row.session is None:
                raise Problem(409, "not-started", "this trial has not started yet")
            conversation = self._conversation(study, row)
            check_shown([] if found is None else [found], conversation)
            if self._library.gallery().snapshot.row_of(row.target) is None:
                outcome, ranks = GONE, list(row.ranks)
            else:
                rounds = len(conversation)
                outcome = ROUNDS_OVER if rounds >= plan.rounds else GIVEN_UP
                if found is not None:
                    outcome = FOUND if found == row.target else MISTAKEN
                ranks = self._ranks(row, rounds)
            self._rows.change_trial(trial, outcome=outcome, chosen=found, ranks=ranks, ended=time.time())
        return self.participation(study, participant)

    # -- inside

    def _lock(self, trial: str) -> threading.Lock:
        return self._locks[hash(trial) % LOCKS]

    def _row(self, study: str) -> StudyRow:
        row = self._rows.get(study) if _ID.fullmatch(study) else None
        if row is None:
            raise not_found("study", study)
        return row

    def _check_takes_part(self, study: str, participant: str) -> None:
        found = self._rows.participant(participant) if _ID.fullmatch(participant) else None
        if found is None or found.study != study:
            raise not_found("participant", participant)

    def _under_way(self, study: str, participant: str, trial: str) -> tuple[StudyPlan, TrialRow]:
        """The plan and a trial of this participant that has not ended; trials are taken in their order."""
        plan = _settled(self._row(study)).plan
        self._check_takes_part(study, participant)
        trials = self._rows.trials(participant)
        row = next((one for one in trials if one.id == trial), None)
        if row is None:
            raise not_found("trial", trial)
        if row.outcome is not None:
            raise Problem(409, "trial-over", "this trial has ended")
        if any(one.outcome is None for one in trials[: trials.index(row)]):
            raise Problem(409, "not-yet", "another trial comes before this one")
        return plan, row

    def _begin_conversation(self, study: str, plan: StudyPlan, arm: int) -> str:
        given = SessionIn(name=plan.name, retriever=plan.retrievers[arm], questioner=plan.asks, n=plan.n)
        return self._conversations.create(_owner(study), given, hidden=True).id

    def _conversation(self, study: str, row: TrialRow) -> Conversation:
        if row.session is None:
            return Conversation()
        return Conversation.from_json(self._conversations.export(_owner(study), row.session).conversation)

    def _ranks(self, row: TrialRow, rounds: int) -> list[Sequence[int]]:
        """The ranks after each round; a server may have ended between a turn and its rank, so all that are missing."""
        assert row.session is not None
        missing = range(len(row.ranks) + 1, rounds + 1)
        return [*row.ranks, *(list(self._conversations.rank_bounds(row.session, row.target, at)) for at in missing)]

    def _study(self, row: StudyRow) -> Study:
        settled = _settled(row)
        trials = self._rows.trials_of(row.id)
        ended = sum(trial.outcome is not None for trial in trials)
        participants = len(self._rows.participants(row.id))
        return Study(
            id=row.id,
            plan=settled.plan,
            targets=settled.targets,
            pictures=settled.pictures,
            open=row.open,
            created=datetime.fromtimestamp(row.created, UTC),
            counts=StudyCounts(participants=participants, trials=ended, unfinished=len(trials) - ended),
        )

    def _ended(self, row: StudyRow) -> list[EndedTrial]:
        settled = _settled(row)
        groups = {one.id: participant_group(settled, one.number) for one in self._rows.participants(row.id)}
        return [
            EndedTrial(
                pair=f"{groups[trial.participant]}/{trial.target}",
                target=trial.target,
                arm=trial.arm,
                outcome=str(trial.outcome),
                ranks=tuple((best, worst) for best, worst in trial.ranks),
                seconds=trial.ended - trial.started,
            )
            for trial in self._rows.trials_of(row.id)
            if trial.outcome not in (None, GONE) and trial.ended is not None and trial.started is not None
        ]


def _owner(study: str) -> Caller:
    """The study owns its conversations, so that no participant finds one, or goes on with it, elsewhere."""
    return Caller(study, frozenset({"read", "write"}))


def _settled(row: StudyRow) -> SettledPlan:
    return SettledPlan.model_validate(row.plan)
