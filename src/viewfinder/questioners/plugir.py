"""PlugIR's questions: a language model is shown what there is to choose from, and asks about that.

Of the nearest pictures, groups of like ones are made, and of each group the caption is shown that says most: one that
fits its own picture and few others has a low entropy over the pictures. The model proposes questions about them; those
that the description answers already are dropped; of the others the one is asked that moves the ranking least. A
question about something else would, appended to the description, pull other pictures up. Lee et al., "Interactive
Text-to-Image Retrieval with Large Language Models: A Plug-and-Play Approach", ACL 2024, and their code. Where pictures
have no captions, zero-shot tags stand in for them.

Departures: a rejected question is retried for its own place (in the code all places share one list of retries), a
question that was proposed already counts as rejected, candidates are shown in another order each time, a stock
question is asked only where no place was filled, and all ends when the time is up. The worked examples of the prompts
are our own, and short: small models on a processor read some hundred words a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
from jaxtyping import Float, Int

from viewfinder.conversation import Answer, Like, Question, Say, Show, Turn
from viewfinder.encoders.tags import TagVectors
from viewfinder.errors import LanguageModelFailed
from viewfinder.language import LanguageModel, wait_until_loaded
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.gains import entropy_bits, softmax
from viewfinder.questioners.llm import parse_question
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.wording.choices import find_choices
from viewfinder.wording.replies import is_dont_know, is_uncertain
from viewfinder.wording.statements import write_statement

STOCK_QUESTIONS = (
    "What else is in the picture?",
    "What is in the background?",
    "Where was the picture taken?",
    "What is the largest thing in the picture?",
    "Which colours stand out?",
)
"""Questions to ask where the model finds none; the first that is new is asked."""

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


def summarize_turns(turns: Sequence[Turn]) -> str:
    """The conversation as one line: descriptions, and answers as statements; "" if nothing was said.

    >>> from viewfinder.conversation import Question
    >>> summarize_turns([Say("a dog"), Answer(Question("Is it big?"), "no"), Answer(Question("Where?"), "don't know")])
    'a dog, no big'
    """
    said = []
    for turn in turns:
        match turn:
            case Say(text) | Like(_, text) | Show(_, text):
                said.append(text)
            case Answer(question, text) if not is_dont_know(text):
                said.append(write_statement(question.text, text))
    lines = (" ".join(text.split()).rstrip(" .,") for text in said)
    return ", ".join(filter(None, lines))


def write_question_prompt(description: str, candidates: Sequence[str]) -> str:
    """The prompt for a question; `candidates` are captions of pictures that are still in question, if known."""
    if not candidates:
        return _ALONE.format(description=description)
    return _INFORMED.format(description=description, candidates="; ".join(candidates))


def group_pictures(pictures_kd: Float[np.ndarray, "k d"], most: int) -> Int[np.ndarray, " k"]:
    """The group of each picture, by k-means over unit vectors: at most `most` groups, fewer where pictures are alike.

    The squared distance of unit vectors is 2 - 2 cosine, so this is k-means by cosine but for the centres' lengths.
    """
    from sklearn.cluster import KMeans

    different = len(np.unique(np.round(pictures_kd, 3), axis=0))
    if min(most, different) < 2:
        return np.zeros(len(pictures_kd), np.int32)
    found = KMeans(min(most, different), n_init=1, random_state=0).fit_predict(pictures_kd)
    return np.asarray(found, np.int32)


def pick_most_telling(group_k: Int[np.ndarray, " k"], entropy_k: Float[np.ndarray, " k"]) -> tuple[int, ...]:
    """Of each group the place with the lowest entropy, the first of equals; in the order of the places.

    >>> pick_most_telling(np.array([0, 0, 1, 0, 1]), np.array([2.0, 1.0, 3.0, 1.5, 3.0]))
    (1, 2)
    """
    order = np.argsort(entropy_k, kind="stable")
    _, first = np.unique(group_k[order], return_index=True)
    return tuple(sorted(order[first].tolist()))


def find_least_moving(
    description_d: Float[np.ndarray, " d"],
    asked_qd: Float[np.ndarray, "q d"],
    pictures_wd: Float[np.ndarray, "w d"],
    *,
    without_first: int,
) -> int:
    """Which of q questions moves the ranking least; the first of equals.

    How far it moves is KL(p || p_q) of the chances p of the pictures under the description and p_q with the question.

    `asked_qd` are the description with each question appended, `pictures_wd` the nearest pictures, the nearest first.
    The `without_first` of them play no role, unless there are no others: they will stay near whatever is asked.
    """
    ranked_wd = pictures_wd[without_first:] if len(pictures_wd) > without_first + 1 else pictures_wd
    present_w, asked_qw = softmax(ranked_wd @ description_d), softmax(asked_qd @ ranked_wd.T)
    return int(np.argmin((present_w * np.log(present_w / asked_qw)).sum(axis=1)))


SHORT_REPLY = 8
"""Tokens of a model's answer from the description: "uncertain" is one or two."""


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
        near_w = select_nearest(view, self.settings)
        shown = caption_groups(view, near_w, self.tags, self.settings.groups) if self.settings.referring else ()
        drafts = _Drafts(self, description, shown, deadline, ConversationSoFar.of(view), len(view.asked))
        found = drafts.collect()
        chosen, many = found[0], len(found) > 1
        if self.settings.select and many and view.lookup is not None:
            vectors = view.lookup.words([description, *(f"{description}, {question}" for question in found)])
            hidden = self.settings.recall_hitting
            chosen = found[find_least_moving(vectors[0], vectors[1:], view.vectors_cd[near_w], without_first=hidden)]
        why = f"of {len(found)} questions the one that fits best" if many else "the one question that was found"
        kinds = f"about {len(shown)} kinds of pictures among the {len(near_w)} nearest"
        why += f", {kinds}" if shown else ", about the description alone"
        if not self.settings.filtering or drafts.unchecked in found:
            why += "; not checked against what is said"
        return Question(chosen, find_choices(chosen), self.name, why)

    def prepare(self) -> None:
        """Returns when the model is loaded, and what groups pictures too; BadInput where it cannot be."""
        import_module("sklearn.cluster")  # may take longer than a question has time
        wait_until_loaded(self.model)


