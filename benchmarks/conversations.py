"""Does every turn help? Prints the figures of docs/benchmarks.md and writes benchmarks/results/conversations.json.

    python benchmarks/conversations.py DATA [--limit N] [--seeds 0 1]

DATA holds captioned photographs (see `viewfinder.data.splits`). The gallery is the part `report`. People who know
one of its photographs by captions and boxes (`viewfinder.users.photo_person`) talk with a session as a user would:

sentences   say a caption, and then answer whatever is asked, for five turns, truthfully
fragments   the same in fragments of two to four words
mixed       both; they skip questions, describe, correct, compare, and are wrong now and then

All people stay until the last turn, so that all turns count alike. A rank is that of the wanted picture among all.
Others react to what is shown, after a caption or a fragment and again after the next: they reject the first result that
is not the wanted one, or, if the wanted one is not among them, all; they say what they do not want ("no dog": the first
result shows one, the wanted one does not); or, if the wanted one is not shown, pick the result that is most like it.

Two tests ask for things that are not there: all photographs whose captions name a kind are removed, and then looked
for by their captions; and things that no caption names.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from jaxtyping import Float
from machine import describe_host
from measuring import write_json
from quality import ABSENT, estimate_interval

from viewfinder.conversation import Answer, Like, Question, Reject, Say, Turn
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.evaluation.pictures import Pictures
from viewfinder.evaluation.plan import pick_evenly
from viewfinder.pictures import AtMost, Limits
from viewfinder.pictures.decode import decode
from viewfinder.questioners import QuestionerChoice
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session
from viewfinder.users import (
    AnnotatedPhotos,
    AnnotationAnswerer,
    Person,
    PhotoComparer,
    PhotoNotes,
    Screen,
    SpeakingStyle,
    noun_phrases,
    photo_person,
    read_photo_notes,
)
from viewfinder.users.captions import stems_of, supports_choice
from viewfinder.users.person import Speaks
from viewfinder.wording.replies import is_dont_know

ROUNDS = 6
"""Turns of a conversation: the first one and five more."""

ANSWERS = ("answer", "open answer", "wrong answer", "don't know")

STYLES: dict[str, dict[str, Any]] = {
    "sentences": {"speaks": "sentences", "policy": "answers"},
    "fragments": {"speaks": "fragments", "policy": "answers"},
    "mixed": {"speaks": "mixed", "policy": "mixed", "skips": 0.4, "corrections": 0.3, "noise": 0.05},
}

SPOKEN: tuple[Speaks, ...] = ("sentences", "fragments")
"""How those speak who react to what is shown, or ask for what is not there."""
REACTIONS = ("reject the first", "reject all", "no ...", "like the most similar")
"""Reactions to results."""
MIN_LIKENESS = 0.15
"""A result that has less in common with the wanted picture, by captions (0 to 1), is not picked."""

_MISSING = """
giraffe zebra elephant bear cow sheep horse cat pizza toilet sink airplane train bus truck boat motorcycle bicycle kite
surfboard skateboard snowboard skis tennis baseball umbrella clock bench bed laptop
"""
MISSING = tuple(_MISSING.split())
"""Kinds that are taken away."""
MAX_OF_A_KIND = 3
"""How many of a kind are looked for at most."""


@dataclass(frozen=True)
class Said:
    """One turn: its kind, the 0-based rank before (NaN at first) and after it, and what the session made of it."""

    kind: str
    before: float
    after: int
    verdict: str
    first: str
    match: str
    asked: bool
    entailed: bool


def main() -> None:
    """Hold all conversations and write what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("runs/conversations"), help="raw vectors kept between runs")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1], help="people; each looks for every photograph")
    parser.add_argument("--limit", type=int, help="look for so many photographs only (all are searched all the same)")
    parser.add_argument("--questioner", default="information_gain")
    parser.add_argument("--out", type=Path, default=RESULTS / "conversations.json")
    given = parser.parse_args()
    started = time.perf_counter()
    notes = read_photo_notes(given.data.resolve(), "report")
    pictures = embed_photographs(notes, given.cache)
    targets = pick_evenly(pictures.keys, given.limit)
    gallery, found = pictures.gallery(), dict[str, Any]()
    for name, style in STYLES.items():
        talks = [
            (target, list(converse(gallery, notes, target, SpeakingStyle(**style, seed=seed), given.questioner)))
            for seed in given.seeds
            for target in targets
        ]
        found[name] = summarize_style(notes, talks)
        print(name, json.dumps(found[name]), f"{time.perf_counter() - started:.0f} s", flush=True)
    reactions = {
        f"{way}, {speaks}": react(gallery, notes, targets, styles, way)
        for way in REACTIONS
        for speaks in SPOKEN
        for styles in ([SpeakingStyle(speaks=speaks, policy="answers", seed=seed) for seed in given.seeds],)
    }
    print("reactions", json.dumps(reactions), f"{time.perf_counter() - started:.0f} s", flush=True)
    absent = look_for_absent(notes, pictures, given.questioner, given.limit)
    print("not there", json.dumps(absent), f"{time.perf_counter() - started:.0f} s", flush=True)
    results = {
        "pictures": len(gallery), "targets": len(targets), "seeds": given.seeds, "styles": found,
        "reactions": reactions, "not there": absent, "machine": describe_host(),
    }  # fmt: skip
    write_json(given.out, results)


