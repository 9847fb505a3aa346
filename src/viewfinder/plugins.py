"""Parts that other packages bring: retrievers, questioners, encoders, simulated users, readers of picture formats.

An installed package offers them as entry points of a group ("viewfinder.retrievers"); a class that is not offered is
named by its place, `package.module:Class`. They are looked up only when a name is asked for that is not ours.

What such a part does wrong is not ours to mend, so messages name it: its package, its file and its line. `find_fault`
does that for what it raises, `describe_part` where it gives what it may not give.
"""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viewfinder.errors import BadInput, PartFailed, UnknownName, ViewfinderError, read_text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_WHERE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_place_of_class(name: str) -> bool:
    """Whether a name is the place of a class.

    >>> is_place_of_class("my_lab.systems:Rocchio"), is_place_of_class("openai/clip-vit-base-patch32")
    (True, False)
    """
    return _WHERE.fullmatch(name) is not None


def label_part(part: object) -> str:
    """The label of a part that was given by name, as a class or as an object."""
    if isinstance(part, str):
        return part
    name = getattr(part, "name", None)
    return name if isinstance(name, str) else getattr(part, "__name__", type(part).__name__)


# -- whose fault it is


@dataclass(frozen=True)
class _Origin:
    """Whose code a module is."""

    noun: str
    name: str
    package: str

    def __str__(self) -> str:
        return f"the {self.noun} {self.name} of {self.package}"


_origins: dict[str, _Origin] = {}
"""The parts in use, by the module or package that has their code."""

_OURS = frozenset({"viewfinder", "__main__", "builtins"})

_MEND = "that is no fault of viewfinder: have it mended, or use another one"


def _top(module: str) -> str:
    return module.partition(".")[0]


def _note_origin(noun: str, name: str, module: str, package: str | None = None) -> None:
    """Remembers whose code a module is; what an entry point says of it is not replaced by what a class says."""
    if module and _top(module) not in _OURS:
        origin = _Origin(noun, name, package or f"the module {module}")
        for key in (module, _top(module)):
            if package is not None or key not in _origins:
                _origins[key] = origin


def find_fault(error: BaseException) -> str | None:
    """One line that names the part of another package in whose code an error was raised; None: there is no such part.

    The innermost of its lines counts: what it called may be ours, but was called in a way that does not work.
    """
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__", ""))
        if (origin := _origins.get(module) or _origins.get(_top(module))) is not None:
            return f"{origin} failed ({_say(error)}, {frame.f_code.co_filename}:{line}): {_MEND}"
    return None


@contextmanager
def naming_parts() -> Iterator[None]:
    """Raises PartFailed, which names the part of another package, in place of whatever is raised in its code."""
    try:
        yield
    except ViewfinderError:
        raise
    except Exception as error:
        if (fault := find_fault(error)) is None:
            raise
        raise PartFailed(fault) from error


def describe_part(noun: str, part: object) -> str:
    """A part as messages name it; one of another package with the package and the place of its class."""
    kind = part if isinstance(part, type) else type(part)
    label = f"the {noun} {label_part(part)}"
    if _top(kind.__module__) in _OURS - {"__main__"}:
        return label
    origin = _origins.get(kind.__module__) or _origins.get(_top(kind.__module__))
    if origin is not None and origin.noun == noun:
        label = str(origin)
    try:
        return f"{label} ({inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]})"
    except (OSError, TypeError):  # it was made without a file
        return f"{label} ({kind.__module__}.{kind.__qualname__})"


def refuse_reply(noun: str, part: object, wrong: str) -> PartFailed:
    """The error for what a part gives and may not give: `wrong` says what, as in "`query` gave None, not a Query"."""
    return PartFailed(f"{describe_part(noun, part)}: {wrong}; {_MEND}")


