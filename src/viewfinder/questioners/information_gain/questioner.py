"""Ask what is expected to narrow the candidates most; needs no language model.

Options are gathered from all that is known of the candidates: catalogue columns, facets of photographs, or where those
are not predicted captions and zero-shot tags; trained questions, where some are given, in place of facets and tags.
Each has a table, P(answer | candidate), and so a gain: the entropy that an answer is expected to take off, wrong
answers and "don't know" included. Of the best few the one is asked that tells most together with the best question
after each of its answers (`gains.two_step_gains`).

A thing in a caption is all but sure to be in the picture. That it is missing says little: people leave out most of what
they see, and how much is estimated from the captions themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import DONT_KNOW, SOMETHING_ELSE, Question
from viewfinder.encoders.tags import TagVectors
from viewfinder.questioners.answers import find_choices
from viewfinder.questioners.base import Candidates
from viewfinder.questioners.information_gain.column_options import (
    DATES,
    FILE_FACTS,
    HALF_KNOWN,
    column_options,
    is_column_mentioned,
    is_group_mentioned,
    is_record_column,
    is_yes_or_no,
    shares_vocabulary,
    tag_options,
)
from viewfinder.questioners.information_gain.gains import (
    LEAST_GAIN,
    Option,
    entropy_bits,
    guessed_option,
    two_step_gains,
)
from viewfinder.questioners.information_gain.trained_options import (
    LEAST_TRAINED_GAIN,
    CandidatePredictions,
    explained_share,
    open_options,
    predict_candidates,
    trained_options,
)
from viewfinder.questioners.photographs import open_question, photograph_options
from viewfinder.questioners.said import ConversationSoFar, stem
from viewfinder.questioners.trained import TrainedQuestions, load_trained_questions

CAPTIONS_READ = 200
"""Of the likeliest candidates."""

MOST_WORDS = 24
"""Of their captions that are asked for."""

SURE = 0.98
"""How likely a thing that a caption mentions is in the picture."""

MOST_MENTIONED = 0.6
"""However often captions mention a thing where one does, others leave it out at least this often's complement."""

LEAST_PICTURES = 3
"""A thing of fewer pictures is not asked for."""

NOUN = 0.15
"""Of a noun's uses, how many at least follow an article or a number, and how many end what was said of it."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[,.;:]")
_ARTICLE_WORDS = "a an the one two three four five six some several many his her their"
_ARTICLES = frozenset(_ARTICLE_WORDS.split())

_WORDS_THAT_GO_ON = """
in on at of with and or by near next behind beside under over above below between through across along against from to
into onto inside outside around while as is are was were has have that which who , . ; :
"""
_GOES_ON = frozenset(_WORDS_THAT_GO_ON.split())

_WORDS_FOR_NO_THING = """
picture photo photograph image scene one other front side top back middle group lot couple pair day time air background
distance edge end piece something someone
"""
_LEFT_OUT = _ARTICLES | _GOES_ON | frozenset(_WORDS_FOR_NO_THING.split())

PLURALS = frozenset({"people", "men", "women", "children", "feet", "teeth"})
"""Words for several that do not end like it."""


@dataclass
class _Noun:
    """How a word is used in captions, and by candidate how many of them mention it."""

    uses: int = 0
    first: int = 0
    last: int = 0
    written: Counter[str] = field(default_factory=Counter)
    mentions: Counter[int] = field(default_factory=Counter)

    def is_noun(self) -> bool:
        return min(self.first, self.last) >= NOUN * self.uses


def caption_options(view: Candidates) -> Iterator[Option]:
    """ "Is there a ...?" for the things in the candidates' captions; none where nobody wrote about them."""
    if view.lookup is None:
        return
    captions = view.lookup.captions()
    likeliest = np.argsort(-view.probabilities_c, kind="stable")[:CAPTIONS_READ].tolist()
    read = {c: captions[c] for c in likeliest if captions[c]}
    counts = {c: len(texts) for c, texts in read.items()}
    nouns = [noun for noun in _count_words(read) if len(noun.mentions) >= LEAST_PICTURES and noun.is_noun()]
    nouns.sort(key=lambda noun: -len(noun.mentions))
    for noun in nouns[:MOST_WORDS]:
        yes_c = presence_chances(noun.mentions, counts, view.probabilities_c)
        answer_ca = np.column_stack([yes_c, 1 - yes_c])
        text, options = write_thing_question(noun.written), ("yes", "no")
        yield guessed_option("caption", text, options, view.probabilities_c, answer_ca, choices=options)


