"""The settings of a server, from the command line or from environment variables that begin with VIEWFINDER_."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from viewfinder.processors import count_processors

MB = 1 << 20

PROXY_VARIABLE = "FORWARDED_ALLOW_IPS"
"""Which proxies uvicorn believes: where it is set, there is one."""


def _count_threads(given: dict[str, Any]) -> int:
    """As many as there are cores, over all workers."""
    return max(1, count_processors() // int(given.get("workers", 1)))


class ServerSettings(BaseSettings):
    """Every setting with its default; `VIEWFINDER_DATABASE_URL` and so on set them from outside.

    `database_url`: None: SQLite in the library's folder. `roots`: folders below which pictures may be added over
    HTTP (in the environment a JSON list). `originals`: whether the files themselves may be fetched, not only small
    copies. `origins`: other origins whose pages may call the API (CORS); none by default.
    """

    model_config = SettingsConfigDict(env_prefix="VIEWFINDER_", extra="ignore", frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(8008, ge=0, le=65535)
    database_url: str | None = None
    roots: tuple[Path, ...] = ()
    originals: bool = False
    studies: bool = False
    mcp: bool = Field(False, description="whether assistants are served at /mcp")
    origins: tuple[str, ...] = ()
    tokens_always: bool = Field(False, description="whether this machine needs a token, too: behind a proxy, say")

    retrievers: tuple[str, ...] = Field((), description="retrievers of other packages: names, or package.module:Class")
    questioners: tuple[str, ...] = Field(
        (), description="questioners of other packages, with =SOURCE where they need it"
    )
    language_model: str | None = Field(None, description="who asks as llm, plugir and unanswered: an endpoint, a file")
    questions: str | None = Field(None, description="trained questions: for pool, and to make information_gain better")
    dialogues: str | None = Field(None, description="released dialogues: what recorded asks")
    describer: str | None = Field(None, description="who may describe pictures: http://HOST/v1#MODEL")
    read_text: bool = Field(False, description="whether text may be read in pictures")

    ray: str | None = Field(None, description="the cluster whose actors search: local, auto, HOST:PORT")
    shards: int | None = Field(None, ge=1, le=4096, description="actors that search; by default one a free core")
    workers: int = Field(1, ge=1, description="processes that serve, on one port")
    threads: int = Field(
        default_factory=_count_threads, ge=1, description="requests that search at once in a process; others wait"
    )
    deadline_s: float = Field(30.0, gt=0, description="after which a request is answered with 503")
    idle_s: float = Field(15.0, gt=0, description="how long a client may be silent while it sends a body")
    shutdown_s: float = Field(10.0, gt=0, description="how long running turns may take when the server ends")
    requests_per_s: float = Field(50.0, gt=0, description="of one token, over time")
    requests_burst: int = Field(400, ge=1, description="of one token, at once")

    body_bytes: int = Field(1 * MB, ge=1024, description="largest JSON body")
    upload_bytes: int = Field(50 * MB, ge=1024, description="largest picture that is uploaded")
    upload_pixels: int = Field(100_000_000, ge=1, description="most pixels of a picture that is uploaded")
    uploads_per_token: int = Field(500, ge=1, description="images kept for each token; the oldest go first")
    sessions_per_reader: int = Field(1000, ge=1, description="conversations of a token that may only read; as above")

    sessions_in_memory: int = Field(256, ge=1, description="open conversations; the least recently used are read again")
    states_bytes: int = Field(256 * MB, ge=MB, description="retriever states of the process; others are recomputed")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_proxied(self) -> bool:
        """Whether a proxy in front is configured, by the variable that uvicorn and gunicorn read."""
        return bool(os.environ.get(PROXY_VARIABLE))

    @property
    def needs_tokens(self) -> bool:
        """Whether every request needs a token: as soon as others than this machine's own user may reach the server."""
        return self.tokens_always or not self.is_loopback or self.is_proxied


def database_url(library_folder: Path, settings: ServerSettings) -> str:
    """Where conversations, jobs and tokens are kept: as set, else in a file of the library."""
    return settings.database_url or f"sqlite:///{library_folder / 'server' / 'server.sqlite3'}"
