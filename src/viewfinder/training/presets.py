"""Presets: TOML tables into frozen dataclasses, strictly; and the settings of a training, as in a preset. No torch.

    [lab]                                  @dataclass(frozen=True, kw_only=True)
    batch = 64                             class Preset:
    [lab.training]                             batch: int
    learning_rate = 1e-3                       training: Training
    epochs = 5
    schedule = { kind = "noam", warmup = 100 }

A field may be bool, int, float (an integer will do), str, a Literal, a tuple, a dataclass (a table), a union of
dataclasses told apart by their Literal field `kind`, or any of these or None (written "none", as TOML has no null).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from viewfinder.errors import BadInput, UnknownName
from viewfinder.weights import Card

T = TypeVar("T")

Where = Callable[[str], str]
"""From a dotted key to words that say where it stands."""


def load_preset(source: Path | Traversable, name: str, kind: type[T], overrides: Sequence[str] = ()) -> T:
    """The table `name` of a TOML file as a `kind`; `overrides` are "key=value" with dotted keys and TOML values.

    >>> load_preset(Path("presets.toml"), "lab", Preset, ["training.epochs=2"])       # doctest: +SKIP

    Raises:
        UnknownName: there is no such table.
        BadInput: the file is missing or not TOML; a key is unknown, missing, or of the wrong type (both are named).
    """
    try:
        tables = tomllib.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{source}: no such file") from None
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise BadInput(f"{source}: damaged TOML ({error})") from error
    if not isinstance(tables.get(name), dict):
        there = ", ".join(key for key, table in tables.items() if isinstance(table, dict))
        raise UnknownName(f"{source}: no preset is called {name!r}; there are: {there or 'none'}")
    table = tables[name]
    overridden = {_apply_override(table, override) for override in overrides}

    def where(key: str) -> str:
        return f"the setting {key}" if key in overridden else f"{source}, [{name}]" + (f", {key}" if key else "")

    return build_settings(kind, table, where)


def build_settings(kind: type[T], table: Any, where: Where = str) -> T:
    """A dataclass of type `kind` from a table as TOML or JSON gives it; the inverse of `dataclasses.asdict`.

    Raises:
        BadInput: as `load_preset`.
    """
    made: T = _Table(where).dataclass(kind, table, "")
    return made


def read_card_settings(kind: type[T], card: Card, part: str = "model") -> T:
    """The settings of a network by its card; `part` is the table of the card that holds them.

    Raises:
        BadInput: the card has no such table, or keys or values that this version does not have.
    """
    try:
        return build_settings(kind, card.settings.get(part), lambda key: f"{part}.{key}" if key else part)
    except BadInput as error:
        raise BadInput(f"the card of {card.system}, {error} (weights of another version?); train them again") from error


def _apply_override(table: dict[str, Any], override: str) -> str:
    """Put "training.epochs=2" into a table; returns the key. What is not a TOML value is taken as text."""
    key, equals, text = (part.strip() for part in override.partition("="))
    if not key or not equals:
        raise BadInput(f"{override!r}: a setting is written key=value")
    *parents, last = key.split(".")
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise BadInput(f"{override!r}: {parent} is no table")
    try:
        table[last] = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        table[last] = text
    return key


@dataclass(frozen=True)
class _Table:
    """Converts values to the types of the hints; knows where they come from."""

    where: Where

    def dataclass(self, kind: type[Any], table: Any, key: str) -> Any:
        if not isinstance(table, Mapping):
            raise self.wrong(key, table, "a table")
        known: dict[str, Field[Any]] = {item.name: item for item in fields(kind)}
        dot = f"{key}." if key else ""
        for name in table:
            if name not in known:
                raise BadInput(f"{self.where(dot + name)}: no such key; there are: {', '.join(known)}")
        for name, item in known.items():
            if name not in table and item.default is MISSING and item.default_factory is MISSING:
                raise BadInput(f"{self.where(key)}: {name} is missing")
        hints = get_type_hints(kind)
        values = {name: self.value(hints[name], value, dot + name) for name, value in table.items()}
        try:
            return kind(**values)
        except BadInput as error:
            raise BadInput(f"{self.where(key)}: {error}") from error

    def value(self, hint: Any, value: Any, key: str) -> Any:
        origin = get_origin(hint)
        if origin in (Union, UnionType):
            return self.union(get_args(hint), value, key)
        if origin is Literal:
            if value not in get_args(hint):
                raise self.wrong(key, value, "one of " + ", ".join(map(repr, get_args(hint))))
            return value
        if origin is tuple:
            members = get_args(hint)
            if not isinstance(value, list | tuple):
                raise self.wrong(key, value, "a list")
            if len(members) == 2 and members[1] is Ellipsis:
                members = members[:1] * len(value)
            if len(members) != len(value):
                raise self.wrong(key, value, f"a list of {len(members)}")
            return tuple(self.value(member, item, key) for member, item in zip(members, value, strict=True))
        if is_dataclass(hint):
            assert isinstance(hint, type)
            return self.dataclass(hint, value, key)
        if hint is float and type(value) in (int, float):
            return float(value)
        if hint not in _SIMPLE:
            raise TypeError(f"{key}: presets know no fields of type {hint}")
        if type(value) is not hint:
            raise self.wrong(key, value, _SIMPLE[hint])
        return value

    def union(self, members: tuple[Any, ...], value: Any, key: str) -> Any:
        """None, or the only other member, or the dataclass whose `kind` is the table's."""
        if NoneType in members and (value is None or value == "none"):
            return None
        rest = [member for member in members if member is not NoneType]
        if len(rest) == 1:
            return self.value(rest[0], value, key)
        kinds = {get_args(get_type_hints(member)["kind"])[0]: member for member in rest}
        if not isinstance(value, Mapping) or value.get("kind") not in kinds:
            raise self.wrong(key, value, "a table with kind = one of " + ", ".join(map(repr, kinds)))
        return self.dataclass(kinds[value["kind"]], value, key)

    def wrong(self, key: str, value: Any, wanted: str) -> BadInput:
        return BadInput(f"{self.where(key)}: {value!r} is not {wanted}")


