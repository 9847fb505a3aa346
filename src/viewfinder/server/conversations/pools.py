"""The retrievers and questioners of a server: each loaded once, and why one cannot be used.

A retriever that reads regions needs them for every picture, which takes as long as adding the pictures did. No
conversation waits for that: such a retriever is refused until a job has made them. While pictures are added, it
continues with those that it has seen. Retrievers that answer in words have a leaning to pictures; those that read
attributes predict them for a picture.

A client names a questioner and nothing else. What it also needs (a language model, a file of trained questions,
released dialogues) is set where the server is started, so that no client chooses a path or an address.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from viewfinder.errors import BadInput, EncoderMismatch, ViewfinderError
from viewfinder.pictures import decode_one
from viewfinder.plugins import naming_parts
from viewfinder.query import Reads, RegionSpace
from viewfinder.questioners import PLUGINS as QUESTIONER_PLUGINS
from viewfinder.questioners import QUESTIONERS, load_questioner
from viewfinder.retrievers import (
    PLUGINS,
    RETRIEVERS,
    AnsweringRetriever,
    Retriever,
    advise_retriever,
    load_retriever,
)
from viewfinder.retrievers.replies import check_reads
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import predict_attributes
from viewfinder.search.raw_vectors import best_labels, name_labels
from viewfinder.server.conversations.schemas import MAX_LEANING, PictureAttribute, PictureAttributes, SessionIn
from viewfinder.server.pictures.schemas import QuestionerInfo, Questioners, RetrieverInfo, Retrievers
from viewfinder.server.problems import Problem, not_found
from viewfinder.server.redaction import hide_paths, to_unicode
from viewfinder.store.regions import StoredVectors

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.pictures.uploads import Uploads
    from viewfinder.server.settings import ServerSettings

DEFAULT = "composer"

MAX_MADE_IN_A_TURN = 32
"""For up to so many pictures a turn makes missing regions itself instead of refusing: about a second."""

OTHERS_VECTORS_S = 1.0
"""How long a turn waits for another one that computes a retriever's vectors of all pictures; there are few threads."""

OWN_VECTORS_S = 5.0
"""How long a turn waits for those it has started itself; then it is refused, and they are computed all the same."""


@dataclass(frozen=True)
class ReadablePictures:
    """The pictures of a growing library, as far as a retriever can read them."""

    pool: RetrieverPool
    retriever: str

    def gallery(self) -> Gallery:
        """The pictures as they are now; raises as `RetrieverPool.gallery`."""
        return self.pool.gallery(self.retriever)


