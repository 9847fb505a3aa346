"""The collection: what is in it, jobs that change it, filters with counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

import anyio
from fastapi import Path, Query
from sse_starlette import EventSourceResponse

from viewfinder.server.access.bodies import WORDY_BODY, json_up_to, takes_body
from viewfinder.server.access.tokens import Admin, Reader
from viewfinder.server.conversations.schemas import event_stream
from viewfinder.server.database import JobRow
from viewfinder.server.pictures.library import count_facets, summarize_collection
from viewfinder.server.pictures.library import list_failures as find_failures
from viewfinder.server.pictures.schemas import (
    AddFolder,
    Collection,
    DescribeIn,
    Facets,
    FacetsIn,
    Failures,
    Job,
    JobPage,
    PrepareIn,
)
from viewfinder.server.problems import responses
from viewfinder.server.services import Services, WithServices, make_router

router = make_router("collection")

FAREWELL_S = 1.0
"""How long a stream of events may take to end when the server does."""

Id = Annotated[str, Path(max_length=64, description="the id of a job")]

_EVENTS = event_stream(
    "Events: `job`, the job as it is and whenever it has changed, until it has ended.", "job", data="Job"
)


@router.get("/collection", summary="What the library holds")
async def collection(caller: Reader, services: WithServices) -> Collection:
    """Numbers, columns to filter by, and the folders below which pictures may be added."""
    jobs = await services.pool.run(services.jobs.waiting)
    return await services.pool.run(summarize_collection, services.library, services.settings, jobs=jobs)


@router.post("/collection/folders", status_code=202, summary="Add a folder of the server")
async def add_folder(given: AddFolder, caller: Admin, services: WithServices) -> Job:
    """Only below one of the roots that the server was started with. A job adds what is new or changed."""
    return _show_job(services, await services.pool.run(services.jobs.submit, "add", given.model_dump()))


@router.post("/collection/prepare", status_code=202, summary="Make what a retriever reads of the pictures")
async def prepare_retriever(given: PrepareIn, caller: Admin, services: WithServices) -> Job:
    """Regions, for those that look at them; that takes as long as adding the pictures did."""
    return _show_job(services, await services.pool.run(services.jobs.submit, "prepare", given.model_dump()))


@router.post("/collection/describe", status_code=202, summary="Have pictures described")
async def describe_pictures(given: DescribeIn, caller: Admin, services: WithServices) -> Job:
    """Only by what the server's settings say: a model, or a reader of text. Other jobs wait until it ends or pauses."""
    return _show_job(services, await services.pool.run(services.jobs.submit, "describe", given.model_dump()))


@router.get("/collection/jobs", summary="Jobs, the newest first")
async def list_jobs(caller: Reader, services: WithServices, n: Annotated[int, Query(ge=1, le=200)] = 50) -> JobPage:
    """Jobs that wait, run, or have ended."""
    rows = await services.pool.run(services.jobs.rows.page, n)
    return JobPage(jobs=[_show_job(services, row) for row in rows])


@router.get("/collection/jobs/{id}", summary="One job", responses=responses(404))
async def get_job(id: Id, caller: Reader, services: WithServices) -> Job:
    """How far it is, and what came of it."""
    return _show_job(services, await services.pool.run(services.jobs.get, id))


@router.get(
    "/collection/jobs/{id}/events",
    summary="A job as it goes on",
    response_class=EventSourceResponse,
    responses=_EVENTS | responses(404),
)
async def job_events(id: Id, caller: Reader, services: WithServices) -> EventSourceResponse:
    """`job`: as `GET /collection/jobs/{id}` gives it."""
    await services.pool.run(services.jobs.get, id)
    ending = anyio.Event()
    events = _stream_job(services, id, ending)
    return EventSourceResponse(events, shutdown_event=ending, shutdown_grace_period=FAREWELL_S)


@router.post("/collection/jobs/{id}/pause", summary="Pause a job", responses=responses(404, 409))
async def pause_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """After the batch that is under way, a second or two."""
    return _show_job(services, await services.pool.run(services.jobs.steer, id, "pause"))


@router.post("/collection/jobs/{id}/resume", summary="Go on with a job", responses=responses(404, 409))
async def resume_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """One that was paused goes on where it stopped; one that failed is tried again."""
    return _show_job(services, await services.pool.run(services.jobs.steer, id, "resume"))


@router.post("/collection/jobs/{id}/cancel", summary="End a job", responses=responses(404, 409))
async def cancel_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """Pictures that it has added by then stay."""
    return _show_job(services, await services.pool.run(services.jobs.steer, id, "cancel"))


@router.get("/collection/failures", summary="Files that could not become pictures")
async def list_failures(
    caller: Reader,
    services: WithServices,
    n: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=200, description="the `next` of the page before")] = None,
) -> Failures:
    """By their last names, each with the reason."""
    return await services.pool.run(find_failures, services.library, n, cursor)


@router.post("/collection/facets", summary="Filters with counts")
@takes_body(json_up_to(WORDY_BODY))
async def facets(given: FacetsIn, caller: Reader, services: WithServices) -> Facets:
    """The counts of a column are those under the filters of all other columns: what one would get by choosing it."""
    return await services.pool.run(count_facets, services.library, given.where)


async def _stream_job(services: Services, id: str, ending: anyio.Event) -> AsyncIterator[dict[str, str]]:
    async with aclosing(services.jobs.watch(id, ending.is_set)) as rows:
        async for row in rows:
            yield {"event": "job", "data": _show_job(services, row).model_dump_json()}


def _show_job(services: Services, row: JobRow) -> Job:
    """A job as it is shown; one that runs with the time it will still take."""
    eta_s = services.jobs.eta_s(row) if row.state == "running" else None
    return Job.model_validate({**vars(row), "eta_s": eta_s})
