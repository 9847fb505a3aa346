"""A conversation at the prompt: reads lines, shows what turns give, waits for a question until the next line comes.

A turn is shown as a JSON line, or as results and a question for people. Previews are pictures in the terminal: half
blocks in true colour, two rows of pixels a line.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict, dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from jaxtyping import UInt8

from viewfinder.cli.ending import explain_error, leave_if_waiting
from viewfinder.cli.output import (
    count_noun,
    plain_text,
    print_hits,
    print_json,
    print_line,
    print_note,
    print_pieces,
    print_result,
    print_rich,
    print_table,
)
from viewfinder.cli.typed import HELP, Command, parse_line
from viewfinder.conversation import Conversation, Like, Question, Turn, describe_turn
from viewfinder.errors import BadInput, ViewfinderError

if TYPE_CHECKING:
    from viewfinder.language.describer import Describer
    from viewfinder.library import Library
    from viewfinder.query import Operation
    from viewfinder.retrievers import Retriever
    from viewfinder.search.hits import Hits
    from viewfinder.session.session import Session


HERE = "  <- here"

MAX_PREVIEWED = 4
"""Results that are shown as pictures."""


@dataclass
class TurnPrinter:
    """Prints turns; a note printed at an earlier turn is not repeated. `why`: with names and figures.

    `show`: what shows the pictures of results in this terminal, if anything does.
    """

    as_json: bool = False
    preview: bool = False
    why: bool = False
    show: Callable[[Hits], None] | None = None
    _noted: tuple[str, ...] = ()

    def print_turn(self, session: Session, hits: Hits, *, echo: bool = False) -> None:
        """Prints what a turn gives, and the question; `echo` prints the turn too, for the reader of a script."""
        if self.as_json:
            print_json(describe_taken_turn(session, hits))
            return
        self.print_answer(session, hits, echo=echo)
        if session.question is not None:
            print_question(session.question, why=self.why)

    def print_answer(self, session: Session, hits: Hits, *, echo: bool = False) -> None:
        """Prints what a turn gives, for people, before anything is asked: words as they are written, or results."""
        here = session.conversation.here
        before = session.conversation.nodes[max(here.number - 1, 0)].shown
        if echo and here.turn is not None:
            print_line(f"{here.number}  {describe_turn(here.turn, before)}")
        if isinstance(here.turn, Like) and here.turn.attributes is None:
            names = session.attributes_of(here.turn.picture)  # so that one may say otherwise
            print_line(f"seen in it: {', '.join(names)}") if names else None
        for operation in session.operations().get(here.number, ()):
            if operation.words:  # what was given as a turn is told by the turn itself
                print_line(describe_operation(operation))
        in_words = session.answered_with == "words"
        if in_words:
            print_pieces("answer: ", session.reply())
        if not in_words or before != tuple(hit.id for hit in hits):  # else they are on the screen
            print_hits(hits)
            if self.preview:  # asked for: in a pipe too
                typer.echo(draw_preview([str(hit.path) for hit in hits[:MAX_PREVIEWED]]), color=True)
            if self.show is not None:
                self.show(hits)
        pairs = zip(self._noted, session.adapters, strict=False)
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        for line in session.adapters[known:]:
            print_line(f"note: {line if self.why else describe_adapter(line)}")
        self._noted = session.adapters


_NAMES = re.compile(r"^((?:[^:]*: )?)\S+ (reads none|has no use for)")
"""Where a note names the retriever."""


def describe_adapter(line: str) -> str:
    """What a retriever did with a turn that it could not take as given, without the name that the code has for it.

    >>> describe_adapter("drop: turn 2"), describe_adapter('caption: the picture is taken as "red"')
    ('left out: turn 2', 'the picture is taken as "red"')
    >>> describe_adapter("drop: the attributes in turn 2: composer reads none")
    'left out: the attributes in turn 2: this way to search reads none'
    """
    kind, _, what = line.partition(": ")
    what = _NAMES.sub(r"\1this way to search \2", what)
    return f"left out: {what}" if kind == "drop" else what or line


def describe_operation(operation: Operation) -> str:
    """A line for people about what a turn does with an earlier one.

    >>> from viewfinder.query import Operation
    >>> describe_operation(Operation("rollback", 1, words="the first"))
    'goes on from turn 1 ("the first")'
    >>> describe_operation(Operation("keep", 2, "colour"))
    'keeps the colour of turn 2'
    """
    said = f' ("{operation.words}")' if operation.words else ""
    if operation.kind == "rollback":
        return f"goes on from turn {operation.turn}{said}"
    kept = f"the {operation.attribute} of turn" if operation.attribute else "all of turn"
    return f"keeps {kept} {operation.turn}{said}"


def describe_taken_turn(session: Session, hits: Hits) -> dict[str, Any]:
    """One line of `chat --json`."""
    question, kind, turn = session.question, session.answered_with, session.conversation.here.number
    return {
        "turn": turn,
        **hits.to_json(),
        "question": None if question is None else asdict(question),
        "adapters": list(session.adapters),
        "operations": [asdict(operation) for operation in session.operations().get(turn, ())],
        "answer": None if kind is None else {"with": kind, "text": "".join(session.reply())},
    }


def print_question(question: Question, *, why: bool = False) -> None:
    """The question, its choices lettered (numbers are results), and if wanted why it is asked."""
    print_line(f"? {question.text}")
    choices = [f"{letter}) {choice}" for letter, choice in zip(ascii_lowercase, question.choices, strict=False)]
    print_line("  " + "   ".join([*(choices or ["in your own words"]), "skip"]))
    reason = f"{question.why} ({question.by})" if question.why and question.by else question.why or question.by
    if why and reason:
        print_line(f"  why: {reason}")


def print_tree(conversation: Conversation) -> None:
    """All turns, branches included; an arrow marks where the conversation stands."""
    from rich.tree import Tree

    branches = {0: Tree("0  start" + (HERE if conversation.here.number == 0 else ""), guide_style="dim")}
    for node in conversation.nodes[1:]:
        assert node.turn is not None
        shown = conversation.nodes[node.parent].shown
        label = f"{node.number}  {describe_turn(node.turn, shown)}{HERE if node is conversation.here else ''}"
        branches[node.number] = branches[node.parent].add(plain_text(label))
    print_rich(branches[0])


PREVIEW_SIDE = 32
"""Longest side of a preview in pixels: 32 columns, 16 lines."""
PREVIEW_GAP = "  "


def draw_preview(paths: Sequence[str]) -> str:
    """The pictures side by side, as far as they can be read; "" when none can."""
    blocks = [draw_half_blocks(pixels) for path in paths if (pixels := _read_pixels(path)) is not None]
    widths = [block[0].count("▀") for block in blocks]
    lines = zip_longest(*(lines for lines in blocks))
    return "\n".join(
        PREVIEW_GAP.join(" " * width if cell is None else cell for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def draw_half_blocks(pixels: UInt8[np.ndarray, "h w 3"]) -> list[str]:
    """A picture as lines of upper half blocks: the block is the upper pixel, its ground the lower one.

    >>> draw_half_blocks(np.array([[[255, 0, 0]], [[0, 0, 255]]], np.uint8))
    ['\\x1b[38;2;255;0;0m\\x1b[48;2;0;0;255m▀\\x1b[0m']
    """
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    return [
        "".join(
            f"\x1b[38;2;{ur};{ug};{ub}m\x1b[48;2;{lr};{lg};{lb}m▀"
            for (ur, ug, ub), (lr, lg, lb) in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        + "\x1b[0m"
        for upper, lower in zip(pixels[::2], pixels[1::2], strict=True)
    ]


def _read_pixels(path: str) -> UInt8[np.ndarray, "_h _w 3"] | None:
    from viewfinder.errors import PictureError
    from viewfinder.pictures import AtMost, decode_one

    try:
        return decode_one(Path(path), AtMost(PREVIEW_SIDE)).pixels
    except PictureError:  # it has gone since it was indexed
        return None


PROMPT = "> "

MAX_ASKED = 10
"""Results about which a model is asked."""

MAX_HISTORY = 1000
"""Lines of history that are kept from one conversation to the next."""


class Terminal:
    """One conversation with a person. A turn that cannot be taken is reported in a line; the conversation continues."""

    def __init__(
        self,
        library: Library,
        session: Session,
        printer: TurnPrinter,
        retriever: Retriever[Any],
        questioner: str,
        n: int,
        describer: Describer | None = None,
    ) -> None:
        """`describer`: looks at results and answers questions about them."""
        self._library, self._session, self._printer, self._describer = library, session, printer, describer
        self._retriever, self._questioner, self._n = retriever, questioner, n
        self._hits: Hits | None = None
        self._interactive = sys.stdin.isatty() and not printer.as_json
        self._code = 0

    def run(self) -> int:
        """Until "quit" or the end of input; from a pipe, the exit code of the last line that failed."""
        if self._interactive:
            pictures = count_noun(self._library.status()["pictures"], "picture")
            print_line(f'{pictures}. Describe the one you look for; "help" says what else there is.')
        for line in _read_typed_lines() if self._interactive else sys.stdin:
            if line.strip() and not self._take_line(line):
                break
        if self._interactive:
            leave_if_waiting(0)
        return 0 if self._interactive else self._code

    def _take_line(self, line: str) -> bool:
        """One line; False when it ends the conversation."""
        try:
            names_attributes = self._retriever.reads.predictor is not None
            command = parse_line(line, self._session.conversation, names_attributes=names_attributes)
            if command == Command("quit"):
                return False
            self._do_command(command)
        except (ViewfinderError, OSError, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError):
                raise
            message, self._code = explain_error(error)
            print_note(f"! {message}")
            if self._printer.as_json:
                print_json({"error": {"kind": type(error).__name__, "message": message, "exit_code": self._code}})
        return True

    def _do_command(self, command: Turn | Command) -> None:
        match command:
            case Command("tree"):
                conversation = self._session.conversation
                print_json(conversation.to_json()) if self._printer.as_json else print_tree(conversation)
            case Command("help"):
                for line in HELP.split("\n"):
                    print_line(line)
            case Command("why", rank):
                self._explain_result(rank)
            case Command("ask", question):
                self._ask_about_results(question)
            case Command("leaning", pictures):
                self._session.picture_bias = pictures
                print_result(self._printer.as_json, {"leaning": pictures}, f"leaning {pictures:g} from now on")
            case Command("save", file):
                named = file if file.suffix else file.with_suffix(".json")
                text = json.dumps(self._session.conversation.to_json(), ensure_ascii=False)
                named.write_text(text, encoding="utf-8")
                print_result(self._printer.as_json, {"saved": str(named)}, f"saved to {named}")
            case Command("open", file):
                self._open_conversation(file)
            case _:
                assert not isinstance(command, Command)
                self._take_turn(command)

    def _take_turn(self, turn: Turn) -> None:
        """The user sees the results at once, and may continue before anything is asked."""
        if not self._interactive:
            self._hits = self._session.take(turn)
            self._printer.print_turn(self._session, self._hits)
            return
        self._hits = self._session.search(turn)
        self._printer.print_answer(self._session, self._hits)
        question = await_question(self._session, lambda: print_line("  (thinking of a question; you may go on)"))
        if question is not None:
            print_question(question, why=self._printer.why)

    def _explain_result(self, rank: int) -> None:
        if self._hits is None or not 1 <= rank <= len(self._hits):
            raise BadInput(f"there is no result {rank}: {len(self._hits or ())} are shown now")
        hit = self._hits[rank - 1]
        why = hit.why or self._session.ranking().why([hit.id])[hit.id]
        if self._printer.as_json:
            print_json({"id": hit.id, "path": str(hit.path), "why": why})
            return
        rows = [
            (
                "all" if entry.get("system") else str(entry["turn"]),
                ", ".join(entry["parts"]),
                f"{entry['adds']:+.3f}",
                f"{entry['share']:+.0%}",
            )
            for entry in why.get("systems", why["turns"])
        ]
        print_line(f"{hit.path} ({hit.id})")
        print_table(("turn", "what", "adds", "share"), rows)

    def _ask_about_results(self, question: str) -> None:
        """What a model says of each result, as it says it: a machine's words, of which nothing is kept."""
        from viewfinder.store.describing import ask_each

        if self._describer is None:
            raise BadInput(
                "nobody looks at pictures here: `viewfinder chat --describer http://HOST/v1#MODEL` names who"
            )
        if not self._hits:
            raise BadInput("there are no results to ask about: describe what you are looking for first")
        hits, name = self._hits[:MAX_ASKED], self._describer.name
        answers = ask_each(self._library.store, self._describer, [hit.id for hit in hits], question)
        for hit, said in zip(hits, answers, strict=True):
            record = {"id": hit.id, "path": str(hit.path), "asked": question, "said": said, "by": name}
            print_result(self._printer.as_json, record, f"{hit.rank}  {said}")
        if not self._printer.as_json:
            print_line(f"   ({name} says so: a machine, which may be wrong)")

    def _open_conversation(self, file: Path) -> None:
        """Another conversation in place of this one, shown from where it stood."""
        try:
            conversation = Conversation.from_json(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"{file}: this is no conversation that was saved here ({error})") from error
        bias = self._session.picture_bias
        session = self._library.chat(
            self._retriever, self._questioner, n=self._n, conversation=conversation, picture_bias=bias
        )
        hits = session.back_to(conversation.here.number)
        self._session, self._hits = session, hits
        self._printer.print_turn(session, hits)


