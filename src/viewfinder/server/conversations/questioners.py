"""The questioners of a server: who can ask back here, with which sources, and what stands in the way of the others.

A client names a questioner and nothing else. What it needs besides (a language model, a file of trained questions,
released dialogues) is the server's to say, so that nobody outside chooses a path or an address.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewfinder.errors import BadInput, UnknownName, ViewfinderError
from viewfinder.language import LoadsInBackground, load_language_model
from viewfinder.questioners import QUESTIONERS, load_questioner
from viewfinder.server.conversations.schemas import SessionIn
from viewfinder.server.pictures.schemas import QuestionerInfo, Questioners
from viewfinder.server.problems import Problem
from viewfinder.server.redaction import hide_paths, to_unicode

if TYPE_CHECKING:
    from viewfinder.server.settings import ServerSettings

MODEL, QUESTIONS, DIALOGUES = "language_model", "questions", "dialogues"
"""Settings that are a questioner's source."""

NAMED = {MODEL: "a language model", QUESTIONS: "a file of trained questions", DIALOGUES: "released dialogues"}

SOURCES = {
    "information_gain": (QUESTIONS,),
    "pool": (QUESTIONS,),
    "llm": (MODEL,),
    "unanswered": (MODEL,),
    "plugir": (MODEL,),
    "recorded": (DIALOGUES,),
}
"""Which settings a questioner may get its source from, the first that is set; any other gets none."""

CAN_DO_WITHOUT = frozenset({"information_gain"})
INSTEAD = "information_gain"
"""Who asks in a talk whose questioner cannot be used here (any more)."""

TRIED_AGAIN_S = 30.0
"""How long a language model that did not answer counts as one that cannot be used."""

PROBE, PROBE_S = "Question: is it red?\nAnswer:", 10.0

_ADDRESS = re.compile(r"https?://[^\s,;)]+")

_LOG = logging.getLogger("viewfinder.server")


@dataclass(frozen=True)
class ModelProbe:
    """What came of trying a language model, and when."""

    problem: str | None
    at: float


class QuestionerPool:
    """Questioners by name, for all threads."""

    def __init__(self, settings: ServerSettings) -> None:
        self._sources = {MODEL: settings.language_model, QUESTIONS: settings.questions, DIALOGUES: settings.dialogues}
        self._good: set[str] = set()
        self._bad: dict[str, str] = {}
        self._tried: ModelProbe | None = None
        self._trying = threading.Lock()

    def listed(self) -> Questioners:
        """All there are, with what stands in the way of using them."""
        found = [(name, self.problem(name)) for name in QUESTIONERS]
        infos = [QuestionerInfo(name=name, ready=problem is None, problem=problem) for name, problem in found]
        return Questioners(questioners=infos, default=SessionIn().questioner)

    def check(self, name: str) -> None:
        """Whether a talk may have this questioner.

        Raises:
            BadInput: the name has a source in it.
            UnknownName: there is none of this name.
            Problem: 409, it cannot be used here.
        """
        if "=" in name:
            raise BadInput("a questioner is chosen by its name alone: what it needs is set where the server is started")
        if name not in QUESTIONERS:
            raise UnknownName(f"no questioner is called {name!r}; there are: {', '.join(sorted(QUESTIONERS))}")
        problem = self.problem(name)
        if problem is not None:
            raise Problem(409, "questioner-not-ready", problem, questioner=name)

    def problem(self, name: str) -> str | None:
        """Why it cannot be used here; None where it can."""
        found = self._missing(name) or self._failure(self.spec(name))
        return found or (self._model_problem() if self.is_slow(name) else None)

    def spec(self, name: str) -> str:
        """The name with its source, as `load_questioner` takes it."""
        given = self._given(name)
        spec = f"{name}={given[1]}" if given else name
        return name if name in CAN_DO_WITHOUT and self._failure(spec) else spec

    def is_slow(self, name: str) -> bool:
        """Whether it waits for a language model, rather than compute for some milliseconds."""
        given = self._given(name)
        return given is not None and given[0] == MODEL

    def stands_in(self, name: str) -> tuple[str, str] | None:
        """Who asks instead in a talk that is set to `name`, and why; None where that can ask itself.

        A talk may be older than the server's settings, or come from another server.
        """
        if name in QUESTIONERS and not (self._missing(name) or self._failure(self.spec(name))):
            return None
        return self.spec(INSTEAD), f"{name} cannot be used here: asked by {INSTEAD} instead"

    def gave_up(self, name: str, error: ViewfinderError) -> None:
        """It could be made, and cannot ask: trained questions, say, that do not fit these pictures."""
        self._bad[self.spec(name)] = self._told(str(error))

    def start(self) -> None:
        """Tries what is set, aside; what cannot be used is said in the log."""
        threading.Thread(target=self._look, name="questioners", daemon=True).start()

    # -- inside

    def _look(self) -> None:
        if self._sources[MODEL]:
            self._try()
            if problem := self._model_problem():
                slow = ", ".join(name for name in QUESTIONERS if self.is_slow(name))
                _LOG.warning("the language model cannot be used: %s; nothing is asked by %s", problem, slow)
        for name in QUESTIONERS:
            given = self._given(name)
            if given and given[0] != MODEL and (problem := self._failure(f"{name}={given[1]}")):
                _LOG.warning("what is set for the questioner %s cannot be used: %s", name, problem)

    def _given(self, name: str) -> tuple[str, str] | None:
        """The setting that is the questioner's source, and what it says."""
        return next(((key, source) for key in SOURCES.get(name, ()) if (source := self._sources[key])), None)

    def _missing(self, name: str) -> str | None:
        if name in CAN_DO_WITHOUT or name not in SOURCES or self._given(name):
            return None
        wanted = " or ".join(NAMED[key] for key in SOURCES[name])
        variables = " or ".join(f"VIEWFINDER_{key.upper()}" for key in SOURCES[name])
        return f"{name} needs {wanted}: start the server with {variables} set"

    def _failure(self, spec: str) -> str | None:
        """Why it cannot be made; asked once, where it can."""
        if spec in self._good:
            return self._bad.get(spec)
        try:
            load_questioner(spec)
        except (ViewfinderError, OSError) as error:
            return self._told(str(error))
        self._good.add(spec)
        return None

    def _model_problem(self) -> str | None:
        """What was wrong with the language model when it was last tried; a failure is not held against it for long."""
        tried = self._tried
        if tried is None or tried.problem is None:
            return None
        if time.monotonic() - tried.at > TRIED_AGAIN_S:
            threading.Thread(target=self._try, name="questioners", daemon=True).start()
        return tried.problem

    def _try(self) -> None:
        if self._trying.acquire(blocking=False):
            try:
                problem = probe_language_model(self._sources[MODEL] or "")
                self._tried = ModelProbe(problem and self._told(problem), time.monotonic())
            finally:
                self._trying.release()

    def _told(self, problem: str) -> str:
        """Without the paths and addresses that were set: they are nobody's outside."""
        for source in filter(None, self._sources.values()):
            problem = problem.replace(source, "what is set")
        return to_unicode(hide_paths(_ADDRESS.sub("its address", problem)))


def probe_language_model(source: str) -> str | None:
    """Why a language model cannot be used, found by having it say something; None where it can."""
    try:
        model = load_language_model(source)
        if isinstance(model, LoadsInBackground):
            model.wait()
        model.complete(PROBE, most_tokens=1, seconds=PROBE_S)
    except (ViewfinderError, OSError) as error:
        return " ".join(str(error).split())
    return None
