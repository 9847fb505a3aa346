"""What a training wrote into its `log.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path

from viewfinder.training import LogRecord


def read_log(file: Path) -> list[LogRecord]:
    """The records of a log; a truncated last line (the process was killed) is left out."""
    return [LogRecord(**json.loads(line)) for line in file.read_bytes().split(b"\n")[:-1]]