def _read_typed_lines() -> Iterator[str]:
    """Lines from the keyboard, with history; Ctrl-C drops a line, Ctrl-D ends."""
    with _keep_history():
        while True:
            try:
                yield input(PROMPT)
            except EOFError:
                print_line()
                return
            except KeyboardInterrupt:
                print_line()
                print_line('("quit" ends the conversation)')


@contextlib.contextmanager
def _keep_history() -> Iterator[None]:
    """Line editing and the lines of earlier conversations, where this Python has them."""
    try:
        import readline
    except ImportError:
        yield
        return
    from platformdirs import user_state_path

    file = user_state_path("viewfinder", appauthor=False) / "history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(MAX_HISTORY)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)


QUESTION_POLL_S = 0.05
NOTICED_S = 0.8
"""Seconds after which a user wonders whether anything is coming."""


def await_question(
    session: Session, thinking: Callable[[], None], typed: Callable[[], bool] | None = None
) -> Question | None:
    """The question after the newest turn; None where there is none, or where the user goes on before it is chosen.

    An abandoned choice continues in a thread that ends with the process, and its result is dropped.
    `thinking` is called if it takes long; `typed` says whether a line waits to be read.

    Raises:
        ViewfinderError: the questioner cannot work.
    """
    choose = session.question_choice()
    if choose is None:
        return session.question
    chosen: Future[Question | None] = Future()

    def run() -> None:
        try:
            chosen.set_result(choose())
        except BaseException as error:  # whatever it is, the waiting thread gets it
            chosen.set_exception(error)

    threading.Thread(target=run, name="asking", daemon=True).start()
    waited, has_typed = 0.0, typed or is_line_waiting
    try:
        while not wait([chosen], QUESTION_POLL_S).done:
            if has_typed():
                return None
            if waited < NOTICED_S <= waited + QUESTION_POLL_S:
                thinking()
            waited += QUESTION_POLL_S
    except KeyboardInterrupt:
        return None
    session.record_question(chosen.result())
    return session.question


def is_line_waiting() -> bool:
    """Whether a line was typed and not read yet; False where that cannot be known."""
    try:
        return bool(select.select([sys.stdin], [], [], 0)[0])
    except (OSError, ValueError):
        return False
