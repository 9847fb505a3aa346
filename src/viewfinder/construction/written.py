"""A language model as `TextGenerator`: prompted with examples, parsed with care, asked once more if that fails.

A prompt is a task in a few sentences, three worked examples, and the case at hand. Wording and examples are ours: the
paper does not print its own. Examples change from picture to picture, so that a weak model has less to copy. Models
number lines, quote them, write labels in bold, forget the first label, or go on with an invented case: answers are
parsed accordingly, or refused with the reason.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, pairwise
from typing import Generic, TypeVar

from viewfinder.construction.pipelines import ImageTextPair, SampleNotMade, TwoRounds
from viewfinder.data.chatsearch import ChatTurn
from viewfinder.language import LanguageModel
from viewfinder.worlds.chatsearch import assistant_turn, user_turn

MAX_LINE_LENGTH = 300
"""Characters per line."""

_LABEL = re.compile(r"^[\s*#>\-\d.)]*(user|assistant|found|caption|(?:first |second )?picture)[\s*]*:[\s*]*", re.I)
_MARKS = " \t*\"'`“”‘’"
_WORD = re.compile(r"[a-z0-9]+")


def split_labelled_lines(text: str, first: str, ends: Collection[str]) -> list[tuple[str, str]]:
    """The lines of an answer with their labels in lower case; a line without one continues the line before.

    Args:
        text: what was written after `first` and its colon.
        first: the label that the answer begins with, which the model may have repeated.
        ends: labels in lower case that start another case.

    >>> split_labelled_lines("A dog?\\nassistant: Which one?\\n\\nPicture: a cat", "User", {"picture"})
    [('user', 'A dog?'), ('assistant', 'Which one?')]
    """
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        match = _LABEL.match(line)
        label, rest = (match[1].lower(), line[match.end() :]) if match else ("", line)
        if label in ends:
            break
        words = rest.strip(_MARKS)
        if label or not found:
            found.append((label or first.lower(), words))
        elif words:
            found[-1] = (found[-1][0], f"{found[-1][1]} {words}".strip())
    return [(label, words) for label, words in found if words]


def parse_dialogue(text: str, captions: Collection[str], known: Collection[str]) -> tuple[ChatTurn, ...]:
    """A dialogue of at least two user turns; what the assistant says after the last one is left out.

    Raises:
        SampleNotMade: the answer is no such dialogue.
    """
    lines = split_labelled_lines(text, "User", {"picture"})
    while lines and lines[-1][0] != "user":
        lines.pop()
    if sum(label == "user" for label, _ in lines) < 2:
        raise SampleNotMade("no dialogue of two rounds")
    if any(a == b for (a, _), (b, _) in pairwise(lines)) or lines[0][0] != "user":
        raise SampleNotMade("the two sides do not take turns")
    if len({said.lower() for _, said in lines}) < len(lines):
        raise SampleNotMade("a line is said twice")
    for _, said in lines:
        _check_line(said, captions, known)
    return tuple((user_turn if label == "user" else assistant_turn)(said) for label, said in lines)


def parse_instruction(text: str, captions: Collection[str], known: Collection[str]) -> str:
    """One sentence from the user: the first line.

    Raises:
        SampleNotMade: it is no sentence, or repeats what a picture shows.
    """
    lines = split_labelled_lines(text.strip().partition("\n")[0], "User", ())
    if not lines:
        raise SampleNotMade("nothing was said")
    return _check_line(lines[0][1], captions, known)


def parse_two_rounds(text: str, captions: Collection[str], known: Collection[str]) -> TwoRounds:
    """A request, the caption of what is found, and a change.

    Raises:
        SampleNotMade: the answer is something else.
    """
    lines = split_labelled_lines(text, "User", ())
    if [label for label, _ in lines[:3]] not in (["user", name, "user"] for name in ("found", "caption", "assistant")):
        raise SampleNotMade("not a request, a caption and a change")
    asked, found, change = (said for _, said in lines[:3])
    if _list_words(found) in [_list_words(caption) for caption in captions]:
        raise SampleNotMade("the first answer is the target already")
    return TwoRounds(
        _check_line(asked, captions, known), _check_line(found, (), known), _check_line(change, captions, known)
    )


def _check_line(said: str, captions: Collection[str], known: Collection[str]) -> str:
    """Checks that a person could have said a line, and returns it.

    Raises:
        SampleNotMade: it is too short or too long, quotes a caption, or repeats an example.
    """
    words = _list_words(said)
    if len(words) < 2:
        raise SampleNotMade("a line of one word")
    if len(said) > MAX_LINE_LENGTH:
        raise SampleNotMade(f"a line of more than {MAX_LINE_LENGTH} characters")
    if any(" ".join(_list_words(caption)) in " ".join(words) for caption in captions):
        raise SampleNotMade("a caption is quoted as it is")
    if said.lower() in known:
        raise SampleNotMade("an example was repeated")
    return said


def _list_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


EXAMPLES_PER_PROMPT = 3
"""Examples per prompt."""


Text = TypeVar("Text")


@dataclass(frozen=True)
class Task(Generic[Text]):
    """A kind of text.

    Attributes:
        wanted: what to write.
        case: the labels of what is given, the captions of pictures.
        answer: the labels of what is written, cycling from the first.
        read: parses an answer, given the captions and the lines of the examples, into what is wanted.
        tokens: the maximum length of an answer.
        examples: captions and answers of solved cases, one line each.
    """

    wanted: str
    case: tuple[str, ...]
    answer: tuple[str, ...]
    read: Callable[[str, Collection[str], Collection[str]], Text]
    tokens: int
    examples: tuple[tuple[str, ...], ...]

    def write_case(self, said: Sequence[str]) -> str:
        """A case, and its answer if there is one, with their labels."""
        labels = chain(self.case, cycle(self.answer))
        return "\n".join(f"{label}: {text}" for label, text in zip(labels, said, strict=False))

    def write_prompt(self, captions: Sequence[str], chance: random.Random) -> str:
        """The prompt for a case, up to the first label of the answer."""
        blocks = [self.write_case(example) for example in chance.sample(self.examples, EXAMPLES_PER_PROMPT)]
        return "\n\n".join([self.wanted, *blocks, f"{self.write_case(captions)}\n{self.answer[0]}:"])

    def list_sentences(self) -> frozenset[str]:
        """Everything that the example answers say, which an answer must not repeat."""
        return frozenset(text.lower() for example in self.examples for text in example[len(self.case) :])


def split_examples(text: str) -> tuple[tuple[str, ...], ...]:
    """Examples separated by empty lines."""
    return tuple(tuple(example.splitlines()) for example in text.strip().split("\n\n"))


DIALOGUE = Task(
    "Someone talks with an assistant and wants to find a picture. They tell a little at a time what they remember, "
    "in words of their own, and never say all of it in one sentence. The assistant asks short questions. Write User "
    "and Assistant in turns, two or three lines of the User, the last one asking for the picture.",
    case=("Picture",),
    answer=("User", "Assistant"),
    read=parse_dialogue,
    tokens=160,
    examples=split_examples("""