def select_nearest(view: Candidates, settings: PlugirSettings) -> Int[np.ndarray, " w"]:
    """The W likeliest candidates, the likeliest first: in round n, W = thres_low - fewer (n - 1).

    Never fewer than `fewer` (which is what the tenth round of the paper has), as far as there are candidates.
    """
    window = max(settings.thres_low - settings.fewer * len(view.asked), settings.fewer)
    return np.argsort(-view.probabilities_c, kind="stable")[:window]


def caption_candidates(view: Candidates, near_w: Int[np.ndarray, " w"], tags: TagVectors | None) -> tuple[str, ...]:
    """A caption of each of these candidates: its first, else what tags say; "" where there is neither."""
    written = view.lookup.captions() if view.lookup is not None else ()
    captions = [next(iter(written[at]), "") if len(written) else "" for at in near_w.tolist()]
    bare = [at for at, caption in enumerate(captions) if not caption]
    if tags is not None and bare:
        for at, said in zip(bare, tags.attributes(view.vectors_cd[near_w[bare]]), strict=True):
            captions[at] = ", ".join(value for values in said.values() for value in values)
    return tuple(captions)


def caption_groups(
    view: Candidates, near_w: Int[np.ndarray, " w"], tags: TagVectors | None, most: int
) -> tuple[str, ...]:
    """Captions of these candidates, one a group of like ones, that say most; none where nothing is captioned."""
    captions = caption_candidates(view, near_w, tags)
    there = [at for at, caption in enumerate(captions) if caption]
    if view.lookup is None or not there:
        return ()
    pictures_wd = np.asarray(view.vectors_cd[near_w], np.float32)
    words_kd = np.asarray(view.lookup.words([captions[at] for at in there]), np.float32)
    # In bits, of the choice among the pictures that each caption makes.
    entropy_k = entropy_bits(softmax(words_kd @ pictures_wd.T))
    return tuple(captions[there[k]] for k in pick_most_telling(group_pictures(pictures_wd[there], most), entropy_k))


@dataclass
class _Drafts:
    """The questions of one round, as the model proposes them; `accepted` are those that the description leaves open."""

    questioner: PlugirQuestioner
    description: str
    candidates: Sequence[str]
    deadline: float
    so_far: ConversationSoFar
    asked: int
    accepted: list[str] = field(default_factory=list)
    unchecked: str | None = None

    def collect(self) -> list[str]:
        """At most q_n accepted questions; else a stock question, or one that there was no time to check.

        Raises:
            LanguageModelFailed: there is none of them, or the model failed and found nothing.
        """
        settings = self.questioner.settings
        failure: LanguageModelFailed | None = None
        for place in range(settings.q_n):
            first = (self.asked * settings.q_n + place) * (settings.tries + 1)
            # Some tries with candidates, and one without.
            for attempt in range(settings.tries + 1):
                shown = rotate_texts(self.candidates, first + attempt) if attempt < settings.tries else ()
                try:
                    if self._propose(shown, first + attempt):
                        break
                except LanguageModelFailed as error:
                    failure = failure or error
        if self.accepted or self.unchecked is not None:
            return self.accepted or [self.unchecked or ""]
        if failure is not None:
            raise failure
        stock = next(filter(self.so_far.is_new, STOCK_QUESTIONS), None)
        if stock is None:
            raise LanguageModelFailed(f"{self.questioner.model.name}: found nothing new to ask")
        return [stock]

    def _propose(self, candidates: Sequence[str], seed: int) -> bool:
        """Whether the model had a new question that the description leaves open."""
        settings = self.questioner.settings
        prompt = write_question_prompt(self.description, candidates)
        text = parse_question(self._complete(prompt, settings.most_tokens, settings.temperature, seed))
        if text is None or not self.so_far.is_new(text):
            return False
        self.so_far.note_question(text)
        if settings.filtering:
            self.unchecked = text
            check = _FROM_DESCRIPTION.format(description=self.description, question=text)
            reply = self._complete(check, SHORT_REPLY)
            self.unchecked = None
            if not is_uncertain(reply):
                return False
        self.accepted.append(text)
        return True

    def _complete(self, prompt: str, most_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        model, left = self.questioner.model, self.deadline - self.questioner.clock()
        if left <= 0:
            raise LanguageModelFailed(f"{model.name}: the time was up before there was a question")
        return model.complete(prompt, most_tokens=most_tokens, temperature=temperature, seed=seed, seconds=left)


def rotate_texts(texts: Sequence[str], by: int) -> tuple[str, ...]:
    """The texts with the first ones moved to the end: a small model asks about what it read last.

    >>> rotate_texts(("a", "b", "c"), 4)
    ('b', 'c', 'a')
    """
    start = by % max(len(texts), 1)
    return (*texts[start:], *texts[:start])
