# Everything a person needs: `make demo`, `make test`. Both set up what they need, on Python 3.11+, make and git alone.
PYTHON ?= python3
DATA   ?= ../shared/data
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test test-slow lint bench trials attack results clean
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

demo: $(VENV)/core    ## the main job in two minutes: learn, select, log, verify, certify, catch a forgery; writes demo/report.html
	$(BIN)/slateproof demo

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

trials: $(VENV)/dev   ## ten million attempts to break a certificate (minutes)
	$(BIN)/python -m benchmarks.certificate_trials

attack: $(VENV)/dev   ## a thousand bit flips and a hundred SIGKILLs against an audit log (minutes)
	$(BIN)/python -m benchmarks.attack --json benchmarks/results/attack.json

results: $(VENV)/dev  ## every table and figure of the paper from the corpora in DATA; writes results/ and RESULTS.md
	$(BIN)/slateproof reproduce --data $(DATA) --out results --page RESULTS.md

clean:                ## remove what the targets made
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
