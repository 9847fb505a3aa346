"""A run for people: a table in the terminal, and one HTML page with plots and example talks."""

from viewfinder.evaluation.report.attention import attention_plot
from viewfinder.evaluation.report.page import ATTENTION, write_report
from viewfinder.evaluation.report.plots import rank_plot, recall_plot
from viewfinder.evaluation.report.tables import (
    FIGURE_HEAD,
    comparison_head,
    comparison_rows,
    figure_rows,
    overview_table,
)

__all__ = [
    "ATTENTION",
    "FIGURE_HEAD",
    "attention_plot",
    "comparison_head",
    "comparison_rows",
    "figure_rows",
    "overview_table",
    "rank_plot",
    "recall_plot",
    "write_report",
]
