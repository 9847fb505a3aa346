"""What PlugIR's loop asks a language model, and how the replies are read. The worked examples are our own.

Short, because small models on a processor read some hundred words a second.

Captions that stand for the pictures in question: one a group of like pictures, the one that says most.

PlugIR's candidates (Lee et al., "Interactive Text-to-Image Retrieval with Large Language Models", ACL 2024): a caption
that fits its own picture and few others has a low entropy over the pictures; a language model that is shown one such
caption a group sees what there is to choose from.

Of several questions, the one that fits what is being looked for: it moves the ranking least (PlugIR, ACL 2024).

A question about something else would, appended to the description, pull other pictures up. How far it moves the ranking
is the divergence KL(p || p_q) of the chances p of the pictures under the description alone and p_q with the question.

PlugIR's questions: a language model is shown what there is to choose from, and asks about that.

Of the nearest pictures, groups of like ones are made, and a caption stands for each (`clusters`). The model proposes
questions about them; those that the description answers already are dropped; of the others the one is asked that fits
what is looked for (`selecting`). Lee et al., "Interactive Text-to-Image Retrieval with Large Language Models: A
Plug-and-Play Approach", ACL 2024, and their code. Where pictures have no captions, zero-shot tags stand in for them.

Departures: a rejected question is retried for its own place (in the code all places share one list of retries), a
question that was proposed already counts as rejected, candidates are shown in another order each time, a stock
question is asked only where no place was filled, and all ends when the time is up.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
from jaxtyping import Float, Int

from viewfinder.conversation import Answer, Like, Question, Say, Show, Turn, is_dont_know
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, LoadsInBackground
from viewfinder.questioners.answers import find_choices, write_statement
from viewfinder.questioners.askable import is_new_question, is_same_question
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import entropy_bits
from viewfinder.questioners.llm import parse_question

STOCK_QUESTIONS = (
    "What else is in the picture?",
    "What is in the background?",
    "Where was the picture taken?",
    "What is the largest thing in the picture?",
    "Which colours stand out?",
)
"""Asked where the model finds nothing; the first that is new."""

_INFORMED = """\
Somebody describes a picture. Ask about one thing that tells the similar pictures apart and is not in the description.

Description: a boy with a kite
Similar pictures: a boy flies a red kite on a beach; two children with a kite in a field; a kite above a house
Question: Is the boy at a beach?

Description: {description}
Similar pictures: {candidates}
Question:"""

_ALONE = """\
Somebody describes a picture. Ask about one thing that is not in the description.

Description: a boy with a kite
Question: Is anybody else in the picture?

Description: {description}
Question:"""

_FROM_DESCRIPTION = """\
Read the description. Write what it says, or "uncertain".

