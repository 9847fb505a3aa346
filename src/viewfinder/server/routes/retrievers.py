"""Who reads a talk, and who asks back."""

from __future__ import annotations

from fastapi import APIRouter

from viewfinder.server.access.caller import Reader
from viewfinder.server.problems import responses
from viewfinder.server.schemas.collection import Questioners, Retrievers
from viewfinder.server.services import Served

router = APIRouter(prefix="/api/v1", tags=["retrievers"])


@router.get("/retrievers", operation_id="list_retrievers", summary="Who can read a talk", responses=responses())
async def list_retrievers(caller: Reader, services: Served) -> Retrievers:
    """What each needs of the pictures, and what stands in its way."""
    return await services.pool.run(services.talks.engines.listed)


@router.get("/questioners", operation_id="list_questioners", summary="Who can ask back", responses=responses())
async def list_questioners(caller: Reader, services: Served) -> Questioners:
    """Whether each can be used here, and if not, what is missing; `none` asks nothing."""
    return await services.pool.run(services.talks.askers.listed)