class RetrieverPool:
    """Retrievers by name, for all threads."""

    def __init__(self, library: Library, more: Sequence[str] = ()) -> None:
        self._library, self._more = library, more
        self._loading, self._counting, self._making = threading.Lock(), threading.Lock(), threading.Lock()
        self._loaded: dict[str, Retriever[Any]] = {}
        self._prepared: dict[str, Gallery] = {}
        self._missing: tuple[tuple[str, str], int] | None = None

    def names(self) -> list[str]:
        """The built-in ones, and the configured ones of other packages; a client can name only these."""
        return list(dict.fromkeys((*RETRIEVERS, *self._more)))

    def retriever(self, name: str) -> Retriever[Any]:
        """The retriever of this name.

        Raises:
            UnknownName, BadInput: there is none, or it has no weights here.
            PartFailed: it is one of another package, and does not say what it reads.
        """
        if name not in self._loaded:
            PLUGINS.check_name(name, self.names())
            with self._loading:
                if name not in self._loaded:
                    retriever = load_retriever(name)
                    check_reads(retriever)
                    self._loaded[name] = retriever
        return self._loaded[name]

    def gallery(self, name: str) -> Gallery:
        """The pictures as they are, or as this retriever could read them last.

        Raises:
            Problem: there are no pictures, they are of another encoder, or their regions have yet to be made.
        """
        retriever, gallery = self.retriever(name), self._find_pictures()
        space = retriever.reads.space
        if space is None:
            self._check_prepared(name, gallery, retriever.reads)
        if space is None or self._prepared.get(name) is gallery:
            return gallery
        try:
            gallery.need_raw(space)
        except EncoderMismatch as error:
            raise Problem(409, "encoder-mismatch", str(error)) from error
        before = self._prepared.get(name)
        if before is not None and before.snapshot.space != gallery.snapshot.space:
            before = None
        missing = self._count_wanted(gallery, retriever.reads)
        if missing > MAX_MADE_IN_A_TURN:
            if before is None:
                detail = f"{name} reads regions of pictures, and {missing} pictures have none yet: prepare it first"
                raise Problem(409, "not-prepared", detail, retriever=name, missing=missing)
            return before
        return self._with_block(name, gallery, space, before)

    def _check_prepared(self, name: str, gallery: Gallery, reads: Reads) -> None:
        """Raises Problem: a retriever that looks at regions of such pictures would have to make many first."""
        missing = self._count_wanted(gallery, reads)
        if missing > MAX_MADE_IN_A_TURN:
            detail = f"{name} reads regions of such pictures, and {missing} pictures have none yet: prepare it first"
            raise Problem(409, "not-prepared", detail, retriever=name, missing=missing)

    def _count_wanted(self, gallery: Gallery, reads: Reads) -> int:
        """How many of these pictures lack the regions that a retriever would read of them."""
        return self.count_missing(gallery, reads.space) if reads.uses_regions_of(lambda: gallery.collection) else 0

    def _find_pictures(self) -> Gallery:
        try:
            return self._library.gallery()
        except BadInput as error:
            raise Problem(409, "no-pictures", "there are no pictures yet: add some first") from error

    def _with_block(self, name: str, gallery: Gallery, space: RegionSpace, before: Gallery | None) -> Gallery:
        """The pictures in the retriever's space, which a separate thread computes; `before`: instead until it has."""
        if self._making.acquire(timeout=0 if before is not None else OTHERS_VECTORS_S):
            made: Future[None] = Future()

            def make() -> None:
                try:
                    from viewfinder.search.regions import find_block  # few people choose such a system

                    find_block(gallery, space)
                    self._prepared[name] = gallery
                except Exception as error:
                    made.set_exception(error)
                else:
                    made.set_result(None)
                finally:
                    self._making.release()

            # Of its own, and not of the pool: a server that stops does not wait for it.
            threading.Thread(target=make, name="blocks", daemon=True).start()
            with suppress(TimeoutError):
                made.result(OWN_VECTORS_S)
        if self._prepared.get(name) is gallery:
            return gallery
        if before is not None:
            return before
        detail = f"{name} is looking at the pictures for the first time: try again in a while"
        raise Problem(503, "getting-ready", detail, headers={"Retry-After": "5"})

    def count_missing(self, gallery: Gallery, space: RegionSpace | None = None) -> int:
        """How many of these pictures have no regions (those that `space` reads), but a file to make them from."""
        snapshot, raw = gallery.snapshot, gallery.raw if space is None else gallery.find_raw(space.raw_version)
        assert isinstance(raw, StoredVectors), "the pictures of a library"
        state = snapshot.generation, raw.raw_version
        with self._counting:
            if self._missing is None or self._missing[0] != state:
                rows = np.flatnonzero(~raw.has_regions(snapshot)).tolist()
                count = sum(any(Path(path).exists() for path in snapshot.paths(row)) for row in rows)
                self._missing = state, count
            return self._missing[1]

    def list_all(self) -> Retrievers:
        """All retrievers, each with the reason why it cannot be used, if it cannot."""
        try:
            gallery: Gallery | None = self._find_pictures()
        except Problem:
            gallery = None
        infos = [self._describe(name, gallery) for name in self.names()]
        advised = None if gallery is None else advise_retriever(gallery.collection)
        return Retrievers(retrievers=infos, default=DEFAULT, advised=advised)

    def _describe(self, name: str, gallery: Gallery | None) -> RetrieverInfo:
        missing, problem, leaning, needs, tells = 0, None, None, [], False
        try:
            with naming_parts():  # the bug of one is no reason not to list the others
                retriever = self.retriever(name)
                declared = check_reads(retriever)
                leaning = find_picture_bias(retriever)
            needs, tells = list(declared.needs), declared.predictor is not None
            if gallery is not None:
                if declared.space is not None:
                    gallery.need_raw(declared.space)
                missing = self._count_wanted(gallery, declared)
        except ViewfinderError as error:
            problem = to_unicode(hide_paths(str(error)))
        ready = problem is None and missing <= MAX_MADE_IN_A_TURN
        reads: list[Literal["attributes"]] = ["attributes"] if tells else []
        return RetrieverInfo(
            name=name, needs=needs, reads=reads, leaning=leaning, ready=ready, missing=missing, problem=problem
        )


def choose_picture_bias(
    retriever: Retriever[Any], given: float | None, *, pictures_alone: bool = False
) -> float | None:
    """The picture bias for a session; None: the retriever's own, or it answers with pictures alone.

    `given` is as sent over the wire, where the extreme in either direction is infinity.
    """
    if not isinstance(retriever, AnsweringRetriever):
        return None
    if pictures_alone:
        return math.inf
    return given if given is None or abs(given) < MAX_LEANING else math.copysign(math.inf, given)


