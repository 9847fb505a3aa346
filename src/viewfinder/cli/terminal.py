"""A conversation at the prompt: reads lines, takes turns, shows results, waits for a question while nobody types."""

from __future__ import annotations

import contextlib
import json
import select
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewfinder.cli.ending import explain_error, leave_if_waiting
from viewfinder.cli.output import count_noun, print_json, print_line, print_note, print_result, print_table
from viewfinder.cli.turns import TurnPrinter, print_question, print_tree
from viewfinder.cli.typed import HELP, Command, parse_line
from viewfinder.conversation import Conversation, Question, Turn
from viewfinder.errors import BadInput, ViewfinderError

if TYPE_CHECKING:
    from viewfinder.index.ranking import Hits
    from viewfinder.library import Library
    from viewfinder.retrievers import Retriever
    from viewfinder.session import Session

PROMPT = "> "

REMEMBERED = 1000
"""Lines of history that are kept from one conversation to the next."""


class Terminal:
    """One conversation with a person. A turn that cannot be taken is reported in a line; the conversation continues."""

    def __init__(
        self,
        library: Library,
        session: Session,
        teller: TurnPrinter,
        retriever: Retriever[Any],
        questioner: str,
        n: int,
    ) -> None:
        self._library, self._session, self._teller = library, session, teller
        self._retriever, self._questioner, self._n = retriever, questioner, n
        self._hits: Hits | None = None
        self._interactive = sys.stdin.isatty() and not teller.as_json
        self._code = 0

    def run(self) -> int:
        """Until "quit" or the end of input; from a pipe, the exit code of the last line that failed."""
        if self._interactive:
            pictures = count_noun(self._library.status()["pictures"], "picture")
            print_line(f'{pictures}. Describe the one you look for; "help" says what else there is.')
        for line in _typed_lines() if self._interactive else sys.stdin:
            if line.strip() and not self._take(line):
                break
        if self._interactive:
            leave_if_waiting(0)
        return 0 if self._interactive else self._code

    def _take(self, line: str) -> bool:
        """One line; False when it ends the conversation."""
        try:
            command = parse_line(line, self._session.conversation)
            if command == Command("quit"):
                return False
            self._do(command)
        except (ViewfinderError, OSError, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError):
                raise
            message, self._code = explain_error(error)
            print_note(f"! {message}")
            if self._teller.as_json:
                print_json({"error": {"kind": type(error).__name__, "message": message, "exit_code": self._code}})
        return True

    def _do(self, command: Turn | Command) -> None:
        match command:
            case Command("tree"):
                conversation = self._session.conversation
                print_json(conversation.to_json()) if self._teller.as_json else print_tree(conversation)
            case Command("help"):
                for line in HELP.split("\n"):
                    print_line(line)
            case Command("why", rank):
                self._explain(rank)
            case Command("leaning", pictures):
                self._session.picture_bias = pictures
                print_result(self._teller.as_json, {"leaning": pictures}, f"leaning {pictures:g} from now on")
            case Command("save", file):
                named = file if file.suffix else file.with_suffix(".json")
                text = json.dumps(self._session.conversation.to_json(), ensure_ascii=False)
                named.write_text(text, encoding="utf-8")
                print_result(self._teller.as_json, {"saved": str(named)}, f"saved to {named}")
            case Command("open", file):
                self._open(file)
            case _:
                assert not isinstance(command, Command)
                self._turn(command)

    def _turn(self, turn: Turn) -> None:
        """The user sees the results at once, and may continue before anything is asked."""
        if not self._interactive:
            self._hits = self._session.take(turn)
            self._teller.tell(self._session, self._hits)
            return
        self._hits = self._session.search(turn)
        self._teller.answer(self._session, self._hits)
        question = await_question(self._session, lambda: print_line("  (thinking of a question; you may go on)"))
        if question is not None:
            print_question(question)

    def _explain(self, rank: int) -> None:
        if self._hits is None or not 1 <= rank <= len(self._hits):
            raise BadInput(f"there is no result {rank}: {len(self._hits or ())} are shown now")
        hit = self._hits[rank - 1]
        why = hit.why or self._session.ranking().why([hit.id])[hit.id]
        if self._teller.as_json:
            print_json({"id": hit.id, "path": str(hit.path), "why": why})
            return
        rows = [
            (str(entry["turn"]), ", ".join(entry["parts"]), f"{entry['adds']:+.3f}", f"{entry['share']:+.0%}")
            for entry in why["turns"]
        ]
        print_line(f"{hit.path} ({hit.id})")
        print_table(("turn", "what", "adds", "share"), rows)

    def _open(self, file: Path) -> None:
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
        self._teller.tell(session, hits)


def _typed_lines() -> Iterator[str]:
    """Lines from the keyboard, with history; Ctrl-C drops a line, Ctrl-D ends."""
    with _history():
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
def _history() -> Iterator[None]:
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
    readline.set_history_length(REMEMBERED)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)


POLL_S = 0.05
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
        while not wait([chosen], POLL_S).done:
            if has_typed():
                return None
            if waited < NOTICED_S <= waited + POLL_S:
                thinking()
            waited += POLL_S
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
