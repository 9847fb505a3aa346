"""Models of the hub: what is here, what a download would bring, and the download itself.

They lie in the hub's own cache (HF_HOME, HF_HUB_CACHE), where other programs find them too; what is there is used
without the network and without the package huggingface-hub. A download is that package's in all but two things:

- It is resumed by the next attempt. The package (2.4) resumes only within one call, and deletes what came so far.
- Its content is verified: the SHA-256 that the short list or the hub gives of a large file, the git hash of a small
  one. The package compares sizes only.

Nothing is fetched unless `fetch_model` is called, which the command line does after asking.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, cast

from viewfinder.encoders.hub_layouts import choose_files
from viewfinder.encoders.models import HUB, MB, ListedModel, ModelFile, find_model
from viewfinder.errors import BadInput, DownloadFailed, ViewfinderError
from viewfinder.whole_files import write_file

Report = Callable[[int, int], None]
"""Is told how many of how many bytes are here."""

MAX_FILES = 2_000
MAX_MODEL_BYTES = 100_000_000_000
SPARE_BYTES = 200_000_000
"""What is left free on the disk."""

MAX_TRIES = 5
"""Without a byte in between."""
PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0)
PARTIAL = 206

WEIGHTS = (".onnx", ".safetensors", ".bin")
WAY_TO_GET = "`viewfinder encoders --get {name}` fetches it"

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class HubModel:
    """One state of a repository of the hub, and its files that are needed."""

    name: str
    repository: str
    commit: str
    files: tuple[ModelFile, ...]
    megabytes: int
    layout: str
    licence: str | None = None

    @property
    def address(self) -> str:
        """Where it comes from, as people read it."""
        return f"{_host(os.environ.get('HF_ENDPOINT', '').strip()) or HUB}/{self.repository}"


# -- what is here


def cache_folder() -> Path:
    """The hub's cache, by the rules of huggingface-hub."""
    home = os.environ.get("HF_HOME") or os.path.join(  # noqa: PTH118 (a "~" is expanded below)
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"),  # noqa: PTH118
        "huggingface",
    )
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")  # noqa: PTH118
    return Path(os.path.expandvars(named)).expanduser()


def is_hub_name(name: str) -> bool:
    """Whether a name can be that of a repository ("owner/model", perhaps with "?q8"), and is no folder here."""
    name, _ = split_precision(name)
    return _NAME.fullmatch(name) is not None and not Path(name).is_dir()


def split_precision(name: str) -> tuple[str, str | None]:
    """A model's name, and the precision after its last "?".

    >>> split_precision("owner/model?q8"), split_precision("owner/model")
    (('owner/model', 'q8'), ('owner/model', None))
    """
    before, mark, precision = name.rpartition("?")
    return (before, precision) if mark else (name, None)


def find_snapshot(name: str, commit: str | None = None) -> Path | None:
    """The folder of a model that is here: of a short name, or of a hub name ("owner/model"); None: it is not here.

    A short name's model is here if all its files are, at their sizes. `commit`: another than the list's, or than the
    one that was fetched last.
    """
    if (listed := find_model(name)) is not None:
        folder = _snapshot(listed.repository, commit or listed.commit)
        is_listed = commit in (None, listed.commit)
        files = listed.files if is_listed else tuple(ModelFile(file.path) for file in listed.files)
        return folder if all(_is_whole(folder, file) for file in files) else None
    name, _ = split_precision(name)
    if not is_hub_name(name) or (commit := commit or _read_commit(name)) is None:
        return None
    folder = _snapshot(name, commit)
    return folder if folder.is_dir() else None


def names_folder(name: str) -> bool:
    """Whether a name is that of a folder with a model in it, also where it is called like a model of the list."""
    folder = Path(name).expanduser()
    return folder.is_dir() and ((folder / "config.json").is_file() or bool(find_layout(folder)))


def is_here(name: str) -> bool:
    """Whether a model is here with all that it needs; of other names than those of models: True."""
    if names_folder(name) or (find_model(name) is None and not is_hub_name(name)):
        return True
    folder = find_snapshot(name)
    return folder is not None and bool(find_layout(folder, split_precision(name)[1]))


def find_layout(folder: Path, precision: str | None = None) -> str:
    """The layout of a model that lies in a folder ("torch", "transformers.js" ...); empty: there is none in it."""
    inner = [path.relative_to(folder).as_posix() for path in folder.glob("*/*")]
    return choose_files([*inner, *(path.name for path in folder.glob("*"))], precision)[0]


