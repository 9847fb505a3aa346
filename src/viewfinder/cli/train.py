"""`viewfinder train | features`: a system learns from data on disk; the vectors of its pictures, computed once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewfinder.cli.ending import FAILED, QUARANTINED, Interrupts
from viewfinder.cli.library import LISTED, announce_preparation, print_figures, progress_printer
from viewfinder.cli.options import FeaturesOption, JsonOption
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
from viewfinder.errors import BadInput, UnknownName
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.encoders import Encoder
    from viewfinder.encoders.features import Features
    from viewfinder.retrievers.shared.train_plan import TrainPlan
    from viewfinder.training import TrainingResult

RUNS = Path("runs/train")
STARTER = "starter"
STARTER_RUN = Path("runs/starter")
QUESTIONS = "questions"
QUESTIONS_RUN = Path("runs/questions")
PRESET = "lab"


def train(
    system: Annotated[
        str, typer.Argument(metavar="SYSTEM", help="A retriever that can be trained, questions, or starter.")
    ],
    data: Annotated[list[Path], typer.Option(metavar="DIR", help="The folder of a data set; repeatable.")],
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="How: lab, paper or another of its presets. [default: lab]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where it goes. [default: runs/train/SYSTEM-PRESET]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the training there was stopped.")] = False,
    encoder: Annotated[str | None, typer.Option(metavar="NAME|PATH", help="What reads pictures and words.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Such as training.epochs=3, over the preset's; repeatable."),
    ] = None,
    start: Annotated[Path | None, typer.Option(metavar="F", help="Trained weights to begin with.")] = None,
    features: FeaturesOption = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Of all draws.")] = 0,
    against: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Of questions: pictures of whose like nothing is to be foretold; repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Train a system on data on disk.

    Ctrl-C stops after a step and leaves a checkpoint; `--resume` goes on from it.
    """
    from viewfinder.data.files import need_folder
    from viewfinder.encoders import load_encoder
    from viewfinder.retrievers.shared.train_plan import TrainPlan
    from viewfinder.retrievers.trainers import TRAINERS
    from viewfinder.retrievers.trainers import train_system as run

    if system == STARTER:
        others = {
            "--preset": preset, "--resume": resume, "--encoder": encoder, "--set": settings, "--start": start,
            "--features": features, "--seed": seed, "--against": against,
        }  # fmt: skip
        return _train_starter(data, out or STARTER_RUN, [name for name, given in others.items() if given], as_json)
    if system == QUESTIONS:
        if start is not None:
            raise BadInput("--start is for retrievers; questions are learnt from the beginning, or go on by --resume")
        chosen = {
            "data": tuple(data), "against": tuple(against or ()), "out": out or QUESTIONS_RUN, "features": features,
            "resume": resume, "seed": seed,
        }  # fmt: skip
        return _train_questions(chosen, encoder or STARTER, preset or PRESET, settings or (), as_json)
    if against:
        raise BadInput("--against is for questions; retrievers and the starter have --data")
    if system not in TRAINERS:
        raise UnknownName(f"no system is called {system!r}; there are: {', '.join((STARTER, QUESTIONS, *TRAINERS))}")
    for folder in data:
        need_folder(folder)
    model = load_encoder(encoder or "starter")
    announce_preparation(model)
    with ExitStack() as stack:
        plan = TrainPlan(
            system=system, data=tuple(data), preset=preset or PRESET, out=out or RUNS / f"{system}-{preset or PRESET}",
            encoder=model, resume=resume, overrides=tuple(settings or ()), seed=seed, features=features, start=start,
            shown=not as_json, told=progress_printer(as_json), should_stop=_Stop(stack),
        )  # fmt: skip
        fitted = run(plan)
    print_json(_record(plan, fitted)) if as_json else _say_done(plan, fitted)
    if fitted.ended == "asked":
        print_note(f"viewfinder: stopped after a whole step; nothing is lost, --resume goes on from {plan.out}")
        return FAILED
    return 0