def embed_photographs(notes: AnnotatedPhotos, cache: Path) -> Pictures:
    """The vectors of all photographs; the raw ones are kept in the cache, by set."""
    encoder, keys = StarterEncoder(), sorted(notes.pictures)
    raw: dict[str, Float[np.ndarray, " raw"]] = {}
    for name in dict.fromkeys(key.partition("/")[0] for key in keys):
        file, own = cache / f"{name}.npz", [key for key in keys if key.startswith(f"{name}/")]
        if file.is_file():
            kept = np.load(file)
            raw |= {f"{name}/{key}": row for key, row in zip(kept["names"].tolist(), kept["raw"], strict=True)}
        if not raw.keys() >= set(own):
            raw_nr = encode_files([notes.of(key).path or Path(key) for key in own], encoder)
            raw |= dict(zip(own, raw_nr, strict=True))
            cache.mkdir(parents=True, exist_ok=True)
            np.savez(file, raw=raw_nr.astype(np.float16), names=np.array([key.partition("/")[2] for key in own]))
    vectors_nd = encoder.project(np.stack([raw[key] for key in keys]).astype(np.float32))
    return Pictures(tuple(keys), vectors_nd.astype(np.float32), encoder)


def encode_files(paths: Sequence[Path], encoder: StarterEncoder) -> Float[np.ndarray, "n raw"]:
    """Raw vectors of picture files, one row a file."""
    limits, found = Limits(), []
    for at in range(0, len(paths), 64):
        pixels = [decode(path.read_bytes(), limits=limits, fit=AtMost(1024)).pixels for path in paths[at : at + 64]]
        found.append(encoder.pictures(pixels).global_bd)
    return np.concatenate(found)


def converse(
    gallery: Gallery,
    notes: AnnotatedPhotos,
    target: str,
    style: SpeakingStyle,
    questioner: QuestionerChoice,
    rounds: int = ROUNDS,
) -> Iterator[Said]:
    """One conversation about a photograph (which need not be there: then every rank is the last)."""
    session = Session(gallery, load_retriever("composer"), questioner)
    user, answerer = person(notes, style), AnnotationAnswerer(notes)
    shown: tuple[str, ...] = ()
    heard: list[str] = []
    rank = math.nan
    is_there = target in gallery.snapshot.ids
    for number in range(rounds):
        # People who see what they look for would leave, so it is hidden from them.
        screen = Screen(tuple(key for key in shown if key != target), session.question, number)
        turn = user.reply(target, screen)
        if turn is None:
            return
        kind = kind_of(turn, number, answerer, target)
        hits = session.take(turn)
        shown = tuple(hit.id for hit in hits)
        heard.append(text_of(turn))
        after = session.rank_of(target) if is_there else len(gallery) - 1
        question = session.question
        yield Said(
            kind, rank, after, hits.verdict, shown[0] if shown else "", hits[0].match if hits else "",
            question is not None, question is not None and is_entailed(question, heard),
        )  # fmt: skip
        rank = after


def person(notes: AnnotatedPhotos, style: SpeakingStyle) -> Person:
    """A new person for each conversation."""
    return photo_person(notes, style=style)


def kind_of(turn: Turn, number: int, answerer: AnnotationAnswerer, target: str) -> str:
    """The kind of a turn."""
    if isinstance(turn, Answer):
        if is_dont_know(turn.text) or not turn.question.choices:
            return "don't know" if is_dont_know(turn.text) else "open answer"
        return "answer" if answerer.answer(turn.question, target) == turn.text else "wrong answer"
    if isinstance(turn, Say):
        return "correction" if turn.text.startswith("no, ") else "say" if number else "first"
    return "reject" if isinstance(turn, Reject) else "like ... but"


