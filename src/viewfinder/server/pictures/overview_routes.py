"""The collection as a whole over HTTP; what counts it is loaded when it is first asked for."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from viewfinder.server.access.bodies import WORDY_BODY, json_up_to, takes_body
from viewfinder.server.access.tokens import Reader
from viewfinder.server.pictures.overview_schemas import (
    FolderTree,
    FolderTreeIn,
    Places,
    PlacesIn,
    Products,
    ProductsIn,
    SuggestedFilters,
    Timeline,
    TimelineIn,
)
from viewfinder.server.services import WithServices, make_router

router = make_router("collection")
pictures_router = make_router("pictures")


@router.post("/collection/timeline", summary="When pictures were taken")
@takes_body(json_up_to(WORDY_BODY))
async def timeline(given: TimelineIn, caller: Reader, services: WithServices) -> Timeline:
    """Counts by month, under all filters but that of `captured`."""
    from viewfinder.server.pictures.overviews import count_months

    where = await services.pool.run(services.kept.read, given.where, caller.token, new=True)
    return await services.pool.run(count_months, services.library, where)


@router.post("/collection/folder-tree", summary="The folders of the pictures")
@takes_body(json_up_to(WORDY_BODY))
async def folder_tree(given: FolderTreeIn, caller: Reader, services: WithServices) -> FolderTree:
    """Those in one folder at a time, with counts under all filters but that of `under`."""
    from viewfinder.server.pictures.overviews import list_folders

    where = await services.pool.run(services.kept.read, given.where, caller.token, new=True)
    return await services.pool.run(list_folders, services.library, given.under, where)


@router.post("/collection/places", summary="Where pictures were taken")
@takes_body(json_up_to(WORDY_BODY))
async def places(given: PlacesIn, caller: Reader, services: WithServices) -> Places:
    """Clusters of an area, under all filters but those of `latitude` and `longitude`."""
    from viewfinder.server.pictures.overviews import cluster_places

    where = await services.pool.run(services.kept.read, given.where, caller.token, new=True)
    return await services.pool.run(cluster_places, services.library, given.model_copy(update={"where": where}))


@router.get("/collection/filters", summary="What a typed filter may become")
async def suggest_filters(
    caller: Reader,
    services: WithServices,
    text: Annotated[str, Query(max_length=200, description="the last word that was typed: `cam`, `camera:ca`")] = "",
    n: Annotated[int, Query(ge=1, le=50)] = 8,
) -> SuggestedFilters:
    """Names of filters, or values of one, as they are typed among words (`a dog camera:canon`)."""
    from viewfinder.server.pictures.overviews import suggest_typed_filters

    return await services.pool.run(suggest_typed_filters, services.library, text, n)


@pictures_router.post("/pictures/products", summary="What is sold in some pictures")
async def products_of_pictures(given: ProductsIn, caller: Reader, services: WithServices) -> Products:
    """Name, price and link, by the usual names of columns (such as "product name", "sale price" and "link")."""
    from viewfinder.server.pictures.overviews import list_products

    return Products(products=await services.pool.run(list_products, services.library, given.ids))