_SIMPLE = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """Times `factor` after every epoch, never below `floor` (ChatIR, Sec. 3: 0.93 down to 1e-6)."""

    kind: Literal["exponential"] = "exponential"
    factor: float = 0.93
    floor: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class Noam:
    """learning_rate * width^-0.5 * min(s^-0.5, s * warmup^-1.5) at step s = 1, 2, ... (Vaswani et al. 2017, Eq. 3).

    The learning rate is the factor in front: 2.0 for Fashion IQ's captioner.
    """

    kind: Literal["noam"] = "noam"
    width: int = 512
    warmup: int = 4000


@dataclass(frozen=True, kw_only=True)
class WarmupCosine:
    """Linearly up over `warmup` steps, then down half a cosine to zero at the last step (ChatSearcher, Sec. 4.3)."""

    kind: Literal["warmup_cosine"] = "warmup_cosine"
    warmup: int = 0


@dataclass(frozen=True, kw_only=True)
class OneCycle:
    """torch's OneCycleLR with cosines (MAI, SPRC): up to the learning rate, then down; beta1 goes the other way."""

    kind: Literal["one_cycle"] = "one_cycle"
    rising: float = 0.3  # share of all steps
    start_divisor: float = 25.0  # the first rate is learning_rate / start_divisor


@dataclass(frozen=True, kw_only=True)
class HalveOnPlateau:
    """Fashion IQ's rule: smaller and smaller steps once the training no longer improves.

    An epoch whose mean training figure does not beat the best one so far by `gain` is counted. From the
    `patience`-th counted epoch on, each one multiplies the learning rate by `factor` and restarts the optimiser. Only
    a new best at validation resets the count; neither a gain nor a halving does. The training ends when the rate falls
    below `floor` times the first one.

    If it `watches` validation (its attribute predictor), a validation without a new best is counted; every
    `patience` of them multiply the rate, and the optimiser keeps its state.
    """

    kind: Literal["halve_on_plateau"] = "halve_on_plateau"
    watches: Literal["training", "validation"] = "training"
    figure: str = "loss"  # of the training: "loss" or a figure that the loss function returns
    higher: bool = False  # whether higher is better
    gain: float = 1e-3
    patience: int = 2
    factor: float = 0.5
    floor: float = 0.1


Schedule = Constant | Exponential | Noam | WarmupCosine | OneCycle | HalveOnPlateau


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How to train. At least one of `epochs` and `steps` says when to end; a step is one update of the weights.

    Raises:
        BadInput: a number out of range, or no end.
    """

    learning_rate: float
    epochs: int | None = None
    steps: int | None = None
    optimiser: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    schedule: Schedule = field(default_factory=Constant)
    clip_norm: float | None = None
    precision: Literal["no", "fp16", "bf16"] = "no"
    seed: int = 0
    validate_epochs: int | None = 1  # validate after every so many epochs
    validate_offset: int = 0  # so many epochs later: with 1, every three epochs are 1, 4, 7 (Fashion IQ's code)
    validate_steps: int | None = None  # and after every so many steps
    patience: int | None = None  # validations without a new best before stopping
    keep: int = 2  # checkpoints

    def __post_init__(self) -> None:
        if self.epochs is None and self.steps is None:
            raise BadInput("epochs or steps must say when the training ends")
        check_settings(self, "above 0", "learning_rate", "eps", "clip_norm")
        check_settings(self, "at least 1", "epochs", "steps", "validate_epochs", "validate_steps", "patience", "keep")
        check_settings(self, "at least 0", "validate_offset")


Rule = Literal["at least 1", "at least 0", "above 0", "from 0 to 1", "at least 0 and below 1"]

FITS: Mapping[Rule, Callable[[float], bool]] = {
    "at least 1": lambda value: value >= 1,
    "at least 0": lambda value: value >= 0,
    "above 0": lambda value: value > 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
    "at least 0 and below 1": lambda value: 0 <= value < 1,
}


def check_settings(settings: object, rule: Rule, *names: str) -> None:
    """Checks that these numbers obey the rule; None is skipped. Raises BadInput: one does not; it is named."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not FITS[rule](value):
            raise BadInput(f"{name} is {value}; it must be {rule}")
