"""Studies as a part of the server: their API, their page, and the service behind both."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from viewfinder.server.app import Extension
from viewfinder.server.database import StudyRows
from viewfinder.server.follow_ups import API, FollowUp, here
from viewfinder.server.services import Services
from viewfinder.studies import routes
from viewfinder.studies.studies import Studies

STATIC = Path(__file__).parent / "static"

STUDY = f"{API}/studies/{{study}}"
PARTICIPANT = f"{STUDY}/participants/{{participant}}"
TRIAL = f"{PARTICIPANT}/trials/{{trial}}"

FOLLOW_UPS = (
    FollowUp("create_study", 201, STUDY, {"study": "$response.body#/id"}),
    FollowUp(
        "join_study",
        201,
        PARTICIPANT,
        {**here("study"), "participant": "$response.body#/id", "trial": "$response.body#/trial/id"},
    ),
    FollowUp("start_trial", 200, PARTICIPANT, here("study", "participant", "trial")),
    FollowUp("take_trial_turn", 201, TRIAL, here("study", "participant", "trial")),
)


def studies_extension() -> Extension:
    """Makes the part of the server that `serve --studies` adds."""
    return Extension(routes.router, FOLLOW_UPS, STATIC, {"study.html": ("/study/{rest:path}",)}, _start)


def _start(app: FastAPI, services: Services) -> None:
    studies = Studies(StudyRows(services.database), services.conversations, services.library)
    app.state.studies = routes.StudyServices(studies, services.pool)


STUDIES = (studies_extension,)
"""As `create_app` takes it: a function, which a worker is told of by its name."""
