"""`viewfinder describe`: what a vision-language model that one runs, or a reader of text, says of the pictures."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.ending import FAILED, QUARANTINED, Interrupts
from viewfinder.cli.options import MAX_SECONDS, JsonOption, LibraryOption, open_library, option, parse_conditions
from viewfinder.cli.output import count_noun, list_first, print_note, print_result
from viewfinder.errors import BadInput
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.language.describer import Describer
    from viewfinder.store.describing import DescribeReport, Teller


def describe(
    endpoint: Annotated[
        str | None, option("URL", "Where the model answers, like http://localhost:11434/v1 (Ollama).")
    ] = None,
    *,
    model: Annotated[str | None, option("NAME", "The model's name there.")] = None,
    text_only: Annotated[
        bool, typer.Option("--text-only", help="Read the text in pictures, here and without a model (extra ocr).")
    ] = False,
    limit: Annotated[int | None, option("N", "So many pictures at most. [default: all]", min=1)] = None,
    where: Annotated[
        list[str] | None, option("KEY=VALUE", "Only pictures that meet it, as for `find`; repeatable.")
    ] = None,
    redo: Annotated[
        bool,
        typer.Option("--redo/--only-missing", help="Also pictures that were described before, or only the others."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask about three pictures, keep nothing, say what all would take.")
    ] = False,
    side: Annotated[int, option("PIXELS", "The longer side of what is sent.", min=64, max=4096)] = 768,
    at_once: Annotated[int, option("N", "Requests at the same time.", min=1, max=64)] = 1,
    seconds: Annotated[float, option("S", "How long one answer may take.", min=1.0, max=MAX_SECONDS)] = 120.0,
    yes: Annotated[bool, typer.Option("--yes", help="Send pictures to another machine without asking.")] = False,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> int:
    """Have a model that you run describe the pictures.

    What it writes (a caption, things, text in the picture) is kept as a machine's words and helps to find them. It may
    be stopped at any time, and goes on where it was.
    """
    conditions = parse_conditions(where or ())
    if text_only and (endpoint or model):
        raise BadInput("--text-only reads text without a model: leave --endpoint and --model out, or --text-only")
    if not text_only and not (endpoint and model):
        raise BadInput(
            "describe needs a model that you run, as --endpoint http://localhost:11434/v1 --model NAME, or --text-only"
        )
    collection = open_library(library)
    from viewfinder.store.describing import ModelTeller, TextTeller

    def run(teller: Teller) -> DescribeReport:
        with Interrupts() as interrupts, progress_bar("describing pictures", shown=not as_json) as progress:
            return collection.describe_by(
                teller, where=conditions, limit=limit, redo=redo, dry_run=dry_run, progress=progress,
                should_stop=interrupts,
            )  # fmt: skip

    if text_only:
        from viewfinder.pictures.text_reader import TextReader

        with TextReader() as reader:
            report = run(TextTeller(reader))
    else:
        from viewfinder.language.describer import Describer

        describer = Describer(endpoint or "", model or "", seconds=seconds)
        _ask_to_send(describer, side, yes=yes)
        report = run(ModelTeller(describer, side=side, at_once=at_once))
    print_result(as_json, asdict(report), *_describe_report(report, dry_run=dry_run))
    kept = "" if dry_run else "; what was described is kept, the same command goes on from here"
    if report.failed:
        print_note(f"viewfinder: {report.failed}{'' if text_only else f' ({endpoint})'}{kept}")
    elif report.stopped:
        print_note(f"viewfinder: stopped{kept}")
    if report.stopped or (report.failures and not report.described):
        return FAILED
    return QUARANTINED if report.failures else 0


def _ask_to_send(describer: Describer, side: int, *, yes: bool) -> None:
    """Says what leaves this machine before anything does, and asks. Raises BadInput: nobody is there to be asked."""
    if describer.is_here:
        return
    sent = f"pictures, as JPEG of at most {side} pixels without metadata and names"
    what = f"{sent}, leave this machine for {describer.host}"
    if not yes and not sys.stdin.isatty():
        raise BadInput(f"{what}: add --yes if that is what you want")
    print_note(f"viewfinder: {what}")
    if not yes:
        typer.confirm("Send them?", abort=True, err=True)


def _describe_report(report: DescribeReport, *, dry_run: bool) -> list[str]:
    """Lines for people."""
    tokens = report.tokens_read + report.tokens_written
    counted = f", {tokens:,} tokens" if tokens else ""
    took = f"{_say_time(report.seconds)}{counted}"
    left = [f"{count_noun(count, 'picture')}: {reason}" for reason, count in report.failures.items()]
    for at, reason in enumerate(report.failures):
        left[at] += f" (first: {Path(report.examples[reason][0]).name})"
    bad = ["left as they were:", *list_first(left)] if left else []
    if not dry_run:
        with_text = f" ({report.with_text:,} with text)" if report.with_text else ""
        first = f"{count_noun(report.chosen, 'picture')} to describe: {report.described:,} described{with_text}; {took}"
        return [first if report.chosen else "Nothing to describe: all of them were (see --redo).", *bad]
    if not report.chosen:
        return ["Nothing to describe: all of them were (see --redo)."]
    lines = [f"{count_noun(report.chosen, 'picture')} to describe; {report.done} tried: {took}"]
    if report.estimated_s is not None:
        more = f" and {report.estimated_tokens:,} tokens" if report.estimated_tokens else ""
        lines.append(f"all of them would take about {_say_time(report.estimated_s)}{more}")
    for path, facts in report.samples:
        lines.append(f"{Path(path).name}:")
        lines += [f"  {fact.name}: {', '.join(fact.values)}" for fact in facts if fact.name != "text boxes"]
    return [*lines, *bad]


def _say_time(seconds: float) -> str:
    """A time as people say it.

    >>> _say_time(4.21), _say_time(300), _say_time(9000)
    ('4.2 s', '5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
