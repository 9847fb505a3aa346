"""Language models by what they are called, and those in this process: a folder, a GGUF file or the hub, in f32."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.errors import BadInput, LanguageModelFailed, ViewfinderError, explain_missing_package
from viewfinder.language.base import LanguageModel, cut_at_stop, run_within
from viewfinder.language.endpoint import parse_endpoint

MAX_SMALL_PARAMETERS = 1_000_000_000
"""Parameters below which one thread computes: a turn shares its cores with searches, and waits less than it gains."""

MAX_PROMPT_TOKENS = 2048
"""Tokens of a prompt that are read, its last ones."""


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model and what its texts are made of."""

    model: Any
    tokenizer: Any


class LocalModel:
    """The `LanguageModel` that `load` returns, loaded when it is first asked for a text; it continues one at a time.

    `error` is why it cannot be loaded.
    """

    def __init__(self, name: str, load: Callable[[], LoadedModel], *, daemon: bool) -> None:
        self.name = name
        self._load = load
        self._network: LoadedModel | None = None
        self.error: ViewfinderError | None = None
        self._busy = threading.Lock()
        self._loading = threading.Thread(target=self._load_network, name=f"loading {name}", daemon=daemon)
        self._begin = threading.Lock()

    def wait(self) -> None:
        """Returns when it is loaded; BadInput where it cannot be."""
        self._begin_loading()
        self._loading.join()
        if self.error is not None:
            raise self.error

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
        """See `LanguageModel`."""
        if self.error is not None:
            raise LanguageModelFailed(f"{self.name} cannot be loaded")  # why is in the log: it names places
        network = self._network
        if network is None:
            self._begin_loading()
            raise LanguageModelFailed(f"{self.name} is still loading")
        until = time.monotonic() + seconds

        def work() -> str:
            if not self._busy.acquire(timeout=max(until - time.monotonic(), 0.0)):
                raise TimeoutError
            try:
                return _continue_prompt(network, prompt, stop, most_tokens, temperature, seed, until)
            finally:
                self._busy.release()

        try:
            text = run_within(seconds, work, daemon=False)
        except TimeoutError:
            raise LanguageModelFailed(f"{self.name} took longer than {seconds:g} s") from None
        except Exception as error:
            raise LanguageModelFailed(f"{self.name} failed ({type(error).__name__})") from error
        if said := cut_at_stop(text, stop):
            return said
        raise LanguageModelFailed(f"{self.name} said nothing")

    def _begin_loading(self) -> None:
        with self._begin:
            if self._loading.ident is None:
                self._loading.start()

    def _load_network(self) -> None:
        try:
            self._network = self._load()
        except ViewfinderError as error:
            self.error = error
        except ModuleNotFoundError as error:
            self.error = BadInput(explain_missing_package(error))
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.error = BadInput(f"the language model {self.name} cannot be loaded ({lines[0][:200]})")
        # A program that ends meanwhile takes from it what it needs to load.
        if self.error is not None and threading.main_thread().is_alive():
            logging.getLogger(__name__).warning("%s", self.error)


def find_local_model(source: str) -> LocalModel:
    """The model in a .gguf file, in a folder as save_pretrained writes it, or of a name on the hub.

    Raises:
        BadInput: there is no such file or folder, and it cannot be a name.
    """
    path = Path(source).expanduser()
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise BadInput(f"there is no language model {path}: give a .gguf file, a model folder or a hub name")
        location = path.resolve()
        return LocalModel(
            path.stem, lambda: _load_model(str(location.parent), {"gguf_file": location.name}), daemon=False
        )
    from viewfinder.encoders.checkpoint_sources import find_checkpoint  # brings torch along

    found = find_checkpoint(source)
    return LocalModel(found.name, lambda: _load_model(found.location, found.options), daemon=found.folder is None)


def _load_model(location: str, options: dict[str, Any]) -> LoadedModel:
    """Model and tokenizer, every weight of it; BadInput where weights are missing or of another shape."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from viewfinder.encoders.checkpoint_sources import silence_transformers

    with silence_transformers():
        tokenizer = AutoTokenizer.from_pretrained(location, **options)
        load: Callable[..., Any] = AutoModelForCausalLM.from_pretrained
        model, report = load(location, **options, dtype=torch.float32, output_loading_info=True)
    missing = sorted(report["missing_keys"]) + sorted(key for key, *_ in report["mismatched_keys"])
    if missing:
        raise BadInput(
            f"{location} is no whole language model: {len(missing)} weights are missing ({missing[0]}, ...); give a "
            "checkpoint of a causal language model"
        )
    return LoadedModel(model.eval(), tokenizer)


def _continue_prompt(
    network: LoadedModel,
    prompt: str,
    stop: Sequence[str],
    most_tokens: int,
    temperature: float,
    seed: int,
    until: float,
) -> str:
    """The continuation up to `stop`, token by token until `until`; TimeoutError where the time is over."""
    import torch
    from transformers import StoppingCriteriaList

    tokenizer, model = network.tokenizer, network.model
    # The end of a prompt is what is to be continued: what is too long loses its beginning.
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"][:, -MAX_PROMPT_TOKENS:]

    def written(tokens: Any) -> str:
        return str(tokenizer.decode(tokens[0, ids.shape[1] :], skip_special_tokens=True))

    def is_enough(tokens: Any, scores: Any, **options: Any) -> Any:
        text = written(tokens)
        done = time.monotonic() > until or (bool(text.strip()) and cut_at_stop(text, stop) != text.strip())
        return torch.full((1,), done, dtype=torch.bool)

    with _limit_threads(model), torch.inference_mode(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tokens = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=most_tokens,
            max_time=max(until - time.monotonic(), 0.001),
            stopping_criteria=StoppingCriteriaList([is_enough]),
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
            **({"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}),
        )
    if time.monotonic() > until:
        raise TimeoutError
    return written(tokens)


@contextmanager
def _limit_threads(model: Any) -> Iterator[None]:
    """Torch on one thread, if the model is small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1 if model.num_parameters() < MAX_SMALL_PARAMETERS else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


MODEL_VARIABLE = "VIEWFINDER_LANGUAGE_MODEL"
"""The environment variable that names the model where nothing else does."""

_lock = threading.Lock()
_kept: dict[str, LanguageModel] = {}


def load_language_model(source: str = "") -> LanguageModel:
    """The language model at "http(s)://host/v1#MODEL", in a folder, in a .gguf file, or of a hub name.

    It is made once per process. One in this process loads in the background when it is first used: see
    `base.LoadsInBackground`.

    Args:
        source: as above; "" takes what the environment variable VIEWFINDER_LANGUAGE_MODEL says.

    Raises:
        BadInput: nothing is named, or nothing of the kind is there.
    """
    named = source.strip() or os.environ.get(MODEL_VARIABLE, "").strip()
    if not named:
        raise BadInput(
            "no language model is named: give http://host/v1#MODEL, a model folder, a .gguf file or a hub name, "
            f"or set {MODEL_VARIABLE}"
        )
    with _lock:
        model = _kept.get(named)
        if model is None or (isinstance(model, LocalModel) and model.error is not None):
            model = parse_endpoint(named) if named.startswith(("http://", "https://")) else find_local_model(named)
            _kept[named] = model
        return model
