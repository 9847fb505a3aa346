"""`viewfinder evaluate` and `viewfinder compare`: how well a system finds or says things, and which does better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from viewfinder.cli.options import (
    DataOption,
    EncoderOption,
    FeaturesOption,
    FromLibraryOption,
    JsonOption,
    UserSeedOption,
    VectorsOption,
    option,
    split_pair,
    take_vectors,
)
from viewfinder.cli.output import make_notifier, print_json, print_line, print_table

if TYPE_CHECKING:
    from viewfinder.evaluation import Run
    from viewfinder.metrics import Ties

EVALUATIONS = Path("runs/evaluate")
CAPTIONER = "captioner"
COUNTED = {"visual": "questions", "decision": "dialogues", "grounding": "phrases"}
"""Protocols that measure something else than a search, and what they count."""


def evaluate(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A retriever, random, or captioner.")],
    data: DataOption,
    out: Annotated[Path | None, option("DIR", "Where the run goes. [default: runs/evaluate/SYSTEM-DATA]")] = None,
    protocol: Annotated[
        str | None,
        option(
            "NAME", "One of the protocols that the data has; or visual, decision or grounding. [default: all searches]"
        ),
    ] = None,
    split: Annotated[str | None, option("NAME", "Which part of the data. [default: test, else val]")] = None,
    task: Annotated[str | None, option("WORDS", "Only tasks whose title has all these words. [default: all]")] = None,
    encoder: EncoderOption = "starter",
    checkpoint: Annotated[
        Path | None, option("F", "The system's trained weights. [default: those that are shipped]")
    ] = None,
    user: Annotated[str | None, option("NAME", "A simulated user that talks in place of what is recorded.")] = None,
    manner: Annotated[
        list[str] | None,
        option("KEY=VALUE", "How the user (or captioner) talks: noise=0.1; or what a protocol varies."),
    ] = None,
    questioner: Annotated[str | None, option("NAME[=SOURCE]", "What asks, when a simulated user talks.")] = None,
    pool: Annotated[Path | None, option("FILE", "A JSON list of the pictures to search in, for chatir.")] = None,
    catalogue: Annotated[Path | None, option("CSV", "Columns that the system may use. [default: pixels alone]")] = None,
    captions: Annotated[
        bool, typer.Option(help="What is written about the pictures of mai, for systems that read it; or none.")
    ] = True,
    vectors: VectorsOption = None,
    features: FeaturesOption = None,
    library: FromLibraryOption = None,
    limit: Annotated[int | None, option("N", "Dialogues a task, taken evenly.", min=1)] = None,
    processes: Annotated[int, option("N", "How many hold dialogues at once, when a simulated user talks.", min=1)] = 1,
    refuse_overlap: Annotated[
        bool, typer.Option("--refuse-overlap", help="Refuse targets that a trained part learnt from, or may have.")
    ] = False,
    learnt_from: Annotated[
        list[Path] | None, option("DIR", "A further folder the system was trained on: texts in both are counted.")
    ] = None,
    ties: Annotated[str, option("RULE", "expected, optimistic or pessimistic.")] = "expected",
    seed: UserSeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Measure a system on a data set by the protocols of the papers.

    Writes results.json, ranks.npz and report.html; where a system looks at regions, drawings of what it looks at too;
    where a questioner asked by ChatIR's protocol, dialogues.json. Of captioner, which says how one
    picture differs from another, captions.jsonl. Of the protocols visual (questions about pictures), decision
    (pictures or words) and grounding (where in a picture), one file of all that was said or chosen.
    """
    import matplotlib  # noqa: F401 (plots come last; that they cannot be drawn is said before the work)

    from viewfinder import encoders
    from viewfinder.evaluation import Plan, write_run
    from viewfinder.evaluation import evaluate as run
    from viewfinder.evaluation.evaluate import OTHER_PROTOCOLS
    from viewfinder.evaluation.report import ATTENTION, write_caption_page, write_report
    from viewfinder.evaluation.results import check_writable, write_measured_run

    notify, options = make_notifier(as_json), parse_style(manner or ())
    make_encoder = partial(encoders.load_encoder, encoder)
    model = make_encoder()
    plan = Plan(
        system=system, data=data, protocol=protocol, split=split, task=task, user=user, options=options,
        questioner=questioner, pool=pool, catalogue=catalogue, vectors=vectors, captions=captions,
        features=take_vectors(library, [data], model, features, notify), ties=cast("Ties", ties), limit=limit,
        seed=seed, checkpoint=checkpoint, processes=processes, refuse_overlap=refuse_overlap,
        learnt_from=tuple(learnt_from or ()),
    )  # fmt: skip
    weights = checkpoint.stem if checkpoint is not None else ""
    asks = (questioner or "").partition("=")[0]
    named = (system, weights, data.resolve().name, user or "", asks)
    folder = out or EVALUATIONS / "-".join(part.replace(":", ".") for part in named if part)
    check_writable(folder)
    if system == CAPTIONER:  # the one system that finds nothing: what it says is measured
        from viewfinder.evaluation.captioning import caption_pairs

        captioning = caption_pairs(plan, model, folder, notify)
        behind, page = write_measured_run(captioning), write_caption_page(captioning)
        after = [f"every caption: {behind}; beside the pictures: {page}"]
        return _say_run(captioning.run, {"report": page}, after, as_json)
    if protocol in COUNTED:
        measured = OTHER_PROTOCOLS[protocol](plan, model, folder, notify)
        behind = write_measured_run(measured)
        after = [f"all {len(measured.things):,} {COUNTED[protocol]}: {behind}"]
        return _say_run(measured.run, {"behind": behind}, after, as_json)
    evaluation = run(plan, model, folder, notify=notify, make_encoder=make_encoder)
    write_run(evaluation.run)
    page = write_report(evaluation.run, evaluation.examples)
    after = [f"intervals, plots and dialogues to look at: {page}"]
    if (folder / ATTENTION).is_dir():
        after.append(f"what the state vectors look at: {folder / ATTENTION}")
    return _say_run(evaluation.run, {"report": page}, after, as_json)


