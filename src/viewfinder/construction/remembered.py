"""Keeps what was paid for once: a journal of what models wrote, one line per answer.

    {"key": "0f3c...", "by": "gpt-4", "text": "..."}

A line is on disk before the answer is used, so that a run that was stopped, or is repeated with another threshold,
asks only what it never asked before. The key is a hash over everything that an answer depends on.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewfinder.data.files import append_json_line, whole_lines
from viewfinder.errors import BadInput
from viewfinder.language import LanguageModel


@dataclass
class AnswerJournal:
    """The answers in a file, and how many of them are new; many threads may use it, one process at a time."""

    file: Path
    answers: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _busy: dict[str, threading.Lock] = field(default_factory=dict, repr=False)

    @staticmethod
    def read(file: Path) -> AnswerJournal:
        """The journal in a file, empty if there is none; a truncated last line is ignored.

        Raises:
            BadInput: a complete line is damaged (it is named), or the file cannot be read.
        """
        journal = AnswerJournal(file)
        try:
            whole, _ = whole_lines(file.read_bytes() if file.is_file() else b"")
        except OSError as error:
            raise BadInput(f"{file}: cannot be read ({error.strerror}); choose another --out") from error
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                journal.answers[record["key"]] = str(record["text"])
            except (ValueError, LookupError, TypeError) as error:
                raise BadInput(f"{file}, line {number}: damaged; take the line out, its text is asked again") from error
        return journal

    def answer(self, key: str, by: str, ask: Callable[[], str]) -> str:
        """The known answer, or else what `ask` returns, which is then remembered."""
        with self._lock:
            own = self._busy.setdefault(key, threading.Lock())
        with own:  # others that want the same answer wait for it
            if key not in self.answers:
                text = ask()
                with self._lock:
                    append_json_line(self.file, {"key": key, "by": by, "text": text})
                    self.answers[key] = text
                    self.asked += 1
            return self.answers[key]


def answer_key(*parts: object) -> str:
    """One name for everything that an answer depends on."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class JournalledModel:
    """A `LanguageModel` that is never asked the same thing twice; failures are not remembered."""

    model: LanguageModel
    journal: AnswerJournal

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    def complete(
        self,
        prompt: str,
        *,
        stop: Sequence[str] = ("\n",),
        most_tokens: int = 32,
        temperature: float = 0.0,
        seed: int = 0,
        seconds: float = 10.0,
    ) -> str:
        """See `LanguageModel`."""

        def ask() -> str:
            return self.model.complete(
                prompt, stop=stop, most_tokens=most_tokens, temperature=temperature, seed=seed, seconds=seconds
            )

        return self.journal.answer(answer_key(self.name, prompt, *stop, most_tokens, temperature, seed), self.name, ask)