def text_of(turn: Turn) -> str:
    """The text of a turn, for judging what is known by then."""
    if isinstance(turn, Answer):
        thing = turn.question.text.lower().partition("how many ")[2].split()
        return "" if is_dont_know(turn.text) else " ".join([turn.text, *thing[:1]])
    return turn.text if isinstance(turn, Say | Like) else ""


def is_entailed(question: Question, heard: Sequence[str]) -> bool:
    """Whether what was said so far decides a question, by the rules that answer from captions."""
    known = AnnotatedPhotos({"said": PhotoNotes(tuple(filter(None, heard)) or ("",))})
    answer = AnnotationAnswerer(known).answer(question, "said")
    return answer in question.choices and not is_dont_know(answer) and answer != "something else"


def summarize_style(notes: AnnotatedPhotos, talks: Sequence[tuple[str, Sequence[Said]]]) -> dict[str, Any]:
    """All figures of one style."""
    turns = [said for _, talk in talks for said in talk]
    kinds = {said.kind: [other for other in turns if other.kind == said.kind] for said in turns if said.kind != "first"}
    ranks_tr = np.array([[talk[min(turn, len(talk) - 1)].after for turn in range(ROUNDS)] for _, talk in talks]).T
    near = [said for said in turns if said.after < 10]
    asked = [said for said in turns if said.asked]
    firsts = [next((at for at, said in enumerate(talk) if said.after < 10), None) for _, talk in talks]
    asked_before = [
        sum(said.kind in ANSWERS for said in talk[: at + 1])
        for (_, talk), at in zip(talks, firsts, strict=True)
        if at is not None
    ]
    answers = [said for said in turns if said.kind in ("answer", "open answer")]
    return {
        "answers": change(answers) if answers else None,
        "kinds": {kind: change(own) for kind, own in sorted(kinds.items())},
        "R@1": [estimate_interval((ranks_r < 1).astype(float).tolist()) for ranks_r in ranks_tr],
        "R@10": [estimate_interval((ranks_r < 10).astype(float).tolist()) for ranks_r in ranks_tr],
        "three answers": estimate_interval(((ranks_tr[3] < 10).astype(float) - (ranks_tr[0] < 10)).tolist()),
        "nothing though among the first ten": share([said.verdict == "nothing" for said in near]),
        "questions per found picture": round(sum(asked_before) / max(len(asked_before), 1), 3),
        "found": share([at is not None for at in firsts]),
        "entailed questions": share([said.entailed for said in asked]),
        "matches": {
            match: {
                "target": share([said.after == 0 for said in turns if said.match == match]),
                "by captions": share([
                    fits(notes, target, said.first)
                    for target, talk in talks for said in talk if said.match == match and said.first
                ]),
            }
            for match in ("likely", "maybe", "unlikely")
        },
    }  # fmt: skip


def change(turns: Sequence[Said]) -> dict[str, float]:
    """Change of log2 (rank + 1), rank from 0, with its interval; shares of turns that made it better and worse."""
    changes = [math.log2(said.after + 1) - math.log2(said.before + 1) for said in turns]
    signs = np.sign(changes)
    shares = {
        name: round(float(np.mean(signs == sign)), 4) for name, sign in (("better", -1), ("same", 0), ("worse", 1))
    }
    return {**estimate_interval(changes), **shares}


def react(
    gallery: Gallery, notes: AnnotatedPhotos, targets: Sequence[str], styles: Sequence[SpeakingStyle], way: str
) -> dict[str, Any]:
    """How a reaction to results changes the rank."""
    return change(
        [said for style in styles for target in targets for said in react_twice(gallery, notes, target, style, way)]
    )


def react_twice(
    gallery: Gallery, notes: AnnotatedPhotos, target: str, style: SpeakingStyle, way: str
) -> Iterator[Said]:
    """The reactions of one conversation."""
    session, user = Session(gallery, load_retriever("composer"), None), person(notes, style)
    for number in range(2):
        said = user.reply(target, Screen((), None, number))
        if said is None:
            return
        shown, before = [hit.id for hit in session.take(said)], session.rank_of(target)
        if turn := reaction(notes, target, shown, way):
            hits = session.take(turn)
            after = session.rank_of(target)
            yield Said(way, before, after, hits.verdict, hits[0].id, hits[0].match, asked=False, entailed=False)


