# Two commands on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# One thread per process: the tests run in parallel already, and small products gain nothing.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo docs test lint types guarantees faults fuzz packages screenshots paper benchmarks clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

# A real browser for tests/browser. Where it cannot be installed these tests are skipped, and say so.
$(VENV)/.browser: $(BIN)/python
	@sh tests/browser/install.sh && touch $@ || true

demo: $(VENV)/.core  ## fit the built-in population, print the verdict, write it to demo/
	$(BIN)/elfair demo

docs: $(VENV)/.docs  ## the documentation site: open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

test: lint types $(VENV)/.browser  ## everything, with the Monte Carlo lane in its reduced size
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.test
	$(BIN)/mypy

guarantees: $(VENV)/.test  ## the Monte Carlo lane in full size
	ELFAIR_GUARANTEES=full $(BIN)/python -m pytest -n auto --dist worksteal tests/guarantees

fuzz: $(VENV)/.test  ## the fuzz lane, twenty times as long, with other inputs each day
	ELFAIR_FUZZ=200000 ELFAIR_FUZZ_SEED=$$(date +%Y%m%d) $(BIN)/python -m pytest -n auto tests/fuzz

faults: $(VENV)/.test  ## each call that changes a file goes wrong in each way, and 1,000 kills
	ELFAIR_GUARANTEES=full $(BIN)/python -m pytest -n auto --dist worksteal tests/faults

screenshots: $(VENV)/.test $(VENV)/.browser  ## the pictures of pages in docs/screenshots, taken again
	ELFAIR_SCREENSHOTS=take $(BIN)/python -m pytest tests/browser/test_screenshots.py

packages: $(VENV)/.test  ## wheel and source distribution, tried on every supported Python that is installed
	ELFAIR_PACKAGES=full $(BIN)/python -m pytest tests/packaging

paper: $(VENV)/.test  ## the paper's experiments: hours; you can stop it at any time and resume
	$(BIN)/python benchmarks/paper.py --run

benchmarks: paper  ## every figure that the documentation quotes
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