@dataclass(frozen=True, eq=False)
class Plugins:
    """The parts of one kind that other packages bring.

    Attributes:
        noun: what a part of this kind is called in messages.
        group: the group of entry points that offer them.
        protocol: what each part must have.
        ours: the names that are taken, which messages also list.
    """

    noun: str
    group: str
    protocol: Any
    ours: Collection[str]

    def offered(self) -> dict[str, EntryPoint]:
        """The parts of installed packages, by name; one whose name is taken is left out, with a line in the log."""
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
            if point.name in self.ours:
                _warn(f"the {self.noun} {point.name!r} of {_package(point)} is not used: viewfinder has its own")
            elif point.name in found:
                other = _package(found[point.name])
                _warn(f"the {self.noun} {point.name!r} of {_package(point)} is not used: {other} has one of that name")
            else:
                found[point.name] = point
        return found

    def names(self, *more: str) -> list[str]:
        """All names: ours, `more`, and those that packages offer."""
        return sorted({*self.ours, *more, *self.offered()})

    def check_name(self, name: str, known: Collection[str]) -> None:
        """Raises UnknownName if a name is not among those `known`, whatever is installed: for names from outside."""
        if name not in known:
            raise UnknownName(f"no {self.noun} is called {name!r}; there are: {', '.join(sorted(known))}")

    def find(self, name: str) -> Any | None:
        """The class, function or object that a package offers under this name, or that is at this place; None: there is
        none.

        Raises:
            BadInput: it cannot be imported, or is not such a part.
        """
        if is_place_of_class(name):
            from importlib.metadata import EntryPoint

            place = EntryPoint(name, name, self.group)
            part = self._import(place, "put its folder on PYTHONPATH")
            # A name may come from a file, such as a library's settings: what is not such a part is never called.
            self._check(part, name)
            _note_origin(self.noun, name, place.module)
            return part
        if (point := self.offered().get(name)) is None:
            return None
        part = self._import(point, f"mend {_package(point)}, or uninstall it")
        _note_origin(self.noun, name, point.module, _package(point))
        if isinstance(part, type):
            self._check(part, name)
        return part

    def load(self, name: str, *given: Any, **settings: Any) -> Any:
        """The part of this name, made from what is given.

        Raises:
            UnknownName: there is none; the message lists those that exist.
            BadInput: as `find` and `make`.
        """
        part = self.find(name)
        if part is None:
            self.check_name(name, self.names())
        return self.make(part, name, *given, **settings)

    def make(self, part: Any, name: str, *given: Any, **settings: Any) -> Any:
        """An instance of a class, or what a function returns; an object is used as it is.

        Raises:
            BadInput: it lacks what such a part needs, or cannot be made from what is given.
        """
        if isinstance(part, type):
            self._check(part, name)
        _note_origin(self.noun, name, getattr(part, "__module__", None) or type(part).__module__)
        is_made = not isinstance(part, type) and (not callable(part) or not self._lacks(part))
        if is_made and (given or settings):
            what = ", ".join([*map(str, given), *settings])
            raise BadInput(f"the {self.noun} {name} is an object that is made already: it cannot be given {what}")
        if is_made:
            self._check(part, name)
            return part
        try:
            inspect.signature(part).bind(*given, **settings)
        except TypeError as error:
            what = ", ".join([*map(str, given), *settings]) or "nothing"
            raise BadInput(f"the {self.noun} {name} cannot be made of {what}: {error}") from error
        try:
            made = part(*given, **settings)
        except ViewfinderError:
            raise
        except Exception as error:
            where = _find_place(error, getattr(part, "__module__", None) or type(part).__module__)
            raise BadInput(f"the {self.noun} {name} cannot be made: {_say(error)}{where and f' ({where})'}") from error
        self._check(made, name)
        return made

    def _check(self, part: Any, name: str) -> None:
        if lacks := self._lacks(part):
            raise BadInput(f"{name} is no {self.noun}: it lacks {', '.join(lacks)}")

    def _lacks(self, part: Any) -> list[str]:
        """The protocol's members that a part lacks; of a class only methods, since its objects may set the rest."""
        members = {name: member for name, member in vars(self.protocol).items() if not name.startswith("_")}
        if isinstance(part, type):
            members = {name: member for name, member in members.items() if not isinstance(member, property)}
        return [name for name in members if not hasattr(part, name)]

    def _import(self, point: EntryPoint, advice: str) -> Any:
        try:
            return point.load()
        except (Exception, SystemExit) as error:  # whatever a foreign module does while it is imported
            where = _find_place(error, point.module)
            line = f"the {self.noun} {point.name} cannot be imported ({_say(error)}{where and f', {where}'})"
            raise BadInput(f"{line}: install what is missing, or {advice}") from error


def _package(point: EntryPoint) -> str:
    return f"the package {point.dist.name} {point.dist.version}" if point.dist else "another package"


def _say(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(read_text(error).split())[:200]}"


def _find_place(error: BaseException, module: str) -> str:
    """The file and line of a part's own code at which an error was raised, as FILE:LINE; "" if it was raised elsewhere.

    Its own code is the top package of `module`. What cannot be read as Python says itself where that is.
    """
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = str(frame.f_globals.get("__name__", ""))
        if _top(name) == _top(module) and _top(name) not in _OURS:
            return f"{frame.f_code.co_filename}:{line}"
    return ""


@lru_cache(maxsize=64)
def _warn(line: str) -> None:
    """Warns once, however often names are listed; without a handler of its own, logging prints warnings on stderr."""
    logging.getLogger("viewfinder").warning("viewfinder: %s", line)


def warn_of_part(error: ViewfinderError) -> None:
    """Logs why a part is not used that was offered but not asked for by name."""
    _warn(str(error))
