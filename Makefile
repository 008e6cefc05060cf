# Everything happens in .venv; only Python 3.11 or newer is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto

.PHONY: demo test lint rule-docs clean

demo: $(VENV)/.installed
	@echo "== kernlint fixtures/"
	@$(BIN)/kernlint check fixtures --no-cache --statistics --exit-zero

test: $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages in docs/rules are generated from the rules; a test fails when they are stale.
rule-docs: $(VENV)/.installed
	$(BIN)/python -m kernlint.report.documentation docs/rules

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kernlint needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .kernlint_cache dist build
