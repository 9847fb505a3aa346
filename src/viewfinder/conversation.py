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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

SCHEMA = "viewfinder/conversation"
SCHEMA_VERSION = 1

PictureId = str


@dataclass(frozen=True)
class Question:
    """What the system asked, by whom, and why; `choices` may be empty for a free answer.

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
    """One turn, its place in the tree, and what the system displayed and asked after it."""

    number: int
    parent: int
    turn: Turn | None
    key: str
    shown: tuple[PictureId, ...] = ()
    asked: Question | None = None


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

    def then(self, turn: Turn) -> Conversation:
        """The conversation with one more turn. Raises ValueError: the turn refers to a node that does not exist."""
        return Conversation((*self.nodes, next_node(self.nodes, turn)))

    def recorded(self, *, shown: tuple[PictureId, ...], asked: Question | None) -> Conversation:
        """The same conversation, with what the system displayed and asked after its newest turn."""
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
        """A JSON object: schema, version, and one object a turn with its parent, what was shown and asked."""
        turns = [
            turn_to_json(node.turn)
            | {"parent": node.parent, "shown": list(node.shown), "asked": node.asked and asdict(node.asked)}
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
                node = next_node(nodes, turn_from_json(record))
                question = None if asked is None else _question(asked)
                nodes.append(replace(node, shown=_texts(shown, "shown", "picture ids"), asked=question))
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


def turn_to_json(turn: Turn) -> dict[str, Any]:
    """One turn as the JSON object of a script line (design: "Command line"); what is not given has no key."""
    said: dict[str, Any]
    match turn:
        case Say(text):
            said = {"say": text}
        case Answer(question, text):
            said = {"answer": text, "question": asdict(question)}
        case Like(picture, text, at, attributes):
            said = {"like": picture, "but": text or None, "attributes": attributes, "turn": at}
        case Show(pixels_ref, text, attributes):
            said = {"show": pixels_ref, "but": text or None, "attributes": attributes}
        case Keep(attribute, at):
            said = {"keep": attribute, "turn": at}
        case Reject(pictures, text):
            said = {"reject": pictures, "text": text or None}
        case BackTo(at):
            said = {"back_to": at}
        case _:
            raise TypeError(f"a turn is Say, Answer, Like, Show, Keep, Reject or BackTo, not {type(turn).__name__}")
    return {key: list(value) if isinstance(value, tuple) else value for key, value in said.items() if value is not None}


_KEYS: dict[str, frozenset[str]] = {
    "say": frozenset(),
    "answer": frozenset({"question"}),
    "skip": frozenset({"question"}),
    "like": frozenset({"but", "turn", "attributes"}),
    "show": frozenset({"but", "attributes"}),
    "keep": frozenset({"turn"}),
    "reject": frozenset({"text"}),
    "back_to": frozenset(),
}


def turn_from_json(data: Any, *, pending: Question | None = None) -> Turn:
    """The turn that a JSON object describes; `pending` is the question that an `answer` refers to when it names none.

    `{"skip": true}` skips a question: it is an answer without words, and is written as one.

    Raises:
        ValueError: not an object, no or several kinds, an unknown key, or a value of the wrong type.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f'a turn is a JSON object such as {{"say": "a dog"}}, not {_shown(data)}')
    kinds = [key for key in data if key in _KEYS]
    if len(kinds) != 1:
        raise ValueError(f"a turn has exactly one of {', '.join(_KEYS)}; this one has {', '.join(kinds) or 'none'}")
    kind = kinds[0]
    for key in data:
        if key != kind and key not in _KEYS[kind]:
            raise ValueError(
                f"a {kind!r} turn knows no {key!r}; it may have {', '.join(sorted(_KEYS[kind])) or 'nothing'}"
            )
    return _read(kind, data, pending)


def _read(  # noqa: PLR0911 (one line a kind of turn)
    kind: str, data: Mapping[str, Any], pending: Question | None
) -> Turn:
    question = pending if data.get("question") is None else _question(data["question"])
    listed = data.get("attributes")
    attributes = None if listed is None else _texts(listed, "attributes", "words")
    match kind:
        case "say":
            return Say(_text(data, "say"))
        case "answer":
            return Answer(question or Question(""), _text(data, "answer"))
        case "skip":
            if data["skip"] is not True:
                raise ValueError(f"'skip' must be true, not {_shown(data['skip'])}")
            if question is None:
                raise ValueError("there is no question to skip")
            return Answer(question, "")
        case "like":
            at = None if data.get("turn") is None else _number(data, "turn")
            return Like(_text(data, "like"), _text(data, "but", ""), at, attributes)
        case "show":
            return Show(_text(data, "show"), _text(data, "but", ""), attributes)
        case "keep":
            return Keep(_text(data, "keep"), _number(data, "turn"))
        case "reject":
            one = isinstance(data["reject"], str)
            pictures = _texts([data["reject"]] if one else data["reject"], "reject", "picture ids")
            return Reject(pictures, _text(data, "text", ""))
        case _:
            return BackTo(_number(data, "back_to"))


def _shown(value: Any) -> str:
    """The value that was given, shortened for a message."""
    return json.dumps(value, default=lambda thing: type(thing).__name__, skipkeys=True)[:60]


def _text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{key!r} must be a text, not {_shown(value)}")
    return value


def _number(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{key!r} must be the number of a turn, not {_shown(value)}")
    return int(value)


def _texts(value: Any, key: str, kind: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key!r} must be a list of {kind}, not {_shown(value)}")
    return tuple(value)


def _question(data: Any) -> Question:
    if isinstance(data, str):
        return Question(data)
    if not isinstance(data, Mapping) or not isinstance(data.get("text"), str):
        raise ValueError("a question is a text, or an object with a 'text'")
    unknown = set(data) - set(Question.__dataclass_fields__)
    if unknown:
        raise ValueError(f"a question knows no {', '.join(sorted(unknown))}")
    choices, attribute = _texts(data.get("choices", ()), "choices", "texts"), data.get("attribute")
    by, why, examples = _text(data, "by", ""), _text(data, "why", ""), data.get("examples", ())
    attribute = None if attribute is None else _text(data, "attribute")
    return Question(data["text"], choices, by, why, attribute, _texts(examples, "examples", "picture ids"))


MAX_NAMED = 5
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
            what = f"like {_named(picture, shown)}" + (f" of turn {at}" if at is not None else "")
            return what + _describe_wish(text, attributes)
        case Show(pixels_ref, text, attributes):
            return f"show {pixels_ref if own_image is None else own_image}" + _describe_wish(text, attributes)
        case Keep(attribute, at):
            return f"keep {attribute} of turn {at}"
        case Reject(pictures, text):
            named = [f"not {_named(picture, shown)}" for picture in pictures]
            some = named if len(named) <= MAX_NAMED else [f"not these {len(named)} pictures"]
            parts = [*some, *([f'not "{text}"'] if text else [])]
            return ", ".join(parts) or "none of these"
        case BackTo(at):
            return f"back to {at}"


def _named(picture: PictureId, shown: Sequence[PictureId]) -> str:
    """The number under which a picture was shown, else the first letters of its id."""
    if picture in shown:
        return f"result {shown.index(picture) + 1}"
    return picture if len(picture) <= 10 else f"{picture[:8]}…"


def _describe_wish(text: str, attributes: Sequence[str] | None) -> str:
    counting = "" if attributes is None else f" with {', '.join(attributes) or 'no attributes'}"
    return counting + (f' but "{text}"' if text else "")
