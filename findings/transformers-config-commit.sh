#!/bin/sh
# transformers 5.23: a config that was read no longer tells from which commit of the hub it came.
#
# `PretrainedConfig.get_config_dict(name)` of transformers 4.57 returned a mapping with `_commit_hash`, and code that reads
# a config first and then pins everything else to its commit relied on that. In 5.23 the key is missing: such code gets
# None, passes revision=None on, and every further file is read at whatever `main` is by then, so that the config of
# one commit may meet the weights of another. Nothing warns. The commit can still be had from the path in the cache:
# `extract_commit_hash(cached_file(name, "config.json"), None)` of `transformers.utils.hub`.
#
# The cache of the hub is laid out by hand here, so no network is asked for a model. Installs pinned packages in a
# folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet transformers==5.23.0
HF_HOME="$place/cache" HF_HUB_OFFLINE=1 "$place/venv/bin/python" - <<'PYTHON'
import json
import os
from importlib.metadata import version
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
model = Path(os.environ["HF_HOME"], "hub", "models--somebody--model")
(model / "snapshots" / COMMIT).mkdir(parents=True)
(model / "refs").mkdir()
(model / "refs" / "main").write_text(COMMIT)
(model / "snapshots" / COMMIT / "config.json").write_text(json.dumps({"model_type": "clip"}))

from transformers import PretrainedConfig
from transformers.utils.hub import cached_file, extract_commit_hash

print("transformers", version("transformers"))
config, _ = PretrainedConfig.get_config_dict("somebody/model")
print("config", config, "-> its commit:", config.get("_commit_hash"))
assert config["model_type"] == "clip" and config.get("_commit_hash") is None
found = extract_commit_hash(cached_file("somebody/model", "config.json"), None)
print("by the path in the cache:", found)
assert found == COMMIT
print("as described")
PYTHON
