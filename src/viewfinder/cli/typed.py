"""Lines that a person types, or a script holds, read as turns and commands at a point of a conversation.

When typed, a bare number means a result, a letter a choice of the pending question; what fits no command is words that
describe the picture. A script (`chat --script`) has one JSON turn a line; empty lines and lines that start with "#" are
skipped and do not count as turns. Where a picture's id is expected, "#2" means result 2 of what is shown then.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    PictureId,
    Question,
    Reject,
    Say,
    Show,
    Turn,
    turn_from_json,
)
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.session.replies import find_answer, understand_reply
from viewfinder.wording.acts import Act, read_act
from viewfinder.wording.openings import split_opening
from viewfinder.wording.replies import is_dont_know

if TYPE_CHECKING:
    from viewfinder.search.hits import Hits
    from viewfinder.session.session import Session

HELP = """\
  a dog in the snow          describe the picture, and go on describing it
  2                          like result 2
  2 but brown                like result 2, but ...  (2 of turn 1 but brown: a result of an earlier turn)
  like the first but blue    a picture of an earlier turn, for retrievers that look back: the first, the one before
  2 with silk, long but red  and what counts of result 2, for retrievers that read attributes ("with nothing": none)
  not 1 3                    not these; `none` rejects all that is shown
  without stripes            not that
  show FILE but brown        an image of your own, with or without "but ..."
  a    b)    answer brown    answer the question; `don't know` is an answer
  skip                       pass the question over: something else is asked
  the second one, wrong, undo, more, start over   replies do what they say
  keep colour of turn 1      what was there after turn 1 should stay (without "of turn": of what is shown now)
  back 1                     go on from an earlier turn; 0 is the start
  say tree                   words that would be read as a command
  why 2                      what each turn adds to result 2, and each system that is asked
  ask is the dog wet?        the model of --describer looks at each result, and answers
  leaning 2                  answer rather with pictures, -2: rather in words, for retrievers that answer
  tree                       the whole conversation
  save FILE   open FILE      keep the conversation as JSON, take it up again
  help   quit"""


@dataclass(frozen=True)
class Command:
    """A line that is no turn: help, tree, quit, why (of a result), leaning (how much), ask (what), save and open (a
    file)."""

    name: str
    value: Any = None


COMMAND_WORDS = {"help": "help", "h": "help", "tree": "tree", "quit": "quit", "exit": "quit", "q": "quit"}
PICTURE_NAME = re.compile(r"[/\\]|\.(?:jpe?g|png|webp|gif|bmp|tiff?|avif|hei[cf]|dng)$", re.IGNORECASE)


def parse_line(line: str, conversation: Conversation, *, names_attributes: bool = True) -> Turn | Command:
    """The turn or command that a line means at this point of the conversation.

    What is no command answers a question that offers nothing to choose from; `say` describes the picture nevertheless.
    `names_attributes`: the retriever reads attributes, so "2 with silk" says which of result 2 count.

    Raises:
        BadInput: it names a result, turn or question that does not exist.
    """
    text = " ".join(line.split())
    question = conversation.pending
    if _is_skip(text):
        return Answer(_need_question(conversation, "skip"), "")
    if question is not None and (answer := _find_choice(text, question)) is not None:
        return Answer(question, answer)
    if text.lower().lstrip("/") in COMMAND_WORDS:
        return Command(COMMAND_WORDS[text.lower().lstrip("/")])
    act = read_act(text)
    if (meant := _match_line(text, act, conversation, names_attributes=names_attributes)) is not None:
        return meant
    if act is not None:
        # "None of these" and "not this" are commands of the prompt; what other replies mean, the session knows: its
        # retriever may look back at earlier turns, or speak itself.
        is_command = act.kind == "reject" and text.lower().startswith(("none", "not "))
        return understand_reply(Say(text), conversation) if is_command else Say(text)
    # A question is answered in one's own words where it offers nothing but that one does not know.
    is_free = question is not None and all(map(is_dont_know, question.choices)) and split_opening(text) is None
    return Answer(question, text) if question is not None and is_free else Say(text)


_SAYS_MORE = re.compile(
    r"[,.;:!?]\s*\w|\bbut\b|^not (?:(?:an?|the) )?\w+ (?:just|only|an?|the)\b"
    r"|^not (?:so|too|as|very|that|quite|really|many|much|sure|certain|only|just)\b",
    re.IGNORECASE,
)
"""What "not a dog but a cat" and "not so dark" say besides what is not wanted."""


def _match_line(
    text: str, act: Act | None, conversation: Conversation, *, names_attributes: bool
) -> Turn | Command | None:
    """What a line means that is not words alone: the first of `LINE_PATTERNS` that fits and has a meaning; else None.

    Two turns in one ("not these, a dog in the snow") are words, which the session tells apart.
    """
    if split_opening(text) is not None:
        return None
    for kind, pattern in LINE_PATTERNS.items():
        # "Not this" says nothing of what is to be seen.
        if kind == "without" and (act is not None or _SAYS_MORE.search(text)):
            continue
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if found is None or (kind == "like" and found["with"] and not names_attributes and not found["turn"]):
            continue
        if (meant := _read_meaning(kind, found, conversation)) is not None:
            return meant
    return None


def _need_question(conversation: Conversation, verb: str) -> Question:
    if conversation.pending is None:
        raise BadInput(f"there is no question to {verb}: say what you are looking for instead")
    return conversation.pending


def _is_skip(text: str) -> bool:
    act = read_act(text.removeprefix("/"))
    return act is not None and act.kind == "skip"


def _find_choice(text: str, question: Question) -> str | None:
    """The answer, where a text is plainly one: a letter, or what `find_answer` takes for one.

    A bare number is a result, even where a choice is called so.
    """
    if text.isdecimal():
        return None
    letter = re.fullmatch(r"([a-z])\)?", text.lower())
    if letter and ascii_lowercase.index(letter[1]) < len(question.choices):
        return question.choices[ascii_lowercase.index(letter[1])]
    return find_answer(text, question)


def find_result(number: int, conversation: Conversation, turn: int | None = None) -> PictureId:
    """The picture that is result `number` now, or was it after `turn`.

    Raises:
        BadInput: there is no such turn or result.
    """
    try:
        shown = conversation.node(conversation.here.number if turn is None else turn).shown
    except ValueError as error:
        raise BadInput(str(error)) from error
    if not 1 <= number <= len(shown):
        when = "are shown now" if turn is None else f"were shown after turn {turn}"
        raise BadInput(f"there is no result {number}: {len(shown)} {when}")
    return shown[number - 1]


_BUT = r"(?:,? but (?P<but>.+))?"
_WITH = r"(?:,? with (?P<with>.+?))?"
_OF_TURN = r"(?: (?:of|from|after|in) (?:turn )?(?P<turn>\d+))?"

LINE_PATTERNS = {
    "like": rf"(?:like )?#?(?P<number>\d+){_OF_TURN}{_WITH}{_BUT}",
    "reject": r"(?:not|reject) (?P<numbers>#?\d+(?:(?:,? and |, ?| )#?\d+)*)",
    "without": r"(?:not|without) (?P<what>.+?)(?: either| at all| please| anymore)*",
    "show": rf"show (?P<file>.+?){_BUT}",
    "answer": r"answer:? (?P<text>.+)",
    "keep": rf"keep (?:the )?(?P<attribute>\w+?){_OF_TURN}",
    "back": r"back(?: to)?(?: turn)?(?: (?P<turn>-?\d+))?",
    "why": r"why #?(?P<rank>\d+)",
    "ask": r"ask:? (?P<text>.+)",
    "leaning": r"leaning (?P<to>[-+]?\d+(?:\.\d+)?)",
    "save": r"save (?P<file>\S+|.+\.json)",
    "open": r"open (?P<file>.+)",
    "say": r"say (?P<text>.+)",
}
"""Lines that are not words alone; the first pattern that fits counts, if `_read_meaning` finds a meaning."""


def _read_meaning(  # noqa: PLR0911, PLR0912 (one return a kind of line)
    kind: str, found: re.Match[str], conversation: Conversation
) -> Turn | Command | None:
    """The turn or command of a line that one of `LINE_PATTERNS` fits; None where it is words after all."""
    said = found.groupdict()
    turn = int(said["turn"]) if said.get("turn") else None
    file = Path((said.get("file") or "").strip("'\"")).expanduser()
    match kind:
        case "like":
            picture = find_result(int(said["number"]), conversation, turn)
            return Like(picture, said["but"] or "", turn, _parse_attributes(said["with"]))
        case "reject":
            numbers = map(int, re.findall(r"\d+", said["numbers"]))
            return Reject(tuple(dict.fromkeys(find_result(number, conversation) for number in numbers)))
        case "without":
            return Reject(text=said["what"])
        case "show":  # "show me a red car" names no file, so it is words
            known = file.is_file() or PICTURE_NAME.search(str(file))
            return Show(str(file), said["but"] or "") if known else None
        case "answer":
            question, text = _need_question(conversation, "answer"), said["text"]
            # "answer b", too.
            return Answer(question, "" if _is_skip(text) else _find_choice(text, question) or text)
        case "keep":
            return Keep(said["attribute"], conversation.here.number if turn is None else turn)
        case "back":  # without a number: the turn before the last that counts
            path = conversation.path()
            return BackTo((path[-2].number if len(path) > 1 else 0) if turn is None else turn)
        case "why":
            return Command("why", int(said["rank"]))
        case "leaning":
            return Command("leaning", float(said["to"]))
        case "ask":
            return Command("ask", said["text"])
        case "save":
            return Command("save", file)
        case "open":
            return Command("open", file) if file.is_file() or file.suffix == ".json" else None
        case _:
            return Say(said["text"])


def _parse_attributes(text: str | None) -> tuple[str, ...] | None:
    """The attributes in a list; None where there is no list, and none of "nothing".

    >>> _parse_attributes("floral, cotton and long sleeves")
    ('floral', 'cotton', 'long sleeves')
    """
    if text is None:
        return None
    names = [name.strip() for name in re.split(r",(?: and )?| and ", text)]
    return tuple(name for name in names if name and name.lower() != "nothing")


def play_script(session: Session, script: Path) -> Iterator[tuple[Turn, Hits]]:
    """Takes the script's turns one by one; what came before a bad line has happened.

    Raises:
        BadInput: the file cannot be read, or a line is no turn (the line is named).
        ViewfinderError: a turn cannot be taken (the line is named).
    """
    folder = Path() if str(script) == "-" else script.parent
    for number, line in read_lines(script):
        try:
            turn = parse_script_line(line, session.conversation, folder)
            hits = session.take(turn)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{script}, line {number}: {error}") from error
        except ViewfinderError as error:
            raise type(error)(f"{script}, line {number}: {error}") from error
        yield turn, hits


def read_lines(script: Path) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers from 1; "-" is standard input.

    Raises:
        BadInput: there is no such file, or a line of it is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(script) == "-" else script.read_bytes()
    except OSError as error:
        raise BadInput(f"{script}: the script cannot be read ({error.strerror}); check the path") from error
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadInput(f"{script}, line {number}: not UTF-8 at byte {error.start + 1} of the line") from error
        if line and not line.startswith("#"):
            yield number, line


def parse_script_line(line: str, conversation: Conversation, folder: Path = Path()) -> Turn:
    """The turn that a line describes at this point of the conversation; images are looked for in `folder` first.

    Raises:
        ValueError: no JSON, or no turn.
        BadInput: "#n" names no result.
    """
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON ({error.msg} at column {error.colno})") from error
    if isinstance(data, Mapping):
        data = _resolve_ids(data, conversation, folder)
    return turn_from_json(data, pending=conversation.pending)


def _resolve_ids(data: Mapping[str, Any], conversation: Conversation, folder: Path) -> dict[str, Any]:
    """The turn's JSON with "#n" and relative image names resolved; anything malformed is left to the reader."""
    resolved = dict(data)
    like, reject, show, turn = (data.get(key) for key in ("like", "reject", "show", "turn"))
    if isinstance(like, str):
        resolved["like"] = _find_id(like, conversation, turn if isinstance(turn, int) else None)
    if isinstance(reject, list):
        resolved["reject"] = [_find_id(item, conversation) if isinstance(item, str) else item for item in reject]
    if isinstance(reject, str):
        resolved["reject"] = _find_id(reject, conversation)
    if isinstance(show, str) and (folder / show).is_file():
        resolved["show"] = str(folder / show)
    return resolved


def _find_id(text: str, conversation: Conversation, turn: int | None = None) -> str:
    number = text.removeprefix("#")
    return find_result(int(number), conversation, turn) if text.startswith("#") and number.isdecimal() else text
