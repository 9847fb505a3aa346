"""`viewfinder train | features`: a system learns from data on disk; the vectors of its pictures, computed once."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from filelock import FileLock, Timeout

from viewfinder.cli.ending import FAILED, QUARANTINED, Interrupts
from viewfinder.cli.options import (
    FeaturesOption,
    FromLibraryOption,
    JsonOption,
    WorkersOption,
    load_named_encoder,
    option,
    take_vectors,
)
from viewfinder.cli.output import count_noun, list_figures, list_first, make_notifier, print_note, print_result
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.retrievers.shared.train_plan import TrainPlan
    from viewfinder.training import TrainingResult

TRAININGS, STARTER_RUN, QUESTIONS_RUN = Path("runs/train"), Path("runs/starter"), Path("runs/questions")
STARTER, QUESTIONS, ONE = "starter", "questions", "one"
PRESET = "lab"
OPTIONS = "options.json"
LOCK = ".training.lock"
DEFAULTS = {"preset": PRESET, "encoder": STARTER, "settings": [], "seed": 0}
"""Options of a training that is not told otherwise."""


def train(
    system: Annotated[
        str, typer.Argument(metavar="SYSTEM", help="A retriever that can be trained, questions, or starter.")
    ],
    data: Annotated[list[Path], option("DIR", "The folder of a data set; repeatable.")],
    preset: Annotated[str | None, option("NAME", "How: lab, paper or another of its presets. [default: lab]")] = None,
    out: Annotated[Path | None, option("DIR", "Where it goes. [default: runs/train/SYSTEM-PRESET]")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the training there was stopped.")] = False,
    encoder: Annotated[str | None, option("NAME|PATH", "What reads pictures and words.")] = None,
    settings: Annotated[
        list[str] | None, option("KEY=VALUE", "Such as training.epochs=3, over the preset's; repeatable.", "--set")
    ] = None,
    start: Annotated[Path | None, option("F", "Trained weights to begin with.")] = None,
    features: FeaturesOption = None,
    library: FromLibraryOption = None,
    seed: Annotated[int | None, option("S", "Of all draws. [default: 0]")] = None,
    against: Annotated[
        list[Path] | None, option("DIR", "Of questions: pictures of whose like nothing is to be foretold; repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Train a system on data on disk.

    Ctrl-C stops after a step and leaves a checkpoint; `--resume` goes on from it, with the options that the training
    was begun with.
    """
    from viewfinder.retrievers.shared.train_plan import TrainPlan
    from viewfinder.retrievers.trainers import find_trainer, train_system

    if system == STARTER:
        others = {
            "--preset": preset, "--resume": resume, "--encoder": encoder, "--set": settings, "--start": start,
            "--features": features, "--library": library, "--seed": seed, "--against": against,
        }  # fmt: skip
        return _train_starter(data, out or STARTER_RUN, [name for name, given in others.items() if given], as_json)
    # Before the first step Ctrl-C ends the program at once: vectors that are computed then are kept as they come.
    with Interrupts(lazily=True) as stop:
        shared: dict[str, Any] = {
            "data": tuple(data), "features": features, "resume": resume, "shown": not as_json, "should_stop": stop,
        }  # fmt: skip
        given = {
            "system": system, "preset": preset, "encoder": encoder, "settings": settings, "seed": seed,
            "start": start and str(start),
        }  # fmt: skip
        if system == QUESTIONS:
            if start is not None:
                raise BadInput(
                    "--start is for retrievers; questions are learnt from the beginning, or go on by --resume"
                )
            if library is not None:
                raise BadInput("--library is for retrievers; questions read the vectors in --features")
            shared |= {"against": tuple(against or ()), "out": out or QUESTIONS_RUN}
            with keep_options(shared["out"], given, resume=resume) as options:
                return _train_questions(shared, options, as_json)
        if against:
            raise BadInput("--against is for questions; retrievers and the starter have --data")
        # A misspelt name is better said before an encoder is loaded.
        trainer = _train_one if system == ONE else find_trainer(system, STARTER, QUESTIONS, ONE)
        folder = out or TRAININGS / f"{system.replace(':', '.')}-{preset or PRESET}"
        with keep_options(folder, given, resume=resume) as options:
            model = load_named_encoder(options["encoder"])
            shared["features"] = take_vectors(library, data, model, features, make_notifier(as_json))
            plan = TrainPlan(
                system=system, preset=options["preset"], out=folder, encoder=model, seed=options["seed"],
                overrides=tuple(options["settings"]), start=options["start"] and Path(options["start"]),
                notify=make_notifier(as_json), **shared,
            )  # fmt: skip
            fitted = train_system(plan, trainer)
    _say_trained(plan, fitted, as_json)
    return _say_stopped(plan.out) if fitted.ended == "asked" else 0


