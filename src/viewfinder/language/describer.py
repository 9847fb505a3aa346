"""A vision-language model behind an OpenAI-style endpoint: one picture in, caption, things and texts out.

Ollama, llama.cpp's server, vLLM and the like answer `POST /chat/completions` with a picture in the message. The answer
is to be one JSON object; servers that can are told so (`response_format`), and what others write around it is ignored.
An answer that is not what was asked for is refused as a whole (`BadAnswer`): half of one cannot be relied on.
"""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import httpx

from viewfinder.errors import BadInput, LanguageModelFailed
from viewfinder.language.endpoint import KEY_VARIABLE, MAX_ANSWER_BYTES, NEW_PARAMETER_NAMES, explain_status

PROMPT = (
    "Describe this photograph for somebody who looks for it later. Answer with one JSON object and nothing else:\n"
    '{"caption": "one sentence on who or what is there, what happens and where", '
    '"objects": ["every thing, animal or kind of person that can be seen, one or two words each"], '
    '"text": ["every line of writing that can be read in it, exactly as it is written"]}\n'
    "Say only what can be seen. Leave a list empty where there is nothing."
)

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "caption": {"type": "string"},
        "objects": {"type": "array", "items": {"type": "string"}},
        "text": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["caption", "objects", "text"],
    "additionalProperties": False,
}

MAX_TOKENS, MAX_ANSWER_TOKENS = 600, 60
"""Of a description, which is refused if it is longer and so broken off; of the answer to a question."""

MAX_CAPTION, MAX_OBJECT, MAX_LINE = 1_000, 60, 500
"""Characters of a caption, of a thing's name and of a line of text; what is longer is none."""

MAX_OBJECTS, MAX_LINES = 40, 100
"""Things and lines of one picture; more are left out."""

MAX_STARTS = 50
"""Places of an answer where a JSON object may begin that are tried."""

MAX_WAIT_S, USUAL_WAIT_S = 300.0, 5.0
"""The longest time for which a server may make us wait, and how long we wait where it does not say."""

FORMATS: tuple[Mapping[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": {"name": "picture", "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)
"""Ways to ask for JSON, tried in this order until a server accepts one."""

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL)
_REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|i can(?:no|['’])t|i am unable|i['’]m unable|as an ai)\b", re.IGNORECASE
)


class BadAnswer(Exception):
    """An answer about one picture that cannot be used; `str()` is the reason, alike for all pictures."""