def _count_words(read: Mapping[int, Sequence[str]]) -> list[_Noun]:
    """The words of captions by candidate, each with its uses."""
    found: dict[str, _Noun] = {}
    for c, captions in read.items():
        for caption in captions:
            for folded, written, first, last in _word_uses(caption):
                word = found.setdefault(folded, _Noun())
                word.uses += 1
                word.first += first
                word.last += last
                word.written[written] += 1
                word.mentions[c] += 1
    return [*found.values()]


@lru_cache(maxsize=65_536)
def _word_uses(caption: str) -> tuple[tuple[str, str, bool, bool], ...]:
    """The words of a caption, each once: stem, as written, after an article, before a word that goes on."""
    words = [*_WORD.findall(caption.casefold()), "."]
    uses = {
        stem(word): (stem(word), word, at > 0 and words[at - 1] in _ARTICLES, words[at + 1] in _GOES_ON)
        for at, word in enumerate(words[:-1])
        if len(word) > 1 and word not in _LEFT_OUT
    }
    return tuple(uses.values())


def presence_chances(
    mentions: Mapping[int, int], captions: Mapping[int, int], probabilities_c: Float[np.ndarray, " c"]
) -> Float[np.ndarray, " c"]:
    """How likely each candidate shows a thing that `mentions` of its captions mention.

    Where it is in the picture a caption mentions it with a chance m, estimated over the pictures where one does. Not
    mentioned in k captions, it is there with chance s (1 - m)^k / (s (1 - m)^k + 1 - s), s being its share of all.
    Where nothing was written, s is all that is known.
    """
    written = sum(captions[c] for c in mentions)
    mentioned = min((sum(mentions.values()) + 1) / (written + 2), MOST_MENTIONED)
    read = np.array([*captions], np.intp)
    there = np.array([*mentions], np.intp)
    share = min(float(probabilities_c[there].sum() / max(probabilities_c[read].sum(), 1e-12)), SURE)
    yes_c = np.full(len(probabilities_c), share)
    missed_k = share * (1 - mentioned) ** np.array([captions[int(c)] for c in read], np.float64)
    yes_c[read] = missed_k / (missed_k + 1 - share)
    yes_c[there] = SURE
    return yes_c


def write_thing_question(written: Counter[str]) -> str:
    """The question for a thing by the ways its name is written, the commonest of them.

    >>> write_thing_question(Counter(dogs=3, dog=2)), write_thing_question(Counter(umbrella=2))
    ('Are there any dogs in the picture?', 'Is there an umbrella in the picture?')
    """
    name = max(written, key=lambda word: (written[word], word))
    if name in PLURALS or (name.endswith("s") and not name.endswith(("ss", "us")) and stem(name) != name):
        return f"Are there any {name} in the picture?"
    return f"Is there {'an' if name[0] in 'aeiou' else 'a'} {name} in the picture?"


ORDER = ("column", "caption", "trained", "open", "photograph", "tag")
"""At equal gain what is known comes before what is guessed."""

WEIGHED = 10
"""Options whose second step is looked at."""

ECHO = 0.95
"""The share of what is predicted of a question that follows from what was asked, from which on it is an echo."""

MOST_CHOICES = 6
"""Without "don't know"."""

RARE = 0.01
"""A choice with less probability is folded into "something else"."""

LIKELY = 0.9
""" "The 140 likeliest pictures" hold this much of the probability."""