class _Stop:
    """What Ctrl-C means: before the first step of the training it ends the program, as ever; then it asks for an end.

    Vectors that are computed before are kept as they come, so there is nothing to wait for.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._interrupts: Interrupts | None = None

    def __call__(self) -> bool:
        if self._interrupts is None:
            self._interrupts = self._stack.enter_context(Interrupts())
        return self._interrupts()


def _record(plan: TrainPlan, fitted: TrainingResult) -> dict[str, Any]:
    return {
        "system": plan.system,
        "preset": plan.preset,
        "data": [str(folder) for folder in plan.data],
        "encoder": plan.encoder.name,
        "seed": plan.seed,
        "out": str(plan.out),
        "ended": fitted.ended,
        "step": fitted.step,
        "epoch": fitted.epoch,
        "checkpoint": str(fitted.best) if fitted.best.is_file() else None,
        "best_step": fitted.best_step,
        "figures": dict(fitted.figures),
    }


def _say_done(plan: TrainPlan, fitted: TrainingResult) -> None:
    print_line(
        f"{plan.system}, preset {plan.preset}: {count_noun(fitted.step, 'step')}, {count_noun(fitted.epoch, 'epoch')}"
    )
    if fitted.best.is_file():
        print_line(f"checkpoint: {fitted.best}, of step {fitted.best_step:,}")
        print_figures(fitted.figures)
        print_line(f"next: {shlex.join(_evaluation(plan, fitted))}")


def _evaluation(plan: TrainPlan, fitted: TrainingResult) -> list[str]:
    """The command that measures what was trained; of attributes, that trains what reads them."""
    data = plan.data[0]
    command = ["viewfinder", "evaluate", plan.system, "--data", str(data), "--checkpoint", str(fitted.best)]
    if plan.system == "attributes":
        command = ["viewfinder", "train", "captioner", "--data", str(data), "--set", f"attribute_file={fitted.best}"]
    if plan.encoder.name != STARTER:
        command += ["--encoder", plan.encoder.name]
    if (kept := plan.features_of(data)) is not None:
        command += ["--features", str(kept)]
    return command


def _train_starter(data: list[Path], out: Path, others: list[str], as_json: bool) -> int:
    """The head of the encoder in the box: the one that is no retriever."""
    from viewfinder.tuning import train_starter

    if others:
        raise BadInput(f"{others[0]} is for retrievers; the starter has --data and --out")
    if len(data) > 1 or not data[0].is_dir():
        raise BadInput(f"{data[-1]}: the starter needs one --data, the folder that holds the data sets")
    report = train_starter(data[0], out, progress_printer(as_json))
    if as_json:
        print_json(asdict(report) | {"head": str(report.head), "card": str(report.card)})
    else:
        print_line(f"{report.head}, trained on {count_noun(report.pictures, 'picture')}; its card is {report.card}")
        print_figures(report.figures)
    return 0


def _train_questions(
    chosen: Mapping[str, Any], encoder: str, preset: str, settings: Sequence[str], as_json: bool
) -> int:
    """The questions that people ask, and how pictures answer them: for the questioners pool and information_gain."""
    from viewfinder.encoders import load_encoder
    from viewfinder.tuning import QuestionPlan, question_settings, train_questions

    numbers = question_settings(preset, settings)
    model = load_encoder(encoder)
    announce_preparation(model)
    with ExitStack() as stack:
        plan = QuestionPlan(
            **chosen,
            encoder=model,
            settings=numbers,
            shown=not as_json,
            told=progress_printer(as_json),
            should_stop=_Stop(stack),
        )
        report = train_questions(plan)
    if as_json:
        print_json(asdict(report) | {"file": str(report.file) if report.file else None, "out": str(plan.out)})
    elif report.file is not None:
        asked = count_noun(report.questions, "question")
        print_line(f"{report.file}: {asked}; answers to {report.foretold:,} of them are foretold from pictures")
        print_figures(report.figures)
        print_line(f"next: {shlex.join(['viewfinder', 'chat', '--questioner', f'pool={report.file}'])}")
    if report.file is None:
        print_note(f"viewfinder: stopped after a whole step; nothing is lost, --resume goes on from {plan.out}")
        return FAILED
    return 0


def features(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A folder of pictures, or with images/ in it.")],
    encoder: Annotated[str, typer.Option(metavar="NAME|PATH", help="What makes the vectors.")] = "starter",
    regions: Annotated[bool, typer.Option("--regions/--no-regions", help="Vectors of 36 regions a picture.")] = True,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where they go. [default: in DATASET]")] = None,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that read pictures.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Compute the vectors of a data set's pictures.

    An interrupted run goes on where it was; pictures that did not change are not read again.
    """
    from viewfinder.encoders import load_encoder
    from viewfinder.encoders.features import features as compute

    model = load_encoder(encoder)
    announce_preparation(model)
    with progress_bar("reading pictures", shown=not as_json) as progress:
        found = compute(
            dataset,
            model,
            regions=regions,
            out=out,
            workers=workers,
            progress=progress,
        )
    print_json(_summary(found, model)) if as_json else _say_done_features(found)
    return QUARANTINED if found.dropped else 0


def _summary(found: Features, encoder: Encoder) -> dict[str, Any]:
    return {
        "dataset": str(found.dataset),
        "pictures": len(found),
        "regions": 0 if found.regions_nre is None else found.regions_nre.shape[1],
        "width": found.raw_nd.shape[1],
        "encoder": encoder.name,
        "dropped": [{"picture": bad.source.key, "reason": bad.reason} for bad in found.dropped],
        "folder": str(found.folder),
    }


def _say_done_features(found: Features) -> None:
    width = f"{found.raw_nd.shape[1]:,} numbers each"
    regions = "" if found.regions_nre is None else f", and {found.regions_nre.shape[1]} regions"
    print_line(f"vectors of {count_noun(len(found), 'picture')}: {width}{regions}, in {found.folder}")
    for bad in found.dropped[:LISTED]:
        print_line(f"  left out: {bad.source.key}: {bad.reason}")
    if len(found.dropped) > LISTED:
        print_line(f"  and {len(found.dropped) - LISTED:,} more")
