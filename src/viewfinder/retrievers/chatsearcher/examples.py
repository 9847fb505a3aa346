"""Records of data sets as training examples: the assistant's last answer is the target to find or to say.

A user's own picture stands before the user's words, in training as in search. Every function refers to pictures by
their names in the data.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, Subtask, TextItem
from viewfinder.data.dialogues import Dialogue
from viewfinder.data.fashionmt import Transaction
from viewfinder.data.picture_texts import WebPage
from viewfinder.retrievers.chatsearcher.sequence import Item, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import ExampleKind
from viewfinder.users.photographs import cut_fragment
from viewfinder.wording.modifications import parse_ordinal_reference, split_modification

KINDS_OF_CHAT: Mapping[Subtask, ExampleKind] = {"tChat": "tchat", "iChat": "ichat", "mChat": "mchat"}

MIN_PICTURES, MAX_PICTURES = 2, 4
"""How many pictures an assembled document has."""

MAX_EXAMPLE_ROUNDS = 5
"""The most questions about a picture in one example."""

OF_COMMANDS = (
    "{}",
    "{}, please.",
    "please {}.",
    "can you {}?",
    "could you {}?",
    "i like this one, but {}.",
    "take this picture and {}.",
    "here is a picture. {}.",
    "show me the same picture, but {}.",
    "start from this one and {}.",
    "let us change something: {}.",
    "i have this picture. now {}.",
    "what would it look like if you were to {}?",
    "find me the same with one change: {}.",
)
"""Ways to ask for an edit given as a command ("make the car red")."""

OF_CLAUSES = (
    "{}",
    "one that {}",
    "i want one that {}.",
    "can you show me this, but one that {}?",
    "like this one, but the one i want {}.",
    "do you have something like it that {}?",
    "i like this, but i need one that {}.",
    "show me one like this that {}.",
    "the one i am looking for {}.",
    "unlike this one, mine {}.",
    "not quite, the right one {}.",
    "close, but it {}.",
    "please find one that {}.",
    "is there one that {}?",
)
"""Ways to ask for goods described by clauses ("is red and has long sleeves")."""

OF_REQUESTS = ("{}", "{}", "{}", "show me {}", "i am looking for {}", "find {}", "do you have {}?", "a picture of {}")
"""Ways to ask for a picture; most people type only what it shows."""

SEARCHES_ON = 0.5
"""How often a search for another picture follows questions about one that was found."""

TWO_PARTS = 0.3
"""How often a second caption follows as a turn of its own, if a picture has several."""


def caption_example(picture: str, caption: str, *, first: bool) -> TrainingExample:
    """A caption and its picture, which comes `first` or last."""
    return _make_document([(picture, caption, first)], "captions")


def request_example(
    picture: str, captions: Sequence[str], rng: random.Random, *, fragments: float = 0.0
) -> TrainingExample:
    """A picture asked for by one of its captions, sometimes by a second one when the first did not find it.

    `fragments`: how often a few words are said instead of a caption.
    """
    first, *rest = rng.sample(captions, len(captions))
    said: list[TrainingTurn] = [TrainingTurn("user", (TextItem(_word_request(first, rng, fragments)),))]
    if rest and rng.random() < TWO_PARTS:
        more = _word_request(rest[0], rng, fragments, ("{}",))
        said += [TrainingTurn("assistant", ()), TrainingTurn("user", (TextItem(more),))]
    return TrainingExample((*said, _show_picture(picture)), "requests")


def group_into_pages(captioned: Sequence[tuple[str, Sequence[str]]], rng: random.Random) -> Iterator[TrainingExample]:
    """Documents of two to four pictures with one caption each; every picture is in one, except perhaps a last one."""
    order = rng.sample(captioned, len(captioned))
    while len(order) >= MIN_PICTURES:
        count = rng.randint(MIN_PICTURES, MAX_PICTURES)
        chosen, order = order[:count], order[count:]
        captions = [rng.choice(said) for _, said in chosen]
        shown = [(pair[0], caption, rng.random() < 0.5) for pair, caption in zip(chosen, captions, strict=True)]
        yield _make_document(shown, "documents")


def web_page_example(page: WebPage, rng: random.Random) -> TrainingExample:
    """A page of mmc4, its pictures before or after the sentences that they belong to."""
    items: list[Item] = []
    for place, sentence in enumerate(page.sentences):
        own = [ImageItem(picture.name) for picture in page.pictures if picture.sentence == place]
        before = [rng.random() < 0.5 for _ in own]
        items += [picture for picture, is_before in zip(own, before, strict=True) if is_before]
        items += [TextItem(sentence)] if sentence.strip() else []
        items += [picture for picture, is_before in zip(own, before, strict=True) if not is_before]
    return TrainingExample((TrainingTurn("document", tuple(items)),), "documents")


def chat_example(sample: ChatSample, *, image_first: bool) -> TrainingExample:
    """A chat-search sample; its target is the last answer."""
    turns = [chat_turn(turn, image_first=image_first) for turn in sample.turns]
    return TrainingExample((*turns, _show_picture(sample.target)), KINDS_OF_CHAT[sample.subtask])


def chat_turn(turn: ChatTurn, *, image_first: bool) -> TrainingTurn:
    """One side's turn: its pictures before its words, unless those of an answer may follow its words."""
    if turn.role == "assistant" and not image_first:
        return TrainingTurn("assistant", turn.content)
    return TrainingTurn(turn.role, tuple(sorted(turn.content, key=lambda item: isinstance(item, TextItem))))


