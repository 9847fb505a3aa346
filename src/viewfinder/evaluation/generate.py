"""Generates dialogues: a questioner asks and a simulated user who knows the picture answers, for each picture (ChatIR).

The questioner sees what it would see live: the likeliest pictures of the split after every answer, and nothing of the
target. Dialogues go into a journal as they end; the file itself, in the format of the released ones, is written when
all are complete. Captioned photographs can do without both: their captions answer our own questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from viewfinder.conversation import Answer
from viewfinder.data.captions import has_captions
from viewfinder.data.dialogues import Dialogue, Round, split_round, write_dialogues
from viewfinder.data.files import append_json_line, parse_json_lines, whole_lines, write_jsonl
from viewfinder.data.splits import SPLITS, survey_captions
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.evaluate import load_user_of_plan
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import (
    Notify,
    Plan,
    Task,
    load_system,
    pick_evenly,
    questioner_label,
    questioner_name,
    silent,
    weights_label,
)
from viewfinder.evaluation.protocols.chatir import ROUNDS, make_opening_task
from viewfinder.evaluation.simulate import DIED, SimulatedSession, record_dialogue
from viewfinder.metrics import count_repeated_questions, count_unique_tokens
from viewfinder.questioners import QuestionerChoice
from viewfinder.retrievers import Retriever
from viewfinder.search.gallery import Gallery
from viewfinder.tuning.dialogues import captioned_dialogues
from viewfinder.users import SimulatedUser
from viewfinder.wording.replies import is_dont_know
from viewfinder.worlds.making import run_in_processes

SPLIT = "train"
CAPTIONS = "captions"
"""A questioner in name only: captions answer our own questions (`write_captioned_dialogues`)."""

SCHEMA = "viewfinder/dialogues-journal"


@dataclass(frozen=True, kw_only=True)
class GenerationOrder:
    """The dialogues to generate, of at most `rounds` questions, and the file to write.

    From the plan it uses data, split (None: train), questioner, user and their settings; the system searches.
    """

    plan: Plan
    out: Path
    rounds: int = ROUNDS
    resume: bool = False


@dataclass(frozen=True)
class GenerationReport:
    """A summary of generated dialogues; figures are means per dialogue, shares of all questions and answers.

    `ended` is False if the run was stopped: the dialogues so far are in the journal.
    """

    out: Path
    ended: bool
    talks: int
    of: int
    questions: float
    repeated: float
    unique_tokens: float
    dont_know: float
    by_another: float
    left_out: tuple[str, ...] = ()


def default_dialogue_file(data: Path, questioner: str, user: str, split: str, name: str | None = None) -> Path:
    """The default file for generated dialogues, beside those that the data has."""
    made_by = CAPTIONS if questioner == CAPTIONS else f"{questioner_name(questioner)}_{user}"
    stem = name or made_by.replace(":", ".")
    return data / "dialogues" / f"{stem}_{split}.json"


def generate_dialogues(
    order: GenerationOrder,
    encoder: Encoder,
    *,
    make_encoder: Callable[[], Encoder],
    notify: Notify = silent,
    progress: Callable[[int, int], None] = lambda done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> GenerationReport:
    """Holds the dialogues and writes the file; `should_stop` is asked after every dialogue.

    Raises:
        UnknownName: there is no such questioner, user, system or split.
        BadInput: the file exists already, or an unfinished one that is not to be resumed or was begun with other
            settings; missing or damaged data; a folder that cannot be written.
    """
    _check_free(order.out)
    plan = order.plan
    here = _make_interviewer(order, lambda: encoder, notify)
    dialogues, pictures = here.task.dialogues, here.task.gallery
    if len(pictures) < 2 or not dialogues:
        raise BadInput(f"{plan.data}: fewer than two pictures of {here.task.split!r} are here: there is nothing to ask")
    file = order.out.with_name(f"{order.out.name}.journal")
    journal = DialogueJournal(file, _describe_run(order, encoder, here.task))
    try:
        entries = journal.entries(resume=order.resume)
        notify(f"{len(dialogues):,} dialogues about {len(pictures):,} pictures; {len(entries):,} are held already")
        make = (lambda: here) if plan.processes == 1 else partial(_make_interviewer, order, make_encoder)
        waiting = [place for place in range(len(dialogues)) if place not in entries]
        for _, (place, strings, others) in run_in_processes(make, waiting, plan.processes, died=DIED):
            entry = JournalEntry(place, here.names[dialogues[place].id], strings, others)
            journal.add(entry)
            entries[place] = entry
            progress(len(entries), len(dialogues))
            if should_stop():
                break
        if len(entries) == len(dialogues):  # the file, whole or not at all; then the journal is deleted
            found = [Dialogue(one.img, one.dialog[0], (), one.dialog) for _, one in sorted(entries.items())]
            write_dialogues(order.out, found)
            file.unlink()
    except OSError as error:
        raise _explain_unwritable(order.out, error) from error
    rounds = [[split_round(text) for text in entry.dialog[1:]] for entry in entries.values()]
    by_another = sum(entry.by_another for entry in entries.values())
    return _summarize(order.out, rounds, of=len(dialogues), by_another=by_another, left_out=here.task.left_out)


def write_captioned_dialogues(
    data: Path, out: Path, *, split: str = SPLIT, rounds: int = ROUNDS, limit: int | None = None
) -> GenerationReport:
    """Writes our own questions about captioned photographs, with the answers that their captions give.

    A photograph has as many dialogues of at most `rounds` questions as its answers fill. Every question is answered
    no at most as often as otherwise, so that it does not give its answer away.

    Raises:
        UnknownName: there is no such split.
        BadInput: the file exists already; no captions, damaged ones, or none that answer anything; a folder that
            cannot be written.
    """
    _check_free(out)
    part = next((one for one in SPLITS if one == split), None)
    if part is None:
        raise UnknownName(f"{data}: no split is called {split!r}; there are: {', '.join(SPLITS)}")
    if not has_captions(data):
        raise BadInput(f"{data}: no captions here; needed are captions.csv beside images/, or COCO's annotations/")
    found = pick_evenly(captioned_dialogues(data, part, balanced=True, rounds=rounds), limit)
    if not found:
        what = f"the captions of its pictures for {split} answer none of our questions"
        raise BadInput(f"{data}: {what}; {survey_captions(data)}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_dialogues(out, found)
    except OSError as error:
        raise _explain_unwritable(out, error) from error
    return _summarize(out, [one.rounds for one in found], of=len(found))


def _check_free(out: Path) -> None:
    if out.exists():
        raise BadInput(f"{out}: there already; remove it, or choose another --name or --out")


def _explain_unwritable(out: Path, error: OSError) -> BadInput:
    return BadInput(f"{out}: cannot be written ({error.strerror}); choose another --out")


@dataclass(frozen=True, eq=False)
class _Interviewer:
    """Holds one dialogue: returns its place, the strings of its dialogue, and how many questions another asked.

    `names` is what the data calls the target of each dialogue, by its id.
    """

    task: Task
    gallery: Gallery
    retriever: Retriever[Any]
    user: SimulatedUser
    questioner: QuestionerChoice
    names: Mapping[str, str]

    def __call__(self, place: int) -> tuple[int, tuple[str, ...], int]:
        dialogue = self.task.dialogues[place]
        session = SimulatedSession(self.gallery, self.retriever, self.questioner)
        for _ in session.interview(dialogue, self.user, self.task.rounds):
            pass
        conversation, name = session.held.conversation, questioner_name(self.questioner)
        answers = [node.turn for node in conversation.path() if isinstance(node.turn, Answer)]
        others = sum(answer.question.by != name for answer in answers)
        return place, record_dialogue(dialogue.target, conversation).strings, others


def _make_interviewer(
    order: GenerationOrder, make_encoder: Callable[[], Encoder], notify: Notify = silent
) -> _Interviewer:
    plan, encoder = order.plan, make_encoder()
    user, retriever = load_user_of_plan(plan, encoder), load_system(plan.system, plan.seed, plan.checkpoint)
    assert user is not None
    notify(f"reading {plan.data}")
    task = make_opening_task(plan.data, plan.split or SPLIT, order.rounds)
    pictures = load_pictures(plan, encoder, retriever, notify=notify)
    known = match_pictures(task, pictures, plan.limit)
    names = {dialogue.id: dialogue.target for dialogue in task.dialogues}
    return _Interviewer(known, pictures.gallery(known.gallery), retriever, user, plan.questioner, names)


def _describe_run(order: GenerationOrder, encoder: Encoder, task: Task) -> dict[str, str]:
    """The settings that identify a run: it resumes only if they match those of its journal."""
    plan = order.plan
    settings: dict[str, object] = {
        "data": plan.data.resolve().name, "split": task.split, "talks": len(task.dialogues),
        "pictures": len(task.gallery), "rounds": order.rounds, "questioner": questioner_label(plan.questioner),
        "user": plan.user_name, "seed": plan.seed, "retriever": plan.system_name,
        "checkpoint": plan.checkpoint and weights_label(plan.checkpoint),
        "catalogue": plan.catalogue and plan.catalogue.name, "encoder": encoder.version, **plan.options,
    }  # fmt: skip
    return {name: str(value) for name, value in settings.items() if value is not None}


def _summarize(
    out: Path, dialogues: Sequence[Sequence[Round]], *, of: int, by_another: int = 0, left_out: tuple[str, ...] = ()
) -> GenerationReport:
    asked = [[one.question for one in rounds] for rounds in dialogues]
    shrugs = [is_dont_know(one.answer) for rounds in dialogues for one in rounds]
    held, questions = max(len(dialogues), 1), max(len(shrugs), 1)
    return GenerationReport(
        out=out, ended=out.exists(), talks=len(dialogues), of=of,
        questions=len(shrugs) / held, repeated=int(count_repeated_questions(asked).sum()) / held,
        unique_tokens=int(count_unique_tokens(asked).sum()) / held, dont_know=sum(shrugs) / questions,
        by_another=by_another / questions, left_out=left_out,
    )  # fmt: skip


@dataclass(frozen=True)
class JournalEntry:
    """Dialogue `place` of a run, completed; `img` and `dialog` are as in ChatIR's files.

    `by_another` counts the questions that another questioner asked in place of the intended one.
    """

    place: int
    img: str
    dialog: tuple[str, ...]
    by_another: int


@dataclass(frozen=True)
class DialogueJournal:
    """Dialogues as they end, from which an interrupted run resumes; `run` identifies the run.

    The first line of the file holds `run`, every other line a dialogue. A line is on disk before the next dialogue
    starts, so that a killed program loses only the dialogue in progress.
    """

    file: Path
    run: Mapping[str, str]

    def entries(self, *, resume: bool) -> dict[int, JournalEntry]:
        """The completed dialogues by place, none at first; a truncated last line is ignored.

        Raises:
            BadInput: there are some, and they are not to be resumed; or they belong to another run (what differs is
                named), or are damaged.
        """
        if not self.file.is_file():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_jsonl(self.file, [{"schema": SCHEMA, "run": dict(self.run)}])
            return {}
        if not resume:
            raise BadInput(f"{self.file}: an earlier run was stopped here; --resume goes on, or remove this file")
        head, *lines = whole_lines(self.file.read_bytes())[0].splitlines() or [b"{}"]
        try:
            before: Mapping[str, str] | None = json.loads(head)["run"] if SCHEMA.encode() in head else None
        except (ValueError, LookupError):
            before = None
        if before is None:
            raise BadInput(f"{self.file}: this is no record of dialogues; remove it, or choose another --out")
        for name in dict.fromkeys((*self.run, *before)):
            if before.get(name) != self.run.get(name):
                raise BadInput(
                    f"{self.file}: begun with {name} {before.get(name)!r}, not {self.run.get(name)!r}; "
                    "go on as it was begun, or remove this file"
                )
        records = (record for _, record in parse_json_lines([b"", *lines], where=str(self.file)))
        found = (JournalEntry(**{**record, "dialog": tuple(record["dialog"])}) for record in records)
        return {entry.place: entry for entry in found}

    def add(self, entry: JournalEntry) -> None:
        """Records a dialogue; on return it is on disk."""
        append_json_line(self.file, asdict(entry))