def locate_model(name: str, commit: str | None = None) -> tuple[str, str | None]:
    """What is to be loaded for an encoder's name: the folder of a model that was fetched, with its commit, or the name.

    So no hub is asked for what is here, and it stays what it was when it was fetched. `commit`: the state of the
    repository that is meant, if it need not be that of the list or the newest.

    Raises:
        BadInput: a short name's model is not here.
    """
    listed = find_model(name)
    if names_folder(name) or (listed is None and not is_hub_name(name)):
        return name, None
    folder = find_snapshot(name, commit)
    if folder is None and listed is not None:
        size = f"{listed.describe_size()} from {HUB}/{listed.repository}"
        raise BadInput(f"the encoder {name} is not on this machine ({size}): {WAY_TO_GET.format(name=name)}")
    _, precision = split_precision(name)
    if folder is None or not find_layout(folder, precision):
        return name, None
    return str(folder) if precision is None else f"{folder}?{precision}", folder.name


def list_cached() -> list[tuple[str, Path]]:
    """The hub names of the models in the cache that viewfinder can use, and their folders."""
    found = []
    for storage in sorted(cache_folder().glob("models--*--*")):
        name = storage.name.removeprefix("models--").replace("--", "/")
        if is_hub_name(name) and (folder := find_snapshot(name)) is not None and find_layout(folder):
            found.append((name, folder))
    return found


