# Everything a person needs: `make demo`, `make test`. Both set up what they need, on Python 3.11+, make and git alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-slow lint bench clean
help:                 ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(PIP) -e ".[learn,report,dev]"
	@touch $@

$(VENV)/bench: $(VENV)/dev
	$(PIP) -e ".[bench]"
	@touch $@

demo: $(VENV)/core    ## the main job, end to end, on a small synthetic pool file
	$(BIN)/python examples/make_pools.py demo/pools.parquet
	$(BIN)/slateproof policy init demo/policy.toml --force
	$(BIN)/slateproof select demo/pools.parquet --policy demo/policy.toml --out demo/slates.parquet --show 2

test: $(VENV)/dev     ## the whole test suite (minus slow and full-size checks)
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/dev ## the slow and real-corpus checks too
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/dev     ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench  ## speed against named peers, in one run; writes benchmarks/results
	$(BIN)/python -m benchmarks.run

clean:                ## remove what the targets made
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
