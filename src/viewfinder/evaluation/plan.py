"""Plans and tasks: a plan names system, data and protocol; a protocol turns the data into tasks of dialogues."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from viewfinder.conversation import BackTo, Like, Reject, Turn
from viewfinder.data import ReadReport
from viewfinder.errors import BadInput, UnknownName
from viewfinder.metrics import Ties
from viewfinder.plugins import label_part
from viewfinder.query import Part, Query, Reads, ResolvedTurn
from viewfinder.questioners import QUESTIONERS, QuestionerChoice, load_questioner
from viewfinder.retrievers import PLUGINS, RETRIEVERS, Retriever, RetrieverClass, load_retriever
from viewfinder.users import SimulatedUser

Thing = TypeVar("Thing")

Notify = Callable[[str], None]
"""Called with a line of text at every stage."""

RANDOM = "random"


def silent(line: str) -> None:
    """A `Notify` that discards every line."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An evaluation to run: system, data, protocol and options.

    Attributes:
        system: a retriever, or "random": by name, as an object, or its class.
        protocol, split: None: all protocols that find their files there; the test split, or else validation.
        task: words that a task's title must all contain.
        user: a simulated user that talks in place of the recorded one, by name, as an object, or its class; None: only
            where a task needs one.
        options: for the user (how it speaks) or the protocol, as --manner gives them.
        questioner: what the system asks with, when a user talks. In ChatIR's protocol the user then only answers.
        pool: a file that lists the pictures to search, in place of those of ChatIR's protocol.
        vectors: a file of image vectors to use in place of the data set's own pictures.
        catalogue: a table whose columns the system may use; None: it sees pixels alone.
        features: where the vectors of the data set's pictures are kept; None: beside the data.
        captions: whether systems may read what is written about pictures, where the protocol has captions and dialogues
            are replayed; simulated dialogues, and the questions in them, are about pictures without descriptions.
        ties: the rule for equal scores; Fashion IQ's own is the optimistic one.
        limit: dialogues per task, evenly spaced.
        refuse_overlap: whether to refuse a task whose targets the weights or the encoder learnt from, or may have.
        learnt_from: further data sets that the system was trained on: their training texts are looked for in the test.
        processes: how many hold dialogues at once, where a user talks; the figures do not depend on it.
    """

    system: str | Retriever[Any] | RetrieverClass
    data: Path
    protocol: str | None = None
    split: str | None = None
    task: str | None = None
    user: str | SimulatedUser | Callable[..., SimulatedUser] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    questioner: QuestionerChoice = None
    pool: Path | None = None
    vectors: Path | None = None
    catalogue: Path | None = None
    features: Path | None = None
    captions: bool = True
    ties: Ties = "expected"
    limit: int | None = None
    seed: int = 0
    checkpoint: Path | None = None
    processes: int = 1
    refuse_overlap: bool = False
    learnt_from: tuple[Path, ...] = ()

    @property
    def system_name(self) -> str:
        """The name of the system."""
        return label_part(self.system)

    @property
    def user_name(self) -> str:
        """The name of the simulated user; "" without one."""
        return "" if self.user is None else label_part(self.user)


def questioner_name(questioner: QuestionerChoice) -> str:
    """The name of a questioner, which its questions carry: "llm" for "llm=model.gguf"; "" without one."""
    name = "" if questioner is None else label_part(questioner).partition("=")[0]
    return name if not name or name in QUESTIONERS else load_questioner(questioner).name


def questioner_label(questioner: QuestionerChoice) -> str:
    """A questioner as a run names it: of the file it was told to use, only the name.

    >>> questioner_label("llm=/home/me/models/smol.gguf"), questioner_label("information_gain")
    ('llm=smol.gguf', 'information_gain')
    """
    name, equals, source = ("" if questioner is None else label_part(questioner)).partition("=")
    return f"{name}{equals}{source.rstrip('/').rpartition('/')[2]}"


def pick_evenly(things: Sequence[Thing], limit: int | None) -> list[Thing]:
    """Picks at most `limit` things, evenly spaced; all of them if it is None."""
    if limit is None or limit >= len(things):
        return list(things)
    return [things[at] for at in np.linspace(0, len(things) - 1, limit).round().astype(int)]


COMPARER = "comparer"
"""A user who says how the wanted picture differs from the one that is shown first."""


def choose_by_title(titled: Sequence[tuple[str, Thing]], words: str | None) -> list[Thing]:
    """The things (tasks) whose title has all the given words; all of them if no words are given.

    Raises:
        UnknownName: there is none; the message lists the titles.
    """
    wanted = (words or "").lower().split()
    chosen = [thing for title, thing in titled if set(wanted) <= set(title.lower().replace(",", " ").split())]
    if not chosen:
        raise UnknownName(f"no task has {words!r} in its title; there are: {'; '.join(title for title, _ in titled)}")
    return chosen


@dataclass(frozen=True)
class SearchDialogue:
    """One session: the picture that is wanted, and what is said, turn by turn.

    Attributes:
        id: unique in its task; two runs are compared dialogue by dialogue.
        turns: what the user says. Empty where a simulated user talks instead.
        targets: the picture wanted at each judged turn, if it changes on the way (MAI); else `target`.
        setting: a kind of dialogue that is also counted separately (rollback, combination).
        first: a picture that is on the screen before anything is said (Fashion IQ).
        among: the pictures of its subset, where a protocol has subsets (CIRR).
        leaves_out: pictures excluded from the ranking (CIRR: the reference).
        truths: every right picture, the target first, where a protocol has several (CIRCO).
    """

    id: str
    target: str
    turns: tuple[Turn, ...] = ()
    targets: tuple[str, ...] = ()
    setting: str = ""
    first: str = ""
    among: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()

    def pictures(self) -> tuple[str, ...]:
        """Every picture that the dialogue names."""
        named = [turn.picture for turn in self.turns if isinstance(turn, Like)]
        rejected = [picture for turn in self.turns if isinstance(turn, Reject) for picture in turn.pictures]
        first = (self.first,) if self.first else ()
        others = (*self.among, *self.leaves_out, *self.truths)
        return (self.target, *self.targets, *named, *rejected, *first, *others)

    def renamed(self, names: Mapping[str, str]) -> SearchDialogue:
        """The dialogue with its pictures under other names."""
        rename = names.__getitem__
        turns: list[Turn] = []
        for turn in self.turns:
            match turn:
                case Like(picture):
                    turns.append(replace(turn, picture=names[picture]))
                case Reject(pictures):
                    turns.append(replace(turn, pictures=tuple(map(rename, pictures))))
                case _:
                    turns.append(turn)
        first = names[self.first] if self.first else ""
        return replace(
            self, target=names[self.target], turns=tuple(turns), targets=tuple(map(rename, self.targets)), first=first,
            among=tuple(map(rename, self.among)), leaves_out=tuple(map(rename, self.leaves_out)),
            truths=tuple(map(rename, self.truths)),
        )  # fmt: skip

    @property
    def judged(self) -> int:
        """How many turns have a rank; going back has none, because it says nothing new."""
        return sum(not isinstance(turn, BackTo) for turn in self.turns)


@dataclass(frozen=True)
class Task:
    """All dialogues of one protocol, split and gallery.

    Attributes:
        name: distinguishes it within the protocol: "dress, split gallery"; may be "".
        split: train, val, test, or "all" where the data has none.
        gallery: the pictures that are ranked.
        caption: which text is used where the data has several ("first two joined"); may be "".
        metrics: what is counted, as `figures.metric_values` spells them: "R@10", "Hits@10", "BRI" ...
        user: the simulated user that the dialogues need, if nothing is recorded (`COMPARER`); else "".
        at: the turns (from 1) at which figures are given; None: all of them.
        last_only: dialogues differ in length and only their last turn counts.
        first_turn: the conventional number of the first turn: ChatIR's round 0 is the caption.
        rounds: how many turns a simulated user has.
        interviews: with a questioner, every dialogue begins with what was recorded first, the user only answers, and a
            dialogue goes on after the target was shown.
        captions: what people wrote about pictures, for systems that read it, where the protocol has such texts.
    """

    protocol: str
    name: str
    split: str
    gallery: tuple[str, ...]
    dialogues: tuple[SearchDialogue, ...]
    metrics: tuple[str, ...]
    caption: str = ""
    user: str = ""
    at: tuple[int, ...] | None = None
    last_only: bool = False
    first_turn: int = 1
    rounds: int = 5
    interviews: bool = False
    captions: Mapping[str, str] = field(default_factory=dict, hash=False)
    reports: tuple[ReadReport, ...] = field(default=(), compare=False)

    @property
    def title(self) -> str:
        """One line: protocol, name and split."""
        return ", ".join(part for part in (self.protocol, self.name, self.split) if part)

    def pictures(self) -> frozenset[str]:
        """Every picture that is ranked or named."""
        return frozenset(self.gallery).union(*(dialogue.pictures() for dialogue in self.dialogues))

    def renamed(self, names: Mapping[str, str]) -> Task:
        """The task with its pictures under other names.

        Dialogues that name a picture not in `names` are dropped, and so are pictures of the gallery: data sets lose
        pictures over the years. A dialogue whose target is outside the remaining gallery is dropped as well.
        """
        gallery = tuple(dict.fromkeys(names[picture] for picture in self.gallery if picture in names))
        ranked = frozenset(gallery)
        dialogues = tuple(
            dialogue.renamed(names)
            for dialogue in self.dialogues
            if all(picture in names for picture in dialogue.pictures())
            and all(names[target] in ranked for target in (dialogue.target, *dialogue.targets, *dialogue.truths))
        )
        captions = {names[picture]: caption for picture, caption in self.captions.items() if picture in names}
        return replace(self, gallery=gallery, dialogues=dialogues, captions=captions)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The records that the readers left out, one line per source."""
        return tuple(str(report) for report in self.reports if report.dropped)


