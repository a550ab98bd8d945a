# `make demo` and `make test` work on a bare machine with Python >= 3.11 and make; both are quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow bench lint wheel clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hooke needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@

demo: $(STAMP)  ## drape a cloth over a bunny, record it, picture it
	@assets=$$($(BIN)/python -c 'import importlib.util as u, pathlib as p; print(p.Path(u.find_spec("warp").origin).parent / "examples" / "assets")') && \
	$(BIN)/hooke run "$$assets/square_cloth.usd:cloth" "$$assets/bunny.usd:obstacle" --scale fit \
	    --output results/demo.npz --output results/demo.usd && \
	$(BIN)/hooke render results/demo.npz --output results/demo.png && \
	$(BIN)/hooke render results/demo.npz --output results/demo.gif --width 480 --height 270 --every 4 && \
	echo "results: results/demo.npz (recording), results/demo.usd (time samples), results/demo.png, results/demo.gif"

test: $(STAMP)  ## lint, types and all quick tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" --numprocesses auto --maxprocesses 4 --dist worksteal

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

bench: $(STAMP)  ## time hooke alone; `python -m benchmarks.compare` does it side by side with a peer
	$(BIN)/python -m benchmarks.run

lint: $(STAMP)
	$(BIN)/ruff check . --fix
	$(BIN)/ruff format .

wheel: $(STAMP)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build results .pytest_cache .mypy_cache .ruff_cache