@contextmanager
def keep_options(folder: Path, given: Mapping[str, Any], *, resume: bool) -> Iterator[Mapping[str, Any]]:
    """The options of a training, which lie in its folder from before its first step: it resumes as what it was.

    given: by name, None where an option was not said. Settings said with `--resume` come after those of the beginning.

    Raises:
        BadInput: the training in `folder` was begun with other options, or none was begun there that could be resumed;
            or another process trains there.
    """
    if resume and not folder.is_dir():
        raise BadInput(
            f"{folder}: there is no training to go on with: name its folder with --out, or leave --resume out"
        )
    with _hold_folder(folder), _read_or_write_options(folder, given, resume=resume) as options:
        yield options


@contextmanager
def _hold_folder(folder: Path) -> Iterator[None]:
    """Two trainings in one folder would write into each other's options, log and checkpoints."""
    if os.environ.get("RANK", "0") != "0":  # one of several processes of a training, of which the first has the lock
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise BadInput(f"{folder}: another process trains there; wait for it, or name another folder (--out)") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _read_or_write_options(folder: Path, given: Mapping[str, Any], *, resume: bool) -> Iterator[Mapping[str, Any]]:
    file = folder / OPTIONS
    if resume and file.is_file():
        begun = json.loads(file.read_text(encoding="utf-8"))
        for name in (name for name in given if name != "settings"):
            if given[name] is not None and given[name] != begun[name]:
                raise BadInput(
                    f"{folder}: this training was begun with {name} {begun[name] or 'none'}, not {given[name]}: leave "
                    "that out, or name another folder (--out)"
                )
        yield begun | {"settings": [*begun["settings"], *(given["settings"] or ())]}
        return
    options = {name: DEFAULTS.get(name) if value is None else value for name, value in given.items()}
    if not any(folder.glob("**/checkpoints/*.safetensors")):
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(options), encoding="utf-8")
    try:
        yield options
    except ViewfinderError:
        if {*folder.iterdir()} <= {file, folder / LOCK}:  # nothing was begun
            for left in folder.iterdir():
                left.unlink()
            folder.rmdir()
        raise


def _say_trained(plan: TrainPlan, fitted: TrainingResult, as_json: bool) -> None:
    best = fitted.best if fitted.best.is_file() else None
    record = {
        "system": plan.system, "preset": plan.preset, "data": [str(folder) for folder in plan.data],
        "encoder": plan.encoder.name, "seed": plan.seed, "out": str(plan.out), "ended": fitted.ended,
        "step": fitted.step, "epoch": fitted.epoch, "checkpoint": None if best is None else str(best),
        "best_step": fitted.best_step, "figures": dict(fitted.figures),
    }  # fmt: skip
    went = f"{count_noun(fitted.step, 'step')}, {count_noun(fitted.epoch, 'epoch')}"
    lines = [f"{plan.system}, preset {plan.preset}: {went}"]
    if best is not None:
        lines += [f"checkpoint: {best}, of step {fitted.best_step:,}", *list_figures(fitted.figures)]
        lines.append(f"next: {shlex.join(_write_next_command(plan, best))}")
    print_result(as_json, record, *lines)


def _write_next_command(plan: TrainPlan, best: Path) -> list[str]:
    """The command that measures what was trained; of attributes, that trains what reads them."""
    data = plan.data[0]
    command = ["viewfinder", "evaluate", plan.system, "--data", str(data), "--checkpoint", str(best)]
    if plan.system == "attributes":
        command = ["viewfinder", "train", "captioner", "--data", str(data), "--set", f"attribute_file={best}"]
    if plan.encoder.name != STARTER:
        command += ["--encoder", plan.encoder.name]
    if (kept := plan.features_of(data)) is not None:
        command += ["--features", str(kept)]
    return command


def _say_stopped(out: Path) -> int:
    print_note(f"viewfinder: stopped after a whole step; nothing is lost, --resume goes on from {out}")
    return FAILED


