"""Turns and conversations: pure data, which imports no other module of ours.

A conversation is a persistent tree. Its nodes are numbered in the order in which they were said: node 0 is
the empty root, node k the k-th line of a script, `BackTo` lines included. A `BackTo(k)` node stands for
node k again: its parent is k, it adds nothing to what the user wants, and whatever is said next branches
off there. Nothing is ever removed, so the newest node is always the present one.

>>> conversation = Conversation().then(Say("a dog")).then(Say("in the snow")).then(BackTo(1)).then(Say("on a beach"))
>>> [node.turn.text for node in conversation.path()]
['a dog', 'on a beach']
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import cached_property
from numbers import Integral
from typing import Any

from viewfinder.errors import NO_TEXT, is_text

SCHEMA = "viewfinder/conversation"
SCHEMA_VERSION = 1

PictureId = str


@dataclass(frozen=True)
class Question:
    """A question of the system, with the questioner that asked it, and why; `choices` may be empty for a free answer.

    `attribute` says what was asked for: a column, a facet of photographs, a group of tags; None: only the text tells.
    `examples` has for each choice a picture to which it applies, "" where there is none; () for no examples at all.
    """

    text: str
    choices: tuple[str, ...] = ()
    by: str = ""
    why: str = ""
    attribute: str | None = None
    examples: tuple[PictureId, ...] = ()


@dataclass(frozen=True)
class Say:
    """The user describes the picture, or goes on describing it."""

    text: str


@dataclass(frozen=True)
class Answer:
    """The user answers the system's question; "don't know" is an answer too, and an empty text skips the question."""

    question: Question
    text: str


@dataclass(frozen=True)
class Like:
    """The user picks a picture, with or without "but ..."; `turn` is an earlier turn at which it was shown or picked.

    `attributes`: the attributes of the picture that count, in place of those predicted; None: the predicted ones.
    """

    picture: PictureId
    text: str = ""
    turn: int | None = None
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Show:
    """The user shows an image of their own; `pixels_ref` names it (a file, or an upload over HTTP).

    `attributes` as in `Like`.
    """

    pixels_ref: str
    text: str = ""
    attributes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Keep:
    """The user wants an attribute of what was on the screen after `turn` to stay."""

    attribute: str
    turn: int