a boy with a red kite. Is he at a beach? uncertain
a boy with a red kite. What colour is the kite? red
two cats on a bed. Are they black? uncertain
two cats on a bed. Where are the cats? on a bed
a bus in the street. Is it raining? uncertain
{description}. {question}"""

_UNCERTAIN = re.compile(
    r"\b(?:uncertain|unsure|unknown|unclear|not (?:sure|certain|clear|known|say|said|specified))\b", re.IGNORECASE
)


def summarize_turns(turns: Sequence[Turn]) -> str:
    """What the talk says of the picture, as one line: descriptions, and answers as statements; "" if nothing.

    >>> from viewfinder.conversation import Question
    >>> description_of([Say("a dog"), Answer(Question("Is it big?"), "no"), Answer(Question("Where?"), "don't know")])
    'a dog, no big'
    """
    said = (_said(turn) for turn in turns)
    return ", ".join(text for text in said if text)


def _said(turn: Turn) -> str:
    match turn:
        case Say(text) | Like(_, text) | Show(_, text):
            return " ".join(text.split()).rstrip(" .,")
        case Answer(question, text) if not is_dont_know(text):
            return " ".join(write_statement(question.text, text).split()).rstrip(" .,")
        case _:
            return ""


def write_question_prompt(description: str, candidates: Sequence[str]) -> str:
    """The prompt for a question; `candidates` are captions of pictures that are still in question, if known."""
    if not candidates:
        return _ALONE.format(description=description)
    return _INFORMED.format(description=description, candidates="; ".join(candidates))


def write_check_prompt(description: str, question: str) -> str:
    """The prompt for what the description says of a question."""
    return _FROM_DESCRIPTION.format(description=description, question=question)


def is_uncertain(reply: str) -> bool:
    """Whether a reply says that the description does not tell."""
    return _UNCERTAIN.search(reply) is not None or is_dont_know(reply)


def softmax(similar: Float[np.ndarray, "*many w"]) -> Float[np.ndarray, "*many w"]:
    """Likeness into chances along the last axis, at temperature 1 as PlugIR has it.

    >>> softmax(np.log(np.array([1.0, 3.0]))).round(2).tolist()
    [0.25, 0.75]
    """
    weight = np.exp(similar.astype(np.float64) - similar.max(axis=-1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def caption_entropies(
    captions_kd: Float[np.ndarray, "k d"], pictures_wd: Float[np.ndarray, "w d"]
) -> Float[np.ndarray, " k"]:
    """In bits, of the choice among the pictures that each caption makes; unit vectors of one space."""
    return entropy_bits(softmax(captions_kd @ pictures_wd.T))


def group_pictures(pictures_kd: Float[np.ndarray, "k d"], most: int, *, seed: int = 0) -> Int[np.ndarray, " k"]:
    """The group of each picture, by k-means over unit vectors: at most `most` groups, fewer where pictures are alike.

    The squared distance of unit vectors is 2 - 2 cosine, so this is k-means by cosine but for the centres' lengths.
    """
    from sklearn.cluster import KMeans

    different = len(np.unique(np.round(pictures_kd, 3), axis=0))
    if min(most, different) < 2:
        return np.zeros(len(pictures_kd), np.int32)
    found = KMeans(min(most, different), n_init=1, random_state=seed).fit_predict(pictures_kd)
    return np.asarray(found, np.int32)


def pick_most_telling(group_k: Int[np.ndarray, " k"], entropy_k: Float[np.ndarray, " k"]) -> tuple[int, ...]:
    """Of each group the place with the lowest entropy, the first of equals; in the order of the places.

    >>> most_telling(np.array([0, 0, 1, 0, 1]), np.array([2.0, 1.0, 3.0, 1.5, 3.0]))
    (1, 2)
    """
    order = np.argsort(entropy_k, kind="stable")
    _, first = np.unique(group_k[order], return_index=True)
    return tuple(sorted(order[first].tolist()))


def kl_divergences(present_w: Float[np.ndarray, " w"], asked_qw: Float[np.ndarray, "q w"]) -> Float[np.ndarray, " q"]:
    """KL(p || p_q) in nats of one distribution and several others; all chances are above 0.

    >>> divergences(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.25, 0.75]])).round(3).tolist()
    [0.0, 0.144]
    """
    return np.asarray((present_w * np.log(present_w / asked_qw)).sum(axis=1))


def find_least_moving(
    description_d: Float[np.ndarray, " d"],
    asked_qd: Float[np.ndarray, "q d"],
    pictures_wd: Float[np.ndarray, "w d"],
    *,
    without_first: int,
) -> int:
    """Which of q questions moves the ranking least; the first of equals.

    `asked_qd` are the description with each question appended, `pictures_wd` the nearest pictures, the nearest first.
    The `without_first` of them play no role, unless there are no others: they will stay near whatever is asked.
    """
    ranked_wd = pictures_wd[without_first:] if len(pictures_wd) > without_first + 1 else pictures_wd
    present_w, asked_qw = softmax(ranked_wd @ description_d), softmax(asked_qd @ ranked_wd.T)
    return int(np.argmin(kl_divergences(present_w, asked_qw)))


SHORT_REPLY = 8
"""Tokens of what the description says of a question: "uncertain" is one or two."""


@dataclass(frozen=True, kw_only=True)
class PlugirSettings:
    """The switches and numbers of the code, under its names where it has one.

    Our own: `seconds`, and `groups` and `q_n`, which are 10 and 5 in the paper. On one processor core a model of 135
    million parameters takes 1.3 s to propose a question about 5 captions and 0.5 s to check it: three fit in the time.
    """

    referring: bool = True  # show the model candidates
    filtering: bool = True  # drop what the description answers
    select: bool = True  # ask what moves the ranking least; else the first that is left
    q_n: int = 3  # questions to choose from
    recall_hitting: int = 10  # the nearest pictures that play no role in choosing
    thres_low: int = 500  # nearest pictures in the first round
    fewer: int = 50  # each round
    groups: int = 5
    tries: int = 3  # for each question
    temperature: float = 0.5
    most_tokens: int = 32
    seconds: float = 10.0  # for all of it


@dataclass(frozen=True, eq=False)
class PlugirQuestioner:
    """The questioner. `tags` describe pictures that have no captions; `clock` counts seconds."""

    model: LanguageModel
    tags: TagVectors | None = None
    settings: PlugirSettings = PlugirSettings()
    clock: Callable[[], float] = time.monotonic
    name: str = "plugir"

    def ask(self, view: Candidates) -> Question | None:
        """The question of this round; None where nothing was said in words, or one picture is left.

        Raises:
            LanguageModelFailed: it fails, or has proposed no question when the time is up.
        """
        description = summarize_turns(view.turns)
        if not description or np.count_nonzero(view.probabilities_c) < 2:
            return None
        deadline = self.clock() + self.settings.seconds
        near_w = nearest_candidates(view, self.settings)
        shown = self._candidates(view, near_w) if self.settings.referring else ()
        drafts = _Drafts(
            questioner=self,
            view=view,
            description=description,
            candidates=shown,
            deadline=deadline,
        )
        found = drafts.collected()
        chosen = found[self._selected(view, near_w, description, found)]
        why = _why(
            len(found), len(shown), len(near_w), checked=self.settings.filtering and drafts.unchecked not in found
        )
        return Question(chosen, find_choices(chosen), self.name, why)

    def prepare(self) -> None:
        """Returns when the model is loaded, and what groups pictures too.

        Raises:
            BadInput: it cannot be.
        """
        import_module("sklearn.cluster")  # may take longer than a question has time
        if isinstance(self.model, LoadsInBackground):
            self.model.wait()

    def _candidates(self, view: Candidates, near_w: Int[np.ndarray, " w"]) -> tuple[str, ...]:
        captions = caption_candidates(view, near_w, self.tags)
        return tuple(captions[at] for at in pick_representatives(view, near_w, captions, self.settings.groups))

    def _selected(
        self, view: Candidates, near_w: Int[np.ndarray, " w"], description: str, questions: Sequence[str]
    ) -> int:
        if not self.settings.select or len(questions) < 2 or view.lookup is None:
            return 0
        vectors = view.lookup.words([description, *(f"{description}, {question}" for question in questions)])
        first = self.settings.recall_hitting
        return find_least_moving(vectors[0], vectors[1:], view.vectors_cd[near_w], without_first=first)


def nearest_candidates(view: Candidates, settings: PlugirSettings) -> Int[np.ndarray, " w"]:
    """The W likeliest candidates, the likeliest first: in round n, W = thres_low - fewer (n - 1).

    Never fewer than `fewer` (which is what the tenth round of the paper has), as far as there are candidates.
    """
    window = max(settings.thres_low - settings.fewer * len(view.asked), settings.fewer)
    return np.argsort(-view.probabilities_c, kind="stable")[:window]


def caption_candidates(view: Candidates, near_w: Int[np.ndarray, " w"], tags: TagVectors | None) -> tuple[str, ...]:
    """A caption of each of these candidates: the first that somebody wrote, else what tags say; "" where none do."""
    written = view.lookup.captions() if view.lookup is not None else ()
    captions = [next(iter(written[at]), "") if len(written) else "" for at in near_w.tolist()]
    bare = [at for at, caption in enumerate(captions) if not caption]
    if tags is not None and bare:
        for at, said in zip(bare, tags.attributes(view.vectors_cd[near_w[bare]]), strict=True):
            captions[at] = ", ".join(value for values in said.values() for value in values)
    return tuple(captions)


def pick_representatives(
    view: Candidates, near_w: Int[np.ndarray, " w"], captions: Sequence[str], most: int
) -> tuple[int, ...]:
    """Places of captions, one a group of like candidates, that say most; without captions none."""
    there = [at for at, caption in enumerate(captions) if caption]
    if view.lookup is None or not there:
        return ()
    pictures_wd = np.asarray(view.vectors_cd[near_w], np.float32)
    words_kd = np.asarray(view.lookup.words([captions[at] for at in there]), np.float32)
    groups_k = group_pictures(pictures_wd[there], most)
    return tuple(there[at] for at in pick_most_telling(groups_k, caption_entropies(words_kd, pictures_wd)))


@dataclass(kw_only=True)
class _Drafts:
    """The questions of one round, as the model proposes them; `accepted` are those that the description leaves open."""

    questioner: PlugirQuestioner
    view: Candidates
    description: str
    candidates: Sequence[str]
    deadline: float
    proposed: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    unchecked: str | None = None
    failure: LanguageModelFailed | None = None

    def collected(self) -> list[str]:
        """At most q_n accepted questions; else a stock question, or one that there was no time to check.

        Raises:
            LanguageModelFailed: there is none of them, or the model failed and found nothing.
        """
        for place in range(self.questioner.settings.q_n):
            self._fill(place)
        if self.accepted or self.unchecked is not None:
            return self.accepted or [self.unchecked or ""]
        if self.failure is not None:
            raise self.failure
        stock = next(filter(self._is_open, STOCK_QUESTIONS), None)
        if stock is None:
            raise LanguageModelFailed(f"{self.questioner.model.name}: found nothing new to ask")
        return [stock]

    def _fill(self, place: int) -> None:
        """One more question: some tries with candidates, and one without."""
        settings, tries = self.questioner.settings, self.questioner.settings.tries
        first = (len(self.view.asked) * settings.q_n + place) * (tries + 1)
        for attempt in range(tries + 1):
            seed = first + attempt
            try:
                if self._propose(rotate_texts(self.candidates, seed) if attempt < tries else (), seed):
                    return
            except LanguageModelFailed as error:
                self.failure = self.failure or error

    def _propose(self, candidates: Sequence[str], seed: int) -> bool:
        """Whether the model had a new question that the description leaves open."""
        settings = self.questioner.settings
        prompt = write_question_prompt(self.description, candidates)
        text = parse_question(self._said(prompt, settings.most_tokens, settings.temperature, seed))
        if text is None or not self._is_open(text):
            return False
        self.proposed.append(text)
        if settings.filtering and not self._leaves_open(text):
            return False
        self.accepted.append(text)
        return True

    def _leaves_open(self, text: str) -> bool:
        self.unchecked = text
        reply = self._said(write_check_prompt(self.description, text), SHORT_REPLY)
        self.unchecked = None
        return is_uncertain(reply)

    def _is_open(self, text: str) -> bool:
        return is_new_question(text, self.view) and not any(is_same_question(text, other) for other in self.proposed)

    def _said(self, prompt: str, most_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        model, left = self.questioner.model, self.deadline - self.questioner.clock()
        if left <= 0:
            raise LanguageModelFailed(f"{model.name}: the time was up before there was a question")
        return model.complete(prompt, most_tokens=most_tokens, temperature=temperature, seed=seed, seconds=left)


def rotate_texts(texts: Sequence[str], by: int) -> tuple[str, ...]:
    """The texts with the first ones moved to the end: a small model asks about what it read last.

    >>> turned(("a", "b", "c"), 4)
    ('b', 'c', 'a')
    """
    start = by % max(len(texts), 1)
    return (*texts[start:], *texts[:start])


def _why(questions: int, shown: int, near: int, *, checked: bool) -> str:
    about = f"about {shown} kinds of pictures among the {near} nearest" if shown else "about the description alone"
    chosen = f"of {questions} questions the one that fits best" if questions > 1 else "the one question that was found"
    return f"{chosen}, {about}" + ("" if checked else "; not checked against what is said")
