"""Which of the texts that programs wrote of a picture is its title, and which are its description.

Windows writes the title into the fields of the description as well, and what one typed as the description into those
of comments; a headline is a title where there is no other.
"""

from __future__ import annotations

from collections.abc import Iterable

from viewfinder.pictures.facts.model import Fact

COMMENT, HEADLINE = "comment", "headline"
"""Names that facts have before `settle_captions`."""


def settle_captions(facts: Iterable[Fact]) -> list[Fact]:
    """Facts without comments and headlines, which become part of the title or the description.

    The first description that is not the title comes first, then every comment that says more than what is there.

    >>> settle_captions([Fact("description", ("Oslo",), "a"), Fact(COMMENT, ("Rain",), "b")])
    [Fact(name='description', values=('Oslo\\nRain',), source='a, b')]
    """
    given = list(facts)
    kinds = {name: [it for it in given if it.name == name] for name in ("title", HEADLINE, "description", COMMENT)}
    settled = [fact for fact in given if fact.name not in kinds]
    titles = kinds["title"] or [Fact("title", it.values, it.source) for it in kinds[HEADLINE][:1]]
    title = _fold(titles[0]) if titles else ""
    descriptions = [it for it in kinds["description"] if _fold(it) != title]
    parts = descriptions[:1]
    for fact in kinds[HEADLINE] + kinds[COMMENT]:
        if not any(_fold(fact) in said for said in (title, *map(_fold, parts))):
            parts.append(fact)
    parts = parts or kinds["description"][:1]
    if parts:
        text = "\n".join(value for part in parts for value in part.values)
        settled.append(Fact("description", (text,), ", ".join(dict.fromkeys(part.source for part in parts))))
    return titles + settled


def _fold(fact: Fact) -> str:
    return " ".join("\n".join(fact.values).casefold().split())