@dataclass(frozen=True)
class Reject:
    """The user does not want these pictures, or what `text` says."""

    pictures: tuple[PictureId, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class BackTo:
    """The user goes on from an earlier node; nothing said since is lost."""

    turn: int


Turn = Say | Answer | Like | Show | Keep | Reject | BackTo


def is_skip(turn: Turn | None) -> bool:
    """Whether a turn skips a question: it says nothing about what is wanted, only that this should not be asked.

    >>> [is_skip(Answer(Question("A dog?"), text)) for text in ("", "don't know")]
    [True, False]
    """
    return isinstance(turn, Answer) and not turn.text.strip()


@dataclass(frozen=True)
class Node:
    """One turn, its place in the tree, and what the system displayed and asked after it.

    `day`: in ISO form, when it was said ("last summer" is another one a year later); "" where that was not recorded.
    """

    number: int
    parent: int
    turn: Turn | None
    key: str
    shown: tuple[PictureId, ...] = ()
    asked: Question | None = None
    day: str = field(default="", compare=False)


ROOT = Node(number=0, parent=0, turn=None, key="root")


@dataclass(frozen=True)
class Conversation:
    """The turns so far: an immutable, branching record. `then` and `recorded` return new conversations."""

    nodes: tuple[Node, ...] = field(default=(ROOT,))

    @property
    def here(self) -> Node:
        """The node at which the conversation stands: the newest."""
        return self.nodes[-1]

    def __len__(self) -> int:
        return len(self.nodes) - 1

    def node(self, number: int) -> Node:
        """Node `number`. Raises ValueError: there is no such node (yet)."""
        return _find_node(self.nodes, number)

    def then(self, turn: Turn, day: str = "") -> Conversation:
        """The conversation with one more turn. Raises ValueError: the turn refers to a node that does not exist."""
        return Conversation((*self.nodes, replace(next_node(self.nodes, turn), day=day)))

    def recorded(self, *, shown: tuple[PictureId, ...], asked: Question | None) -> Conversation:
        """The conversation with what the system displayed and asked after its newest turn."""
        return Conversation((*self.nodes[:-1], replace(self.here, shown=shown, asked=asked)))

    def path(self, number: int | None = None) -> tuple[Node, ...]:
        """The nodes that lead from the root to `number` (default: here), without root and `BackTo` nodes."""
        node, upwards = self.here if number is None else self.node(number), []
        while node.number:
            if not isinstance(node.turn, BackTo):
                upwards.append(node)
            node = self.nodes[node.parent]
        return tuple(reversed(upwards))

    def standing_at(self, node: Node) -> Node:
        """The node whose turns count at `node`: going back only moves, and a skipped question adds nothing."""
        while isinstance(node.turn, BackTo) or is_skip(node.turn):
            node = self.nodes[node.parent]
        return node

    @cached_property
    def pending(self) -> Question | None:
        """The question that waits for an answer at this node, if any."""
        node = self.here
        while isinstance(node.turn, BackTo) and node.asked is None:
            node = self.nodes[node.parent]
        return node.asked

    def to_json(self) -> dict[str, Any]:
        """A JSON object: schema, version, and one object a turn with its parent, what was shown and asked, and the day
        on which it was said, if that is known."""
        turns = [
            turn_to_json(node.turn)
            | {"parent": node.parent, "shown": list(node.shown), "asked": node.asked and asdict(node.asked)}
            | ({"on": node.day} if node.day else {})
            for node in self.nodes[1:]
            if node.turn is not None
        ]
        return {"schema": SCHEMA, "version": SCHEMA_VERSION, "turns": turns}

    @staticmethod
    def from_json(data: Any) -> Conversation:
        """The conversation that `to_json` wrote. Raises ValueError: another schema or version, a malformed turn."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"this is not a conversation: its schema is {schema!r}, not {SCHEMA!r}")
        if data.get("version") != SCHEMA_VERSION:
            raise ValueError(
                f"this conversation has version {data.get('version')!r}; this viewfinder reads {SCHEMA_VERSION}"
            )
        turns = data.get("turns")
        if not isinstance(turns, list):
            raise ValueError("this conversation has no list of turns")
        nodes = [ROOT]
        for number, item in enumerate(turns, start=1):
            try:
                record = dict(item)
                parent, shown, asked = record.pop("parent"), record.pop("shown"), record.pop("asked")
                day = _check_day(record.pop("on", ""))
                node = next_node(nodes, turn_from_json(record))
                question = None if asked is None else _read_question(asked)
                nodes.append(replace(node, shown=_check_texts("shown", shown, "picture ids"), asked=question, day=day))
            except KeyError as error:
                raise ValueError(f"turn {number} of this conversation is malformed: it has no {error}") from error
            except (TypeError, ValueError) as error:
                raise ValueError(f"turn {number} of this conversation is malformed: {error}") from error
            if node.parent != parent:
                raise ValueError(f"turn {number} says it follows turn {parent}, but it follows {node.parent}")
        return Conversation(tuple(nodes))


def _find_node(nodes: Sequence[Node], number: int) -> Node:
    if not 0 <= number < len(nodes):
        raise ValueError(f"turn {number} does not exist: this conversation has turns 0 to {len(nodes) - 1}")
    return nodes[number]


def next_node(nodes: Sequence[Node], turn: Turn) -> Node:
    """The node that a turn makes after these; a caller that reads a whole conversation appends it to a list.

    Raises:
        ValueError: the turn refers to a node that does not exist.
    """
    number = len(nodes)
    if isinstance(turn, BackTo):
        origin = _find_node(nodes, turn.turn)
        return Node(number, turn.turn, turn, origin.key, shown=origin.shown)
    at = turn.turn if isinstance(turn, Keep | Like) else None
    referred = () if at is None else (_find_node(nodes, at),)
    # Conversations that were equal so far share keys, so that both use the same memoised steps. Numbers count too: a
    # state knows its turns by them, and what a turn refers to may lie on another branch.
    seen = [[node.key, node.shown] for node in (nodes[-1], *referred)]
    said = _ENCODER.encode([number, seen, turn_to_json(turn)])
    key = hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
    return Node(number, nodes[-1].number, turn, key)


_ENCODER = json.JSONEncoder(sort_keys=True)


# -- turns as JSON


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """One turn as the JSON object of a script line (design: "Command line"); what is not given has no key."""
    said: dict[str, Any] = {}
    for at, (name, (key, _)) in enumerate(_fields_of(turn).items()):
        value = getattr(turn, name)
        if isinstance(value, Question):
            said[key] = asdict(value)
        elif value is not None and (value != "" or at == 0):  # the first key says which kind of turn it is
            said[key] = list(value) if isinstance(value, tuple) else value
    return said


def turn_from_json(data: Any, *, pending: Question | None = None) -> Turn:
    """The turn that a JSON object describes; `pending` is the question that an `answer` refers to when it names none.

    `{"skip": true}` skips a question: it is an answer without words, and is written as one.

    Raises:
        ValueError: not an object, no or several kinds, an unknown key, or a value of the wrong type.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f'a turn is a JSON object such as {{"say": "a dog"}}, not {_shorten(data)}')
    kinds = [key for key in data if key in _KINDS]
    if len(kinds) != 1:
        raise ValueError(f"a turn has exactly one of {', '.join(_KINDS)}; this one has {', '.join(kinds) or 'none'}")
    kind, fields = kinds[0], _FIELDS[_KINDS[kinds[0]]]
    keys = sorted([key for key, _ in fields.values()][1:])
    for key in data:
        if key != kind and key not in keys:
            raise ValueError(f"a {kind!r} turn knows no {key!r}; it may have {', '.join(keys) or 'nothing'}")
    values = {name: data.get(key) for name, (key, _) in fields.items()}
    if "question" in fields:
        asked = pending if values["question"] is None else values["question"]
        values["question"] = Question("") if asked is None else asked
        if kind == "skip":
            if data["skip"] is not True:
                raise ValueError(f"'skip' must be true, not {_shorten(data['skip'])}")
            if asked is None:
                raise ValueError("there is no question to skip")
            values["text"] = ""
    return _make_turn(_KINDS[kind], values)


