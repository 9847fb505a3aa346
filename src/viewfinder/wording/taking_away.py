"""What was said, without one of its parts: the words to say instead.

Words in quotation marks are taken as they are typed, so a correction is undone by quoting what was corrected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viewfinder.wording.spelling import QUOTED_WORD
from viewfinder.wording.stop_words import BETWEEN_NOUNS, WITHOUT_CONTENT

_WORD = re.compile(r"[\w'’]+(?:-[\w'’]+)*")
SMALL = WITHOUT_CONTENT | BETWEEN_NOUNS


def find_quoted_words(text: str) -> list[str]:
    """The single words that stand in quotation marks.

    >>> find_quoted_words('a "dgo" on “grass”, "stop here"')
    ['dgo', 'grass']
    """
    return QUOTED_WORD.findall(text)


def quote_word(text: str, word: str) -> str:
    """The text with a word in quotation marks, wherever it stands without.

    >>> quote_word("a dgo and a dgo", "dgo")
    'a "dgo" and a "dgo"'
    """
    return re.sub(rf"(?<![\w'’\"“„-]){re.escape(word)}(?![\w'’\"“”-])", f'"{word}"', text)


def list_content_words(content: str) -> list[str]:
    """The words of a description that say what is to be seen, each once.

    >>> list_content_words("a brown dog in the snow, a brown cat")
    ['brown', 'dog', 'snow', 'cat']
    """
    words = (word for word in _WORD.findall(content) if word.lower() not in SMALL)
    return list(dict.fromkeys(words))


def remove_word(content: str, word: str) -> str:
    """The description without a word, and without the small words that only led to it.

    >>> [remove_word("a dog in the deep snow", word) for word in ("dog", "deep", "snow")]
    ['in the deep snow', 'a dog in the snow', 'a dog in the deep']
    """
    words = find_words(content)
    cuts = []
    for at, found in enumerate(words):
        if found[0] != word:
            continue
        following = words[at + 1] if at + 1 < len(words) else None
        joined = following is not None and is_gap(content, found, following)
        first = at
        if following is None or not joined or following[0].lower() in SMALL:  # no noun follows that they lead to
            while first and words[first - 1][0].lower() in SMALL and is_gap(content, words[first - 1], words[first]):
                first -= 1
        cuts.append((words[first].start(), found.end()))
    return cut_out(content, cuts)


def cut_out(content: str, cuts: Sequence[tuple[int, int]]) -> str:
    """The description without the characters from each start to its end, in their order; it stays tidy.

    >>> cut_out("a dog, brown, in the snow", [(5, 12)])
    'a dog, in the snow'
    """
    kept, end = [], 0
    for start, stop in cuts:
        kept.append(content[end:start])
        end = stop
    rest = " ".join("".join([*kept, content[end:]]).split())
    rest = re.sub(r"\s+([,.;:!?])", r"\1", rest)
    return re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", rest).strip(" ,;:-")


def find_words(content: str) -> list[re.Match[str]]:
    """The words of a description where they stand; what a hyphen joins is one."""
    return list(_WORD.finditer(content))


def is_gap(content: str, before: re.Match[str], after: re.Match[str]) -> bool:
    """Whether nothing but blanks stands between two words."""
    return content[before.end() : after.start()].isspace()


def say_again(text: str, content: str, facts: Sequence[str]) -> str:
    """A description and facts as one sentence; what stood in quotation marks in `text` does so again."""
    for word in find_quoted_words(text):
        content = quote_word(content, word)
    return " ".join(filter(None, (content, *facts)))
