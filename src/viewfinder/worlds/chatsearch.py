"""Chat-search dialogues by the pipelines of ChatSearch (Zhao et al. 2024, Sec. 3.1, Fig. 2 and 3), made of scenes.

text            a text dialogue in which the target is only implied                                      tChat
mdc-i           a reference picture, and what is mainly different about one that is like it              iChat
mdc-t           words, the picture found for them, and a change that leads to another picture            mChat
mdc-t-single    the last round of such a dialogue, with its picture                                      iChat
merge           a text dialogue, its picture as the answer, and a change that leads to another picture   mChat

The paper takes neighbours from LAION-5B by CLIP-H and sentences from GPT-4; here neighbours are alike by their truth
(`nearest_scenes`) and sentences are made from it, so that what is said is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, Subtask, TextItem
from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.worlds.grammar import Ellipsis, Speaker, change_instruction, lean_on, make_speaker
from viewfinder.worlds.scene import Scene
from viewfinder.worlds.words import PLACE_NOUNS, PREDICATE_WORDS, WHERE, Language, add_lead

Pipeline = Literal["text", "mdc-i", "mdc-t", "mdc-t-single", "merge"]

PIPELINES: tuple[Pipeline, ...] = get_args(Pipeline)

SUBTASK_OF: dict[Pipeline, Subtask] = {
    "text": "tChat",
    "mdc-i": "iChat",
    "mdc-t": "mChat",
    "mdc-t-single": "iChat",
    "merge": "mChat",
}

MAX_NEIGHBOURS = 10
"""Pictures like the reference, one of which becomes the target (Sec. 3.1, MDC-I: the top 10)."""

MIN_LIKENESS = 0.4
"""Minimum likeness of a target to its reference, by their truth. The paper does not say which threshold it applies."""

WISHES = ("i am looking for", "show me", "do you have", "find")
"""Beginnings of a request."""

FOUND_REMARKS = ("like this?", "is it this one?", "how about this?", "here you are.", "this is what i found.")
"""Said along with a picture that was found; the paper does not say what."""

_ASKS = (
    *("what else do you remember?", "tell me more.", "nice! what was there?"),
    *("and what else?", "do you recall any details?", "go on."),
)
_PLEAS = (
    *("can you find me a picture of it?", "do you have a picture like that?"),
    *("show me that.", "i'd like to see that."),
)

SEARCHES = (
    *("is there one", "what about one", "how about one", "where is one", "which one is", "can you see one"),
    *("do you see one", "are there any", "does one exist", "is any"),
)
"""Beginnings of a search in contextual language, where it begins like a question; "in the same place ..." follows."""

_ASKED_PLEAS = (
    *("is there one like that?", "what about one like that?", "where is it?", "which one is it?", "how about that?"),
    *("can you see one like that?", "do you see it?", "are there any like that?"),
)


# The turns of the pipelines


def user_turn(text: str, image: str | None = None) -> ChatTurn:
    """A turn of the user; a picture of their own comes before the words (MDC-I, and MDC-T in one round)."""
    words = TextItem(text)
    return ChatTurn("user", (words,) if image is None else (ImageItem(image), words))


def assistant_turn(text: str, image: str | None = None) -> ChatTurn:
    """A turn of the assistant; a picture that it found comes after the words."""
    words = TextItem(text)
    return ChatTurn("assistant", (words,) if image is None else (words, ImageItem(image)))


def turns_with_answer(before: Sequence[ChatTurn], answer: str, image: str, change: str) -> tuple[ChatTurn, ...]:
    """Earlier turns, a picture as the answer, and how the target differs from it (MDC-T, context merging)."""
    return (*before, assistant_turn(answer, image), user_turn(change))


# Which scenes are alike

MAX_BLOCK = 4096
"""Scenes among which neighbours are looked for at a time, so that the work grows linearly with their number."""

PLACE_WEIGHT, KIND_WEIGHT, COLOUR_WEIGHT, LIGHT_WEIGHT = 2, 2, 1, 1
"""Weights of sharing a place, a kind, a kind in the same colour, the light; whole numbers keep sums exact."""


def nearest_scenes(scenes: Sequence[Scene], *, most: int, least: float) -> list[tuple[int, ...]]:
    """For each scene, the positions of those most like it (nearest first) whose likeness is `least` or more.

    Where none is that near, the nearest is given all the same; a scene alone has none. Likeness is the cosine of
    what is counted above, 0 to 1.
    """
    found: list[tuple[int, ...]] = []
    for start in range(0, len(scenes), MAX_BLOCK):
        block = scenes[start : start + MAX_BLOCK]
        likeness_nn = _compare_scenes(block)
        np.fill_diagonal(likeness_nn, -1.0)
        for likeness_n in likeness_nn:
            # Sorted as a whole: equal likeness must give the same order everywhere.
            order = np.argsort(-likeness_n, kind="stable")[: min(most, len(block) - 1)]
            near = [start + int(at) for at in order if likeness_n[at] >= least]
            found.append(tuple(near or [start + int(at) for at in order[:1]]))
    return found


def scene_likeness(a: Scene, b: Scene) -> float:
    """The likeness of two scenes, 0 to 1."""
    return float(_compare_scenes([a, b])[0, 1])


def _compare_scenes(scenes: Sequence[Scene]) -> Float[np.ndarray, "n n"]:
    features = [
        {f"place/{scene.place}": PLACE_WEIGHT, f"light/{scene.light}": LIGHT_WEIGHT}
        | {f"kind/{thing.kind}": KIND_WEIGHT for thing in scene.things}
        | {f"coloured/{thing.colour}/{thing.kind}": COLOUR_WEIGHT for thing in scene.things}
        for scene in scenes
    ]
    names = sorted(set().union(*features))
    values_nf = np.array([[each.get(name, 0.0) for name in names] for each in features])
    lengths_n = np.sqrt((values_nf**2).sum(axis=1))
    likeness_nn: Float[np.ndarray, "n n"] = values_nf @ values_nf.T / np.outer(lengths_n, lengths_n)
    return likeness_nn


# Dialogues about scenes


@dataclass(frozen=True)
class PicturedScene:
    """A scene, what its picture is called, and one caption of it."""

    scene: Scene
    image: str
    caption: str


def chat_samples(pictured: Sequence[PicturedScene], language: Language = "explicit") -> Iterator[ChatSample]:
    """Three samples for each picture that has a neighbour among the others: tChat, iChat and mChat."""
    near = nearest_scenes([each.scene for each in pictured], most=MAX_NEIGHBOURS, least=MIN_LIKENESS)
    for at, own in enumerate(pictured):
        turns = text_dialogue_turns(make_speaker(own.scene, "tchat"), language)
        yield _make_sample("text", own, turns, own.image, {"caption_target": own.caption})
        if near[at]:
            speaker = make_speaker(own.scene, "neighbour")
            there = [place for place in near[at] if pictured[place].scene.place == own.scene.place]
            # Contextual language does not repeat what stays: a neighbour in the same place gives it something to keep.
            other = pictured[speaker.pick(near[at] if language == "explicit" else tuple(there) or near[at])]
            yield _make_picture_sample("mdc-i" if speaker.chance(0.5) else "mdc-t-single", own, other, language)
            yield _make_picture_sample("merge" if speaker.chance(0.5) else "mdc-t", own, other, language)


def _make_picture_sample(
    pipeline: Pipeline, own: PicturedScene, other: PicturedScene, language: Language
) -> ChatSample:
    """A change from the picture of this scene to the neighbour's (mdc-i, merge), or from the neighbour's to its."""
    reference, target = (own, other) if pipeline in {"mdc-i", "merge"} else (other, own)
    captions = {"caption_ref": reference.caption, "caption_target": target.caption}
    if language == "contextual":
        leaning = _lean_turns(pipeline, reference, target)
        if leaning is not None:
            return _make_sample(pipeline, own, leaning, target.image, captions)
    change = change_instruction(make_speaker(target.scene, f"{pipeline}/{reference.scene.number}"), reference.scene)
    speaker = make_speaker(own.scene, "mchat")
    if language == "contextual":
        change = add_lead(change, speaker.rng)
    turns: tuple[ChatTurn, ...] = (user_turn(change, reference.image),)
    if SUBTASK_OF[pipeline] == "mChat":
        if pipeline == "merge":
            before = text_dialogue_turns(speaker)
        else:
            before = (user_turn(f"{speaker.pick(WISHES)} {request_phrase(make_speaker(reference.scene, 'request'))}"),)
        turns = turns_with_answer(before, speaker.pick(FOUND_REMARKS), reference.image, change)
    return _make_sample(pipeline, own, turns, target.image, captions)


def _lean_turns(pipeline: Pipeline, reference: PicturedScene, target: PicturedScene) -> tuple[ChatTurn, ...] | None:
    """A dialogue whose last turn names nothing that stays; None where nothing does."""
    spoken = SUBTASK_OF[pipeline] == "mChat"
    speaker = make_speaker(target.scene, f"{pipeline}/leaning/{reference.scene.number}")
    wish = make_leaning_wish(speaker, reference.scene, spoken=spoken)
    if wish is None:
        return None
    if not spoken:
        return (user_turn(wish.change, reference.image),)
    before: tuple[ChatTurn, ...] = (user_turn(f"{speaker.pick(WISHES)} {wish.request}"),)
    if pipeline == "merge" and wish.place and wish.things:
        before = (
            *(user_turn(f"i remember it was {wish.place}."), assistant_turn(speaker.pick(_ASKS))),
            user_turn(f"i saw {wish.things}."),
        )
    return turns_with_answer(before, speaker.pick(FOUND_REMARKS), reference.image, wish.change)


def make_leaning_wish(speaker: Speaker, before: Scene, *, spoken: bool = True) -> Ellipsis | None:
    """A wish that leans on another one (see `lean_on`), its change worded as a search that begins like a question."""
    wish = lean_on(speaker, before, spoken=spoken)
    if wish is None:
        return None
    return replace(wish, change=add_lead(f"{speaker.pick(SEARCHES)} {wish.change}?", speaker.rng))


def _make_sample(
    pipeline: Pipeline, own: PicturedScene, turns: tuple[ChatTurn, ...], target: str, captions: dict[str, str]
) -> ChatSample:
    subtask = SUBTASK_OF[pipeline]
    name = f"{subtask[0]}-{own.scene.number:06d}"
    return ChatSample(name, subtask, turns, target, {"pipeline": pipeline, **captions})


def request_phrase(speaker: Speaker) -> str:
    """A caption as the object of a sentence."""
    main = with_article(speaker.describe(speaker.scene.main(), size=0.6, colour=1.0))
    place = speaker.scene.place
    return speaker.pick((f"{main} {speaker.pick(WHERE[place])}", f"{speaker.pick(PLACE_NOUNS[place])} with {main}"))


def text_dialogue_turns(speaker: Speaker, language: Language = "explicit") -> tuple[ChatTurn, ...]:
    """Two or three things that the user tells, with the other side asking on; no sentence says it all."""
    setting = speaker.setting(hour=0.5)
    openings = ("yesterday i was", "it was", "we spent a while", "i remember it was")
    told = [f"{speaker.pick(openings)} {setting}.", *_tell_of_things(speaker)]
    turns: list[ChatTurn] = []
    for sentence, ask in zip(told[:-1], speaker.rng.sample(_ASKS, len(told) - 1), strict=True):
        turns += [user_turn(sentence), assistant_turn(ask)]
    if language == "contextual":
        return (*turns, user_turn(add_lead(f"{speaker.pick(_ASKED_PLEAS)} {told[-1]}", speaker.rng)))
    return (*turns, user_turn(f"{told[-1]} {speaker.pick(_PLEAS)}"))


def _tell_of_things(speaker: Speaker) -> list[str]:
    """Sentences about different things: how many there were, how one looked, what was beside what."""
    things = speaker.rng.sample(speaker.scene.things, len(speaker.scene.things))
    first = things[0]
    count = speaker.scene.counts()[first.kind]
    if count > 1:
        ways: tuple[str, ...] = (
            f"i saw {speaker.count(first.kind, count)} there.",
            f"there were {speaker.count(first.kind, count)}.",
        )
    else:
        named = with_article(speaker.describe(first, size=0.4, colour=0.9))
        ways = (f"i saw {named} {speaker.footing(first)}.", f"{named} caught my eye.", f"i noticed {named}.")
    sentences = [speaker.pick(ways)]
    relations = [relation for relation in speaker.relations if relation.subject.kind != first.kind]
    if relations and speaker.chance(0.6):
        relation = speaker.pick(relations)
        verb = speaker.pick(PREDICATE_WORDS[relation.predicate])
        a, b = (with_article(speaker.describe(thing)) for thing in (relation.subject, relation.object))
        sentences.append(speaker.pick((f"{a} was {verb} {b}.", f"{verb} {b} there was {a}.")))
    else:
        others = [thing for thing in things if thing.kind != first.kind][:2]
        if others:
            sentences.append(f"there was {join_with_and([with_article(speaker.describe(thing)) for thing in others])}.")
    return sentences
