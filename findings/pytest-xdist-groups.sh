#!/bin/sh
# pytest 9.2.0 with pytest-xdist 3.8.0: tests that are marked as one group are spread over all workers.
#
# `--dist loadgroup` promises that tests with the same `xdist_group` run on one worker. xdist tells its scheduler of a
# group by adding "@group" to the private `_nodeid` of a test; in pytest 9.2 a node's name comes from elsewhere, so
# the scheduler never hears of groups. Nothing is said, and all tests pass, but what a group was to make once is made by
# every worker. With pytest 8.4.2 the same xdist keeps the group together. `--dist loadfile` reads the public name, and
# works with both.
#
# Installs pinned packages in a folder of its own, and fails if this is no longer so. Needs python3 and pip.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cat > "$place/test_group.py" <<'PYTHON'
import os

import pytest


@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(8))
def test_worker(number):
    with open(os.environ["WORKERS"], "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\n")
PYTHON
for version in 8.4.2 9.2.0; do
  python3 -m venv "$place/$version"
  "$place/$version/bin/pip" install --quiet "pytest==$version" pytest-xdist==3.8.0
  for how in loadgroup loadfile; do
    WORKERS="$place/$version-$how" "$place/$version/bin/python" -m pytest -q -p no:cacheprovider -n 2 --dist "$how" \
      "$place/test_group.py" >/dev/null
    echo "pytest $version, --dist $how: $(sort -u "$place/$version-$how" | wc -l | tr -d ' ') worker(s)"
  done
done | tee "$place/said"
cat > "$place/expected" <<'TEXT'
pytest 8.4.2, --dist loadgroup: 1 worker(s)
pytest 8.4.2, --dist loadfile: 1 worker(s)
pytest 9.2.0, --dist loadgroup: 2 worker(s)
pytest 9.2.0, --dist loadfile: 1 worker(s)
TEXT
cmp "$place/said" "$place/expected"
echo "as described"