def _train_one(plan: TrainPlan) -> TrainingResult:
    """The turn network of `one`: the retriever whose training needs a search."""
    from viewfinder.tuning.picks import train_one

    return train_one(plan)


def _train_starter(data: list[Path], out: Path, others: list[str], as_json: bool) -> int:
    """The head of the encoder that is shipped: the one that is no retriever."""
    from viewfinder.tuning import train_starter

    if others:
        raise BadInput(f"{others[0]} is for retrievers; the starter has --data and --out")
    if len(data) > 1 or not data[0].is_dir():
        raise BadInput(f"{data[-1]}: the starter needs one --data, the folder that holds the data sets")
    report = train_starter(data[0], out, make_notifier(as_json))
    trained = f"{report.head}, trained on {count_noun(report.pictures, 'picture')}; its card is {report.card}"
    record = asdict(report) | {"head": str(report.head), "card": str(report.card)}
    print_result(as_json, record, trained, *list_figures(report.figures))
    return 0


def _train_questions(shared: Mapping[str, Any], options: Mapping[str, Any], as_json: bool) -> int:
    """The questions that people ask, and how pictures answer them: for the questioners pool and information_gain."""
    from viewfinder.tuning import QuestionPlan, question_settings, train_questions

    numbers = question_settings(options["preset"], options["settings"])
    plan = QuestionPlan(
        encoder=load_named_encoder(options["encoder"]), settings=numbers, seed=options["seed"],
        notify=make_notifier(as_json), **shared,
    )  # fmt: skip
    report = train_questions(plan)
    record = asdict(report) | {"file": str(report.file) if report.file else None, "out": str(plan.out)}
    lines = []
    if report.file is not None:
        asked = count_noun(report.questions, "question")
        lines = [f"{report.file}: {asked}; answers to {report.foretold:,} of them are foretold from pictures"]
        command = ["viewfinder", "chat", "--questioner", f"pool={report.file}"]
        lines += [*list_figures(report.figures), f"next: {shlex.join(command)}"]
    print_result(as_json, record, *lines)
    return _say_stopped(plan.out) if report.file is None else 0


def features(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A folder of pictures, or with images/ in it.")],
    encoder: Annotated[str, option("NAME|PATH", "What makes the vectors.")] = "starter",
    regions: Annotated[bool, typer.Option("--regions/--no-regions", help="Vectors of 36 regions a picture.")] = True,
    out: Annotated[Path | None, option("DIR", "Where they go. [default: in DATASET]")] = None,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> int:
    """Compute the vectors of a data set's pictures.

    An interrupted run goes on where it was; pictures that did not change are not read again.
    """
    from viewfinder.encoders.features import features as compute

    model = load_named_encoder(encoder)
    try:
        with progress_bar("reading pictures", shown=not as_json) as progress:
            found = compute(dataset, model, regions=regions, out=out, workers=workers, progress=progress)
    except BadInput as error:
        said = _describe_data(dataset) if dataset.is_dir() else ""
        if not said:
            raise
        raise BadInput(f"{error}; {said}") from error
    said = _describe_data(dataset)
    width, each = found.raw_nd.shape[1], 0 if found.regions_nre is None else found.regions_nre.shape[1]
    record = {
        "dataset": str(found.dataset), "pictures": len(found), "regions": each, "width": width, "encoder": model.name,
        "dropped": [{"picture": bad.source.key, "reason": bad.reason} for bad in found.dropped],
        "folder": str(found.folder), "data": said,
    }  # fmt: skip
    more = f", and {each} regions" if each else ""
    line = f"vectors of {count_noun(len(found), 'picture')}: {width:,} numbers each{more}, in {found.folder}"
    left_out = [f"left out: {bad.source.key}: {bad.reason}" for bad in found.dropped]
    print_result(as_json, record, line, *([f"data: {said}"] if said else []), *list_first(left_out))
    return QUARANTINED if found.dropped else 0


def _describe_data(folder: Path) -> str:
    """What a folder has of a published data set, and which of its splits work; "" if it is none of these."""
    from viewfinder.data.captions import has_captions
    from viewfinder.data.circo import describe_circo
    from viewfinder.data.splits import survey_captions
    from viewfinder.data.visual_genome import describe_regions

    said = [describe_regions(folder), describe_circo(folder)]
    try:
        said += [str(survey_captions(folder))] if has_captions(folder) else []
    except BadInput as error:  # damaged captions are no reason to lose the vectors
        said.append(str(error))
    return "; ".join(filter(None, said))