def find_picture_bias(retriever: Retriever[Any]) -> float | None:
    """A retriever's own picture bias, as it goes over the wire; None: it answers with pictures alone."""
    if not isinstance(retriever, AnsweringRetriever):
        return None
    return max(-MAX_LEANING, min(retriever.picture_bias, MAX_LEANING))


def predict_picture_attributes(
    retrievers: RetrieverPool,
    uploads: Uploads,
    caller: Caller,
    name: str,
    *,
    like: str | None = None,
    show: str | None = None,
) -> PictureAttributes:
    """The attributes that a retriever sees in a picture of the library (`like`), or in an upload (`show`).

    Raises:
        UnknownName, BadInput: there is no such retriever or upload; not exactly one of the two is given.
        Problem: 404, there is no such picture; or the retriever has yet to be prepared.
    """
    if (like is None) == (show is None):
        raise BadInput("give one picture: `like`, the id of a picture, or `show`, the id of an upload")
    reads, gallery = retrievers.retriever(name).reads, retrievers.gallery(name)
    row = None if like is None else gallery.snapshot.row_of(like)
    file = None if show is None else uploads.find(show, caller.may_see)
    if like is not None and row is None:
        raise not_found("picture", like)
    if reads.predictor is None:
        return PictureAttributes(attributes=[], known=[])
    if file is not None:
        encoder = gallery.encoder if reads.space is None else gallery.find_encoder(reads.space.raw_version)
        raw_1g = encoder.pictures([decode_one(file, encoder.fit).pixels]).global_bd
        [best_c2] = best_labels(reads.predictor, np.asarray(raw_1g, np.float32), reads.count)
        seen = name_labels(best_c2, reads.predictor.labels)
    else:
        assert row is not None
        version = None if reads.space is None else reads.space.raw_version
        seen = predict_attributes(gallery, [row], reads.predictor, reads.count, version)[0]
    return PictureAttributes(
        attributes=[PictureAttribute(name=name, chance=round(chance, 4)) for name, chance in seen.items()],
        known=sorted(reads.predictor.labels),
    )


# -- questioners

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
"""The settings that may give a questioner its source: the first one set is used. Other questioners have none."""

CAN_DO_WITHOUT = frozenset({"information_gain"})
"""Questioners that also ask without a source."""

STAND_IN = "information_gain"
"""Asks in conversations whose own questioner cannot be used here (any more)."""

RETRY_S = 30.0
"""How long a language model that did not answer counts as unusable."""

PROBE, PROBE_S = "Question: is it red?\nAnswer:", 10.0

_ADDRESS = re.compile(r"https?://[^\s,;)]+")

_LOG = logging.getLogger("viewfinder.server")


@dataclass(frozen=True)
class ModelProbe:
    """The outcome of trying a language model, and when."""

    problem: str | None
    at: float


