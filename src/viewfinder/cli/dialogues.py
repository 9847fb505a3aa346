"""`viewfinder dialogues`: talks between a questioner and a simulated user, written as ChatIR's are."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.add import announce_preparation
from viewfinder.cli.evaluate import parse_style
from viewfinder.cli.failing import FAILED
from viewfinder.cli.interrupts import Interrupts
from viewfinder.cli.options import FeaturesOption, JsonOption, VectorsOption
from viewfinder.cli.output import count_noun, print_json, print_line, print_note
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.evaluation.generating import GenerationReport

SPLIT = "train"


def dialogues(
    data: Annotated[Path, typer.Option(metavar="DIR", help="The folder of a data set, or of a world.")],
    questioner: Annotated[str, typer.Option(metavar="NAME[=SOURCE]", help="What asks.")] = "information_gain",
    user: Annotated[str, typer.Option(metavar="NAME", help="The simulated user that answers.")] = "oracle",
    manner: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="How the user answers, such as noise=0.1; repeatable.")
    ] = None,
    split: Annotated[str, typer.Option(metavar="NAME", help="Which part of the data.")] = SPLIT,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Questions of a talk, at most.")] = 10,
    retriever: Annotated[
        str, typer.Option(metavar="NAME", help="What looks for the pictures that a question is about.")
    ] = "composer",
    checkpoint: Annotated[Path | None, typer.Option(metavar="F", help="Its trained weights.")] = None,
    encoder: Annotated[str, typer.Option(metavar="NAME|PATH", help="What reads pictures and words.")] = "starter",
    catalogue: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Columns that may be asked for. [default: pixels alone]")
    ] = None,
    vectors: VectorsOption = None,
    features: FeaturesOption = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the dialogues are called. [default: QUESTIONER_USER]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where they go. [default: DIR/dialogues/NAME_SPLIT.json]")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Talks, taken evenly.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run was stopped.")] = False,
    processes: Annotated[int, typer.Option(min=1, metavar="N", help="How many hold talks at once.")] = 1,
    seed: Annotated[int, typer.Option(metavar="S", help="Of draws and simulated users.")] = 0,
    as_json: JsonOption = False,
) -> int:
    """Let a questioner talk with a simulated user.

    One dialogue a picture of the split, each begun with what the data says of it first. They are written as ChatIR
    releases its own; `train chatir` learns from them, `evaluate` replays them. Ctrl-C stops after a talk.
    """
    from viewfinder import encoders
    from viewfinder.data.files import need_folder
    from viewfinder.evaluation import Plan
    from viewfinder.evaluation.generating import GenerationOrder, default_dialogue_file, generate_dialogues

    need_folder(data)
    plan = Plan(
        system=retriever, data=data, split=split, user=user, manners=parse_style(manner or ()), questioner=questioner,
        catalogue=catalogue, vectors=vectors, features=features, limit=limit, seed=seed, checkpoint=checkpoint,
        processes=processes,
    )  # fmt: skip
    order = GenerationOrder(
        plan=plan, out=out or default_dialogue_file(data, questioner, user, split, name), rounds=rounds, resume=resume
    )
    make_encoder = partial(encoders.load_encoder, encoder)
    model = make_encoder()
    announce_preparation(model)
    with ExitStack() as stack:
        progress = stack.enter_context(progress_bar("holding talks", shown=not as_json))
        stop = stack.enter_context(Interrupts())
        made = generate_dialogues(
            order, model, make_encoder=make_encoder, told=(lambda line: None) if as_json else print_note, progress=progress,
            should_stop=stop,
        )  # fmt: skip
    print_json(asdict(made) | {"out": str(made.out)}) if as_json else _say_made(made, data)
    if not made.ended:
        print_note(f"viewfinder: stopped after a talk; {made.talks:,} of {made.of:,} are kept, --resume goes on")
        return FAILED
    return 0


def _say_made(made: GenerationReport, data: Path) -> None:
    print_line(f"{count_noun(made.talks, 'dialogue')}, {made.questions:.1f} questions each: {made.out}")
    print_line(
        f"repeated questions a dialogue {made.repeated:.2f}, different words {made.unique_tokens:.1f}, "
        f"answered by don't know {made.dont_know:.1%}, asked by another questioner {made.by_another:.1%}"
    )
    for line in made.left_out:
        print_line(f"  left out: {line}")
    if made.ended and made.out.stem.endswith("_train") and made.out.parent == data / "dialogues":
        stem = made.out.stem.removesuffix("_train")
        print_line(
            f"learn from them: {shlex.join(['viewfinder', 'train', 'chatir', '--data', str(data)])} "
            f"--set {shlex.quote(f'dialogues={stem}*')}"
        )
