"""Whether the server lives and is ready, its numbers, its version."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from viewfinder import __version__
from viewfinder.errors import ViewfinderError
from viewfinder.server.access.caller import Reader
from viewfinder.server.discreet import hide_paths
from viewfinder.server.jobs.collection import current_snapshot
from viewfinder.server.metrics import Metrics
from viewfinder.server.problems import Problem, responses
from viewfinder.server.schemas.collection import Health, Version
from viewfinder.server.services import Services, WithServices

router = APIRouter(prefix="/api/v1", tags=["health"])


@router.get("/health/live", operation_id="live", summary="Whether it lives", responses=responses())
async def live() -> Health:
    """The process answers; no token is needed."""
    return Health(ok=True, checks={})


@router.get("/health/ready", operation_id="ready", summary="Whether it can serve", responses=responses())
async def ready(services: WithServices) -> Health:
    """The database answers and the pictures can be read; 503 says in `checks` what is not so. No token is needed."""
    checks = await services.pool.run(check, services)
    failed = [f"{name}: {said}" for name, said in checks.items() if said != "ok"]
    if failed:
        raise Problem(503, "not-ready", "; ".join(failed), headers={"Retry-After": "5"}, checks=checks)
    return Health(ok=True, checks=checks)


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={
        200: {"description": "in Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(),
    },
)
async def get_metrics(request: Request, caller: Reader, services: WithServices) -> Response:
    """Requests by route and status, how long turns take, open talks, jobs."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return Response(await services.pool.run(metrics.text, services), media_type=CONTENT_TYPE_LATEST)


@router.get("/version", operation_id="version", summary="Which viewfinder this is", responses=responses())
async def version() -> Version:
    """No token is needed."""
    return Version(viewfinder=__version__)


def check(services: Services) -> dict[str, str]:
    """Each part, "ok" or what is wrong with it."""
    checks = {"database": "ok", "library": "ok"}
    try:
        services.database.check()
    except ViewfinderError as error:
        checks["database"] = hide_paths(str(error))
    try:
        current_snapshot(services.library)  # without pictures it is ready for the first ones
    except ViewfinderError as error:
        checks["library"] = hide_paths(str(error))
    return checks