def hash_number(text: str) -> int:
    """A number that depends only on a text, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class RandomChoice:
    """Searches in a new random direction at every turn: the papers' "random choice" row."""

    reads: ClassVar[Reads] = Reads(words=False)
    trained_on: ClassVar[None] = None  # nothing here was
    seed: int = 0
    name: str = RANDOM

    def begin(self) -> tuple[Part, ...]:
        """Nothing drawn yet."""
        return ()

    def step(self, state: tuple[Part, ...], turn: ResolvedTurn) -> tuple[Part, ...]:
        """A direction derived from the seed and from what was said, but unrelated to its meaning."""
        said = f"{self.seed}/{turn.number}/{turn.turn!r}/{len(state)}"
        width = turn.words(["anything"]).shape[1]
        drawn_d = np.random.default_rng(hash_number(said)).standard_normal((width,), dtype=np.float32)
        drawn_d /= np.linalg.norm(drawn_d)
        return (Part("words", turn.number, "a draw", 1.0, drawn_d),)

    def query(self, state: tuple[Part, ...]) -> Query:
        """The direction drawn last."""
        return Query(state)


def load_system(
    system: str | Retriever[Any] | RetrieverClass, seed: int = 0, checkpoint: Path | None = None
) -> Retriever[Any]:
    """The retriever of this name or class, with the user's own weights if it has weights; or random choice.

    Raises:
        UnknownName: there is none; the message lists the known ones.
        BadInput: the checkpoint cannot be used, as `load_retriever` says.
    """
    if system == RANDOM:
        if checkpoint is not None:
            raise BadInput(f"--checkpoint {checkpoint}: {system} has nothing to load, it is not trained")
        return RandomChoice(seed)
    if isinstance(system, str) and system not in RETRIEVERS and PLUGINS.find(system) is None:
        raise UnknownName(f"no system is called {system!r}; there are: {', '.join(PLUGINS.names(RANDOM))}")
    return load_retriever(system, checkpoint)


def weights_label(checkpoint: Path) -> str:
    """Identifies weights, for people and to tell runs apart: the file's name and eight digits of its hash."""
    with checkpoint.open("rb") as file:
        return f"{checkpoint.name} {hashlib.file_digest(file, 'blake2b').hexdigest()[:8]}"