Workers in orange vests repair a railway line in deep snow.
Our train stood still for an hour last winter.
What was going on outside?
People in bright clothes were fixing the rails, and everything around them was white.
That sounds cold. Is that what you want to see?
Yes, can you find me a photo of that?

A grey cat asleep on an open laptop.
I could not get any work done this morning.
What kept you from it?
My cat had found the warmest place on the desk, right on the keys. Do you have a picture like that?

Three surfers carry their boards along the shore at sunset.
We stayed by the sea until the sky turned red.
Were you alone?
No, three people came out of the water with something long under their arms.
They must have been riding the waves.
They had. I would love a picture of them walking home.

A street vendor sells steaming corn at night.
I am hungry just thinking of that trip.
What did you eat there?
Something yellow, hot from the cart, after dark. Show me a stall like it.

Two children build a tower of wooden blocks on a rug.
My nephews are going to be architects.
Why do you think so?
You should see how high they get, sitting on the carpet, before it all falls down.
With their toys?
Yes, the plain old wooden ones. Is there a picture of that?

An old man feeds pigeons in front of a cathedral.
There is a square in our town where he comes every day.
Who is he?
A pensioner with a bag of crumbs. The birds know him, and the church behind him is grey. Find me that.
"""),
)

INSTRUCTION = Task(
    "Someone is shown the first picture and wants the second one. Write in one sentence what they say: only what "
    "should be different, nothing that both have in common, and no description of the whole picture.",
    case=("First picture", "Second picture"),
    answer=("User",),
    read=parse_instruction,
    tokens=48,
    examples=split_examples("""
