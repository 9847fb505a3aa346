"""Protocols of the papers, run over data sets: recorded dialogues and simulated users, figures, runs side by side.

The way of a run: a `plan` says what to do, `protocols` read a folder into tasks, `vectors` finds those of their
`pictures`, `replay` (recorded dialogues) or `conversing` (a simulated user in live sessions) gives the rank of every
target after every turn, `figures` are made of the ranks, `results` keeps both, `report` shows them and `compare` sets
runs side by side.
"""

from viewfinder.evaluation.evaluate import Evaluation, evaluate
from viewfinder.evaluation.figures import Figure, compute_figures
from viewfinder.evaluation.plan import Plan, SearchDialogue, Task
from viewfinder.evaluation.protocols import PROTOCOLS
from viewfinder.evaluation.replay import RankTable, replay_task
from viewfinder.evaluation.results import ComparedFigure, Difference, Run, TaskResult, compare_runs, read_run, write_run

__all__ = [
    "PROTOCOLS",
    "ComparedFigure",
    "Difference",
    "Evaluation",
    "Figure",
    "Plan",
    "RankTable",
    "Run",
    "SearchDialogue",
    "Task",
    "TaskResult",
    "compare_runs",
    "compute_figures",
    "evaluate",
    "read_run",
    "replay_task",
    "write_run",
]
