"""Studies over HTTP: admins make and evaluate them, people take part and never learn which retriever they have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse

from viewfinder.server.access.caller import Admin, Reader, Writer
from viewfinder.server.problems import responses
from viewfinder.server.schemas.sessions import TurnIn
from viewfinder.server.schemas.studies import (
    Consent,
    Participation,
    PublicStudy,
    Study,
    StudyFigures,
    StudyList,
    StudyPlan,
    TrialEnd,
)
from viewfinder.server.services import Pool, WithServices

router = APIRouter(prefix="/api/v1/studies", tags=["studies"])

StudyId = Annotated[str, Path(max_length=64)]
ParticipantId = Annotated[str, Path(max_length=64)]
TrialId = Annotated[str, Path(max_length=64)]
Counted = Annotated[
    Literal["every", "best"],
    Query(description="every trial that has ended, or of each picture and retriever only the best one"),
]

JSON_LINES = "application/jsonl"
ZIP = "application/zip"


@router.post("", status_code=201, operation_id="create_study", summary="Begin a study", responses=responses(409))
async def create(plan: StudyPlan, services: WithServices, _: Admin) -> Study:
    """Everything the plan names is checked now. The page for participants is at /study/{id}."""
    return await services.pool.run(services.studies.create, plan)


@router.get("", operation_id="list_studies", summary="All studies", responses=responses())
async def everything(services: WithServices, _: Admin) -> StudyList:
    """The newest first, with their plans."""
    return StudyList(studies=await services.pool.run(services.studies.all))


@router.get("/{study}", operation_id="get_study", summary="What a study asks of people", responses=responses(404))
async def public(study: StudyId, services: WithServices, _: Reader) -> PublicStudy:
    """What one may know before taking part; not which retrievers it is about."""
    return await services.pool.run(services.studies.public, study)


@router.post(
    "/{study}/close", operation_id="close_study", summary="Take no more participants", responses=responses(404)
)
async def close(study: StudyId, services: WithServices, _: Admin) -> Study:
    """Who has begun may go on to the end."""
    return await services.pool.run(services.studies.close, study)


@router.get("/{study}/figures", operation_id="study_figures", summary="What it came to", responses=responses(404))
async def figures(study: StudyId, services: WithServices, _: Admin, count: Counted = "every") -> StudyFigures:
    """The measures of simulated users, with intervals; two retrievers also as paired differences."""
    return await services.pool.run(services.studies.figures, study, count)


@router.get(
    "/{study}/export",
    operation_id="export_study",
    summary="All of a study as JSON lines",
    response_class=StreamingResponse,
    responses={
        **responses(404),
        200: {"description": "The study, then a line a participant", "content": {JSON_LINES: {}}},
    },
)
async def export(study: StudyId, services: WithServices, _: Admin) -> StreamingResponse:
    """Plan, consent texts, trials, talks, and the ranks of every round."""
    lines = await services.pool.run(services.studies.lines, study)
    return StreamingResponse(_streamed(lines, services.pool), media_type=JSON_LINES, headers=_attached("study.jsonl"))


@router.get(
    "/{study}/runs",
    operation_id="export_study_runs",
    summary="A study as evaluation runs",
    response_class=Response,
    responses={**responses(404, 409), 200: {"description": "A run folder a retriever", "content": {ZIP: {}}}},
)
async def runs(study: StudyId, services: WithServices, _: Admin, count: Counted = "every") -> Response:
    """A zip file with a folder a retriever, as `viewfinder evaluate` writes and `viewfinder compare` reads them."""
    archive = await services.pool.run(services.studies.archive, study, count)
    return Response(archive, media_type=ZIP, headers=_attached("study-runs.zip"))


@router.post(
    "/{study}/participants",
    status_code=201,
    operation_id="join_study",
    summary="Take part",
    responses=responses(404, 409),
)
async def join(study: StudyId, consent: Consent, services: WithServices, _: Writer) -> Participation:
    """The consent text is kept as it was agreed to. The id in the answer is all that is known of a participant."""
    del consent  # only true passes
    return await services.pool.run(services.studies.join, study)


@router.get(
    "/{study}/participants/{participant}/trial",
    operation_id="get_trial",
    summary="The trial that is next or under way",
    responses=responses(404),
)
async def trial(study: StudyId, participant: ParticipantId, services: WithServices, _: Reader) -> Participation:
    """Everything a page needs to go on where it was."""
    return await services.pool.run(services.studies.participation, study, participant)


@router.post(
    "/{study}/participants/{participant}/trials/{trial}/start",
    operation_id="start_trial",
    summary="See the picture",
    responses=responses(404, 409),
)
async def start(
    study: StudyId, participant: ParticipantId, trial: TrialId, services: WithServices, _: Writer
) -> Participation:
    """The picture comes into view, and the time runs."""
    return await services.pool.run(services.studies.start, study, participant, trial)


@router.post(
    "/{study}/participants/{participant}/trials/{trial}/turns",
    status_code=201,
    operation_id="take_trial_turn",
    summary="One round of a trial",
    responses=responses(404, 409),
)
async def take(
    study: StudyId, participant: ParticipantId, trial: TrialId, turn: TurnIn, services: WithServices, _: Writer
) -> Participation:
    """Which turns there are depends on the study's task; no more are taken than it has rounds."""
    return await services.pool.run(services.studies.take, study, participant, trial, turn)


@router.post(
    "/{study}/participants/{participant}/trials/{trial}/end",
    operation_id="end_trial",
    summary="Found, or not",
    responses=responses(404, 409),
)
async def end(
    study: StudyId, participant: ParticipantId, trial: TrialId, given: TrialEnd, services: WithServices, _: Writer
) -> Participation:
    """Ends the trial; the answer has the next one."""
    return await services.pool.run(services.studies.end, study, participant, trial, given.found)


async def _streamed(lines: Iterator[str], pool: Pool) -> AsyncIterator[str]:
    """The lines as they are read, in the pool."""
    while (line := await pool.run(next, lines, None)) is not None:
        yield line


def _attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
