"""Who reads a talk, and who asks back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from viewfinder.server.access.caller import Reader
from viewfinder.server.problems import responses
from viewfinder.server.schemas.collection import Questioners, Retrievers
from viewfinder.server.schemas.sessions import PictureAttributes
from viewfinder.server.services import WithServices
from viewfinder.server.talks.attributes import predict_picture_attributes

router = APIRouter(prefix="/api/v1", tags=["retrievers"])

Name = Annotated[str, Path(max_length=200, description="the name of a retriever")]


@router.get("/retrievers", operation_id="list_retrievers", summary="Who can read a talk", responses=responses())
async def list_retrievers(caller: Reader, services: WithServices) -> Retrievers:
    """What each needs of the pictures, and what stands in its way."""
    return await services.pool.run(services.talks.engines.listed)


@router.get(
    "/retrievers/{name}/attributes",
    operation_id="retriever_attributes",
    summary="What a retriever sees in a picture",
    responses=responses(404, 409),
)
async def retriever_attributes(
    name: Name,
    caller: Reader,
    services: WithServices,
    like: Annotated[str | None, Query(max_length=64, description="the id of a picture")] = None,
    show: Annotated[str | None, Query(max_length=64, description="the id of an upload")] = None,
) -> PictureAttributes:
    """What it would read with it in a talk; one of the two is given."""
    return await services.pool.run(
        predict_picture_attributes, services.talks.engines, services.uploads, name, like=like, show=show
    )


@router.get("/questioners", operation_id="list_questioners", summary="Who can ask back", responses=responses())
async def list_questioners(caller: Reader, services: WithServices) -> Questioners:
    """Whether each can be used here, and if not, what is missing; `none` asks nothing."""
    return await services.pool.run(services.talks.askers.listed)
