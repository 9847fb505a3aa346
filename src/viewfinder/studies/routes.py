"""Studies over HTTP: admins make and evaluate them, people take part and never learn which retriever they have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from viewfinder.server.access.bodies import WORDY_BODY, json_body, json_up_to, receive_json, takes_body
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.access.tokens import Admin, Reader, ReaderWriter
from viewfinder.server.conversations.schemas import TurnIn
from viewfinder.server.conversations.sent_twice import KeyHeader, request_key
from viewfinder.server.problems import responses
from viewfinder.server.services import make_router
from viewfinder.studies.plan import (
    Consent,
    Participation,
    PublicStudy,
    Study,
    StudyFigures,
    StudyList,
    StudyPlan,
    TrialEnd,
)
from viewfinder.studies.studies import Studies


@dataclass(frozen=True)
class StudyServices:
    """The services of the routes of studies: made as the server starts, kept as `app.state.studies`."""

    studies: Studies
    pool: ThreadPool


async def _services(request: Request) -> StudyServices:
    found = request.app.state.studies
    assert isinstance(found, StudyServices)
    return found


WithStudies = Annotated[StudyServices, Depends(_services)]
"""`StudyServices`, as a route asks for them."""

router = make_router("studies", prefix="/api/v1/studies")

StudyId = Annotated[str, Path(max_length=64)]
ParticipantId = Annotated[str, Path(max_length=64)]
TrialId = Annotated[str, Path(max_length=64)]
Counted = Annotated[
    Literal["every", "best"],
    Query(description="every trial that has ended, or of each picture and retriever only the best one"),
]

TRIAL = "/{study}/participants/{participant}/trials/{trial}"
JSON_LINES = "application/jsonl"
ZIP = "application/zip"


@router.post(
    "", status_code=201, summary="Begin a study", responses=responses(409, 415), openapi_extra=json_body(StudyPlan)
)
@takes_body(lambda settings: settings.body_bytes)
async def create_study(request: Request, services: WithStudies, _: Admin) -> Study:
    """Everything the plan names is checked now. The page for participants is at /study/{id}."""
    plan = await receive_json(request, StudyPlan, services.pool)
    return await services.pool.run(services.studies.create, plan)


@router.get("", summary="All studies")
async def list_studies(services: WithStudies, _: Admin) -> StudyList:
    """The newest first, with their plans."""
    return StudyList(studies=await services.pool.run(services.studies.all))


@router.get("/{study}", summary="What a study asks of people", responses=responses(404))
async def get_study(study: StudyId, services: WithStudies, _: Reader) -> PublicStudy:
    """Describes the study before taking part, without its retrievers."""
    return await services.pool.run(services.studies.public, study)


@router.post("/{study}/close", summary="Take no more participants", responses=responses(404))
async def close_study(study: StudyId, services: WithStudies, _: Admin) -> Study:
    """Those who have begun may go on to the end."""
    return await services.pool.run(services.studies.close, study)


@router.get("/{study}/figures", summary="What it came to", responses=responses(404))
async def study_figures(study: StudyId, services: WithStudies, _: Admin, count: Counted = "every") -> StudyFigures:
    """The measures of simulated users, with intervals; two retrievers also as paired differences."""
    return await services.pool.run(services.studies.figures, study, count)


@router.get(
    "/{study}/export",
    summary="All of a study as JSON lines",
    response_class=StreamingResponse,
    responses={
        **responses(404),
        200: {"description": "The study, then a line a participant", "content": {JSON_LINES: {}}},
    },
)
async def export_study(study: StudyId, services: WithStudies, _: Admin) -> StreamingResponse:
    """Plan, consent texts, trials, conversations, and the ranks of every round."""
    lines = await services.pool.run(services.studies.lines, study)
    stream = _stream_lines(lines, services.pool)
    return StreamingResponse(stream, media_type=JSON_LINES, headers=_name_attachment("study.jsonl"))


@router.get(
    "/{study}/runs",
    summary="A study as evaluation runs",
    response_class=Response,
    responses={**responses(404, 409), 200: {"description": "A run folder a retriever", "content": {ZIP: {}}}},
)
async def export_study_runs(study: StudyId, services: WithStudies, _: Admin, count: Counted = "every") -> Response:
    """A zip file with a folder a retriever, as `viewfinder evaluate` writes and `viewfinder compare` reads them."""
    archive = await services.pool.run(services.studies.archive, study, count)
    return Response(archive, media_type=ZIP, headers=_name_attachment("study-runs.zip"))


@router.post("/{study}/participants", status_code=201, summary="Take part", responses=responses(404, 409))
async def join_study(study: StudyId, consent: Consent, services: WithStudies, _: ReaderWriter) -> Participation:
    """The consent text is kept as it was agreed to. The id in the answer is all that is known of a participant."""
    del consent  # only true passes
    return await services.pool.run(services.studies.join, study)


@router.get(
    "/{study}/participants/{participant}/trial", summary="The trial that is next or under way", responses=responses(404)
)
async def get_trial(study: StudyId, participant: ParticipantId, services: WithStudies, _: Reader) -> Participation:
    """Everything a page needs to go on where it was."""
    return await services.pool.run(services.studies.participation, study, participant)


@router.post(f"{TRIAL}/start", summary="See the picture", responses=responses(404, 409))
async def start_trial(
    study: StudyId, participant: ParticipantId, trial: TrialId, services: WithStudies, _: ReaderWriter
) -> Participation:
    """The picture comes into view, and the time runs."""
    return await services.pool.run(services.studies.start, study, participant, trial)


@router.post(f"{TRIAL}/turns", status_code=201, summary="One round of a trial", responses=responses(404, 409))
@takes_body(json_up_to(WORDY_BODY))
async def take_trial_turn(
    study: StudyId,
    participant: ParticipantId,
    trial: TrialId,
    turn: TurnIn,
    services: WithStudies,
    _: ReaderWriter,
    given_key: KeyHeader = None,
) -> Participation:
    """Which turns there are depends on the study's task; no more are taken than it has rounds."""
    key = request_key(given_key, "take", turn)
    return await services.pool.run(services.studies.take, study, participant, trial, turn, key)


@router.post(f"{TRIAL}/end", summary="Found, or not", responses=responses(404, 409))
async def end_trial(
    study: StudyId, participant: ParticipantId, trial: TrialId, given: TrialEnd, services: WithStudies, _: ReaderWriter
) -> Participation:
    """Ends the trial; the answer has the next one."""
    return await services.pool.run(services.studies.end, study, participant, trial, given.found)


async def _stream_lines(lines: Iterator[str], pool: ThreadPool) -> AsyncIterator[str]:
    """The lines as they are read, in the pool."""
    while (line := await pool.run(next, lines, None)) is not None:
        yield line


def _name_attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
