"""One search without a talk."""

from __future__ import annotations

from fastapi import APIRouter, Response

from viewfinder.server.access.caller import Reader
from viewfinder.server.problems import responses
from viewfinder.server.schemas.sessions import SearchIn, SearchResults
from viewfinder.server.services import WithServices

router = APIRouter(prefix="/api/v1", tags=["search"])


@router.post(
    "/search",
    operation_id="search",
    summary="Search once",
    response_model=SearchResults,
    responses=responses(409),
)
async def search(given: SearchIn, caller: Reader, services: WithServices) -> Response:
    """Words, a picture of the library or an image of one's own, what to leave out, filters; a page at a time."""
    found = await services.pool.run(services.talks.search, caller, given)
    return Response(found.model_dump_json(), media_type="application/json")
