"""What was said: words compared by their stems, answers as statements, and whether a question is new.

New is what nobody asked, in whatever words, and what nothing that was said answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache

from viewfinder.conversation import Answer, is_dont_know, singular_of_word
from viewfinder.encoders.tags import tag_groups
from viewfinder.questioners.base import Candidates

WORD = re.compile(r"[^\W_]+")

# Both sides are folded alike, so these only need to meet in one form.
IRREGULAR_STEMS = {
    "color": "colour", "gray": "grey", "men": "man", "women": "woman", "children": "child",
    "ran": "run", "swam": "swim", "sat": "sit", "ate": "eat", "rode": "rid",
}  # fmt: skip

# Words that say nothing of a value when they stand alone: "no stripes" is no answer to a yes-or-no column.
EMPTY_WORDS = """
a an the of in on at to or and yes no true false not none other others all any some something anything nothing else
unknown na y n it is
"""


def stem(word: str) -> str:
    """A word without its inflection; not always a word.

    >>> [stem(word) for word in ("Shirts", "dresses", "running", "striped", "colors")]
    ['shirt', 'dress', 'run', 'strip', 'colour']
    """
    folded = word.casefold()
    folded = singular_of_word(IRREGULAR_STEMS.get(folded, folded))
    for ending in ("ing", "ed"):
        if folded.endswith(ending) and len(folded) > len(ending) + 2:
            folded = folded.removesuffix(ending)
            if len(folded) > 3 and folded[-1] == folded[-2] and folded[-1] not in "aeiouls":
                folded = folded[:-1]
            break
    if folded.endswith("e") and len(folded) > 3:
        folded = folded[:-1]
    return IRREGULAR_STEMS.get(folded, folded)


@lru_cache(maxsize=65_536)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text without their inflection, in order; "T-Shirts" and "tshirt" meet."""
    return tuple(stem(word) for word in WORD.findall(re.sub(r"(?<=\bt)-(?=shirt)", "", text, flags=re.I)))


def fold_words(words: str) -> frozenset[str]:
    """The stems of words, parted by blanks."""
    return frozenset(stem(word) for word in words.split())


EMPTY = fold_words(EMPTY_WORDS)


class PhraseIndex:
    """Everything that was said, ready to be asked "was this in it?"."""

    def __init__(self, texts: Iterable[str]) -> None:
        # One sentence's end and the next one's start are no phrase: a bar no word contains keeps them apart.
        self._line = " " + " | ".join(" ".join(stems(text)) for text in texts) + " "

    def contains(self, phrase: str) -> bool:
        """Whether the words of `phrase`, in this order, were said.

        Never for empty words, single characters and numbers below 100, which mean too many things.

        >>> said = PhraseIndex(["Two dogs in navy-blue shirts"])
        >>> [said.contains(phrase) for phrase in ("a dog", "Navy Blue", "blue dog", "hot")]
        [True, True, False, False]
        """
        words = stems(phrase)
        while words and words[0] in EMPTY:
            words = words[1:]
        if all(word in EMPTY or len(word) == 1 or (word.isdigit() and len(word) < 3) for word in words):
            return False
        return f" {' '.join(words)} " in self._line


_OPENING = re.compile(
    r"^(?:(?:and|so|ok|okay)\s+)?(?:is|are|was|were|do|does|did|can|could|has|have)\s+"
    r"(?:(?:there|it|they|you)\s+)?(?:(?:see|tell if|tell whether)\s+)?(?:there\s+(?:is|are)\s+)?",
    re.IGNORECASE,
)

_YES = re.compile(r"^(?:yes|yeah|yep|yup|sure|of course|it is|there is|there are|they are)\b[\s,.;:!-]*", re.IGNORECASE)

_NO = re.compile(r"^(?:no|nope|nah|none|it is not|it isn't|there is not|there isn't)\b[\s,.;:!-]*", re.IGNORECASE)