class Busy(Exception):
    """The server asks to be left alone for `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"busy for {seconds:g} s")
        self.seconds = seconds


@dataclass(frozen=True)
class Description:
    """What a model wrote about a picture, and the tokens that it counted (0: it did not say)."""

    caption: str
    objects: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    tokens_read: int = 0
    tokens_written: int = 0


class Describer:
    """Describes pictures by the model of an endpoint. It may be called from several threads at once."""

    def __init__(self, url: str, model: str, *, seconds: float = 120.0) -> None:
        """`seconds`: how long an answer may take.

        Raises BadInput: the address has no host, or there is no model's name.
        """
        self.host = _find_host(url)
        if not model.strip():
            raise BadInput("the model's name is missing: --model NAME, as the endpoint lists it under /models")
        self.name = model.strip()
        self._url, self._seconds = url.rstrip("/"), seconds
        self._lock = Lock()
        self._format = 0  # the place in `FORMATS` of the one that the server accepts
        self._renamed: frozenset[str] = frozenset()  # parameters that it refuses under their old names

    @property
    def is_here(self) -> bool:
        """Whether the endpoint is on this machine, so that no picture leaves it."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def describe(self, jpeg: bytes) -> Description:
        """What the model says of a picture.

        Raises:
            BadAnswer: nothing that can be used, or not in time.
            Busy: it asks to be asked again later.
            LanguageModelFailed: it cannot be reached, or refuses all that is asked.
        """
        body = self._ask(_make_content(PROMPT, jpeg), MAX_TOKENS)
        text, is_whole = _read_text(body)
        if not is_whole:
            raise BadAnswer("broke off in the middle of its answer")
        read, written = _read_usage(body)
        return parse_description(text, read, written)

    def answer(self, jpeg: bytes, question: str) -> str:
        """A short answer to a question about a picture; raises as `describe`."""
        asked = (
            f"{question}\nAnswer in a few words, from what can be seen alone; say 'cannot tell' if it cannot be seen."
        )
        text, _ = _read_text(self._ask(_make_content(asked, jpeg), MAX_ANSWER_TOKENS, plain=True))
        said = " ".join(_THOUGHTS.sub("", text).split())[:MAX_LINE]
        if not said:
            raise BadAnswer("said nothing")
        return said

    def _ask(self, content: list[dict[str, Any]], most_tokens: int, *, plain: bool = False) -> Mapping[str, Any]:
        """The server's answer, asked as it lets itself be asked: what it refuses is not tried again."""
        while True:
            with self._lock:
                kind, renamed = (len(FORMATS) - 1 if plain else self._format), self._renamed
            asked: dict[str, Any] = {
                "model": self.name,
                "messages": [{"role": "user", "content": content}],
                NEW_PARAMETER_NAMES["max_tokens"] if "max_tokens" in renamed else "max_tokens": most_tokens,
            }
            if "temperature" not in renamed:
                asked["temperature"] = 0.0
            if (wanted := FORMATS[kind]) is not None:
                asked["response_format"] = wanted
            status, headers, body = self._post(asked)
            if status == 200:
                return _read_object(body)
            if status in {429, 503}:
                raise Busy(_read_wait(headers))
            if status not in {400, 404, 415, 422, 500, 501}:
                raise LanguageModelFailed(f"{self.name} {explain_status(status)}")
            complaint = body.decode("utf-8", "replace")
            refused = next((it for it in ("max_tokens", "temperature") if it not in renamed and it in complaint), None)
            if status in {400, 422} and refused is not None:
                with self._lock:
                    self._renamed |= {refused}
            elif status in {400, 422, 501} and kind < len(FORMATS) - 1:
                with self._lock:
                    self._format = max(self._format, kind + 1)
            elif status == 500:
                raise BadAnswer("the server failed (HTTP 500)")
            else:
                raise LanguageModelFailed(f"{self.name} {explain_status(status)}{_quote(complaint)}")

    def _post(self, asked: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        key = os.environ.get(KEY_VARIABLE, "").strip()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        until = time.monotonic() + self._seconds
        try:
            with (
                # A proxy of the environment would take what is meant for this machine away from it.
                httpx.Client(headers=headers, timeout=self._seconds, trust_env=not self.is_here) as client,
                client.stream("POST", f"{self._url}/chat/completions", json=dict(asked)) as response,
            ):
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if time.monotonic() > until:  # drop by drop
                        raise BadAnswer(f"took longer than {self._seconds:g} s")
                    if len(body) > MAX_ANSWER_BYTES:
                        raise BadAnswer(f"more than {MAX_ANSWER_BYTES / 1e6:g} MB")
                return response.status_code, response.headers, bytes(body)
        except (httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout):
            raise BadAnswer(f"took longer than {self._seconds:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise LanguageModelFailed(f"{self.name} cannot be reached: check the endpoint's address") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:  # not its text: it may quote the key
            raise BadAnswer(f"the connection broke ({type(error).__name__})") from None


def parse_describer(source: str) -> Describer:
    """The describer that "http(s)://host/v1#MODEL" names. Raises BadInput: no host, or no model."""
    url, _, model = source.partition("#")
    return Describer(url, model)


def parse_description(text: str, tokens_read: int = 0, tokens_written: int = 0) -> Description:
    """What an answer says of a picture: one JSON object, with or without words or marks around it.

    Raises BadAnswer: there is none, or it is not as it was asked for.

    >>> parse_description('Sure! {"caption": "A red bus.", "objects": ["bus"], "text": "Route 9"}')
    Description(caption='A red bus.', objects=('bus',), text=('Route 9',), tokens_read=0, tokens_written=0)
    """
    found = next(_find_objects(_THOUGHTS.sub("", text)), None)
    if found is None:
        raise BadAnswer("no JSON object in the answer" if text.strip() else "said nothing")
    caption = found.get("caption")
    if not isinstance(caption, str) or not any(letter.isalpha() for letter in caption):
        raise BadAnswer("no caption in the answer")
    caption = " ".join(caption.split())
    if len(caption) > MAX_CAPTION:
        raise BadAnswer(f"a caption of more than {MAX_CAPTION:,} characters")
    if _REFUSAL.match(caption):
        raise BadAnswer("refused to describe it")
    if caption in PROMPT:
        raise BadAnswer("repeated what it was asked")
    objects = _read_list(found, "objects", MAX_OBJECT)[:MAX_OBJECTS]
    lines = _read_list(found, "text", MAX_LINE)[:MAX_LINES]
    return Description(caption, tuple(dict.fromkeys(map(str.lower, objects))), lines, tokens_read, tokens_written)


def _make_content(text: str, jpeg: bytes) -> list[dict[str, Any]]:
    """A message with a picture."""
    picture = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": picture}}]


def _find_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that have a caption, the outermost and first of them first."""
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(MAX_STARTS):
        if at < 0:
            return
        found, end = None, at + 1
        with suppress(ValueError, RecursionError):
            found, end = decoder.raw_decode(text, at)
        if isinstance(found, dict) and "caption" in found:
            yield found
        else:
            end = at + 1  # it may be inside of this one
        at = text.find("{", end)


def _read_list(found: Mapping[str, Any], name: str, longest: int) -> tuple[str, ...]:
    """The texts under a name: a list of them, one alone, or nothing. Raises BadAnswer: something else."""
    given = found.get(name)
    several = given.splitlines() if isinstance(given, str) else [] if given is None else given
    if not isinstance(several, list) or not all(isinstance(one, str) for one in several):
        raise BadAnswer(f"{name!r} is no list of texts")
    cleaned = (" ".join(one.split()) for one in several)
    return tuple(dict.fromkeys(one for one in cleaned if one and len(one) <= longest))


def _read_object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise BadAnswer("answered something else than JSON") from None
    if not isinstance(found, dict):
        raise BadAnswer("answered something else than a completion")
    return found


def _read_text(body: Mapping[str, Any]) -> tuple[str, bool]:
    """The model's words, and whether they came to their end."""
    try:
        choice = body["choices"][0]
        said = choice["message"]["content"]
        ended = choice.get("finish_reason")
    except (LookupError, TypeError, AttributeError):
        raise BadAnswer("answered something else than a completion") from None
    if said is not None and not isinstance(said, str):
        raise BadAnswer("answered something else than text")
    return said or "", ended != "length"


def _read_usage(body: Mapping[str, Any]) -> tuple[int, int]:
    used = body.get("usage")
    counts = [used.get(name) if isinstance(used, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    read, written = (it if isinstance(it, int) and not isinstance(it, bool) and 0 <= it < 10**9 else 0 for it in counts)
    return read, written


def _read_wait(headers: Mapping[str, str]) -> float:
    """The seconds that `Retry-After` asks for, a number or a date."""
    said = headers.get("retry-after", "").strip()
    seconds = USUAL_WAIT_S
    with suppress(ValueError, TypeError, OverflowError):
        if said.replace(".", "", 1).isdigit():
            seconds = float(said)
        else:
            seconds = (parsedate_to_datetime(said).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.05), MAX_WAIT_S)


def _quote(complaint: str) -> str:
    """What the server said of a request that it refuses, in a few words."""
    said: Any = None
    with suppress(ValueError, RecursionError):
        said = json.loads(complaint)
    error = said.get("error") if isinstance(said, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return f": {' '.join(message.split())[:160]}" if isinstance(message, str) and message.strip() else ""


def _find_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        host = None
    if not host:
        raise BadInput(f"{url!r} is no endpoint: write it like http://localhost:11434/v1")
    return host
