"""How much a world gives away, read from its files by rules that know its grammar but not how a sentence came about.

Whether the first words tell a question about a picture from a search (`decide_by_beginning`); which pictures fit what
the last turn says, alone and with all before it (`fits_of_chats`, `fits_of_transactions`); and the share of sentences
for testing that occur word for word in training (`share_repeated`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from viewfinder.data.chatsearch import ChatTurn, ImageItem, TextItem, read_chatsearch, read_gallery
from viewfinder.data.dialogues import read_dialogues
from viewfinder.data.fashionmt import read_transactions
from viewfinder.data.files import read_json
from viewfinder.data.truth import PictureTruth, read_truth
from viewfinder.wording.modifications import parse_ordinal_reference, split_modification
from viewfinder.wording.numbers import NUMBERS
from viewfinder.worlds.catalogue.statements import denials_of, phrases_of
from viewfinder.worlds.catalogue.transactions import SETTINGS, noun_phrase
from viewfinder.worlds.catalogue.vocabulary import FACETS
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import COLOUR_WORDS, LIGHT_WORDS, PLACE_NOUNS, WHERE, reword

# Questions and searches


def beginnings(folder: Path, split: str) -> tuple[list[str], list[str]]:
    """Questions about pictures, and the last turns of searches, of a split of a world of scenes."""
    dialogues, _ = read_dialogues(folder / "dialogues" / f"world_{split}.json")
    questions = [one.question for dialogue in dialogues for one in dialogue.rounds]
    files = sorted((folder / "chatsearch").glob(f"*_{split}.jsonl"))
    return questions, [_text(sample.turns[-1]) for file in files for sample in read_chatsearch(file)[0]]


def decide_by_beginning(train: tuple[list[str], list[str]], test: tuple[list[str], list[str]], words: int) -> float:
    """How often the best rule over the first words, chosen on `train`, tells questions from searches of `test`.

    The mean of both kinds' shares, so 0.5 is chance; what training does not begin with counts as half right.
    """
    shares: list[dict[str, float]] = []
    for texts in train:
        counted = Counter(_beginning(text, words) for text in texts)
        shares.append({start: count / len(texts) for start, count in counted.items()})
    right = 0.0
    for kind, texts in enumerate(test):
        for text in texts:
            own, other = (shares[side].get(_beginning(text, words), 0.0) for side in (kind, 1 - kind))
            right += (1.0 if own > other else 0.5 if own == other else 0.0) / len(texts)
    return right / 2


def _beginning(text: str, words: int) -> str:
    return " ".join(re.findall(r"[a-z0-9'-]+", text.lower())[:words])


def _text(turn: ChatTurn) -> str:
    return " ".join(item.text for item in turn.content if isinstance(item, TextItem))


# What fits


@dataclass(frozen=True)
class Fits:
    """How many pictures of the gallery fit the last turn of a dialogue, and the whole, and whether the target does."""

    last: int
    whole: int
    last_has_target: bool
    whole_has_target: bool

    @property
    def told_by_last(self) -> bool:
        """Whether the last turn alone leads to the target and nowhere else."""
        return self.last_has_target and self.last == 1


Fact = Callable[[PictureTruth], bool]
_Nouns = Mapping[str, tuple[str, bool]]
"""What things are called -> their kind, and whether that is a plural."""


def fits_of_chats(folder: Path) -> list[Fits]:
    """Of the mChat dialogues for testing: "the same" is read as what the picture shown before has."""
    truths, home = read_truth(folder), folder / "chatsearch"
    gallery = [truths[PurePosixPath(name).name] for name in read_gallery(home / "gallery_mChat.txt")]
    nouns, found = _nouns(gallery), []
    for sample in read_chatsearch(home / "mChat_test.jsonl")[0]:
        said = [_text(turn) for turn in sample.turns if turn.role == "user"]
        shown = [item.image for turn in sample.turns for item in turn.content if isinstance(item, ImageItem)]
        last = _scene_facts(said[-1], nouns)
        before = [fact for text in said[:-1] for fact in _scene_facts(text, nouns)]
        leaning = _leaning_facts(said[-1], " ".join(said[:-1]), truths[PurePosixPath(shown[-1]).name], nouns)
        target = truths[PurePosixPath(sample.target).name]
        found.append(_fits(gallery, target, last, [*last, *before, *leaning]))
    return found


def _fits(gallery: Sequence[PictureTruth], target: PictureTruth, last: list[Fact], whole: list[Fact]) -> Fits:
    fit = [[all(fact(truth) for fact in facts) for truth in gallery] for facts in (last, whole)]
    at = gallery.index(target)
    return Fits(sum(fit[0]), sum(fit[1]), fit[0][at], fit[1][at])


def _scene_facts(text: str, nouns: _Nouns) -> list[Fact]:
    """What a sentence says of a scene by itself: place, hour, and things with number and colour, there or not."""
    text = re.sub(r" instead of (?:the )?\w+(?: one)?|, not \w+", "", text.lower())
    facts = [_is("place", name) for name in _named(text, {**_merged(WHERE), **_merged(PLACE_NOUNS)})]
    facts += [_is("light", name) for name in _named(text, _merged(LIGHT_WORDS))]
    for found in _thing_pattern(tuple(nouns)).finditer(text):
        kind, many = nouns[found["noun"]]
        colour = _colours().get(found["colour"] or found["then"] or found["made"] or "", "")
        if found["no"] or text[found.end() :].startswith((" is not there", " are not there")):
            facts.append(_count(kind, "", 0))
        elif found["number"] and many:
            facts.append(_count(kind, "", _NUMBER[found["number"]]))
        else:
            facts.append(_has(kind, colour))
    return facts


def _leaning_facts(last: str, before: str, shown: PictureTruth, nouns: _Nouns) -> Iterator[Fact]:
    """What the last turn means by "the same place", "it" and "them"."""
    if re.search(r"\b(?:very )?same (?:place|spot)\b", last):
        yield _is("place", shown.place)
    spoken = {nouns[found["noun"]][0] for found in _thing_pattern(tuple(nouns)).finditer(before)}
    if len(spoken) == 1:
        [kind] = spoken
        if found := re.search(r"\bwith it in (\S+)", last):
            yield _has(kind, _colours().get(found[1].rstrip(",?"), ""))
        if found := re.search(r"\bwith (\w+) of them\b", last):
            yield _count(kind, "", _NUMBER[found[1]])


_NUMBER = {word: number for number, word in NUMBERS.items()}


@cache
def _colours() -> dict[str, str]:
    return {word: colour for colour in COLOURS for word in COLOUR_WORDS.get(colour, (colour,))}


def _nouns(gallery: Sequence[PictureTruth]) -> _Nouns:
    known = {(thing.kind, thing.nouns) for truth in gallery for thing in truth.things}
    ways = [(noun, kind, many) for kind, nouns in sorted(known) for one in nouns for many, noun in enumerate(one)]
    return {noun: (kind, bool(many)) for noun, kind, many in reversed(ways)}


@cache
def _thing_pattern(nouns: tuple[str, ...]) -> re.Pattern[str]:
    colours, numbers = "|".join(sorted(_colours(), key=len, reverse=True)), "|".join(_NUMBER)
    return re.compile(
        rf"\b(?P<no>no |without (?:the )?|leave out the )?(?:(?P<number>{numbers}) )?"
        rf"(?:[\w-]+ )??(?:(?P<colour>{colours}) )?(?:(?:striped|stripy|dotted|spotted|polka-dot|checked|plain) )?"
        rf"(?P<noun>{'|'.join(map(re.escape, sorted(nouns, key=len, reverse=True)))})\b(?!-)"
        rf"(?: (?:should be|is) (?P<then>{colours})\b| (?P<made>{colours})\b(?! [a-z]))?"
    )


def _merged(words: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {phrase: name for name, phrases in words.items() for phrase in phrases if phrase}


def _named(text: str, phrases: Mapping[str, str]) -> set[str]:
    """What is named: a phrase within a longer one does not count."""
    found: set[str] = set()
    for phrase in sorted(phrases, key=len, reverse=True):
        if re.search(rf"\b{re.escape(phrase)}\b", text):
            found.add(phrases[phrase])
            text = text.replace(phrase, " ")
    return found


def _is(name: str, value: str) -> Fact:
    return lambda truth: getattr(truth, name) == value


def _has(kind: str, colour: str) -> Fact:
    return lambda truth: any(thing.kind == kind and colour in {"", thing.colour} for thing in truth.things)


def _count(kind: str, colour: str, number: int) -> Fact:
    return lambda truth: sum(thing.kind == kind and colour in {"", thing.colour} for thing in truth.things) == number


# Transactions


def fits_of_transactions(folder: Path) -> list[Fits]:
    """Of the transactions for testing: with the history, what is not said stays as in the picture that is gone on from.

    Comparisons ("is darker") are not read: without them a clause fits more, with and without the history.
    """
    truths = read_truth(folder)
    sets = [read_transactions(folder, setting, "test")[0] for setting in SETTINGS]
    names = _phrases(truths.values())
    found = []
    for each in (one for some in sets for one in some.transactions):
        chain = [truths[PurePosixPath(picture).name] for picture in each.pictures]
        text = each.modifications[-1]
        looks_back = parse_ordinal_reference(text)
        places = () if looks_back is None else looks_back.places
        origin = chain[places[0]] if looks_back and looks_back.setting == "rollback" else chain[2]
        wanted = {facet: set(origin.attributes.get(facet, ())) for facet in _SEEN}
        last: list[Fact] = []
        for clause in split_modification(text).clauses:
            if kept := _KEPT.findall(clause):
                for (_, said), place in zip(kept, places, strict=False):
                    facet, word = _kept(said, names)
                    last += [_worn(facet, word)] if word else []
                    if facet in wanted:
                        wanted[facet] = set(chain[place].attributes.get(facet, ()))
            elif clause in names:
                facet, word, denied = names[clause]
                last.append(_worn(facet, word, denied))
                if facet in wanted:
                    others = wanted[facet] if facet == "detail" or denied else set()
                    wanted[facet] = others - {word} if denied else others | {word}
        found.append(_fits(list(truths.values()), chain[-1], last, [*last, _looks(wanted)]))
    return found


_KEPT = re.compile(r"the (FIRST|SECOND)'s (.+?)(?= and (?:keep )?the |$)")
_SEEN = tuple(name for name, facet in FACETS.items() if facet.seen and name != "kind")


def _phrases(truths: Iterable[PictureTruth]) -> dict[str, tuple[str, str, bool]]:
    """What a clause means: facet, word, and whether it is denied; also as it is said for testing, and of what stays."""
    known = {(facet, word) for truth in truths for facet in FACETS for word in truth.attributes.get(facet, ())}
    found: dict[str, tuple[str, str, bool]] = {}
    for facet, word in sorted(known):
        for denied, phrases in ((False, phrases_of(facet, word)), (True, denials_of(facet, word))):
            for phrase in phrases:
                kept = (phrase.replace("is ", "is still ", 1), phrase.replace("has ", "still has ", 1))
                for said in (phrase, reword(phrase), *kept):
                    found.setdefault(said, (facet, word, denied))
        found.setdefault(f"keep {noun_phrase(facet, word)}", (facet, word, False))
    return found


def _kept(said: str, names: Mapping[str, tuple[str, str, bool]]) -> tuple[str, str]:
    """The facet that is kept, and its word if that is said ("red colour", not "colour")."""
    if f"keep {said}" in names:
        facet, word, _ = names[f"keep {said}"]
        return facet, word
    return next((name for name, facet in FACETS.items() if facet.noun == said), ""), ""


def _worn(facet: str, word: str, denied: bool = False) -> Fact:
    return lambda truth: (word in truth.attributes.get(facet, ())) is not denied


def _looks(wanted: Mapping[str, set[str]]) -> Fact:
    return lambda truth: all(set(truth.attributes.get(facet, ())) == words for facet, words in wanted.items())


# Sentences heard before


def share_repeated(train: Iterable[str], test: Sequence[str]) -> float:
    """The share of the sentences for testing that occur in training, case and full stop aside."""
    heard = {_plain(said) for said in train}
    return sum(_plain(said) in heard for said in test) / max(1, len(test))


def _plain(said: str) -> str:
    return said.lower().strip(" .")


def sentences(folder: Path, split: str) -> dict[str, list[str]]:
    """What is said of the pictures of a split: captions of scenes; relative captions and modifications of articles."""
    if (folder / "rg_jsons").is_dir():
        inside = set((folder / "caches" / f"vg_{split}.txt").read_text(encoding="utf-8").split())
        captions = read_json(folder / "annotations" / "captions_world.json", dict)["annotations"]
        return {"captions": [one["caption"] for one in captions if str(one["image_id"]) in inside]}
    files = sorted((folder / "captions").glob(f"cap.*.{split}.json"))
    relative = [said for file in files for pair in read_json(file, list) for said in pair["captions"]]
    told = [read_transactions(folder, setting, split)[0].transactions for setting in SETTINGS]
    clauses = [
        clause
        for some in told
        for one in some
        for text in one.modifications
        for clause in split_modification(text).clauses
        if not clause.startswith("keep ")
    ]
    captions = [caption for some in told for one in some for caption in one.captions]
    return {"captions": captions, "relative captions": relative, "clauses": clauses}