def write_statement(question: str, answer: str) -> str:
    """The two as one sentence: what was asked about, if the answer is yes; its denial, if it is no.

    What else an answer says stays. A question that cannot be answered by yes or no is kept beside its answer.

    >>> write_statement("is there a computer chair?", "yes")
    'a computer chair'
    >>> write_statement("are there any people?", "no, just a dog")
    'no people, just a dog'
    >>> write_statement("what is the desk made of?", "wood")
    'what is the desk made of: wood'
    """
    asked = question.strip().rstrip("?").strip()
    if not asked:
        return answer.strip()
    about = _OPENING.sub("", asked, count=1)
    if about == asked:
        return f"{asked}: {answer.strip()}"
    if found := _YES.match(answer.strip()):
        return ", ".join(filter(None, (about, answer.strip()[found.end() :])))
    if found := _NO.match(answer.strip()):
        plain = re.sub(r"^(?:any|a|an)\s+", "", about)
        return ", ".join(filter(None, (f"no {plain}", answer.strip()[found.end() :])))
    return f"{asked}: {answer.strip()}"


# Words that can be left out of a question without asking something else.
COURTESY_WORDS = """
a an the any some is are was were be being been do does did can could would will you me i we one please tell say
know describe see there here it this that these those they them its their of in on at to if whether also maybe so and
ok okay well now picture image photo photograph scene visible shown exactly
"""

COURTESIES, WHICH = fold_words(COURTESY_WORDS), stem("which")

_EXISTS = re.compile(
    r"(?:(?:is|are|was|were) there|(?:do|can|could) you see)\s+(?:an?|any|some|the)?\s*(.+)", re.IGNORECASE
)

_COLOUR = re.compile(r"(?:what|which) colou?rs? (?:is|are) (?:the|his|her|their|its)?\s*(.+)", re.IGNORECASE)

_IS_LIKE = re.compile(r"(?:is|are) (?:the|his|her|their) ([\w'’-]+) ([\w'’-]+)", re.IGNORECASE)

_YES_OR_NO = re.compile(r"(?:is|are|was|were)\s+(?:it|this|that|they|these|those)\b", re.IGNORECASE)

_GENITIVE = re.compile(r"['’]s\b", re.IGNORECASE)

_DENIAL = re.compile(r"(?:no|none|nothing|nope|nobody|i (?:don't|do not|can't))\b", re.IGNORECASE)

_IN_IT = re.compile(
    r"\s*,?\s*(?:visible\s*)?(?:in|on|of)\s+(?:the|this|that)\s+(?:picture|image|photo|scene)\b", re.IGNORECASE
)