def reaction(notes: AnnotatedPhotos, target: str, shown: Sequence[str], way: str) -> Turn | None:
    """A person's turn in reaction to results; None if they give no occasion for it."""
    others = [key for key in shown if key != target]
    if way == "reject the first":
        return Reject((others[0],))
    if way == "no ...":
        noun = noun_against(notes, target, others[0])
        return Say(f"no {noun}") if noun else None
    if len(others) < len(shown):
        return None
    if way == "reject all":
        return Reject()
    likeness = PhotoComparer(notes).likeness
    best = max(shown, key=lambda key: likeness(key, target))
    return Like(best) if likeness(best, target) >= MIN_LIKENESS else None


def noun_against(notes: AnnotatedPhotos, target: str, shown: str) -> str:
    """A noun in most captions of a shown picture and in none of the wanted one's; "" if there is none."""
    captions = notes.of(shown).captions
    nouns = [phrase.split()[-1] for caption in captions for phrase in noun_phrases(caption)]
    for noun in sorted(set(nouns), key=lambda noun: (-nouns.count(noun), nouns.index(noun))):
        named = sum(supports_choice(noun, caption) for caption in captions)
        if 2 * named > len(captions) and not any(
            supports_choice(noun, caption) for caption in notes.of(target).captions
        ):
            return noun
    return ""


def share(flags: Sequence[bool]) -> dict[str, float]:
    """A share with its interval; nothing where there is nothing to share."""
    return estimate_interval([float(flag) for flag in flags]) if flags else {"n": 0}


def fits(notes: AnnotatedPhotos, target: str, shown: str) -> bool:
    """Whether captions say that a picture shows what the wanted one does: the two things that they name most."""
    if target == shown:
        return True
    wanted = [phrase.split()[-1] for caption in notes.of(target).captions for phrase in noun_phrases(caption)]
    main = sorted(set(wanted), key=lambda noun: (-wanted.count(noun), wanted.index(noun)))[:2]
    return bool(main) and all(
        any(supports_choice(noun, caption) for caption in notes.of(shown).captions) for noun in main
    )


def look_for_absent(notes: AnnotatedPhotos, pictures: Pictures, questioner: str, limit: int | None) -> dict[str, Any]:
    """How often "nothing" is said of what is not there: after the first turn, and at the end of a conversation."""
    removed = list(remove_kinds(notes, pictures, MAX_OF_A_KIND if limit is None else 1))
    found: dict[str, Any] = {}
    for speaks in SPOKEN:
        style = SpeakingStyle(speaks=speaks, policy="answers")
        talks = [
            list(converse(gallery, noted, target, style, questioner, rounds=4))
            for noted, gallery, targets in removed
            for target in targets
        ]
        found[speaks] = {
            "after the first turn": share([talk[0].verdict == "nothing" for talk in talks]),
            "after the last turn": share([talk[-1].verdict == "nothing" for talk in talks]),
        }
    gallery = pictures.gallery()
    named = frozenset(
        stem for note in notes.pictures.values() for caption in note.captions for stem in stems_of(caption)
    )
    absent = [text for text, noun in ABSENT.items() if stems_of(noun).isdisjoint(named)]
    for name, say in (("phrases", lambda text: text), ("their nouns", lambda text: ABSENT[text])):
        found[name] = share([nothing(gallery, say(text)) for text in absent])
    return found


def nothing(gallery: Gallery, text: str) -> bool:
    """Whether a text is answered by "nothing like that here"."""
    return Session(gallery, load_retriever("composer"), None).say(text).verdict == "nothing"


def remove_kinds(
    notes: AnnotatedPhotos, pictures: Pictures, most: int
) -> Iterator[tuple[AnnotatedPhotos, Gallery, list[str]]]:
    """Removes each kind: notes of the captions that name it, the pictures of which no caption does, and some that do.

    People say first what names the kind.
    """
    for kind in MISSING:
        said = {
            key: tuple(caption for caption in note.captions if supports_choice(kind, caption))
            for key, note in sorted(notes.pictures.items())
        }
        # It counts as a picture of the kind only if most of its captions name it.
        chosen = [key for key, naming in said.items() if 2 * len(naming) > len(notes.of(key).captions)]
        if chosen:
            noted = AnnotatedPhotos({**notes.pictures, **{key: PhotoNotes(said[key]) for key in chosen}})
            yield noted, pictures.gallery([key for key in pictures.keys if not said[key]]), pick_evenly(chosen, most)


if __name__ == "__main__":
    main()