def dialogue_examples(
    dialogue: Dialogue,
    rng: random.Random,
    *,
    found_first: float = 0.0,
    others: Sequence[Dialogue] = (),
    fragments: float = 0.0,
) -> Iterator[TrainingExample]:
    """Its questions and answers, one to five rounds per example; the first question comes with the picture.

    `found_first`: in which share of the examples the picture was found by the dialogue's caption before. After
    some of these, the picture of one of the `others` is searched for. `fragments`: as `request_example` has it.
    """
    turns: list[ChatTurn] = []
    for said in dialogue.rounds:
        if said.question and said.answer:
            turns += [ChatTurn("user", (TextItem(said.question),)), ChatTurn("assistant", (TextItem(said.answer),))]
    for one in split_into_examples(turns, (ImageItem(dialogue.image),), rng):
        is_found = found_first and rng.random() < found_first
        other = rng.choice(others) if is_found and others and rng.random() < SEARCHES_ON else None
        yield _put_search_first(one, dialogue, other, rng, fragments) if is_found else one


def split_into_examples(
    turns: Sequence[ChatTurn], shown: tuple[ImageItem, ...], rng: random.Random
) -> Iterator[TrainingExample]:
    """A dialogue about a picture, from a question to an answer, split into examples of one to five rounds by `rng`.

    `shown` is the picture with the first question of every example; none if it is not about a picture.
    """
    left = turns[: len(turns) // 2 * 2]  # a last question without an answer teaches nothing
    while left:
        rounds = rng.randint(1, MAX_EXAMPLE_ROUNDS)
        (first, *rest), left = left[: 2 * rounds], left[2 * rounds :]
        words = tuple(item for item in first.content if isinstance(item, TextItem))
        yield TrainingExample(
            (TrainingTurn("user", (*shown, *words)), *(TrainingTurn(turn.role, turn.content) for turn in rest)),
            "visual",
        )


def _put_search_first(
    asked: TrainingExample, dialogue: Dialogue, other: Dialogue | None, rng: random.Random, fragments: float
) -> TrainingExample:
    """Questions about a picture of the user's own, as questions about one that the user asked for and was shown."""
    first, *rest = asked.turns
    question = TrainingTurn("user", tuple(item for item in first.items if isinstance(item, TextItem)))
    before, after = (_ask_and_show(one, rng, fragments) if one else () for one in (dialogue, other))
    return TrainingExample((*before, question, *rest, *after), asked.kind)


def _ask_and_show(dialogue: Dialogue, rng: random.Random, fragments: float) -> tuple[TrainingTurn, TrainingTurn]:
    """A dialogue's picture, asked for by its caption and shown."""
    words = _word_request(dialogue.caption, rng, fragments)
    return TrainingTurn("user", (TextItem(words),)), _show_picture(dialogue.image)


def _word_request(caption: str, rng: random.Random, fragments: float, ways: Sequence[str] = OF_REQUESTS) -> str:
    """A caption as people type it: in one of the `ways`, or as a few of its words."""
    if fragments and rng.random() < fragments:
        return cut_fragment(caption, rng)
    return reword_instruction(caption, ways, rng)


def edit_example(before: str, words: str, after: str) -> TrainingExample:
    """A picture, the change to make, and the changed picture."""
    return TrainingExample((TrainingTurn("user", (ImageItem(before), TextItem(words))), _show_picture(after)), "edits")


def transaction_examples(one: Transaction, rng: random.Random) -> Iterator[TrainingExample]:
    """Each turn of FashionMT as a separate edit, in our own wording.

    A turn that goes back edits the picture it goes back to; a turn that keeps parts of earlier ones is left out.
    """
    for turn, (modification, (before, after)) in enumerate(zip(one.modifications, pairwise(one.pictures), strict=True)):
        back, said = parse_ordinal_reference(modification), split_modification(modification).clauses
        places = (turn,) if back is None else back.places
        if said and len(places) == 1 and (back is None or back.setting == "rollback") and places[0] <= turn:
            start = before if back is None else one.pictures[places[0]]
            yield edit_example(start, reword_instruction(" and ".join(said), OF_CLAUSES, rng), after)


def reword_instruction(instruction: str, ways: Sequence[str], rng: random.Random) -> str:
    """An instruction as a person might say it, using templates as in the paper.

    >>> reword_instruction("Make the car red.", ("please {}.",), random.Random(0))
    'please make the car red.'
    """
    return rng.choice(ways).format(_cut_to_clause(instruction))


def _cut_to_clause(instruction: str) -> str:
    """An instruction as a clause: without a full stop, without an initial capital unless the word is all capitals."""
    text = instruction.strip().rstrip(".!? ")
    return text[:1].lower() + text[1:] if not text[1:2].isupper() else text


def _make_document(shown: Sequence[tuple[str, str, bool]], kind: ExampleKind) -> TrainingExample:
    """Pictures and their sentences, each picture before or after its sentence."""
    items: list[Item] = []
    for picture, sentence, first in shown:
        pair = (ImageItem(picture), TextItem(sentence))
        items += pair if first else pair[::-1]
    return TrainingExample((TrainingTurn("document", tuple(items)),), kind)


def _show_picture(picture: str) -> TrainingTurn:
    return TrainingTurn("assistant", (ImageItem(picture),))
