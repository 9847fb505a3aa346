"""A language model behind an OpenAI-style endpoint: `POST /chat/completions`, else `POST /completions`."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language.base import cut_at_stop, run_within

KEY_VARIABLE = "VIEWFINDER_LANGUAGE_MODEL_KEY"
"""The environment variable that holds the endpoint's key. The key is sent, never shown."""

MAX_ANSWER_BYTES = 1_000_000
"""Bytes of an answer that are read."""

STATUSES_WITHOUT_CHAT = frozenset({400, 404, 405, 501})
"""Statuses of servers without chat, or with a model that has no chat template."""

NEW_PARAMETER_NAMES = {"max_tokens": "max_completion_tokens"}
"""New names of parameters that newer models refuse under the old one."""

OPTIONAL_PARAMETERS = ("max_tokens", "temperature", "seed", "stop")
"""Parameters that some models refuse; they are then left out."""


class Endpoint:
    """The `LanguageModel` behind a URL. What a server turned out to refuse is not tried again."""

    def __init__(self, url: str, model: str) -> None:
        self.name = model
        self._url = url.rstrip("/")
        self._chats: bool | None = None  # not known yet
        self._refused: frozenset[str] = frozenset()

    def complete(
        self,
        prompt: str,
        *,
        stop: Sequence[str] = ("\n",),
        most_tokens: int = 32,
        temperature: float = 0.0,
        seed: int = 0,
        seconds: float = 10.0,
    ) -> str:
        """See `LanguageModel`. A model that chats is given the prompt as the user's message."""
        parameters = {
            "max_tokens": most_tokens,
            "temperature": temperature,
            "seed": seed,
            "stop": [mark for mark in stop if mark.strip()][:4],
        }
        until = time.monotonic() + seconds
        try:
            text = run_within(seconds, lambda: self._request_text(prompt, parameters, until), daemon=True)
        except LanguageModelFailed:
            raise
        except (TimeoutError, httpx.TimeoutException):
            raise LanguageModelFailed(f"{self.name} took longer than {seconds:g} s") from None
        except httpx.ConnectError:
            raise LanguageModelFailed(f"{self.name} cannot be reached: check the endpoint's address") from None
        except Exception as error:
            # Not its text: it may quote the key.
            raise LanguageModelFailed(f"{self.name} broke off ({type(error).__name__})") from None
        if said := cut_at_stop(text, stop):
            return said
        raise LanguageModelFailed(f"{self.name} said nothing")

    def _request_text(self, prompt: str, parameters: dict[str, Any], until: float) -> str:
        """Asks for a continuation, in a chat unless the server has none."""
        chats = self._chats is not False
        status, body = self._request(prompt, parameters, until, chats=chats)
        if self._chats is None and status in STATUSES_WITHOUT_CHAT:
            second, text = self._request(prompt, parameters, until, chats=False)
            if second == 200:
                chats, status, body = False, second, text
        if status != 200:
            raise LanguageModelFailed(f"{self.name} {explain_status(status)}")
        self._chats = chats
        return _parse_completion(self.name, body)

    def _request(self, prompt: str, parameters: dict[str, Any], until: float, *, chats: bool) -> tuple[int, bytes]:
        """Status and body, without the parameters that the server refuses."""
        asked: dict[str, Any] = {"messages": [{"role": "user", "content": prompt}]} if chats else {"prompt": prompt}
        path = "chat/completions" if chats else "completions"
        while True:
            # The refused parameters are left out, or sent under their newer names.
            sent = {name: value for name, value in parameters.items() if name not in self._refused}
            sent |= {new: parameters[old] for old, new in NEW_PARAMETER_NAMES.items() if old in self._refused}
            status, body = self._post(path, asked | sent, until)
            complaint = body.decode("utf-8", "replace") if status in {400, 422} else ""
            left = (name for name in OPTIONAL_PARAMETERS if name not in self._refused)
            refused = next((name for name in left if re.search(rf"\b{name}\b", complaint)), None)
            if refused is None:
                return status, body
            self._refused |= {refused}

    def _post(self, path: str, data: dict[str, Any], until: float) -> tuple[int, bytes]:
        """One request.

        Raises:
            TimeoutError: the time is over.
            ValueError: the body is too long.
            httpx.HTTPError: it cannot be made.
        """
        key = os.environ.get(KEY_VARIABLE, "").strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with (
            httpx.Client(headers=headers, timeout=max(until - time.monotonic(), 0.001)) as client,
            client.stream("POST", f"{self._url}/{path}", json={"model": self.name, **data}) as response,
        ):
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                if time.monotonic() > until:
                    raise TimeoutError
                if len(body) > MAX_ANSWER_BYTES:
                    raise ValueError
            return response.status_code, bytes(body)


def parse_endpoint(source: str) -> Endpoint:
    """The endpoint that "http(s)://host/v1#MODEL" names; BadInput where host or model are missing."""
    url, _, model = source.partition("#")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host or not model.strip():
        raise BadInput(
            "the language model's address needs a host and, after '#', the model: http://localhost:8080/v1#MODEL"
        )
    return Endpoint(url, model.strip())


_MEANINGS = {
    **dict.fromkeys((401, 403), f"refuses the key (HTTP {{}}): set {KEY_VARIABLE}"),
    **dict.fromkeys((404, 405), "is not there (HTTP {}): check the endpoint's address and the model's name"),
    429: "was asked too often (HTTP {})",
}


def explain_status(status: int) -> str:
    """What a server means by a status other than 200, after its model's name.

    >>> explain_status(500)
    'answered HTTP 500'
    """
    return _MEANINGS.get(status, "answered HTTP {}").format(status)


def _parse_completion(name: str, body: bytes) -> str:
    """The text in either kind of answer; "" where there is none."""
    try:
        choice = json.loads(body)["choices"][0]
        said = choice["message"]["content"] if "message" in choice else choice["text"]
    except (ValueError, LookupError, TypeError):
        raise LanguageModelFailed(f"{name} answered something else than a completion") from None
    if said is not None and not isinstance(said, str):
        raise LanguageModelFailed(f"{name} answered something else than text")
    return said or ""