def read_record(repository: str, commit: str) -> dict[str, ModelFile]:
    """The files of a model as they were verified when they were fetched; empty: others fetched it."""
    try:
        data = json.loads(_record(repository, commit).read_text(encoding="utf-8"))
        return {path: ModelFile(path, one["bytes"], one["sha256"]) for path, one in data.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _storage(repository: str) -> Path:
    return cache_folder() / f"models--{repository.replace('/', '--')}"


def _snapshot(repository: str, commit: str) -> Path:
    return _storage(repository) / "snapshots" / commit


def _record(repository: str, commit: str) -> Path:
    return _storage(repository) / f"viewfinder.{commit}.json"


def _read_commit(repository: str) -> str | None:
    """The commit of the branch `main` when it was last looked at."""
    try:
        commit = (_storage(repository) / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return commit if _COMMIT.fullmatch(commit) else None


def _is_whole(folder: Path, file: ModelFile) -> bool:
    try:
        size = (folder / file.path).stat().st_size
    except OSError:
        return False
    return size == file.bytes if file.bytes is not None else size > 0


# -- what a download would bring


def plan_model(name: str) -> HubModel:
    """What fetching a model would bring: of a short name from the list alone, of a hub name as the hub tells.

    Raises:
        BadInput: no such model, or none that can be used; the network is switched off, or the extra is missing.
        DownloadFailed: the hub cannot be reached.
    """
    if (listed := find_model(name)) is not None:
        return _plan_listed(listed)
    repository, precision = split_precision(name)
    with _explaining(name):
        from huggingface_hub import HfApi

        info: Any = HfApi().model_info(repository, files_metadata=True)
    sizes = {one.rfilename: ModelFile(one.rfilename, one.size, _sha256_of(one)) for one in info.siblings or ()}
    layout, paths = choose_files(sorted(sizes), precision)
    if not paths:
        wanted = "no weights of a known layout" if precision is None else f"no weights in {precision}"
        raise BadInput(
            f"{HUB}/{repository} holds no model that viewfinder can use ({wanted}): "
            "`viewfinder encoders` lists some that it can"
        )
    files = tuple(sizes[path] for path in paths)
    card = getattr(info, "card_data", None)
    licence = getattr(card, "license", None) if card is not None else None
    total = sum(file.bytes or 0 for file in files)
    return HubModel(
        name,
        repository,
        str(info.sha),
        files,
        round(total / MB),
        layout,
        licence if isinstance(licence, str) else None,
    )


def _plan_listed(listed: ListedModel) -> HubModel:
    licence = f"{listed.licence} ({listed.licence_note})"
    return HubModel(
        listed.name, listed.repository, listed.commit, listed.files, listed.megabytes, listed.layout, licence
    )


def _sha256_of(sibling: Any) -> str | None:
    lfs = sibling.lfs
    found = lfs.get("sha256") if isinstance(lfs, dict) else getattr(lfs, "sha256", None)
    return found if isinstance(found, str) and _SHA256.fullmatch(found) else None


# -- the download


def fetch_model(model: HubModel, report: Report | None = None) -> Path:
    """Fetches what is not here yet, verifies it, and gives the folder; called again it goes on where it broke off.

    Raises:
        BadInput: no such model, not open to this user, the network switched off, or the extra missing.
        DownloadFailed: the hub cannot be reached, or a file is not what was announced (it is deleted then).
    """
    _check_files(model)
    folder = _snapshot(model.repository, model.commit)
    done, total = 0, max(sum(file.bytes or 0 for file in model.files), model.megabytes * MB)
    record = read_record(model.repository, model.commit)

    def tell(of_file: int) -> None:
        if report is not None:
            report(done + of_file, max(total, done + of_file))

    with _explaining(model.name):
        _check_space(total - sum(_size(folder / file.path) for file in model.files))
        for file in sorted(model.files, key=lambda one: one.path.endswith(WEIGHTS)):  # where those are, all is
            if not _is_whole(folder, file):
                record[file.path] = _fetch_file(model, file, tell)
            done += _size(folder / file.path)
            tell(0)
        if find_model(model.name) is None:  # a short name has its commit, a hub name is looked up here
            main = _storage(model.repository) / "refs" / "main"
            main.parent.mkdir(parents=True, exist_ok=True)
            write_file(main, model.commit)
        kept = {path: {"bytes": one.bytes, "sha256": one.sha256} for path, one in sorted(record.items())}
        if kept:
            write_file(_record(model.repository, model.commit), json.dumps(kept, indent=1) + "\n")
    return folder


def _check_files(model: HubModel) -> None:
    """Refuses what no model is: the names and sizes of a hub name come from the network."""
    odd = [
        file.path
        for file in model.files
        if PurePosixPath(file.path).is_absolute() or ".." in PurePosixPath(file.path).parts or "\\" in file.path
    ]
    if odd or len(model.files) > MAX_FILES or not _COMMIT.fullmatch(model.commit):
        raise BadInput(f"{model.address} is no repository of a model as viewfinder reads them: give another name")
    if sum(file.bytes or 0 for file in model.files) > MAX_MODEL_BYTES:
        raise BadInput(f"{model.address} is larger than {MAX_MODEL_BYTES // MB:,} MB: give a smaller model")


def _check_space(needed: int) -> None:
    place = next(one for one in (cache_folder(), *cache_folder().parents) if one.is_dir())
    free = shutil.disk_usage(place).free
    if needed + SPARE_BYTES > free:
        raise BadInput(
            f"{cache_folder()}: {max(needed, 0) // MB:,} MB are to come, and {free // MB:,} MB are free: "
            "free some space, or name another folder in HF_HUB_CACHE"
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _fetch_file(model: HubModel, file: ModelFile, tell: Callable[[int], None]) -> ModelFile:
    """Brings one file into the cache, where it begins as a part beside its place; gives it with its real hash."""
    from filelock import FileLock
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    utils: Any = import_module("huggingface_hub.utils")
    url = hf_hub_url(model.repository, file.path, revision=model.commit)
    told = get_hf_file_metadata(url)
    etag = str(told.etag or "")
    if not (_SHA256.fullmatch(etag) or _COMMIT.fullmatch(etag)) or told.size is None:
        raise DownloadFailed(f"{model.address}: nothing tells what {file.path} should be: try again later")
    file = _agree(model, file, told.size, etag)
    blobs = _storage(model.repository) / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    blob, part = blobs / etag, blobs / f"{etag}.viewfinder.part"
    headers = (
        {} if _host(told.location) != _host(url) else utils.build_hf_headers()
    )  # no token to where a hub sends one
    with FileLock(f"{part}.lock"):  # two programs must not append to one part
        if not blob.exists():
            if _size(part) > told.size:
                part.unlink()
            part.touch()
            _pour(told.location, headers, part, told.size, tell)
            sha256 = _verify(model, file, part, etag)
            part.replace(blob)
        else:
            sha256 = _verify(model, file, blob, etag)
    Path(f"{part}.lock").unlink(missing_ok=True)
    hf_hub_download(model.repository, file.path, revision=model.commit)  # the content is here: this only names it
    return replace(file, bytes=told.size, sha256=sha256)


def _agree(model: HubModel, file: ModelFile, size: int, etag: str) -> ModelFile:
    """What the hub announces, if it is what is expected."""
    wrong = file.bytes not in (None, size) or (_SHA256.fullmatch(etag) and file.sha256 not in (None, etag))
    if wrong or size > MAX_MODEL_BYTES:
        raise DownloadFailed(
            f"{model.address}: {file.path} is another file there than the one that was expected: nothing was fetched; "
            "a later viewfinder may know the new one"
        )
    return replace(file, bytes=size, sha256=file.sha256 or (etag if _SHA256.fullmatch(etag) else None))


def _verify(model: HubModel, file: ModelFile, content: Path, etag: str) -> str:
    """The SHA-256 of a content, which is deleted if it is not the one announced."""
    sha256, git = hashlib.sha256(), hashlib.sha1(f"blob {content.stat().st_size}\0".encode(), usedforsecurity=False)
    with content.open("rb") as stream:
        while block := stream.read(1 << 20):
            sha256.update(block)
            git.update(block)
    announced = sha256.hexdigest() if _SHA256.fullmatch(etag) else git.hexdigest()
    if announced != etag or file.sha256 not in (None, sha256.hexdigest()):
        content.unlink(missing_ok=True)
        raise DownloadFailed(
            f"{model.address}: {file.path} arrived damaged (its hash is another than announced), so it was deleted: "
            "repeat the command to fetch it again"
        )
    return sha256.hexdigest()


def _host(url: str) -> str:
    return url.split("/")[2] if url.count("/") > 1 else ""


def _pour(url: str, headers: dict[str, str], part: Path, size: int, tell: Callable[[int], None]) -> None:
    """Appends to a part what of a content is still to come; a connection that breaks is made again from there.

    Not by huggingface-hub's own function, which holds back ten megabytes before it writes.
    """
    from huggingface_hub import constants, get_session

    session, utils = get_session(), cast(Any, import_module("huggingface_hub.utils"))
    broken = import_module(type(session).__module__.partition(".")[0]).TransportError
    tries, here = 0, _size(part)
    while here < size:
        ranged = {"Range": f"bytes={here}-"} if here else {}
        asked = {**headers, **ranged, "Accept-Encoding": "identity"}
        before = here
        try:
            with session.stream(
                "GET", url, headers=asked, follow_redirects=True, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT
            ) as response:
                utils.hf_raise_for_status(response)
                with part.open("ab") as stream:
                    if response.status_code != PARTIAL:  # a server that cannot resume sends it all
                        stream.truncate(0)
                        here = 0
                    for block in response.iter_bytes():
                        here += len(block)
                        if here > size:
                            raise DownloadFailed(
                                f"{_host(url)} sends more of a file than was announced: try again later"
                            )
                        stream.write(block)
                        tell(here)
        except broken:
            if tries >= MAX_TRIES:
                raise
            time.sleep(PAUSES_S[min(tries, len(PAUSES_S) - 1)])
        tries = 0 if here > before else tries + 1
        if tries > MAX_TRIES:
            raise DownloadFailed(f"{_host(url)} sends nothing: try again later; what came is kept")


# -- what goes wrong


@contextmanager
def _explaining(name: str) -> Iterator[None]:
    """One line for whatever goes wrong between here and the hub."""
    try:
        from huggingface_hub import errors
    except ModuleNotFoundError as error:
        from viewfinder.errors import advise_extra

        if error.name != "huggingface_hub":
            raise
        raise BadInput(
            f"{name} is to be fetched from the hub, for which huggingface_hub is not installed: {advise_extra('hub')}"
        ) from error
    try:
        with _quiet():
            yield
    except ViewfinderError:
        raise
    except errors.OfflineModeIsEnabled as error:
        raise BadInput(
            f"{name} is not on this machine, and HF_HUB_OFFLINE forbids fetching it: unset it, or copy the hub's cache "
            f"({cache_folder()}) from a machine that has it"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise BadInput(
            f"the hub has no model {name}, or not for everyone: check the name; for a private or gated one accept its "
            "terms there, and log in with `hf auth login`"
        ) from error
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise DownloadFailed(f"{name}: what is needed is no longer on the hub ({_say(error)}): take another") from error
    except errors.HFValidationError as error:
        raise BadInput(f"{name} is no name of the hub ({_say(error)}): write it as owner/model") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and not _is_of_the_network(error):
            raise  # the disk
        raise DownloadFailed(
            f"{name} could not be fetched from the hub ({_say(error)}): check the network; what came is kept, and the "
            "same command goes on from there"
        ) from error


def _is_of_the_network(error: OSError) -> bool:
    return isinstance(error, ConnectionError | TimeoutError) or type(error).__module__.partition(".")[0] in {
        "httpx2", "httpx", "httpcore", "huggingface_hub", "requests",
    }  # fmt: skip


def _say(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return " ".join((lines[0] if lines else type(error).__name__).split())[:200]


@contextmanager
def _quiet() -> Iterator[None]:
    """No lines of huggingface-hub on stderr: what matters is raised."""
    import logging

    log = logging.getLogger("huggingface_hub")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
