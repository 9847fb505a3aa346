"""Parts of checkpoints for systems that build a network of their own on them: a tokenizer, a whole model."""

from __future__ import annotations

from typing import Any

import torch

from viewfinder.encoders.checkpoint_sources import CheckpointSource, explain_failures, silence_transformers
from viewfinder.encoders.checkpoint_versions import TOKENIZER_FILES
from viewfinder.errors import BadInput


def load_tokenizer(source: CheckpointSource, **tokens: str) -> Any:
    """Loads a tokeniser that is one file and knows these tokens; each, "sep" for example, comes with its display name.

    Raises:
        BadInput: there is none, or not of that kind.
    """
    from transformers import AutoTokenizer

    with explain_failures(source, "the tokeniser"), silence_transformers():
        if source.folder is not None and source.gguf is None and not any(map(source.file, TOKENIZER_FILES)):
            # transformers would make an empty one, which cuts every text alike.
            raise BadInput(
                f"{source.called}: has no tokeniser (none of {', '.join(TOKENIZER_FILES)}): {source.way_out}"
            )
        found: Any = AutoTokenizer.from_pretrained(source.location, **source.options)
    if not found.is_fast or any(getattr(found, f"{name}_token_id") is None for name in tokens):
        wanted = f"no tokenizer.json with {' and '.join(tokens.values())}"
        raise BadInput(f"{source.called}: its tokeniser has {wanted}: {source.way_out}")
    return found


def load_whole(kind: Any, source: CheckpointSource, part: str, saved_from: str, **options: Any) -> Any:
    """Loads a transformers model in single precision, with no weights missing except a pooler's.

    Raises:
        BadInput: no weights, or some are missing; `saved_from`: what has them all.
    """
    with explain_failures(source, part), silence_transformers():
        found, report = kind.from_pretrained(
            source.location, **source.options, **options, dtype=torch.float32, output_loading_info=True
        )
    if missing := sorted(key for key in report["missing_keys"] if "pooler" not in key):
        lacks = f"{len(missing)} weights are missing ({missing[0]}, ...)"
        raise BadInput(f"{source.called}: {lacks}; give a checkpoint that was saved from {saved_from}")
    return found