def check_turn(turn: Turn) -> Turn:
    """The turn with its lists as tuples, if all its values have the right types.

    Raises:
        TypeError: it is no turn.
        ValueError: a value has the wrong type; the message names it by its key in JSON.
    """
    _fields_of(turn)
    return _make_turn(type(turn), vars(turn))


def _make_turn(kind: type[Any], values: Mapping[str, Any]) -> Turn:
    turn: Turn = kind(**{name: check(key, values[name]) for name, (key, check) in _FIELDS[kind].items()})
    return turn


def _fields_of(turn: Turn) -> Mapping[str, tuple[str, Callable[[str, Any], Any]]]:
    if type(turn) not in _FIELDS:
        raise TypeError(f"a turn is Say, Answer, Like, Show, Keep, Reject or BackTo, not {type(turn).__name__}")
    return _FIELDS[type(turn)]


def _read_question(data: Any) -> Question:
    if isinstance(data, str):
        return Question(data)
    data = vars(data) if isinstance(data, Question) else data
    if not isinstance(data, Mapping) or not isinstance(data.get("text"), str):
        raise ValueError("a question is a text, or an object with a 'text'")
    unknown = set(data) - set(Question.__dataclass_fields__)
    if unknown:
        raise ValueError(f"a question knows no {', '.join(sorted(unknown))}")
    choices, examples, attribute = data.get("choices", ()), data.get("examples", ()), data.get("attribute")
    return Question(
        data["text"],
        _check_texts("choices", choices, "texts"),
        _check_text("by", data.get("by", "")),
        _check_text("why", data.get("why", "")),
        None if attribute is None else _check_text("attribute", attribute),
        _check_texts("examples", examples, "picture ids"),
    )


def _shorten(value: Any) -> str:
    """A value that was given, short enough for a message."""
    return json.dumps(value, default=lambda thing: type(thing).__name__, skipkeys=True)[:60]


def _check_text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text, not {_shorten(value)}")
    return value


def _check_said(key: str, value: Any) -> str:
    if not is_text(text := _check_text(key, value)):
        raise ValueError(f"{key!r} {NO_TEXT}")
    return text


