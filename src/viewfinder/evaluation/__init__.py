"""Protocols of the papers, run over data sets: recorded dialogues and simulated users, figures, runs side by side.

How a run proceeds: a `plan` says what to do, `protocols` read a folder into tasks, `pictures` finds the vectors that
the system needs, `replay` (recorded dialogues) or `simulate` (a user in sessions) gives the rank of every target after
every turn, `figures` computes metrics from the ranks, `results` keeps both and compares runs, `report` shows them.
"""

from viewfinder.evaluation.evaluate import Evaluation, evaluate
from viewfinder.evaluation.figures import compute_figures
from viewfinder.evaluation.plan import Plan, SearchDialogue, Task
from viewfinder.evaluation.replay import RankTable, replay_task
from viewfinder.evaluation.results import Run, compare_runs, read_run, write_run

__all__ = [
    "Evaluation", "Plan", "RankTable", "Run", "SearchDialogue", "Task", "compare_runs", "compute_figures", "evaluate",
    "read_run", "replay_task", "write_run",
]  # fmt: skip
