"""The collection: what is in it, jobs that change it, filters with counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import PurePath
from typing import Annotated, Any

import anyio
from fastapi import Path, Query
from sse_starlette import EventSourceResponse

from viewfinder.server.access.bodies import WORDY_BODY, json_up_to, takes_body
from viewfinder.server.access.tokens import Admin, Caller, Reader
from viewfinder.server.conversations.schemas import event_stream
from viewfinder.server.database import JobRow
from viewfinder.server.pictures.library import count_facets, summarize_collection
from viewfinder.server.pictures.library import list_failures as find_failures
from viewfinder.server.pictures.schemas import (
    AddFolder,
    Adding,
    Collection,
    CollectionProgress,
    DescribeIn,
    Facets,
    FacetsIn,
    Failures,
    Folders,
    Job,
    JobPage,
    PrepareIn,
)
from viewfinder.server.problems import Problem, responses
from viewfinder.server.redaction import to_unicode
from viewfinder.server.services import Services, WithServices, make_router
from viewfinder.store.adding_note import read_adding_note

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

    def summarize() -> Collection:
        return summarize_collection(
            services.library,
            services.settings,
            jobs=services.jobs.waiting(),
            originals=caller.may_download(services.settings),
            adding=find_adding(services),
            is_local=caller.is_local,
        )

    return await services.pool.run(summarize)


@router.get("/collection/progress", summary="How far adding pictures is")
async def collection_progress(caller: Reader, services: WithServices) -> CollectionProgress:
    """Whoever adds them: a job, or somebody at a terminal of the server. `pictures` can be searched already."""

    def look() -> CollectionProgress:
        served = services.library.served  # not `gallery`, which would wait for the first snapshot
        return CollectionProgress(pictures=0 if served is None else len(served), adding=find_adding(services))

    return await services.pool.run(look)


@router.get("/collection/folders", summary="Look through folders that can be added")
async def list_folders(
    caller: Admin,
    services: WithServices,
    root: Annotated[int | None, Query(ge=0, le=1000, description="a root of the server")] = None,
    at: Annotated[str, Query(max_length=4096, description="relative to the root; without one: absolute")] = "",
) -> Folders:
    """Below a root of the server; without one all of this machine's, for its own user. No files, nothing hidden."""
    from viewfinder.server.jobs.folders import look_into_root, look_on_machine

    if root is not None:
        return await services.pool.run(look_into_root, root, at, services.settings.roots)
    _check_local(caller)
    return await services.pool.run(look_on_machine, at)


@router.post("/collection/folders", status_code=202, summary="Add a folder of the server")
async def add_folder(given: AddFolder, caller: Admin, services: WithServices) -> Job:
    """Below a root that the server was started with; this machine's own user may name any. It adds what is new."""
    what: dict[str, Any] = {"root": given.root, "folder": given.folder}
    if given.path is not None:
        _check_local(caller)
        what = {"path": given.path, "folder": PurePath(given.path).name or given.path}
    return _show_job(services, caller, await services.pool.run(services.jobs.submit, "add", what))


@router.post("/collection/demo", status_code=202, summary="Add the drawn pictures of the demo")
async def add_demo(caller: Admin, services: WithServices) -> Job:
    """Three hundred drawings, to try it with. A job draws and adds them."""
    return _show_job(services, caller, await services.pool.run(services.jobs.submit, "add", {"demo": True}))


@router.delete("/collection/demo", status_code=202, summary="Remove the drawn pictures of the demo")
async def remove_demo(caller: Admin, services: WithServices) -> Job:
    """A job does it; other pictures stay."""
    return _show_job(services, caller, await services.pool.run(services.jobs.submit, "remove", {"demo": True}))


@router.post("/collection/prepare", status_code=202, summary="Make what a retriever reads of the pictures")
async def prepare_retriever(given: PrepareIn, caller: Admin, services: WithServices) -> Job:
    """Regions, for those that look at them; that takes as long as adding the pictures did."""
    return _show_job(services, caller, await services.pool.run(services.jobs.submit, "prepare", given.model_dump()))


