# Everything that is done with this project. `make` alone tells what there is.
# Nothing has to be installed by hand: each target sets up what it needs (scripts/setup.py), once.

PYTHON ?= python3
ARGS ?=
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH := $(CURDIR)/tests
# No colours and cursor tricks of others between our lines.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CDK_DISABLE_CLI_TELEMETRY := true
# aws-cdk-lib takes seconds to compile: done once, whatever the caller's environment says (.venv is the project's own).
unexport PYTHONDONTWRITEBYTECODE

RUN := .venv/bin/python
CODE := constructs lifecycle_scripts tests benchmarks examples scripts $(wildcard docs/*.py) app.py

.DEFAULT_GOAL := help
.PHONY: help setup tools local local-stop test check wheel lint format bench soak docs bootstrap deploy destroy clean distclean

help: ## What there is
	@echo "make TARGET [ARGS='…']"; echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r target text; do printf '  %-10s %s\n' "$$target" "$$text"; done

setup: ## Install everything into this folder (each other target does this by itself)
	@$(PYTHON) scripts/setup.py all

tools: ## Install all but the private Slurm
	@$(PYTHON) scripts/setup.py tools

local: setup ## The main job on this machine, no AWS account: cloud, deploy, Slurm, jobs, scaling (KEEP=1 leaves it up)
	@$(RUN) -m main_job $(if $(KEEP),--keep) $(if $(SLURM),--slurm $(SLURM)) $(ARGS)

local-stop: ## End what `make local KEEP=1` left running
	@$(RUN) -m main_job --stop

test: setup ## Everything: format, lint, types, then all tests (ARGS='-k name' chooses)
	@$(MAKE) --no-print-directory lint
	@$(RUN) scripts/run_tests.py $(ARGS)

check: tools ## In a minute: format, lint, types, fast tests
	@$(MAKE) --no-print-directory lint
	@$(RUN) -m pytest -m 'not slurm and not deploy' -q $(ARGS)

lint: tools ## Format, lint and types
	@$(RUN) -m ruff format --check $(wildcard $(CODE))
	@$(RUN) -m ruff check $(wildcard $(CODE))
	@$(RUN) -m mypy $(wildcard $(CODE))

format: tools ## Bring the code into shape
	@$(RUN) -m ruff check --fix $(wildcard $(CODE))
	@$(RUN) -m ruff format $(wildcard $(CODE))

wheel: tools ## Build, install into a clean environment, synthesize (ARGS='--floor': oldest dependencies; --python PATH)
	@$(RUN) scripts/try_wheel.py $(ARGS)

bench: setup ## Measure: every benchmarks/bench_*.py
	@set -e; for file in benchmarks/bench_*.py; do [ -e "$$file" ] || continue; echo "== $$file"; $(RUN) "$$file" $(ARGS); done

soak: setup ## Long churn against a real Slurm: every benchmarks/soak_*.py
	@set -e; for file in benchmarks/soak_*.py; do [ -e "$$file" ] || continue; echo "== $$file"; $(RUN) "$$file" $(ARGS); done

docs: tools ## Make the generated pages: every docs/make_*.py
	@set -e; for file in docs/make_*.py; do [ -e "$$file" ] || continue; echo "== $$file"; $(RUN) "$$file" $(ARGS); done

bootstrap: tools ## Prepare your AWS account and region for the CDK, once
	@cdk bootstrap $(ARGS)

deploy: tools ## Deploy app.py on your AWS account
	@$(RUN) scripts/deploy.py deploy $(ARGS)

destroy: tools ## Remove from your AWS account what `make deploy` made
	@$(RUN) scripts/deploy.py destroy $(ARGS)

clean: ## Remove what builds and tests leave behind (not the environment, not the private Slurm)
	@find build -mindepth 1 -maxdepth 1 ! -name slurm-roots ! -name setup -exec rm -rf {} + 2>/dev/null || true
	@rm -rf dist cdk.out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find constructs lifecycle_scripts tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove all that setup made, too
	@rm -rf --one-file-system build .venv node_modules