def parse_style(texts: Sequence[str]) -> dict[str, Any]:
    """`--manner key=value` as settings: numbers where they are numbers.

    Raises:
        BadInput: no "=", or no key.
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, value = split_pair(text, "--manner", "write it as key=value, for example --manner noise=0.1", empty=True)
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

    Each is compared with the first, A, on the dialogues that they share; p is the chance
    of such a difference between equal systems (paired permutation test).
    """
    from viewfinder.evaluation import compare_runs as compared
    from viewfinder.evaluation import read_run
    from viewfinder.evaluation.report import make_comparison_table, run_letter

    read = [read_run(run) for run in runs]
    rows = compared(read)
    if as_json:
        print_json({"runs": [str(run) for run in runs], "rows": [asdict(row) for row in rows]})
        return 0
    for number, run in enumerate(read):
        print_line(f"{run_letter(number)}  {run.provenance.label}")
    for title in dict.fromkeys(row.title for row in rows):
        figures = [row for row in rows if row.title == title]
        counts = {row.dialogues for row in figures}
        print_line()
        print_line(f"{title}: {counts.pop():,} dialogues" if len(counts) == 1 else title)
        print_table(*make_comparison_table(figures))
    return 0


def _say_run(run: Run, files: dict[str, Path], after: Sequence[str], as_json: bool) -> int:
    """Prints a run: a record with the names of its files, or a table a task and then these lines."""
    from viewfinder.evaluation.report import make_overview_table

    if as_json:
        print_json(_describe_run(run) | {name: str(file) for name, file in files.items()})
        return 0
    held = "pairs" if run.provenance.system == CAPTIONER else "dialogues"
    for task in run.tasks:
        print_line(f"{task.title}: {len(task.dialogue_ids):,} {held}, {task.ranks.gallery_size:,} pictures")
        for line in task.left_out:
            print_line(f"  left out: {line}")
        for line in task.overlap.flags if task.overlap else ():
            print_line(f"  {line}")
        print_table(*make_overview_table(task))
        if task.times:
            times = "{median_ms:.0f} ms (median), {p95_ms:.0f} ms (p95)".format(**task.times)
            print_line(f"choosing a question took {times}")
        print_line()
    for line in (*(f"not run: {line}" for line in run.skipped), *after):
        print_line(line)
    return 0


def _describe_run(run: Run) -> dict[str, Any]:
    return {
        **asdict(run.provenance),
        "out": str(run.folder),
        "skipped": list(run.skipped),
        "tasks": [
            {
                "title": task.title, "talks": len(task.dialogue_ids), "gallery": task.ranks.gallery_size,
                "left_out": list(task.left_out), "times": dict(task.times),
                "overlap": task.overlap and asdict(task.overlap) | {"flags": list(task.overlap.flags)},
                "figures": [figure.measure.to_json() for figure in task.figures],
            }
            for task in run.tasks
        ],
    }  # fmt: skip