def _check_day(value: Any) -> str:
    text = _check_text("on", value)
    if text:
        date.fromisoformat(text)
    return text


def _check_wish(key: str, value: Any) -> str:
    return "" if value is None else _check_said(key, value)


def _check_number(key: str, value: Any) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{key!r} must be the number of a turn, not {_shorten(value)}")
    return int(value)


def _check_texts(key: str, value: Any, kind: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key!r} must be a list of {kind}, not {_shorten(value)}")
    return tuple(value)


def _check_ids(key: str, value: Any) -> tuple[PictureId, ...]:
    return _check_texts(key, [value] if isinstance(value, str) else value, "picture ids")


def _check_words(key: str, value: Any) -> tuple[str, ...] | None:
    return None if value is None else _check_texts(key, value, "words")


_FIELDS: dict[type[Any], dict[str, tuple[str, Callable[[str, Any], Any]]]] = {
    Say: {"text": ("say", _check_said)},
    Answer: {"text": ("answer", _check_said), "question": ("question", lambda _, asked: _read_question(asked))},
    Like: {
        "picture": ("like", _check_text),
        "text": ("but", _check_wish),
        "attributes": ("attributes", _check_words),
        "turn": ("turn", lambda key, value: None if value is None else _check_number(key, value)),
    },
    Show: {
        "pixels_ref": ("show", _check_text),
        "text": ("but", _check_wish),
        "attributes": ("attributes", _check_words),
    },
    Keep: {"attribute": ("keep", _check_text), "turn": ("turn", _check_number)},
    Reject: {"pictures": ("reject", _check_ids), "text": ("text", _check_wish)},
    BackTo: {"turn": ("back_to", _check_number)},
}
"""The fields of every kind of turn, each with its key in JSON and its check; the first key names the kind."""

_KINDS: dict[str, type[Any]] = {
    "say": Say, "answer": Answer, "skip": Answer, "like": Like, "show": Show, "keep": Keep, "reject": Reject,
    "back_to": BackTo,
}  # fmt: skip


MAX_REJECTED_NAMED = 5
"""Up to so many rejected pictures are listed one by one; more are only counted."""


def describe_turn(  # noqa: PLR0911 (one line a kind of turn)
    turn: Turn, shown: Sequence[PictureId] = (), *, own_image: str | None = None
) -> str:
    """Describes a turn in a few words; `shown` is what was on the screen when it was said.

    `own_image` replaces the name of an image of the user's own, where that name says nothing.

    >>> describe_turn(Reject(("4f2a",), "stripes"))
    'not 4f2a, not "stripes"'
    """
    match turn:
        case Say(text):
            return f'"{text}"'
        case Answer(question) if is_skip(turn):
            return "skipped" + (f": {question.text}" if question.text else "")
        case Answer(question, text):
            return f'answer "{text}"' + (f" to: {question.text}" if question.text else "")
        case Like(picture, text, at, attributes):
            what = f"like {_name_picture(picture, shown)}" + (f" of turn {at}" if at is not None else "")
            return what + _describe_wish(text, attributes)
        case Show(pixels_ref, text, attributes):
            return f"show {pixels_ref if own_image is None else own_image}" + _describe_wish(text, attributes)
        case Keep(attribute, at):
            return f"keep {attribute} of turn {at}"
        case Reject(pictures, text):
            named = [f"not {_name_picture(picture, shown)}" for picture in pictures]
            some = named if len(named) <= MAX_REJECTED_NAMED else [f"not these {len(named)} pictures"]
            parts = [*some, *([f'not "{text}"'] if text else [])]
            return ", ".join(parts) or "none of these"
        case BackTo(at):
            return f"back to {at}"


def _name_picture(picture: PictureId, shown: Sequence[PictureId]) -> str:
    """The number under which a picture was shown, else the first letters of its id."""
    if picture in shown:
        return f"result {shown.index(picture) + 1}"
    return picture if len(picture) <= 10 else f"{picture[:8]}…"


def _describe_wish(text: str, attributes: Sequence[str] | None) -> str:
    counting = "" if attributes is None else f" with {', '.join(attributes) or 'no attributes'}"
    return counting + (f' but "{text}"' if text else "")
