"""Which scenes are alike, by their truth: the neighbours from which reference pictures are chosen.

Chat-search dialogues over scenes, by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1).

text      a text dialogue in which the wanted picture is only implied                       tChat
mdc-i     a reference picture, and what is mainly different about a similar one             iChat
mdc-t     words, the picture found for them, and a change to another picture                mChat
mdc-t-single    the last round of such a dialogue, with its picture                         iChat
merge     a text dialogue, its picture as the answer, and a change to another picture       mChat

The paper takes neighbours from LAION-5B by CLIP-H and sentences from GPT-4; here neighbours are alike by their truth
(`likeness`) and sentences are made from it, so that what is said is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, Role, Subtask, TextItem
from viewfinder.worlds.grammar import Speaker, change_instruction, counted, described, speaker_for, stands
from viewfinder.worlds.scene import Scene, Thing
from viewfinder.worlds.words import LIGHT_WORDS, PLACE_NOUNS, PREDICATE_WORDS, WHERE, join_with_and, with_article

BLOCK = 4096
"""Neighbours are looked for among so many scenes at a time, so that the work grows with their number only."""

PLACE, KIND, COLOURED, LIGHT = 2, 2, 1, 1
"""What it counts to share a place, a kind, a kind in the same colour, the light; whole numbers keep sums exact."""


def nearest_scenes(scenes: Sequence[Scene], *, most: int, least: float) -> list[tuple[int, ...]]:
    """For each scene, the positions of those most like it (nearest first) whose likeness is `least` or more.

    Where none is that near, the nearest is given all the same; a scene alone has none. Likeness is the cosine of
    what is counted above, 0 to 1.
    """
    found: list[tuple[int, ...]] = []
    for start in range(0, len(scenes), BLOCK):
        block = scenes[start : start + BLOCK]
        likeness_nn = _likeness(block)
        np.fill_diagonal(likeness_nn, -1.0)
        for likeness_n in likeness_nn:
            # Sorted as a whole: equal likeness must give the same order everywhere.
            order = np.argsort(-likeness_n, kind="stable")[: min(most, len(block) - 1)]
            near = [start + int(at) for at in order if likeness_n[at] >= least]
            found.append(tuple(near or [start + int(at) for at in order[:1]]))
    return found


def scene_likeness(a: Scene, b: Scene) -> float:
    """How alike two scenes are, 0 to 1."""
    return float(_likeness([a, b])[0, 1])


def _likeness(scenes: Sequence[Scene]) -> Float[np.ndarray, "n n"]:
    features = [_features(scene) for scene in scenes]
    columns = {name: at for at, name in enumerate(sorted({name for row in features for name in row}))}
    values_nf = np.zeros((len(scenes), len(columns)))
    for row, named in zip(values_nf, features, strict=True):
        row[[columns[name] for name in named]] = list(named.values())
    lengths_n = np.sqrt((values_nf**2).sum(axis=1))
    likeness_nn: Float[np.ndarray, "n n"] = values_nf @ values_nf.T / np.outer(lengths_n, lengths_n)
    return likeness_nn


def _features(scene: Scene) -> dict[str, int]:
    things = {f"kind/{thing.kind}": KIND for thing in scene.things}
    coloured = {f"coloured/{thing.colour}/{thing.kind}": COLOURED for thing in scene.things}
    return {f"place/{scene.place}": PLACE, f"light/{scene.light}": LIGHT, **things, **coloured}


NEIGHBOURS = 10
"""Pictures like the reference, one of which becomes the target (Sec. 3.1, MDC-I: the top 10)."""

LEAST_LIKENESS = 0.4
"""Of a target to its reference, by their truth. The paper applies a threshold (Sec. 3.1) and does not say which."""

WISHES = ("i am looking for", "show me", "do you have", "find")
"""How a request begins."""

FOUND = ("like this?", "is it this one?", "how about this?", "here you are.", "this is what i found.")
"""What is said along with a picture that was found."""

_ASKS = (
    "what else do you remember?",
    "tell me more.",
    "nice! what was there?",
    "and what else?",
    "do you recall any details?",
    "go on.",
)
_PLEAS = (
    "can you find me a picture of it?",
    "do you have a picture like that?",
    "show me that.",
    "i'd like to see that.",
)


@dataclass(frozen=True)
class PicturedScene:
    """A scene, what its picture is called, and one caption of it."""

    scene: Scene
    image: str
    caption: str


def chat_samples(pictured: Sequence[PicturedScene]) -> Iterator[ChatSample]:
    """Three samples for each picture that has a neighbour among the others: tChat, iChat and mChat."""
    near = nearest_scenes([each.scene for each in pictured], most=NEIGHBOURS, least=LEAST_LIKENESS)
    for at, own in enumerate(pictured):
        yield _text_sample(own)
        if near[at]:
            talk = speaker_for(own.scene, "neighbour")
            other = pictured[talk.rng.choice(near[at])]
            yield _changed(own, other) if talk.chance(0.5) else _found_alone(own, other)
            yield _merged(own, other) if talk.chance(0.5) else _found_then_changed(own, other)


def _text_sample(own: PicturedScene) -> ChatSample:
    turns = text_dialogue_turns(speaker_for(own.scene, "tchat"))
    return _sample("tChat", own, turns, own.image, {"pipeline": "text", "caption_target": own.caption})


def _changed(own: PicturedScene, other: PicturedScene) -> ChatSample:
    """MDC-I: the picture of this scene, and how the neighbour differs."""
    turns = (_user(_instruction(own, other, "mdc-i"), image=own.image),)
    return _sample("iChat", own, turns, other.image, _source("mdc-i", own, other))


def _found_alone(own: PicturedScene, other: PicturedScene) -> ChatSample:
    """MDC-T in one round: the picture found for a text, and the change that leads to this scene."""
    turns = (_user(_instruction(other, own, "mdc-t-single"), image=other.image),)
    return _sample("iChat", own, turns, own.image, _source("mdc-t-single", other, own))


def _found_then_changed(own: PicturedScene, other: PicturedScene) -> ChatSample:
    """MDC-T: words for the neighbour, its picture, and the change that leads to this scene."""
    talk = speaker_for(own.scene, "mchat")
    said = f"{talk.one(WISHES)} {request_phrase(speaker_for(other.scene, 'request'))}"
    turns = (_user(said), _assistant(talk.one(FOUND), other.image), _user(_instruction(other, own, "mdc-t")))
    return _sample("mChat", own, turns, own.image, _source("mdc-t", other, own))


def _merged(own: PicturedScene, other: PicturedScene) -> ChatSample:
    """Context merging: the text dialogue of this scene, its picture as the answer, and a change to the neighbour."""
    talk = speaker_for(own.scene, "mchat")
    turns = (
        *text_dialogue_turns(talk),
        _assistant(talk.one(FOUND), own.image),
        _user(_instruction(own, other, "merge")),
    )
    return _sample("mChat", own, turns, other.image, _source("merge", own, other))


def _sample(
    subtask: Subtask, own: PicturedScene, turns: Sequence[ChatTurn], target: str, source: dict[str, str]
) -> ChatSample:
    return ChatSample(f"{subtask[0]}-{own.scene.number:06d}", subtask, tuple(turns), target, source)


def _source(pipeline: str, reference: PicturedScene, target: PicturedScene) -> dict[str, str]:
    return {"pipeline": pipeline, "caption_ref": reference.caption, "caption_target": target.caption}


def request_phrase(talk: Speaker) -> str:
    """A caption as the object of a sentence."""
    main = with_article(described(talk, talk.scene.main(), size=0.6, colour=1.0))
    place = talk.scene.place
    return talk.one((f"{main} {talk.one(WHERE[place])}", f"{talk.one(PLACE_NOUNS[place])} with {main}"))


def _instruction(before: PicturedScene, after: PicturedScene, purpose: str) -> str:
    return change_instruction(speaker_for(after.scene, f"{purpose}/{before.scene.number}"), before.scene)


# Text dialogues


def text_dialogue_turns(talk: Speaker) -> tuple[ChatTurn, ...]:
    """Two or three things that the user tells, with the other side asking on; no sentence says it all."""
    told = [_setting_told(talk), *_things_told(talk)]
    turns: list[ChatTurn] = []
    for sentence, ask in zip(told[:-1], talk.rng.sample(_ASKS, len(told) - 1), strict=True):
        turns += [_user(sentence), _assistant(ask)]
    return (*turns, _user(f"{told[-1]} {talk.one(_PLEAS)}"))


def _setting_told(talk: Speaker) -> str:
    place, hour = talk.one(WHERE[talk.scene.place]), talk.one(LIGHT_WORDS[talk.scene.light])
    when = f" {hour}" if hour and talk.scene.place != "city" and talk.chance(0.5) else ""
    return talk.one(
        (
            f"yesterday i was {place}{when}.",
            f"it was {place}{when}.",
            f"we spent a while {place}{when}.",
            f"i remember it was {place}{when}.",
        )
    )


def _things_told(talk: Speaker) -> list[str]:
    """Sentences about different things: how many there were, how one looked, what was beside what."""
    things = talk.rng.sample(talk.scene.things, len(talk.scene.things))
    sentences = [_noticed(talk, things[0])]
    relations = [relation for relation in talk.relations if relation.subject.kind != things[0].kind]
    if relations and talk.chance(0.6):
        relation = talk.rng.choice(relations)
        verb = talk.one(PREDICATE_WORDS[relation.predicate])
        a, b = (with_article(described(talk, thing)) for thing in (relation.subject, relation.object))
        sentences.append(talk.one((f"{a} was {verb} {b}.", f"{verb} {b} there was {a}.")))
    else:
        others = [thing for thing in things if thing.kind != things[0].kind][:2]
        if others:
            sentences.append(f"there was {join_with_and([with_article(described(talk, thing)) for thing in others])}.")
    return sentences


def _noticed(talk: Speaker, thing: Thing) -> str:
    count = talk.scene.counts()[thing.kind]
    if count > 1:
        return talk.one(
            (f"i saw {counted(talk, thing.kind, count)} there.", f"there were {counted(talk, thing.kind, count)}.")
        )
    named = with_article(described(talk, thing, size=0.4, colour=0.9))
    return talk.one((f"i saw {named} {stands(talk, thing)}.", f"{named} caught my eye.", f"i noticed {named}."))


def _user(text: str, *, image: str | None = None) -> ChatTurn:
    return _turn("user", text, image, first=True)


def _assistant(text: str, image: str | None = None) -> ChatTurn:
    return _turn("assistant", text, image, first=False)


def _turn(role: Role, text: str, image: str | None, *, first: bool) -> ChatTurn:
    """Words, and a picture before them (a user's own) or after them (one that was found)."""
    words = TextItem(text)
    if image is None:
        return ChatTurn(role, (words,))
    return ChatTurn(role, (ImageItem(image), words) if first else (words, ImageItem(image)))
