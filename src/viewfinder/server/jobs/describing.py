"""The job that has pictures described: what the settings allow, and the work in its process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from viewfinder.errors import ViewfinderError
from viewfinder.language.describer import parse_describer
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.library import Library
    from viewfinder.server.settings import ServerSettings
    from viewfinder.store.describing import DescribeReport

Tell = Callable[[Mapping[str, Any]], None]

LISTED = 10
"""Reasons that a report names."""


def plan_describing(what: Mapping[str, Any], settings: ServerSettings) -> dict[str, Any]:
    """What the worker is told besides the library: who describes, and how many pictures.

    Raises Problem: 422, the settings do not allow it, or the extra for reading text is not installed.
    """
    planned = {"limit": what["limit"], "text_only": what["text_only"]}
    if not what["text_only"]:
        if settings.describer is None:
            raise Problem(
                422, "not-allowed", "no model may describe pictures here: the server needs VIEWFINDER_DESCRIBER"
            )
        parse_describer(settings.describer)
        return {**planned, "describer": settings.describer}
    from viewfinder.pictures.text_reader import is_ocr_installed

    if not settings.read_text:
        raise Problem(
            422, "not-allowed", "text is not read in pictures here: the server needs VIEWFINDER_READ_TEXT=true"
        )
    if not is_ocr_installed():
        raise Problem(422, "not-installed", "the server lacks the package that reads text (its extra is called ocr)")
    return planned


def describe_pictures(
    library: Library, job: Mapping[str, Any], tell: Tell, should_stop: Callable[[], bool]
) -> dict[str, Any]:
    """Describes pictures in the worker's process, and tells of every batch that is kept; returns its last message."""
    from viewfinder.pictures.text_reader import TextReader
    from viewfinder.store.describing import ModelTeller, Teller, TextTeller

    def run(teller: Teller) -> dict[str, Any]:
        report = library.describe_by(
            teller,
            limit=job["limit"],
            progress=lambda done, total: tell({"done": done, "total": total}),
            note=lambda report: tell({"so_far": report_describing(report)}),
            should_stop=should_stop,
        )
        if report.failed:
            raise ViewfinderError(report.failed)
        return {"report": report_describing(report), "stopped": report.stopped}

    if job["text_only"]:
        with TextReader() as reader:
            return run(TextTeller(reader))
    return run(ModelTeller(parse_describer(job["describer"])))


def report_describing(report: DescribeReport) -> dict[str, Any]:
    """Counts, and why pictures were left as they were; no names of files."""
    return {
        "described": report.described,
        "with_text": report.with_text,
        "unusable": sum(report.failures.values()),
        "reasons": dict(list(report.failures.items())[:LISTED]),
    }
