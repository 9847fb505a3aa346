"""`viewfinder construct`: chat-search dialogues from captioned pictures, by the pipelines of ChatSearch."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.failing import FAILED
from viewfinder.cli.interrupts import Interrupts
from viewfinder.cli.options import FeaturesOption, JsonOption
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.construction import ConstructionReport, Part, Pipeline
    from viewfinder.encoders import Encoder

ALL = "text,mdc-i,mdc-t,mdc-t-single,merge"


def construct(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Captioned pictures, or a world of scenes.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where they go; pictures are linked into it. [default: DATA]")
    ] = None,
    pipelines: Annotated[str, typer.Option(metavar="NAME,...", help="Which pipelines.")] = ALL,
    split: Annotated[str, typer.Option(metavar="train|val|test|all", help="Which pictures.")] = "train",
    generator: Annotated[
        str | None,
        typer.Option(
            metavar="world|MODEL",
            help="What writes: a world's truth, or a language model: http://host/v1#MODEL, a folder, a .gguf file, a "
            "hub name. [default: the truth, else $VIEWFINDER_LANGUAGE_MODEL]",
        ),
    ] = None,
    gallery: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Pictures to find, a folder or a library. [default: those of the split]"),
    ] = None,
    captioner: Annotated[
        str, typer.Option(metavar="captions|MODEL", help="What describes a target: its captions, or BLIP.")
    ] = "captions",
    threshold: Annotated[
        float | None,
        typer.Option(metavar="F", help="How like a target must be to its reference. [default: 0.6; by truth 0.4]"),
    ] = None,
    ceiling: Annotated[float, typer.Option(metavar="F", help="Above this it is a copy, and no target.")] = 0.98,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Pictures to begin with, taken evenly.")] = None,
    only_targets: Annotated[
        bool, typer.Option("--only-targets", help="Galleries of the samples' own pictures, as in the paper.")
    ] = False,
    encoder: Annotated[str, typer.Option(metavar="NAME|PATH", help="What sees the pictures.")] = "starter",
    features: FeaturesOption = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Of everything that is drawn.")] = 0,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Pictures at a time, for an endpoint.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="F", help="An answer takes no longer.")] = 60.0,
    as_json: JsonOption = False,
) -> int:
    """Make dialogues that lead to a picture.

    What a model wrote is kept: repeat the command to go on after Ctrl-C, or with other settings. `viewfinder review`
    lets a person accept or rewrite what was made.
    """
    from viewfinder.construction import ConstructionOrder, construct_samples

    order = ConstructionOrder(
        data=data, out=out or data, pipelines=_pipelines(pipelines), split=_split(split), generator=generator,
        gallery=gallery, captioner=captioner, encoder=encoder, features=features, threshold=threshold, ceiling=ceiling,
        count=count, only_targets=only_targets, seed=seed, at_once=at_once, seconds=seconds,
    )  # fmt: skip
    with ExitStack() as stack:
        progress = stack.enter_context(progress_bar("making dialogues", shown=not as_json))
        stop = stack.enter_context(Interrupts())
        done = construct_samples(
            order, make_encoder=partial(_encoder, encoder), told=(lambda line: None) if as_json else print_note,
            progress=progress, should_stop=stop,
        )  # fmt: skip
    print_json(asdict(done) | {"out": str(done.out)}) if as_json else _say_made(done)
    if not done.ended:
        print_note(f"viewfinder: stopped after {count_noun(done.pictures, 'picture')}; repeat the command to go on")
        return FAILED
    return 0


def _encoder(name: str) -> Encoder:
    from viewfinder.cli.add import announce_preparation
    from viewfinder.encoders import load_encoder

    model = load_encoder(name)
    announce_preparation(model)
    return model


def _pipelines(named: str) -> tuple[Pipeline, ...]:
    """The names between commas, each once.

    Raises:
        UnknownName: there is no such pipeline.
    """
    from viewfinder.construction import PIPELINES
    from viewfinder.errors import UnknownName

    asked = [name.strip() for name in named.split(",") if name.strip()]
    unknown = [name for name in asked if name not in PIPELINES]
    if unknown or not asked:
        raise UnknownName(f"--pipelines {named!r}: no such pipeline; there are: {', '.join(PIPELINES)}")
    return tuple(name for name in PIPELINES if name in asked)


def _split(named: str) -> Part:
    from viewfinder.construction import PARTS
    from viewfinder.errors import UnknownName

    for part in PARTS:
        if part == named:
            return part
    raise UnknownName(f"--split {named!r}: no such split; there are: {', '.join(PARTS)}")


def _say_made(done: ConstructionReport) -> None:
    for line in done.left_out:
        print_line(f"  left out of the data: {line}")
    for name, made in done.made.items():
        reasons = done.dropped.get(name, {})
        print_line(
            f"{name}: {count_noun(made, 'dialogue')}" + (f", {sum(reasons.values()):,} dropped" if reasons else "")
        )
        for reason, times in reasons.items():
            print_line(f"  {times:,}: {reason}")
    if done.files:
        print_line(f"written by {done.generator}, captions by {done.captioner}, in {done.out}: {', '.join(done.files)}")
        samples = next(file for file in done.files if file.endswith(".jsonl"))
        print_line(f"look through them: viewfinder review {done.out / samples} --images {done.out}")
