# Two commands: `make demo` and `make test`; `make docs` builds the site, `make attack` tries to break things for half an hour.
# Each makes its own environment in .venv once and re-uses it.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := demo-report
DOCS := build/docs
VERSIONS ?= newest

.PHONY: demo test attack check docs wheel release-check clean

demo: $(READY)
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
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -r requirements/docs.lock
	@touch $@

$(READY): requirements/dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "latentbits needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.lock
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

clean:
	rm -rf $(VENV) $(DEMO) build docs/api docs/guides docs/gallery
