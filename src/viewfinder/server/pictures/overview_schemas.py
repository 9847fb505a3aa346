"""The collection as a whole, over HTTP: months, folders, places, and filters that can be typed."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from viewfinder.server.conversations.schemas import Filters, Id, Strict, Text

Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
Longitude = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]


class TimelineIn(Strict):
    """Filters that are set."""

    where: Filters = Field(default_factory=dict)


class Stretch(BaseModel):
    """A month (`2008-05`), or a year where no more is known of some pictures, and how many were taken then."""

    stretch: str
    pictures: int


class Timeline(BaseModel):
    """When pictures were taken, the oldest first. `undated`: of these it is not known."""

    total: int
    undated: int
    stretches: list[Stretch]


class FolderTreeIn(Strict):
    """The folder to look into, as `path` of an answer names it (empty: the top), and filters that are set."""

    under: Text = ""
    where: Filters = Field(default_factory=dict)


class Folder(BaseModel):
    """A folder. `pictures` counts all below it; `where` has it as `{"under": path}`."""

    name: str
    path: str
    pictures: int
    has_folders: bool = Field(description="whether there are folders in it")


class FolderTree(BaseModel):
    """The folders in a folder, by name. Where they stand on the server's machine is not told."""

    folders: list[Folder]


class Area(Strict):
    """A part of the map, in degrees."""

    south: Latitude
    west: Longitude
    north: Latitude
    east: Longitude


class PlacesIn(Strict):
    """The area to look at (by default, all of it), and filters that are set; what lies within a cell is one cluster."""

    where: Filters = Field(default_factory=dict)
    area: Area | None = None
    cells: int = Field(12, ge=2, le=40, description="how many cells side by side")


class PlaceCluster(BaseModel):
    """Pictures that were taken near one another; `picture` is the one in their middle, which the place is of.

    As filters: `latitude` and `longitude`.
    """

    latitude: float
    longitude: float
    pictures: int
    picture: str
    name: str | None = Field(description="the place where most of them were taken, if its name is known")
    area: Area


class Places(BaseModel):
    """Where pictures were taken. `total` counts those that say where, `bounds` is the area of all of them."""

    total: int
    bounds: Area | None
    clusters: list[PlaceCluster]


class SuggestedFilter(BaseModel):
    """A filter as it is typed, and the pictures that meet it; null: it waits for its value."""

    text: str
    pictures: int | None


class SuggestedFilters(BaseModel):
    """What a typed word may become, the likeliest first."""

    filters: list[SuggestedFilter]


class ProductsIn(Strict):
    """Pictures of which it is asked what is sold there."""

    ids: Annotated[list[Id], Field(max_length=500)]


class Product(BaseModel):
    """A product as its catalogue has it; `link` leads to a web page."""

    name: str | None
    price: str | None
    link: str | None


class Products(BaseModel):
    """The products of pictures; pictures that are of none are left out."""

    products: dict[str, Product]