class QuestionerPool:
    """Questioners by name, for all threads."""

    def __init__(self, settings: ServerSettings) -> None:
        self._sources = {MODEL: settings.language_model, QUESTIONS: settings.questions, DIALOGUES: settings.dialogues}
        self._others = {one.partition("=")[0]: one for one in settings.questioners}
        self._good: set[str] = set()
        self._bad: dict[str, str] = {}
        self._tried: ModelProbe | None = None
        self._trying = threading.Lock()

    def names(self) -> list[str]:
        """The built-in ones, and the configured ones of other packages."""
        return list(dict.fromkeys((*QUESTIONERS, *self._others)))

    def list_all(self) -> Questioners:
        """All questioners, each with the reason why it cannot be used, if it cannot."""
        found = [(name, self.find_problem(name)) for name in self.names()]
        infos = [QuestionerInfo(name=name, ready=problem is None, problem=problem) for name, problem in found]
        return Questioners(questioners=infos, default=SessionIn().questioner)

    def check(self, name: str) -> None:
        """Checks that a conversation may have this questioner.

        Raises:
            BadInput: the name has a source in it.
            UnknownName: there is none of this name.
            Problem: 409, it cannot be used here.
        """
        if "=" in name:
            raise BadInput("a questioner is chosen by its name alone: what it needs is set where the server is started")
        QUESTIONER_PLUGINS.check_name(name, self.names())
        problem = self.find_problem(name)
        if problem is not None:
            raise Problem(409, "questioner-not-ready", problem, questioner=name)

    def find_problem(self, name: str) -> str | None:
        """Why a questioner cannot be used here; None if it can."""
        found = self._find_missing(name) or self._find_failure(self.find_spec(name))
        return found or (self._find_model_problem() if self.is_slow(name) else None)

    def find_spec(self, name: str) -> str:
        """The name of a questioner with its source, as `load_questioner` takes it."""
        if name not in QUESTIONERS:
            return self._others[name]
        given = self._find_source(name)
        spec = f"{name}={given[1]}" if given else name
        return name if name in CAN_DO_WITHOUT and self._find_failure(spec) else spec

    def is_slow(self, name: str) -> bool:
        """Whether a questioner waits for a language model, rather than computing for some milliseconds."""
        given = self._find_source(name)
        return given is not None and given[0] == MODEL

    def find_stand_in(self, name: str) -> tuple[str, str] | None:
        """Which questioner asks instead in a conversation set to `name`, and why; None if `name` itself can ask.

        A conversation may be older than the server's settings, or come from another server.
        """
        if name in self.names() and not (self._find_missing(name) or self._find_failure(self.find_spec(name))):
            return None
        return self.find_spec(STAND_IN), f"{name} cannot be used here: asked by {STAND_IN} instead"

    def give_up(self, name: str, error: ViewfinderError) -> None:
        """Notes that a questioner could be made but cannot ask: trained questions may not fit these pictures."""
        self._bad[self.find_spec(name)] = self._hide_sources(str(error))

    def start(self) -> None:
        """Tries the configured questioners in the background, and logs which cannot be used."""
        threading.Thread(target=self._try_configured, name="questioners", daemon=True).start()

    # -- inside

    def _try_configured(self) -> None:
        if self._sources[MODEL]:
            self._try_model()
            if problem := self._find_model_problem():
                slow = ", ".join(name for name in QUESTIONERS if self.is_slow(name))
                _LOG.warning("the language model cannot be used: %s; nothing is asked by %s", problem, slow)
        for name in self._others:
            if problem := self._find_failure(self.find_spec(name)):
                _LOG.warning("what is set for the questioner %s cannot be used: %s", name, problem)
        for name in QUESTIONERS:
            given = self._find_source(name)
            if given and given[0] != MODEL and (problem := self._find_failure(f"{name}={given[1]}")):
                _LOG.warning("what is set for the questioner %s cannot be used: %s", name, problem)

    def _find_source(self, name: str) -> tuple[str, str] | None:
        """The setting that gives a questioner its source, and its value; None if none does."""
        return next(((key, source) for key in SOURCES.get(name, ()) if (source := self._sources[key])), None)

    def _find_missing(self, name: str) -> str | None:
        if name in CAN_DO_WITHOUT or name not in SOURCES or self._find_source(name):
            return None
        wanted = " or ".join(NAMED[key] for key in SOURCES[name])
        variables = " or ".join(f"VIEWFINDER_{key.upper()}" for key in SOURCES[name])
        return f"{name} needs {wanted}: start the server with {variables} set"

    def _find_failure(self, spec: str) -> str | None:
        """Why a questioner cannot be made; once it could, it is not tried again."""
        if spec in self._good:
            return self._bad.get(spec)
        try:
            load_questioner(spec)
        except (ViewfinderError, OSError) as error:
            return self._hide_sources(str(error))
        self._good.add(spec)
        return None

    def _find_model_problem(self) -> str | None:
        """Why the language model was of no use when it was last tried; after a while it is tried again."""
        tried = self._tried
        if tried is None or tried.problem is None:
            return None
        if time.monotonic() - tried.at > RETRY_S:
            threading.Thread(target=self._try_model, name="questioners", daemon=True).start()
        return tried.problem

    def _try_model(self) -> None:
        if self._trying.acquire(blocking=False):
            try:
                problem = probe_language_model(self._sources[MODEL] or "")
                self._tried = ModelProbe(problem and self._hide_sources(problem), time.monotonic())
            finally:
                self._trying.release()

    def _hide_sources(self, problem: str) -> str:
        """A text without the configured paths and addresses: they must not leave the server."""
        for source in filter(None, self._sources.values()):
            problem = problem.replace(source, "what is set")
        return to_unicode(hide_paths(_ADDRESS.sub("its address", problem)))


def probe_language_model(source: str) -> str | None:
    """Why a language model cannot be used, found by having it say something; None if it can."""
    from viewfinder.language import LoadsInBackground, load_language_model  # few servers have one

    try:
        model = load_language_model(source)
        if isinstance(model, LoadsInBackground):
            model.wait()
        model.complete(PROBE, most_tokens=1, seconds=PROBE_S)
    except (ViewfinderError, OSError) as error:
        return " ".join(str(error).split())
    return None
