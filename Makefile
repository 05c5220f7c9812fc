# Two commands: `make demo` and `make test`; `make docs` builds the site, `make attack` tries to break things for half an hour.
# Each makes its own environment in .venv once and re-uses it.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
DEMO := demo-report
DOCS := build/docs
VERSIONS ?= newest

.PHONY: demo test attack check docs wheel release-check clean

demo: $(INSTALLED)
	$(RUN)/latentbits demo --out $(DEMO) --force

test: $(READY) check
	$(RUN)/python -m tests.warm_kernels
	$(RUN)/python -m pytest -n 2

attack: $(READY)
	$(RUN)/python -m tests.warm_kernels
	$(RUN)/python -m tests.attacks

check: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports

docs: $(VENV)/.docs-ready
	$(RUN)/python -m sphinx -W --keep-going --quiet -b html docs $(DOCS)
	$(RUN)/python docs/_ext/links.py $(DOCS)

wheel: $(READY)
	$(RUN)/python tools/check_wheel.py $(VERSIONS)

release-check: $(READY)
	$(RUN)/python tools/release.py

$(VENV)/.docs-ready: $(READY) requirements/docs.lock
	$(PIP) -r requirements/docs.lock
	@touch $@

$(READY): $(INSTALLED) requirements/dev.lock
	$(PIP) -r requirements/dev.lock
	@touch $@

# What the program needs to run; modules are compiled to bytecode as they are imported, not all of them at once.
$(INSTALLED): requirements/runtime.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "latentbits needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile -r requirements/runtime.lock
	$(PIP) --no-compile --no-deps --no-build-isolation -e .
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO) build docs/api docs/commands docs/guides docs/gallery
