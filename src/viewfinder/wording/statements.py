"""A question and its answer as one sentence."""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"^(?:(?:and|so|ok|okay)\s+)?(?:is|are|was|were|do|does|did|can|could|has|have)\s+"
    r"(?:(?:there|it|they|you)\s+)?(?:(?:see|tell if|tell whether)\s+)?(?:there\s+(?:is|are)\s+)?",
    re.IGNORECASE,
)

_YES = re.compile(r"^(?:yes|yeah|yep|yup|sure|of course|it is|there is|there are|they are)\b[\s,.;:!-]*", re.IGNORECASE)

_NO = re.compile(r"^(?:no|nope|nah|none|it is not|it isn't|there is not|there isn't)\b[\s,.;:!-]*", re.IGNORECASE)


def write_statement(question: str, answer: str) -> str:
    """A question and its answer as one sentence: what was asked about, if the answer is yes; its denial, if it is no.

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
