"""`viewfinder evaluate` and `viewfinder compare`: how well a system finds or says things, and which does better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from viewfinder.cli.library import announce_preparation
from viewfinder.cli.options import FeaturesOption, JsonOption, VectorsOption
from viewfinder.cli.output import print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from viewfinder.encoders import Encoder
    from viewfinder.evaluation import Plan, Run
    from viewfinder.evaluation.plan import Notify
    from viewfinder.metrics import Ties

RUNS = Path("runs/evaluate")
CAPTIONER = "captioner"
TALKING = {"visual": "questions", "decision": "talks", "grounding": "phrases"}
"""Protocols that measure something else than a search, and what they count."""


def evaluate(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A retriever, random, or captioner.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder of a data set, or of a world.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the run goes. [default: runs/evaluate/SYSTEM-DATA]")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One of the protocols that the data has; or visual, decision or grounding. [default: all searches]",
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which part of the data. [default: test, else val]")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only tasks whose title has all these words. [default: all]")
    ] = None,
    encoder: Annotated[str, typer.Option(metavar="NAME|PATH", help="What reads pictures and words.")] = "starter",
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="F", help="The system's trained weights. [default: those in the box]")
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="A simulated user that talks in place of what is recorded.")
    ] = None,
    manner: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="How the user (or captioner) talks: noise=0.1; or what a protocol varies."
        ),
    ] = None,
    questioner: Annotated[
        str | None, typer.Option(metavar="NAME[=SOURCE]", help="What asks, when a simulated user talks.")
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A JSON list of the pictures to search in, for chatir.")
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Columns that the system may use. [default: pixels alone]")
    ] = None,
    captions: Annotated[
        bool, typer.Option(help="What is written about the pictures of mai, for systems that read it; or none.")
    ] = True,
    vectors: VectorsOption = None,
    features: FeaturesOption = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Talks a task, taken evenly.")] = None,
    processes: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many lead talks at once, when a simulated user talks.")
    ] = 1,
    ties: Annotated[str, typer.Option(metavar="RULE", help="expected, optimistic or pessimistic.")] = "expected",
    seed: Annotated[int, typer.Option(metavar="S", help="Of draws and simulated users.")] = 0,
    as_json: JsonOption = False,
) -> int:
    """Measure a system on a data set by the protocols of the papers.

    Writes results.json, ranks.npz and report.html; where a system looks at regions, drawings of what it looks at too;
    where a questioner asked by ChatIR's protocol, dialogues.json. Of captioner, which says how one
    picture differs from another, captions.jsonl. Of the protocols visual (questions about pictures), decision
    (pictures or words) and grounding (where in a picture), one file of all that was said or chosen.
    """
    from viewfinder import encoders
    from viewfinder.evaluation import Plan, write_run
    from viewfinder.evaluation import evaluate as run
    from viewfinder.evaluation.report import ATTENTION, write_report

    plan = Plan(
        system=system, data=data, protocol=protocol, split=split, task=task, user=user, options=parse_style(manner or
        ()), questioner=questioner, pool=pool, catalogue=catalogue, vectors=vectors, features=features,
        captions=captions, ties=cast("Ties", ties), limit=limit, seed=seed, checkpoint=checkpoint,
        processes=processes,
    )  # fmt: skip
    weights = checkpoint.stem if checkpoint is not None else ""
    asks = (questioner or "").partition("=")[0]
    folder = out or RUNS / "-".join(part for part in (system, weights, data.resolve().name, user or "", asks) if part)
    make_encoder = partial(encoders.load_encoder, encoder)
    model = make_encoder()
    announce_preparation(model)
    told = (lambda line: None) if as_json else print_note
    if system == CAPTIONER:
        return _caption(plan, model, folder, told, as_json)
    if protocol in TALKING:
        return _talk(plan, model, folder, told, as_json)
    evaluation = run(plan, model, folder, notify=told, make_encoder=make_encoder)
    write_run(evaluation.run)
    page = write_report(evaluation.run, evaluation.examples)
    if as_json:
        print_json(_record(evaluation.run) | {"report": str(page)})
    else:
        _say_run(evaluation.run)
        print_line(f"intervals, plots and talks to look at: {page}")
        if (folder / ATTENTION).is_dir():
            print_line(f"what the state vectors look at: {folder / ATTENTION}")
    return 0


def _caption(plan: Plan, encoder: Encoder, folder: Path, told: Notify, as_json: bool) -> int:
    """The one system that finds nothing: what it says is measured."""
    from viewfinder.evaluation.captioning import CAPTIONS, caption_pairs, write_caption_run
    from viewfinder.evaluation.report import write_caption_page

    captioning = caption_pairs(plan, encoder, folder, told)
    write_caption_run(captioning)
    page = write_caption_page(captioning)
    if as_json:
        print_json(_record(captioning.run) | {"report": str(page)})
    else:
        _say_run(captioning.run)
        print_line(f"every caption: {folder / CAPTIONS}; beside the pictures: {page}")
    return 0


def _talk(plan: Plan, encoder: Encoder, folder: Path, told: Notify, as_json: bool) -> int:
    """What a system says, when it says something, and where it looks, rather than what it finds."""
    from viewfinder.evaluation.evaluate import OTHER_PROTOCOLS
    from viewfinder.evaluation.results import write_measured_run

    measured = OTHER_PROTOCOLS[plan.protocol or ""](plan, encoder, folder, told)
    behind = write_measured_run(measured)
    if as_json:
        print_json(_record(measured.run) | {"behind": str(behind)})
    else:
        _say_run(measured.run)
        print_line(f"all {len(measured.things):,} {TALKING[plan.protocol or '']}: {behind}")
    return 0


def parse_style(texts: Sequence[str]) -> dict[str, Any]:
    """`--manner key=value` as settings: numbers where they are numbers.

    Raises:
        BadInput: no "=", or no key.
    """
    from viewfinder.errors import BadInput

    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not key or not equals:
            raise BadInput(f"--manner {text!r}: write it as key=value, for example --manner noise=0.1")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders that `evaluate` wrote.")],
    as_json: JsonOption = False,
) -> int:
    """Set runs side by side.

    Each is compared with the first, on the talks that they share; p is the chance
    of such a difference between equal systems (paired permutation test).
    """
    from viewfinder.evaluation import compare_runs as compared
    from viewfinder.evaluation import read_run
    from viewfinder.evaluation.report import comparison_head, comparison_rows

    read = [read_run(run) for run in runs]
    rows = compared(read)
    if as_json:
        print_json({"runs": [str(run) for run in runs], "rows": [asdict(row) for row in rows]})
        return 0
    head = comparison_head([run.provenance.label for run in read])
    for title in dict.fromkeys(row.title for row in rows):
        print_line(title)
        print_table(head, comparison_rows([row for row in rows if row.title == title]))
        print_line()
    return 0


def _say_run(run: Run) -> None:
    from viewfinder.evaluation.report import overview_table

    talks = "pairs" if run.provenance.system == CAPTIONER else "talks"
    for task in run.tasks:
        print_line(f"{task.title}: {len(task.dialogue_ids):,} {talks}, {task.ranks.gallery_size:,} pictures")
        for line in task.left_out:
            print_line(f"  left out: {line}")
        print_table(*overview_table(task))
        if task.times:
            print_line(
                "choosing a question took {median_ms:.0f} ms (median), {p95_ms:.0f} ms (p95)".format(**task.times)
            )
        print_line()
    for line in run.skipped:
        print_line(f"not run: {line}")


def _record(run: Run) -> dict[str, Any]:
    return {
        **asdict(run.provenance),
        "out": str(run.folder),
        "skipped": list(run.skipped),
        "tasks": [
            {
                "title": task.title,
                "talks": len(task.dialogue_ids),
                "gallery": task.ranks.gallery_size,
                "left_out": list(task.left_out),
                "times": dict(task.times),
                "figures": [figure.measure.to_json() for figure in task.figures],
            }
            for task in run.tasks
        ],
    }
