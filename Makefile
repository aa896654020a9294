# Every target does its own set-up. `make` alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# PYTHON=python3.12 chooses the interpreter that the environment is made with.
PYTHON ?=
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): pyproject.toml .ci/constraints.txt .ci/venv
	@.ci/venv $(VENV) $(PYTHON)
	@touch $@
	@echo "Ready: $(VENV)/bin/gangplan"

.PHONY: run
run: $(READY) ## start the service, plan a production-shaped cluster over gRPC, show the plan
	@$(PY) -m gangplan.cli.demo

.PHONY: test
test: $(READY) ## run the tests, without the long ones
	$(PY) -m pytest -n 2 --dist worksteal -m "not deep" $(PYTEST_ARGS)

.PHONY: test-deep
test-deep: $(READY) ## run the long tests: property suites with many examples, large instances
	HYPOTHESIS_PROFILE=deep $(PY) -m pytest -n 2 --dist worksteal -m deep --timeout 3600 $(PYTEST_ARGS)

.PHONY: test-faults
test-faults: $(READY) ## break the service at random instants: workers, clients, disks, clocks, databases, kill -9
	GANGPLAN_FAULTS=200 $(PY) -m pytest -n 2 --dist worksteal -rP tests/faults $(PYTEST_ARGS)

.PHONY: check
check: ## run all that CI runs: lint, types, architecture, contract, gate, tests
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory arch
	@$(MAKE) --no-print-directory proto-check
	@$(MAKE) --no-print-directory gate
	@$(MAKE) --no-print-directory test

.PHONY: lint
lint: $(READY) ## check style and format
	ruff check
	ruff format --check

.PHONY: types
types: $(READY) ## check the types
	mypy

.PHONY: arch
arch: $(READY) ## check which module may import which
	lint-imports --no-logo

.PHONY: format
format: $(READY) ## format the code and the contract, mend what can be mended
	ruff check --fix-only --quiet
	ruff format
	buf format -w proto

.PHONY: proto
proto: $(READY) ## generate src/gangplan/v1 from proto/
	.ci/proto src
	@rm -rf .mypy_cache

.PHONY: proto-check
proto-check: $(READY) ## check the contract: style, generated code, no breaking change (BASE=commit)
	.ci/proto-check

.PHONY: bench
bench: $(READY) ## run the targets' benchmarks in full (BENCH_ARGS="--only L -o build/rows.jsonl")
	$(PY) -m gangplan.cli.main bench run --suite targets $(BENCH_ARGS)

.PHONY: bench-smoke
bench-smoke: $(READY) ## run the small benchmarks, in a minute or two
	$(PY) -m gangplan.cli.main bench run --suite smoke $(BENCH_ARGS)

.PHONY: gate
gate: $(READY) ## compare the work counters of small rounds with benchmarks/gates.toml (GATE_ARGS=--update)
	$(PY) -m gangplan.cli.main bench gate $(GATE_ARGS)

.PHONY: clean
clean: ## remove caches and build products (the environment stays: rm -r .venv)
	rm -rf dist build htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src solvers tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