@dataclass(frozen=True, eq=False)
class InformationGain:
    """The questioner; without anything it asks for catalogue columns and captions only.

    Attributes:
        tags: zero-shot tags, asked for where no trained question can be.
        trained: trained questions.
    """

    tags: TagVectors | None = None
    trained: TrainedQuestions | None = None
    name: str = "information_gain"

    @staticmethod
    def of(source: str, tags: TagVectors | None) -> InformationGain:
        """With the trained questions in a file, "" for none."""
        return InformationGain(tags, load_trained_questions(source) if source else None)

    def ask(self, view: Candidates) -> Question | None:
        """The question that is worth most; None when one candidate is left or none is worth `LEAST_GAIN` bits.

        Raises:
            EncoderMismatch: the trained questions do not fit this collection's vectors.
        """
        if np.count_nonzero(view.probabilities_c) < 2:
            return None
        known = None if self.trained is None else predict_candidates(view, self.trained)
        so_far = ConversationSoFar.of(view)
        least_gain = LEAST_GAIN if known is None else LEAST_TRAINED_GAIN
        worthwhile = (option for option in self._rank_options(view, known) if option.gain >= least_gain)
        may_ask = (option for option in worthwhile if self._may_ask(option, view, so_far, known))
        best = [*islice(may_ask, WEIGHED)]
        if not best:
            return open_question(view, self.name) if self._is_of_photographs(view) else None
        belief_c = view.probabilities_c if known is None else known.belief_c
        chosen = best[int(np.argmax(two_step_gains(belief_c, best)))]
        choices = (*_offer_choices(chosen), DONT_KNOW)
        examples = _examples(choices, chosen, view)
        return Question(chosen.text, choices, self.name, _explain(chosen, view), chosen.attribute or None, examples)

    def options(self, view: Candidates) -> list[Option]:
        """All that could be asked and was not, the most telling first; at equal gain columns first."""
        return self._rank_options(view, None if self.trained is None else predict_candidates(view, self.trained))

    def _rank_options(self, view: Candidates, known: CandidatePredictions | None) -> list[Option]:
        found = [*column_options(view)]
        holds_cl = None if view.lookup is None or known is not None else view.lookup.label_chances()
        if holds_cl is None:
            found += caption_options(view)
        elif self._is_of_photographs(view):
            found += photograph_options(view, holds_cl)
        if known is not None:
            found += [*trained_options(known), *open_options(view, known)]
        elif holds_cl is None:
            found += tag_options(view, self.tags)
        return sorted(found, key=lambda option: (-round(option.gain, 2), ORDER.index(option.source), -option.gain))

    @staticmethod
    def _is_of_photographs(view: Candidates) -> bool:
        """Whether the likely pictures are no goods: no catalogue says more of them than their files do."""
        return not any(
            view.probabilities_c[codes_c >= 0].sum() >= HALF_KNOWN
            for name, (_, codes_c) in view.columns.items()
            if name not in FILE_FACTS | DATES and not is_record_column(name)
        )

    def _may_ask(
        self, option: Option, view: Candidates, so_far: ConversationSoFar, known: CandidatePredictions | None
    ) -> bool:
        """Whether the conversation leaves it open: mentions neither topic nor value, and did not ask or answer it."""
        if option.source == "column":
            values = view.columns[option.attribute][0]
            groups = [group for group in (self.tags.groups if self.tags else ()) if shares_vocabulary(group, values)]
            return not is_column_mentioned(option.attribute, view, so_far.said) and not any(
                is_group_mentioned(group, so_far.said) for group in groups
            )
        if option.source == "photograph":
            return True  # closed facets are no options
        if option.source == "tag":
            assert self.tags is not None
            return not is_group_mentioned(self.tags.group(option.attribute), so_far.said)
        if not so_far.is_new(option.text):
            return False
        # A trained question may ask in other words for what was asked.
        return option.source != "trained" or known is None or explained_share(option.table(), known.asked_ca) < ECHO


def _offer_choices(option: Option) -> tuple[str, ...]:
    """The likeliest answers first (ranges in their order), the rare ones folded into "something else"."""
    if option.choices is not None:
        return option.choices
    if option.source == "trained":
        return tuple(choice for choice in find_choices(option.text) if choice != DONT_KNOW)
    if option.ordered or is_yes_or_no(option.labels):
        return option.labels
    order = np.argsort(-option.share_a, kind="stable")
    frequent = [int(a) for a in order if option.share_a[a] >= RARE]
    kept = frequent if len(frequent) > 1 else [int(a) for a in order[:2]]
    if len(kept) == len(option.labels) <= MOST_CHOICES:
        return tuple(option.labels[a] for a in kept)
    named = (option.labels[a] for a in kept[: MOST_CHOICES - 1])
    return (*(label for label in named if label != SOMETHING_ELSE), SOMETHING_ELSE)


def _examples(choices: Sequence[str], option: Option, view: Candidates) -> tuple[str, ...]:
    """For each choice the id of a likely picture that would be answered with it; "" for those without a column."""
    if view.lookup is None or not set(option.labels) & set(choices):
        return ()
    ids, table_ca, taken = view.lookup.ids(), option.table(), set[int]()
    found = []
    for choice in choices:
        if choice not in option.labels or choice == SOMETHING_ELSE:
            found.append("")
            continue
        # Surely this answer first, and likely to be meant second.
        fit_c = table_ca[:, option.labels.index(choice)] ** 2 * np.sqrt(view.probabilities_c)
        best = next(int(c) for c in np.argsort(-fit_c, kind="stable") if len(taken) == len(ids) or int(c) not in taken)
        taken.add(best)
        found.append(ids[best])
    return tuple(found)


def _explain(option: Option, view: Candidates) -> str:
    """What the question is expected to do, in words."""
    reached = np.cumsum(np.sort(view.probabilities_c)[::-1])
    likeliest = min(int(np.searchsorted(reached, LIKELY * reached[-1])) + 1, len(reached))
    share_a = option.share_a / option.share_a.sum()
    groups = max(round(float(2 ** entropy_bits(share_a))), 2)
    return (
        f"splits the {likeliest:,} likeliest pictures into about {groups} groups; "
        f"expected to take {option.gain:.1f} bits off {float(entropy_bits(view.probabilities_c)):.1f}"
    )
