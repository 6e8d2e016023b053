# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# Everything is installed into .venv, from package registries only.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all bench papers docs lint format clean distclean fuzz

# The interpreter that .venv is made with: PYTHON=... or the first of these that runs and fits.
CANDIDATES = $(or $(PYTHON),python3.12 python3.11 python3)
BIN := .venv/bin
# Newer than what decides what is installed while .venv is up to date.
STAMP := .venv/.set-up
SOURCES := setup.py setup.cfg pyproject.toml package.xml $(wildcard scripts/*)
INTERFACES := .venv/.interfaces

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/make \1\t\2/' | expand -t 18

setup: $(STAMP) $(INTERFACES) ## make .venv with everything (PYTHON=... chooses the interpreter)
	@:

$(STAMP): $(SOURCES)
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
	    tried=() chosen=''
	    for candidate in $(CANDIDATES); do
	        if ! command -v "$$candidate" >/dev/null; then
	            tried+=("$$candidate: not found")
	        elif ! version=$$("$$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
	            tried+=("$$candidate: does not run ($$(command -v "$$candidate"))")
	        elif [[ $$version != 3.11 && $$version != 3.12 ]]; then
	            tried+=("$$candidate: is Python $$version")
	        elif ! "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
	            tried+=("$$candidate: Python $$version without the venv module (Debian: apt install python$$version-venv)")
	        else
	            chosen=$$candidate
	            break
	        fi
	    done
	    if [[ -z $$chosen ]]; then
	        echo 'make setup: Python 3.11 or 3.12 is needed; name one with PYTHON=... Tried:' >&2
	        printf '  %s\n' "$${tried[@]}" >&2
	        exit 1
	    fi
	    echo "Making .venv with $$chosen (Python $$version)"
	    "$$chosen" -m venv --clear .venv
	    # colcon must not look for packages in there.
	    touch .venv/COLCON_IGNORE
	fi
	echo 'Installing into .venv (some minutes the first time)'
	$(BIN)/python -m pip install --quiet --quiet --editable '.[ros,interfaces,drives,demo,view,import,pinocchio,casadi,identification,parquet,xlsx,design,cluster,statistics,test,lint,docs]'
	# An editable install leaves out the data files. These links stand in for them, so that ROS
	# finds the package in .venv by its usual ways, and the files as they are in the checkout.
	mkdir -p .venv/share/ament_index/resource_index/packages .venv/lib/masticator_dynamics
	ln -sfn ../.. .venv/share/masticator_dynamics
	ln -sfn -t .venv/share/ament_index/resource_index/packages ../../../../../resource/masticator_dynamics
	ln -sfn -t .venv/lib/masticator_dynamics $(addprefix ../../../,$(wildcard scripts/*))
	touch $@

# Compiled, so this is where a machine may lack something: told, tried again by the next make, and
# no reason to fail, since little needs these interfaces. The wheels they are built with stay ABI
# compatible within a ROS distribution: a newer $(STAMP) alone is no reason to build again.
$(INTERFACES): $(wildcard masticator_interfaces/* masticator_interfaces/*/* test/stand_ins/*/* test/stand_ins/*/*/*) | $(STAMP)
	@echo 'Building masticator_interfaces and what tests need (half a minute)'
	if $(BIN)/python masticator_interfaces/install_into_venv.py; then touch $@; fi

demo: setup ## the main job, end to end, with no robot
	@$(BIN)/masticator demo

# Tests that mostly wait, as many at a time as the computer is fast (test/conftest.py); beside them,
# on what they leave of the processors, tests that only compute, whose output follows; then those by
# the clock, one after another. 5: no test of that kind was chosen. Bytecode is kept: hundreds of
# processes would each compile the modules again, and six workers all tests.
test: CASES := and not sweep
test: setup ## what each change must pass; PYTEST='-k closure' adds flags
test-all: setup ## the same, and sweeps over more cases
test test-all:
	@unset PYTHONDONTWRITEBYTECODE
	phase() {
	    $${priority:-} $(BIN)/python -m pytest --timeout=600 --durations=10 -m "$$1 $(CASES)" "$${@:2}" $(PYTEST)
	}
	PARALLEL='--numprocesses auto --dist loadfile --no-loadscope-reorder'
	AGAIN='--reruns 2 --rerun-show-tracebacks'
	computed=$$(mktemp)
	trap 'rm "$$computed"' EXIT
	priority='nice -n 19' phase computing $$PARALLEL </dev/null &>"$$computed" &
	codes=()
	phase waiting $$PARALLEL $$AGAIN || codes+=($$?)
	wait $$! || codes+=($$?)
	cat "$$computed"
	phase clock $$AGAIN || codes+=($$?)
	for code in "$${codes[@]}"; do
	    [[ $$code -eq 5 ]] || exit $$code
	done
	[[ $${#codes[@]} -lt 3 ]] || exit 5

docs: setup ## the documentation as a site, in docs/_build
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build
	echo 'docs/_build/index.html'

MINUTES ?= 15
fuzz: setup ## random messages, requests, bytes, frames and files: MINUTES=15, SEED=... to repeat
	@cd test
	export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS_DOMAIN_ID=$$((1 + RANDOM % 101))
	PYTHONPATH=.. ../$(BIN)/python -m fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: setup ## timings, side by side
	@$(BIN)/python -m benchmark.run

papers: setup ## printed figures of the papers next to ours; SECTIONS='goals s1' for a part
	@$(BIN)/python -m papers $(SECTIONS)

lint: setup ## ruff (rules and layout) and mypy
	@status=0
	$(BIN)/ruff check . || status=1
	$(BIN)/ruff format --check . || status=1
	$(BIN)/mypy || status=1
	exit $$status

format: setup ## lay out all Python files as `make lint` wants them
	@$(BIN)/ruff format .

clean: ## remove what builds and tests left, but not .venv
	@rm -rf build dist install log docs/_build docs/gallery docs/sg_execution_times.rst *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove .venv, too
	@rm -rf .venv
