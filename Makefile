.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(p))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCKS := core api dev emulator faults node audit
SEEDS ?= 500
FIRST ?= 1
WORKERS ?= auto
ARGS ?=

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(STAMP) ## the checkout's own environment, from pinned hashes

$(STAMP): requirements/dev.txt pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo 'cronce needs Python 3.11 or newer; set PYTHON=/path/to/python3' >&2; exit 1; fi
	@if [ ! -x $(BIN)/python ]; then \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo '$(PYTHON) cannot make environments: install its venv package (Debian: python3-venv)' >&2; exit 1; }; \
	  echo 'making $(VENV)'; $(PYTHON) -m venv $(VENV); fi
	@echo 'installing requirements/dev.txt'
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true
	@touch $@

.PHONY: tools
tools: venv ## Node (only where there is none), the CDK command line, DynamoDB Local
	@$(BIN)/python -m cronce.cli.toolchain

.PHONY: demo
demo: venv ## deploy to a local emulator, run jobs, kill a worker, judge
	@$(BIN)/cronce demo $(ARGS)

.PHONY: up
up: venv ## start the emulator and deploy to it
	@$(BIN)/cronce up $(ARGS)

.PHONY: down
down: venv ## stop the emulator; its state stays
	@$(BIN)/cronce down

.PHONY: test
test: tools ## every test that needs no deployment, a worker for each core (WORKERS=0: in one process)
	@$(BIN)/python -m pytest -m "not (e2e or faults or bench or browser or upgrade)" \
	  -n $(WORKERS) --dist loadfile $(ARGS)

.PHONY: e2e
e2e: tools ## deploy to an emulator of its own and test there
	@$(BIN)/python -m pytest -m "e2e and not slow" $(ARGS)

.PHONY: roles
roles: tools ## on an emulator that enforces roles: take away each grant in turn; some minutes
	@$(BIN)/python -m pytest tests/e2e/test_roles.py $(ARGS)

.PHONY: browser
browser: tools ## the console in headless Chromium; ARGS='-k "not deployment"' without an emulator
	@tests/support/get-chromium.sh
	@$(BIN)/python -m pytest -m browser $(ARGS)

.PHONY: lint
lint: venv ## format, lint and types, without changing anything
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

.PHONY: format
format: venv ## put the format right
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: check
check: lint audit test ## format, lint, types, known vulnerabilities, tests

.PHONY: audit
audit: venv ## known vulnerabilities of all pins; `check` goes on where no advisories can be reached
	@PYTHONPATH=tests $(BIN)/python -m support.audit $(if $(filter audit,$(MAKECMDGOALS)),--strict)

.PHONY: simulate
simulate: venv ## random crashes, losses and delays in virtual time: SEEDS=500 FIRST=1
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) --first $(FIRST) $(ARGS)

.PHONY: faults
faults: tools ## a deployment whose parts are killed, the store behind a proxy that loses answers
	@$(BIN)/python -m pytest -m faults $(ARGS)

.PHONY: upgrade
upgrade: tools ## this checkout over the last tag, 200 jobs in flight; some minutes, so not in CI
	@$(BIN)/python -m pytest -m upgrade $(ARGS)

.PHONY: bench
bench: tools ## request units and throughput
	@$(BIN)/python bench/schedules.py
	@$(BIN)/python -m pytest -m bench $(ARGS)

.PHONY: fuzz-schedules
fuzz-schedules: venv ## schedules against independent implementations
	@PYTHONPATH=tests $(BIN)/python -m support.fuzz_schedules $(ARGS)

.PHONY: lock
lock: venv ## recompile the pins from requirements/*.in and package.json
	@for name in $(LOCKS); do echo "requirements/$$name.txt"; \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header requirements/$$name.in -o requirements/$$name.txt; done
	@npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund

.PHONY: clean
clean: ## what builds and tests left; environments and the emulator's state stay
	@rm -rf build/assets dist cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './node_modules/*' -not -path './build/*' -prune -exec rm -rf {} +
