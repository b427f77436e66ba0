# Every target sets up the virtual environment it needs; only python3 (3.11 or newer, with
# venv and pip) and make are expected. An extra is installed again when pyproject.toml has changed.

PYTHON  ?= python3
WORKERS ?= 2
# pip prefers a CPU-only build of this version where one is on offer; the tests need no GPU.
TORCH   ?= torch~=2.13.0

# Where the quick run of the paper puts its results.
QUICK   ?= paper/quick

VENV := .venv
DEMO := .venv-demo
PEER := .venv-bench
DOCS := .venv-docs
LOW  := .venv-lowest
NEW  := .venv-wheel
BIN  := $(VENV)/bin
PIP  := -m pip --disable-pip-version-check install -qq

# Test workers and tile threads are the parallelism; threads below them would only compete.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1
PYTEST      = MPLBACKEND=Agg $(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS)
# With pandas and nothing else beside the core, which then needs all of its dependencies.
FRAME := import pandas as pd, goodstein as gs; x = pd.DataFrame(gs.datasets.skye_lavas()); \
	print(gs.ksd_test(x, gs.families.Dirichlet.fit(x), rng=1))
# Old packages warn of what newer ones below them have deprecated.
OF_OLD     := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning

.DELETE_ON_ERROR:
.PHONY: help demo test test-all lint format docs bench validate paper paper-quick clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO)/.installed  ## test two models on the 23 Skye lavas
	@$(DEMO)/bin/python examples/skye_lavas.py

test: $(VENV)/.test  ## run the test suite (without the slow tests) and the doctests
	$(PYTEST) -m "not slow and not long"

test-all: $(VENV)/.test $(VENV)/.torch  ## run everything, slow tests and PyTorch included
	$(PYTEST)

test-lowest: $(LOW)/.installed  ## run the test suite with the lowest versions that pyproject.toml allows
	$(subst $(BIN)/,$(LOW)/bin/,$(PYTEST)) -m "not slow and not long" $(OF_OLD)

.PHONY: test-lowest dist
dist: $(VENV)/.created  ## build sdist and wheel into dist/, and try the wheel where there is nothing else
	@$(BIN)/python $(PIP) build
	@rm -rf dist
	@$(BIN)/python -m build
	@$(PYTHON) -m venv --clear $(NEW)
	@$(NEW)/bin/python $(PIP) --only-binary :all: dist/*.whl
	$(NEW)/bin/goodstein check dataset:skye_lavas dirichlet --fit --seed 1
	@$(NEW)/bin/python $(PIP) --only-binary :all: pandas
	$(NEW)/bin/python -c "$(FRAME)"

lint: $(VENV)/.lint  ## check style, formatting, types and the arrows between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint  ## format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

docs: $(DOCS)/.installed  ## build the documentation into docs/_build/html; a warning is an error
	$(ONE_THREAD) $(DOCS)/bin/python -m sphinx -E -W --keep-going -n -q docs docs/_build/html

bench: $(PEER)/.installed  ## compare speed and memory with the limit and with peers
	$(PEER)/bin/python benchmarks/run.py

validate: $(VENV)/.test  ## measure the level of every test under true nulls, and its power
	$(BIN)/python validation/run.py

paper: $(VENV)/.test  ## run the tables and figures of the paper (an hour; goes on where it was stopped)
	$(ONE_THREAD) $(BIN)/python paper/run.py $(if $(DATA),--data $(DATA))

paper-quick: $(VENV)/.test  ## the same in small, a few minutes; results go to paper/quick
	$(ONE_THREAD) $(BIN)/python paper/run.py --quick --folder $(QUICK) $(if $(DATA),--data $(DATA))

clean:  ## remove environments, caches and build results
	rm -rf $(VENV) $(DEMO) $(PEER) $(DOCS) docs/_build docs/brought docs/generated build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf $(LOW) $(NEW)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.test $(VENV)/.lint: $(VENV)/.%: pyproject.toml $(VENV)/.created
	@echo "installing goodstein[$*] into $(VENV)"
	@$(BIN)/python $(PIP) -e ".[$*]"
	@touch $@

$(VENV)/.torch: $(VENV)/.test
	@echo "installing $(TORCH) into $(VENV)"
	@$(BIN)/python $(PIP) "$(TORCH)"
	@touch $@

$(DEMO)/.installed: pyproject.toml
	@echo "installing goodstein into $(DEMO)"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python $(PIP) -e .
	@touch $@

# pip always takes the highest versions; uv knows the lowest.
$(LOW)/.installed: pyproject.toml
	@echo "installing the lowest versions of goodstein[test] into $(LOW)"
	@$(PYTHON) -m venv $(LOW)
	@$(LOW)/bin/python $(PIP) uv
	@$(LOW)/bin/uv pip install -q --python $(LOW)/bin/python --resolution lowest-direct -e ".[test]"
	@touch $@

$(PEER)/.installed: pyproject.toml
	@echo "installing goodstein[bench] into $(PEER)"
	@$(PYTHON) -m venv $(PEER)
	@$(PEER)/bin/python $(PIP) -e ".[bench]"
	@touch $@

$(DOCS)/.installed: pyproject.toml
	@echo "installing goodstein[docs] into $(DOCS)"
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python $(PIP) -e ".[docs]"
	@touch $@
