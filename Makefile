PYTHON ?= python3
BIN := .venv/bin

.PHONY: train test bench docs format clean

# The main job: train an agent and measure it. ARGS are options of train.py, such as ARGS="--config configs/money.yaml".
train: .venv/.installed
	$(BIN)/python train.py --config configs/auction.yaml $(ARGS)

test: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile $(ARGS)

bench: .venv/.installed
	$(BIN)/python tests/benchmarks/bench.py $(ARGS)

# The documentation, into build/docs. Its reference tables are written by docs/make_reference.py.
docs: .venv/.installed
	$(BIN)/python docs/make_reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

format: .venv/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Set-up, again only when what is to be installed changes.
.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed; say make PYTHON=..."'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	touch $@

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
