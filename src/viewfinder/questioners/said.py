"""What was said: words compared by their stems, answers as statements, and whether a question is new.

New is what nobody asked, in whatever words, and what nothing that was said answers.

Last, what a question takes for granted, by a simple rule: "the ..." and "he" or "she" need what they stand for to have
been mentioned ("is the blue umbrella big?" needs a blue umbrella); "it", "they" and the like need an antecedent that
nobody keeps track of, so they are never asked, unless "it" is the picture, the hour or the weather.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import takewhile

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


# -- what a question takes for granted

NEVER_WORDS = """
they them their theirs themselves its itself these those that ones him hers mine another both either neither
each and also
"""
_NEVER = frozenset(NEVER_WORDS.split())


_PERSON_OF = {"he": "he", "his": "he", "himself": "he", "she": "she", "her": "she", "herself": "she"}

_IT_IS = fold_words("""
    taken dark bright lit day daytime daylight night nighttime morning afternoon evening sunset sunrise dawn dusk noon
    sunny cloudy rainy raining snowy snowing windy winter summer autumn hot cold warm wet indoors outdoors indoor
    outdoor inside outside time hour weather season kitchen bathroom bedroom restaurant office shop beach street city
    town park forest desert meadow mountain mountains landscape countryside sea harbour lake garden field road
    woods living dining room
""")
"""What a question with "it" is about where "it" is the whole picture, the hour or the weather; or it was "taken"."""

_BESIDE = fold_words("""
    what which where when how is was are it this a an the of or and in on at by to with like shot set kind sort
    type look does do did you there still still living building by near walls place
""")
"""Words that may stand beside those."""

_KNOWN = fold_words("""
    picture photo photograph image scene shot background foreground setting place location surroundings environment
    weather light lighting sky sun ground floor air time hour day season distance number colour size pattern kind
    sort type main largest biggest most whole entire only other others same camera photographer
""")
"""What every picture has, so that "the ..." needs no mention."""

_SPOTS = fold_words("""
    left right middle centre center top bottom front back side corner edge
    sea beach mountains woods forest city street countryside snow water grass
""")
"""The same, after one of `_AT`: "the top" alone may be a piece of clothing, "in the street" is where anything is."""

_AT = frozenset({"on", "in", "at", "to", "near", "from", "by", "of"})
_ASKS_WHETHER = frozenset({"is", "are", "was", "were"})
ENDING_WORDS = """
on in at to near from by under behind above below over with without next beside close for into off inside
outside is are was were be do does did has have had look looks appear appears seem seems face faces made or and
that who which than as there here a an any some all it this not only also very
"""
_ENDS = frozenset(ENDING_WORDS.split())
"""Words that end a noun phrase."""

_GROUPS = fold_words("pair set piece group bunch couple")
"""Words before "of" that need no mention themselves."""

_LOOKS = fold_words("""
    red orange yellow green blue purple pink brown black white grey gray beige cream maroon navy olive silver gold
    golden copper bronze tan teal turquoise magenta lavender mustard peach khaki charcoal burgundy rust nude off coffee
    small little tiny big large huge medium middle sized long short tall wide old young new plain striped dotted
    checked spotted polka dot floral printed patterned dark light bright bigger smaller larger taller first second
    third upper lower other two three four five six seven eight nine ten leftmost rightmost
""")
"""Words that stand between "the" and its noun."""

_PICTURES = frozenset({"picture", "photo", "photograph", "image", "scene", "shot", "place", "setting", "room", "area"})


def required_mentions(question: str) -> tuple[str, ...] | None:
    """What must have been mentioned before this can be asked, as stems; None: it can never be asked by itself.

    "he" and "she" stand for any of `PERSONS`.

    >>> [required_mentions(text) for text in ("Is the blue umbrella on the left?", "is it dark?")]
    [('blu', 'umbrella'), ()]
    >>> [required_mentions(text) for text in ("is it big?", "is she wearing a hat?")]
    [None, ('she',)]
    """
    words = [word.casefold() for word in WORD.findall(question.replace("'s ", " is "))]
    if not words or _NEVER & {*words} or not _speaks_of_the_picture(words):
        return None
    needed = [need for at, word in enumerate(words) if word == "the" for need in _taken_for_known(words, at)]
    if "one" in needed:
        return None
    needed += [_PERSON_OF[word] for word in words if word in _PERSON_OF]
    return tuple(dict.fromkeys(needed))


def _speaks_of_the_picture(words: Sequence[str]) -> bool:
    """Whether "it" and "this", if they are there, can only mean the picture."""
    if "it" in words and "taken" not in words:
        content = {stem(word) for word in words} - _BESIDE
        return bool(content) and content <= _IT_IS | _KNOWN and bool(content & _IT_IS)
    # "Is this a kitchen?" and "in this photo" mean the picture, "this dog" does not.
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "this"]
    return all(word in _PICTURES or stem(word) in _BESIDE | _IT_IS for word in after)


def _taken_for_known(words: Sequence[str], the: int) -> list[str]:
    """The looks and the noun that a "the" takes for known."""
    phrase = [*takewhile(lambda word: word not in _ENDS and not word.endswith("ing"), words[the + 1 :])]
    folded = [stem(word) for word in phrase if word != "of"]
    if not folded or folded[0] in _KNOWN or (folded[0] in _SPOTS and {*words[:the][-1:]} & _AT):
        return []
    if words[the + 1 + len(phrase) :][:1] in ([], ["or"]) and words[0] in _ASKS_WHETHER:
        # What is asked of it is no part of it: "shoe accessory" of "is the shoe accessory plain?".
        looks = [*takewhile(_LOOKS.__contains__, reversed(folded[1:]))]
        folded = folded[: -len(looks)] if looks else folded[: max(len(folded) - 1, 1)]
    return [word for word in folded if word not in _GROUPS]
