# What a clone needs. `make help` tells what there is; nothing but Python 3.11 or newer is required.
.NOTPARALLEL:
.DEFAULT_GOAL := help

# The first Python on the path that is new enough; `make PYTHON=/path/to/python setup` overrides it.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)

BIN := .venv/bin
# Setuptools warns of every editable install that names could clash; tests/tidy sees to that.
PIP_INSTALL := PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input \
	-c constraints.txt
INPUTS := pyproject.toml constraints.txt
# `make demo` needs the first stamp only, so that a first look does not wait for the development tools.
RUNTIME_STAMP := .venv/.installed-runtime
DEV_STAMP := .venv/.installed-dev
# How the checkers see the folders: under their installed names. The runtime does not need the links.
LINKS := build/typing/pointsman
FOLDERS := runtime actors storage graph examples
ROOT_FILES := __init__.py __main__.py py.typed

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(DEV_STAMP) links ## Make .venv with Pointsman (editable) and the development tools
	@echo "Ready: $(BIN)/pointsman, and make check, make test."

.PHONY: demo
demo: $(RUNTIME_STAMP) ## Install what running needs, then run the demonstration
	@$(BIN)/pointsman demo

.PHONY: test
test: setup ## Run the tests, two files at a time: most of them wait for processes
	$(BIN)/pytest -n 2 --dist loadfile

.PHONY: check
check: setup ## Lint, format, types, layers and the quick tidy tests; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=build/typing $(BIN)/lint-imports
	$(BIN)/pytest -q -m 'not slow' tests/tidy

.PHONY: test-kills
test-kills: setup ## Kill at every seam, everything KILLS=… times (20), any process for SECONDS=… (600)
	POINTSMAN_KILLS=$(or $(KILLS),20) $(BIN)/pytest -v tests/crash/test_kill_everything.py
	POINTSMAN_KILL_SECONDS=$(or $(SECONDS),600) $(BIN)/pytest -v -rP tests/crash/test_random_kills.py
	POINTSMAN_EVERY_PASS=1 $(BIN)/pytest -v tests/crash/test_seams_of_the_host.py

.PHONY: bench-restart
bench-restart: setup ## Tell how fast 100 active runs are back after a kill, with 10,000 waiting
	$(BIN)/python -m tests.harness.restart_bench

.PHONY: soak
soak: setup ## Work RUNS=… runs (500) for MINUTES=… (30) through a server and watch it for growth
	$(BIN)/python -m tests.harness.soak --minutes $(or $(MINUTES),30) --runs $(or $(RUNS),500)

.PHONY: power-cut
power-cut: setup ## Open images of what a power cut may leave of the journal, for SECONDS=… (60)
	POINTSMAN_POWER_CUT_SECONDS=$(or $(SECONDS),60) $(BIN)/pytest -v -s tests/crash/test_power_cut.py

.PHONY: bench-definitions
bench-definitions: setup ## Tell what reading and validating workflow files costs here
	$(BIN)/python -m tests.harness.definition_bench

.PHONY: bench-history
bench-history: setup ## Tell how fast RUNS=… runs (20,000) get into SQL and are asked about
	$(BIN)/python -m tests.harness.history_bench --runs $(or $(RUNS),20000)

.PHONY: fuzz-definitions
fuzz-definitions: setup ## Read SEED=… COUNT=… damaged workflow files, and tell what it took
	$(BIN)/python -m tests.harness.definition_fuzzer $(or $(SEED),1) $(or $(COUNT),5000) \
		tests/unit/storage/definitions/*.yaml

.PHONY: mutants
mutants: setup ## Take rules of values and YAML out one by one; the tests must notice each
	PYTHONPATH=build/typing:. $(BIN)/python -m tests.harness.mutants

.PHONY: simulate
simulate: setup ## Simulate whole systems for SECONDS=… (60), or one SEED=…, and tell what was found
	PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation.run --seconds $(or $(SECONDS),60) \
		$(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST))

.PHONY: simulate-faults
simulate-faults: setup ## Put mistakes into the code one by one; the simulation must notice each
	PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation.run_planted

.PHONY: format
format: setup ## Format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: constraints
constraints: setup ## Write the versions now in .venv into constraints.txt
	$(BIN)/python -m pip freeze --all --exclude-editable --exclude pip > constraints.txt

.PHONY: clean
clean: ## Remove .venv, build output and caches
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache \
		.hypothesis
	find $(FOLDERS) tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: links
links:
	@mkdir -p $(LINKS)
	@for folder in $(FOLDERS); do ln -sfn "../../../$$folder" "$(LINKS)/$$folder"; done
	@for file in $(ROOT_FILES); do ln -sfn "../../../runtime/_root/$$file" "$(LINKS)/$$file"; done

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer on the path; say make PYTHON=/path/to/python3 …"; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is no Python 3.11 or newer; say make PYTHON=/path/to/python3 …"; exit 1; }
	@echo "Making a virtual environment in .venv with $$("$(PYTHON)" --version) …"
	@"$(PYTHON)" -m venv .venv \
		|| { rm -rf .venv; echo "$(PYTHON) cannot make virtual environments; its venv package is missing."; exit 1; }

$(RUNTIME_STAMP): $(INPUTS) | $(BIN)/python
	@echo "Installing Pointsman and what it needs to run (about a minute the first time) …"
	@$(PIP_INSTALL) -e .
	@touch $@

$(DEV_STAMP): $(INPUTS) | $(BIN)/python
	@echo "Installing Pointsman and the development tools (about a minute the first time) …"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $(RUNTIME_STAMP) $@