class ConversationSoFar:
    """What was said and asked in a conversation, ready to be asked whether a question may come next."""

    def __init__(self, said: Sequence[str], asked: Iterable[str] = (), answers: Sequence[Answer] = ()) -> None:
        """From the texts that were said (answers included), the questions that were asked, and those answered."""
        self._said, self.asked = said, tuple(asked)
        self._known = [answer for answer in answers if not is_dont_know(answer.text)]
        self._gists = {question_gist(text) for text in (*self.asked, *(answer.question.text for answer in answers))}

    @staticmethod
    def of(view: Candidates) -> ConversationSoFar:
        """The conversation that a view is of."""
        answers = [turn for turn in view.turns if isinstance(turn, Answer)]
        return ConversationSoFar(view.said, (question.text for question in view.asked), answers)

    @cached_property
    def said(self) -> PhraseIndex:
        """Everything that was said."""
        return PhraseIndex(self._said)

    @cached_property
    def _stated(self) -> PhraseIndex:
        """What was said, and what answers make of their questions: "is the dog black?", "yes"."""
        stated = (write_statement(answer.question.text, answer.text) for answer in self._known)
        return PhraseIndex([*self._said, *stated])

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The stems of what was spoken of: what was said, and what was asked and not denied."""
        granted = (answer.question.text for answer in self._known if not _DENIAL.match(answer.text))
        return frozenset(folded for text in (*self._said, *granted) for folded in stems(text))

    def is_new(self, question: str) -> bool:
        """Whether this was not asked yet, and is not answered by what was said.

        Questions are compared by the stems of the words that make a difference, in any order. What was said answers
        plain questions only: "is there an X?", "is the X Y?", "what colour is the X?", "is it in the X?".
        """
        return question_gist(question) not in self._gists and not _is_answered(question, self._stated)

    def grants(self, required: Sequence[str] | None) -> bool:
        """Whether all that a question takes for granted (`required_mentions`) was mentioned."""
        return required is not None and all(
            need in self.mentioned or not PERSONS.get(need, frozenset()).isdisjoint(self.mentioned) for need in required
        )

    def note_question(self, question: str) -> None:
        """Count a question as asked."""
        self._gists.add(question_gist(question))


def question_gist(question: str) -> frozenset[str]:
    """The stems of the words that make a question the one it is; all its stems where none does.

    >>> [sorted(question_gist(text)) for text in ("Could you tell me which hat the man has?", "What colour is it?")]
    [['has', 'hat', 'man', 'what'], ['colour']]
    >>> question_gist("Is there a dog?") == question_gist("Can you see any dogs in the picture?")
    True
    """
    words = frozenset("what" if word == WHICH else word for word in stems(_GENITIVE.sub("", question)))
    telling = words - COURTESIES
    # The colour of the dog is asked for with "what" or without.
    return (telling - {"what"} if "colour" in telling else telling) or words or frozenset(question.split())


def _is_answered(text: str, stated: PhraseIndex) -> bool:
    asked = _IN_IT.sub("", text.strip().rstrip("?").strip())
    if found := _EXISTS.fullmatch(asked):
        return stated.contains(found[1])
    if found := _COLOUR.fullmatch(asked):
        return any(stated.contains(f"{colour} {found[1]}") for colour in _colours())
    if found := _IS_LIKE.fullmatch(asked):
        return stated.contains(f"{found[2]} {found[1]}")
    if not _YES_OR_NO.match(asked):
        return False
    about = question_gist(asked)
    return len(about) == 1 and stated.contains(next(iter(about)))


@cache
def _colours() -> tuple[str, ...]:
    group = next(group for group in tag_groups() if group.name == "colour")
    return tuple(word for tag in group.tags for word in (tag.name, *tag.also))


PERSONS: dict[str, frozenset[str]] = {
    "he": fold_words("man men boy boys guy guys gentleman male father dad son brother king policeman husband groom"),
    "she": fold_words("woman women girl girls lady female mother mom daughter sister queen wife bride"),
}
"""Who "he" and "she" may stand for."""

_PHRASES = re.compile(
    r"\b(?:(?:in|on|of|at) (?:the|this) (?:picture|photo|photograph|image|scene)"
    r"|(?:can|could|do|did) (?:you|we|i) (?:see|count|spot|find|tell(?: me)?(?: if| whether| what)?)"
    r"|are you able to see|is there|are there|does it (?:show|contain)|please|right now|i'd say)\b"
)

_BARE_WORDS = (
    "a an the any some is are was were be do does did you we there if so ok okay please exactly visible present"
)
_BARE = frozenset({*_BARE_WORDS.split(), "shown"})

_OPEN = re.compile(r"(?:and )?(?:what|which|how|where|who|whose|why|when)\b")

_ALIKE = {"which": "what", "people": "person"}


@lru_cache(maxsize=1 << 16)
def question_meaning(question: str) -> tuple[str, ...]:
    """A key that paraphrases share: whether it is open or asks for yes or no, then the words that carry it, as stems.

    >>> question_meaning("Is there a wallet?") == question_meaning("can you see any wallets in the picture?")
    True
    >>> question_meaning("which colour is the bag?") == question_meaning("what is the colour of the bag?")
    True
    >>> question_meaning("is the dog left of the cat?") == question_meaning("is the cat left of the dog?")
    False
    """
    folded = " ".join(question.casefold().replace("’", "'").split())
    kind = "open" if _OPEN.match(folded) else "choice" if " or " in folded else "yes or no"
    words = WORD.findall(_PHRASES.sub(" ", folded))
    carried = [stem(_ALIKE.get(word, word)) for word in words if word not in _BARE]
    if "colour" in carried and kind == "open":
        carried = ["colour", *(word for word in carried if word not in {"colour", "what", "of", "have"})]
    return (kind, *(word for word in carried if word))
