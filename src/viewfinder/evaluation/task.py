"""What a protocol asks of a system: talks with a known target, a gallery to rank, and the measures that count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from viewfinder.conversation import BackTo, Like, Reject, Turn
from viewfinder.data import ReadReport

COMPARER = "comparer"
"""A user who says how the wanted picture differs from the one that is shown first."""


@dataclass(frozen=True)
class SearchDialogue:
    """One session: the picture that is wanted, and what is said, turn by turn.

    Attributes:
        id: unique in its task; two runs are compared talk by talk.
        target: the picture that is wanted.
        turns: what the user says. Empty where a simulated user talks instead.
        targets: the picture wanted at each turn that is judged, where it changes on the way (MAI); else `target`.
        setting: a kind of talk that is also counted apart (rollback, combination).
        first: a picture that is on the screen before anything was said (Fashion IQ).
        among: the pictures of its subset, where a protocol has subsets (CIRR).
        leaves_out: pictures taken out of the ranking beforehand (CIRR: the reference).
    """

    id: str
    target: str
    turns: tuple[Turn, ...] = ()
    targets: tuple[str, ...] = ()
    setting: str = ""
    first: str = ""
    among: tuple[str, ...] = ()
    leaves_out: tuple[str, ...] = ()

    def pictures(self) -> tuple[str, ...]:
        """Every picture that the talk names."""
        named = tuple(picture for turn in self.turns for picture in named_pictures(turn))
        first = (self.first,) if self.first else ()
        return (self.target, *self.targets, *named, *first, *self.among, *self.leaves_out)

    def target_at(self, turn: int) -> str:
        """The picture that is wanted at a judged turn, counted from 0."""
        return self.targets[turn] if self.targets else self.target

    @property
    def judged(self) -> int:
        """How many turns have a rank; going back has none, it says nothing new."""
        return sum(not isinstance(turn, BackTo) for turn in self.turns)


@dataclass(frozen=True)
class Task:
    """All talks of one protocol, split and gallery.

    Attributes:
        protocol: a key of `PROTOCOLS`.
        name: what distinguishes it within the protocol: "dress, split gallery"; may be "".
        split: train, val, test, or "all" where the data has none.
        gallery: the pictures that are ranked.
        caption: which text is used where the data has several ("first two joined"); may be "".
        metrics: what is counted, as `figures.values_st` spells them: "R@10", "Hits@10", "BRI" ...
        user: the simulated user that the talks need, where nothing is recorded (`COMPARER`); else "".
        at: the turns (from 1) at which figures are given; None: all of them.
        last_only: talks differ in length and only their last turn counts.
        first_turn: the number people give to the first turn: ChatIR's round 0 is the caption.
        rounds: how many turns a simulated user has.
        interviews: with a questioner, every talk begins with what was recorded first, the user only answers, and a
            talk goes on when the target was shown.
        captions: what somebody wrote about pictures, for systems that read that, where the protocol has such texts.
        reports: what the readers found and left out.
    """

    protocol: str
    name: str
    split: str
    gallery: tuple[str, ...]
    talks: tuple[SearchDialogue, ...]
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
        return frozenset(self.gallery).union(*(talk.pictures() for talk in self.talks))

    def renamed(self, names: Mapping[str, str]) -> Task:
        """The same task with its pictures under other names.

        Talks that name a picture which is not in `names` go, and so do pictures of the gallery: data sets lose
        pictures over the years. A target outside the gallery that remains goes as well.
        """
        gallery = tuple(dict.fromkeys(names[picture] for picture in self.gallery if picture in names))
        ranked = frozenset(gallery)
        talks = tuple(
            rename_pictures(talk, names.__getitem__)
            for talk in self.talks
            if all(picture in names for picture in talk.pictures())
            and all(names[target] in ranked for target in (talk.target, *talk.targets))
        )
        captions = {names[picture]: caption for picture, caption in self.captions.items() if picture in names}
        return replace(self, gallery=gallery, talks=talks, captions=captions)


def named_pictures(turn: Turn) -> tuple[str, ...]:
    """The pictures that a turn names."""
    match turn:
        case Like(picture):
            return (picture,)
        case Reject(pictures):
            return pictures
        case _:
            return ()


def rename_pictures(talk: SearchDialogue, name: Callable[[str], str]) -> SearchDialogue:
    """A talk with its pictures under other names."""
    return replace(
        talk,
        target=name(talk.target),
        turns=tuple(_renamed_turn(turn, name) for turn in talk.turns),
        targets=tuple(map(name, talk.targets)),
        first=name(talk.first) if talk.first else "",
        among=tuple(map(name, talk.among)),
        leaves_out=tuple(map(name, talk.leaves_out)),
    )


def _renamed_turn(turn: Turn, name: Callable[[str], str]) -> Turn:
    match turn:
        case Like(picture):
            return replace(turn, picture=name(picture))
        case Reject(pictures):
            return replace(turn, pictures=tuple(map(name, pictures)))
        case _:
            return turn
