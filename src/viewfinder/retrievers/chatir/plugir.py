"""PlugIR as a retriever: after every turn a language model rewrites the whole dialogue into one caption.

The search uses the caption as plain words, so no encoder needs training on dialogues (Lee et al., "Interactive
Text-to-Image Retrieval with Large Language Models", ACL 2024). If the model fails, or writes something other than it
was told, the turn is appended as it was said, and an adapter says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from viewfinder.conversation import Answer, PictureId
from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language import LanguageModel, LoadsInBackground, load_language_model
from viewfinder.query import Part, Query, Reads, ResolvedTurn, Words
from viewfinder.retrievers.shared.verbalize import VerbalizedTurn, verbalize_turn
from viewfinder.wording.replies import is_dont_know
from viewfinder.wording.stems import singular_words

_SMALL = """
a an the and or of in on at to with from by for is are was were be it its this that there he she they his her their
no not yes one some any what which who where when how do does can you see picture photo image
"""
SMALL_WORDS = frozenset(_SMALL.split())
"""Words that need not survive in a caption."""

MIN_KEPT_SHARE = 0.6
"""The share of a caption's other words that its new form must contain."""

MAX_CAPTION_WORDS, MAX_TOKENS = 70, 64
"""How many different words a caption may have, and how many tokens the model may write."""

MAX_SECONDS = 10.0
"""For a turn, paraphrase included."""

ELSE = "What else is there to say?"
"""The question for statements that answered none."""

_REWRITE = """\
Put the answer into the caption.

Caption: a boy with a kite
Question: What colour is the kite?
Answer: red
New caption: a boy with a red kite

Caption: {caption}
Question: {question}
Answer: {answer}
New caption:"""

_PARAPHRASE = """\
Say it in other words, and leave nothing out.

Caption: a boy with a red kite
In other words: a boy is holding a kite that is red

Caption: {caption}
In other words:"""


@dataclass(frozen=True, eq=False)
class PlugirState:
    """All that was said as one caption, and the turn that last changed it.

    `pieces` are the parts of the caption, each with its turn: the last rewriting, and what could only be appended.
    """

    caption: str = ""
    turn: int = 0
    pieces: tuple[tuple[int, str], ...] = ()
    words: Words | None = None
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class PlugirRetriever:
    """The retriever. A turn costs one or two calls of the model; the caption that opens a conversation costs none.

    `fingerprint` says which model rewrites.
    """

    name: ClassVar[str] = "plugir"
    reads: ClassVar[Reads] = Reads()
    trained_on: ClassVar[None] = None  # what the language model was trained on is not ours

    def __init__(self, model: LanguageModel, seconds: float = MAX_SECONDS) -> None:
        self._model, self._seconds = model, seconds
        self.fingerprint = f"rewritten by {model.name}"

    def begin(self) -> PlugirState:
        """Nothing said."""
        return PlugirState()

    def step(self, state: PlugirState, turn: ResolvedTurn) -> PlugirState:
        """The state with this turn in its caption."""
        question, heard = "", verbalize_turn(turn)
        if isinstance(turn.turn, Answer):  # as given; every other turn as sentences
            question, answer = turn.turn.question.text.strip(), " ".join(turn.turn.text.split())
            heard = VerbalizedTurn(() if is_dont_know(answer) else (answer,))
        for said in heard.sentences:
            caption, lines = f"{question} {said}".strip(), state.adapters
            pieces: tuple[tuple[int, str], ...] = ((turn.number, caption),)
            if state.caption:
                try:
                    caption = self._rewrite_caption(state.caption, question or ELSE, said)
                    pieces = ((turn.number, caption),)
                except LanguageModelFailed as error:
                    caption, pieces = f"{state.caption}, {caption}", (*state.pieces, *pieces)
                    lines = (*lines, f"append: turn {turn.number} is added as it was said ({error})")
            state = PlugirState(caption, turn.number, pieces, turn.words, state.excluded, lines)
        return replace(state, excluded=heard.after(state.excluded), adapters=(*state.adapters, *heard.adapters))

    def query(self, state: PlugirState) -> Query:
        """One part: the caption in plain words."""
        if not state.caption or state.words is None:
            return Query((), excluded=state.excluded, adapters=state.adapters)
        part = Part("words", state.turn, state.caption, 1.0, state.words([state.caption])[0], holds=state.pieces)
        return Query((part,), excluded=state.excluded, adapters=state.adapters)

    def _rewrite_caption(self, caption: str, question: str, said: str) -> str:
        """One caption of both; a paraphrase if the model changed nothing.

        Raises:
            LanguageModelFailed: it fails, or loses what was said before or now.
        """
        new = self._complete_prompt(_REWRITE.format(caption=caption, question=question, answer=said))
        unchanged = same_words(new, caption)
        if unchanged:
            new = self._complete_prompt(_PARAPHRASE.format(caption=caption))
        if not keeps_content(new, caption):
            raise LanguageModelFailed(f"{self._model.name}: the new caption loses what was said before")
        if not unchanged and not mentions_answer(new, question, said):
            raise LanguageModelFailed(f"{self._model.name}: the new caption has nothing of what was said")
        return new

    def _complete_prompt(self, prompt: str) -> str:
        return self._model.complete(prompt, most_tokens=MAX_TOKENS, seconds=self._seconds / 2).strip(" \"'")


def same_words(one: str, other: str) -> bool:
    """Whether two captions have the same words in the same order.

    >>> same_words("A dog, on a sofa.", "a dog on a sofa")
    True
    """
    words = re.compile(r"[\w'’-]+")
    return words.findall(one.casefold()) == words.findall(other.casefold())


def keeps_content(new: str, caption: str) -> bool:
    """Whether a rewritten caption still says most of what the caption said, and is a caption.

    >>> keeps_content("a brown dog lying on a red sofa", "a dog lying on a sofa")
    True
    >>> keeps_content("a red sofa", "a dog lying on a sofa")
    False
    """
    there, wanted = set(singular_words(new)), _pick_content_words(caption)
    return len(there) <= MAX_CAPTION_WORDS and len(wanted & there) >= MIN_KEPT_SHARE * len(wanted)


def mentions_answer(new: str, question: str, said: str) -> bool:
    """Whether a new caption has a word of what was said; for "yes", a word of the question; for "no", anything.

    >>> mentions_answer("a dog in the snow", "Are they in the snow?", "yes")
    True
    >>> mentions_answer("a white ball", "What colour?", "black")
    False
    """
    told = _pick_content_words(said)
    if not told and set(singular_words(said)) & {"no", "not", "none"}:
        return True
    wanted = told or _pick_content_words(question)
    return not wanted or bool(wanted & set(singular_words(new)))


def _pick_content_words(text: str) -> set[str]:
    return set(singular_words(text)) - SMALL_WORDS


def load(checkpoint: Path | None = None) -> PlugirRetriever:
    """The retriever with the language model of a folder or GGUF file, else with the one that the environment names.

    Returns once the model is loaded.

    Raises:
        BadInput: neither is given, or the model cannot be loaded.
    """
    try:
        model = load_language_model(str(checkpoint or ""))
        if isinstance(model, LoadsInBackground):
            model.wait()
    except BadInput as error:
        raise BadInput(f"the retriever plugir (--checkpoint): {error}") from error
    return PlugirRetriever(model)
