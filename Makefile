# `make demo` and `make test` work on a fresh machine with Python 3.11 or later, make and a C compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OUT ?= demo-out

.PHONY: audit audit-tests audit-measured audit-fuzz audit-mutants fuzz mutation help install chromium demo demo-service test test-slow check bench docs notebooks sbom dist sign clean

help:
	@echo "make demo       install, release the shipped table privately, write a report"
	@echo "make demo-service  install, start the query service with two analysts"
	@echo "make test       install, run every check and test"
	@echo "make test-slow  the long tests too"
	@echo "make check      formatting, lint, types, import contracts, dependencies: pins, licences, known weaknesses"
	@echo "make audit      claimed against measured privacy of every algorithm, leaks, noise, a sample of mutants"
	@echo "make mutation   mutants of privacy/, and which of them no test notices; writes mutation-out/"
	@echo "make fuzz       a long round of fuzzing; writes fuzz-out/"
	@echo "make bench      benchmarks against peers; writes bench-out/"
	@echo "make docs       the documentation; writes site/"
	@echo "make sbom       the bill of materials (CycloneDX) of what users install; writes dist/sbom.json"
	@echo "make dist       wheel and source, the same bytes wherever they are built, and SHA256SUMS; writes dist/"
	@echo "make sign KEY=  sign dist/SHA256SUMS with the maintainer's ssh key"
	@echo "make notebooks  run the notebooks of examples/ and keep what they print"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[pandas,polars,postgres,spark,databases,service,bench,docs,dev]'
	@command -v java >/dev/null || { apt-get update -qq >/dev/null 2>&1; apt-get install -y -qq default-jre-headless >/dev/null 2>&1 && echo 'installed a Java runtime'; } \
	  || echo 'no Java runtime, and none could be installed: Spark tables cannot be read here, and their tests are skipped'
	touch $@

install: $(STAMP)

demo: install
	$(BIN)/python examples/demo.py $(OUT)

demo-service: install
	$(BIN)/python examples/demo_service.py $(OUT)

# The console's tests need a browser; where it is missing and may be installed, it is.
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { apt-get update -qq; apt-get install -y -qq chromium; } >/dev/null 2>&1; } \
		|| echo "no chromium and no way to install it: the console's browser tests will be skipped"

check: install
	$(BIN)/ruff format --check src tests examples docs supply
	$(BIN)/ruff check src tests examples docs supply
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m supply.dependencies
	$(BIN)/python -m supply.vulnerabilities

test: check chromium
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" --doctest-modules

test-slow: check chromium
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --doctest-modules

# The tables of docs/reliability.md: privacy claimed and measured, accountants compared, leaks, taint, noise, counts of
# fuzzed cases, the score of a sample of mutants (all: make fuzz, make mutation). On two cores, the longest first.
audit: install
	$(BIN)/python -m pip install --quiet --constraint constraints.txt mutmut
	$(MAKE) --no-print-directory -j 2 --output-sync=target audit-tests audit-measured audit-fuzz audit-mutants

audit-tests:
	$(BIN)/python -m pytest -q tests/audits tests/unit/audit tests/statistics tests/unit/privacy/test_crosscheck.py

audit-measured:
	$(BIN)/equipoise audit --runs 2000
	$(BIN)/python -m tests.unit.privacy.test_crosscheck

audit-fuzz:
	$(BIN)/python -m tests.fuzz.mutations 1 20000

audit-mutants:
	$(BIN)/python -m tests.mutation mutation-out --share 0.02 --near --allowance 10

# Hours: SHARE=0.1 tries a tenth, chosen at random. What the tests of privacy/ itself do not notice is tried with all.
mutation: install
	$(BIN)/python -m pip install --quiet --constraint constraints.txt mutmut
	$(BIN)/python -m tests.mutation mutation-out --share $(or $(SHARE),1) --near
	$(BIN)/python -m tests.mutation mutation-out --share $(or $(SHARE),1) --again

fuzz: install
	$(BIN)/python -m pip install --quiet --constraint constraints.txt atheris
	$(BIN)/python -m tests.fuzz.mutations 1 200000
	$(BIN)/python -m tests.fuzz.campaign fuzz-out

bench: install
	$(BIN)/python -m equipoise.bench.counting --out bench-out
	$(BIN)/python -m equipoise.bench.scale --out bench-out
	$(BIN)/python -m equipoise.bench.accuracy --out bench-out
	$(BIN)/python -m equipoise.bench.limits
	$(BIN)/python -m equipoise.bench.wide --out bench-out
	$(BIN)/python -m equipoise.bench.public --out bench-out
	$(BIN)/python -m equipoise.bench.oracles --out bench-out
	$(BIN)/python -m equipoise.bench.learning --out bench-out
	$(BIN)/python -m equipoise.bench.dual_query --out bench-out
	$(BIN)/python -m equipoise.bench.fem --out bench-out
	$(BIN)/python -m equipoise.bench.analysts --out bench-out
	$(BIN)/python -m equipoise.bench.service --out bench-out
	$(BIN)/python -m equipoise.bench.growth --out bench-out --quick

sbom: install
	mkdir -p dist
	$(BIN)/python -m supply.parts dist/sbom.json

dist: install
	$(BIN)/python -m supply.dist dist

sign: dist
	@test -n "$(KEY)" || { echo 'name the key: make sign KEY=~/.ssh/id_ed25519'; exit 2; }
	ssh-keygen -Y sign -f "$(KEY)" -n equipoise dist/SHA256SUMS

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

notebooks: install
	$(BIN)/python examples/notebooks/run.py

clean:
	rm -rf $(VENV) $(OUT) bench-out site dist