A brown dog runs through shallow water.
A brown dog sleeps on a sofa.
This dog, but resting indoors instead of running about.

A red bus stops on a busy street in the rain.
A green bus on an empty country road.
Make it a green one, and take it out of town, with nobody around.

A bowl of strawberries on a wooden table.
A bowl of lemons on a white tablecloth.
I would rather have yellow fruit, and a white cloth under it.

A man plays the guitar on a stage.
A woman plays the guitar on a park bench.
Could it be a woman, sitting outside somewhere green?

Two zebras graze in dry grass.
A herd of zebras crosses a river.
Many more of them, and going through water.

A lighthouse under a blue sky.
A lighthouse in a storm at night.
The same building, only dark and with wild weather.
"""),
)

TWO_ROUNDS = Task(
    "Someone looks for a picture in two steps. They ask for something, are shown a first picture that is not quite it, "
    "and then say what should be different so that the second answer is the picture that is given. Write three lines: "
    "User asks, Found describes the first picture like a caption, User says what to change.",
    case=("Picture",),
    answer=("User", "Found", "User"),
    read=parse_two_rounds,
    tokens=112,
    examples=split_examples("""
A white horse stands in a stable.
Do you have a photo of a horse?
A brown horse gallops across a field.
I meant a white one, and it should be standing inside.

Four cupcakes with blue icing on a plate.
Show me something sweet for a party.
A chocolate cake with candles.
Smaller ones, four of them, with blue icing on top.

A boy in a yellow raincoat jumps into a puddle.
I would like to see children in the rain.
A girl holds a red umbrella in the rain.
A boy in yellow instead, jumping into the water on the ground.

A motorcycle parked beside a brick wall.
Find me a two-wheeler on the street.
A bicycle leans on a street lamp.
One with an engine, and put it next to a wall of bricks.

A snowy mountain behind a wooden cabin.
Somewhere quiet in the mountains, please.
A mountain lake in summer.
Now with snow, and I want a small house of wood in front.

Three women run a race on a track.
A picture of athletes, please.
A man throws a javelin in a stadium.
Women, three of them, and they should be running.
"""),
)


MAX_TRIES = 2
RETRY_TEMPERATURE = 0.8
"""Temperature of the second attempt; the first one is greedy."""

STOPS = ("\n\n", "\nPicture:", "\nFirst picture:")


@dataclass(frozen=True)
class ModelWriter:
    """Asks a language model.

    Attributes:
        model: see `language.load_language_model`.
        seed: of examples and of the second attempt.
        seconds: time limit for an answer; a later one counts as none.
    """

    model: LanguageModel
    seed: int = 0
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    def write_dialogue(self, target: ImageTextPair) -> tuple[ChatTurn, ...]:
        """See `parse_dialogue`."""
        return self._ask(DIALOGUE, target)

    def write_instruction(self, reference: ImageTextPair, target: ImageTextPair) -> str:
        """See `parse_instruction`."""
        return self._ask(INSTRUCTION, reference, target)

    def write_two_rounds(self, target: ImageTextPair) -> TwoRounds:
        """See `parse_two_rounds`."""
        return self._ask(TWO_ROUNDS, target)

    def _ask(self, task: Task[Text], *pictures: ImageTextPair) -> Text:
        """Asks the model about some pictures, and parses its answer by the task.

        Raises:
            SampleNotMade: neither the answer nor the second attempt can be parsed.
            LanguageModelFailed: the model does not answer.
        """
        captions, named = [one.caption for one in pictures], "/".join(one.image for one in pictures)
        reason = ""
        for attempt in range(MAX_TRIES):
            prompt = task.write_prompt(captions, random.Random(f"viewfinder/prompt/{self.seed}/{attempt}/{named}"))
            text = self.model.complete(
                prompt, stop=STOPS, most_tokens=task.tokens, temperature=RETRY_TEMPERATURE if attempt else 0.0,
                seed=self.seed + attempt, seconds=self.seconds,
            )  # fmt: skip
            try:
                return task.read(text, captions, task.list_sentences())
            except SampleNotMade as error:
                reason = str(error)
        raise SampleNotMade(reason)
