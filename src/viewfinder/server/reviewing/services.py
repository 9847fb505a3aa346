"""What the routes of a review work with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from viewfinder.server.reviewing.reviews import Reviews
from viewfinder.server.services import BaseServices, Pool


@dataclass(frozen=True)
class ReviewServices(BaseServices):
    """`aside` reads pictures: a decision waits for none of them. `scratch` is a folder that goes when the app ends."""

    reviews: Reviews
    aside: Pool
    scratch: Path


def _reviewing(request: Request) -> ReviewServices:
    found = request.app.state.services
    assert isinstance(found, ReviewServices)
    return found


WithReviewServices = Annotated[ReviewServices, Depends(_reviewing)]
"""What is reviewed, as a route asks for it."""