@router.post("/collection/describe", status_code=202, summary="Have pictures described")
async def describe_pictures(given: DescribeIn, caller: Admin, services: WithServices) -> Job:
    """Only by what the server's settings say: a model, or a reader of text. Other jobs wait until it ends or pauses."""
    return _show_job(services, caller, await services.pool.run(services.jobs.submit, "describe", given.model_dump()))


@router.get("/collection/jobs", summary="Jobs, the newest first")
async def list_jobs(caller: Reader, services: WithServices, n: Annotated[int, Query(ge=1, le=200)] = 50) -> JobPage:
    """Jobs that wait, run, or have ended."""
    rows = await services.pool.run(services.jobs.rows.page, n)
    return JobPage(jobs=[_show_job(services, caller, row) for row in rows])


@router.get("/collection/jobs/{id}", summary="One job", responses=responses(404))
async def get_job(id: Id, caller: Reader, services: WithServices) -> Job:
    """How far it is, and what came of it."""
    return _show_job(services, caller, await services.pool.run(services.jobs.get, id))


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
    events = _stream_job(services, caller, id, ending)
    return EventSourceResponse(events, shutdown_event=ending, shutdown_grace_period=FAREWELL_S)


@router.post("/collection/jobs/{id}/pause", summary="Pause a job", responses=responses(404, 409))
async def pause_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """After the batch that is under way, a second or two."""
    return _show_job(services, caller, await services.pool.run(services.jobs.steer, id, "pause"))


@router.post("/collection/jobs/{id}/resume", summary="Go on with a job", responses=responses(404, 409))
async def resume_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """One that was paused goes on where it stopped; one that failed is tried again."""
    return _show_job(services, caller, await services.pool.run(services.jobs.steer, id, "resume"))


@router.post("/collection/jobs/{id}/cancel", summary="End a job", responses=responses(404, 409))
async def cancel_job(id: Id, caller: Admin, services: WithServices) -> Job:
    """Pictures that it has added by then stay."""
    return _show_job(services, caller, await services.pool.run(services.jobs.steer, id, "cancel"))


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
    where = await services.pool.run(services.kept.read, given.where, caller.token, new=True)
    return await services.pool.run(count_facets, services.library, where)


async def _stream_job(
    services: Services, caller: Caller, id: str, ending: anyio.Event
) -> AsyncIterator[dict[str, str]]:
    async with aclosing(services.jobs.watch(id, ending.is_set)) as rows:
        async for row in rows:
            yield {"event": "job", "data": _show_job(services, caller, row).model_dump_json()}


def _show_job(services: Services, caller: Caller, row: JobRow) -> Job:
    """A job as it is shown; one that runs with the time it will still take. Paths are for this machine's user."""
    eta_s = services.jobs.eta_s(row) if row.state == "running" else None
    what = row.what if caller.is_local else {name: it for name, it in row.what.items() if name != "path"}
    return Job.model_validate({**vars(row), "what": what, "eta_s": eta_s})


def _check_local(caller: Caller) -> None:
    """Raises Problem: 403, a folder by its path is for this machine's own user."""
    if not caller.is_local:
        detail = "folders of this machine are only for its own user: name one below a root of the server (--root)"
        raise Problem(403, "not-local", detail)


def find_adding(services: Services) -> Adding | None:
    """What is being added now, by a job or at a terminal."""
    row, note = services.jobs.adding(), read_adding_note(services.library.folder)
    if note is None:  # its process starts, or has added all and prepares searches
        if row is None:
            return None
        name = to_unicode(str(row.what.get("folder", "")))
        return Adding(name=name, done=row.done, total=row.total, failed=0, eta_s=None, job=row.id)
    left_s = note.estimate_left_s()
    name = to_unicode(", ".join(note.names))
    return Adding(name=name, done=note.done, total=note.found, failed=note.failed, eta_s=left_s, job=note.job)
