# Each target is a wrapper: `python3 scripts/bootstrap.py TARGET` does the same without make.
PYTHON ?= python3
BOOTSTRAP = $(PYTHON) scripts/bootstrap.py
.PHONY: run test test-fast test-changed test-all test-web test-report setup web bench bench-growth bench-peers demo check lock metrics docs changelog

run:
	@$(BOOTSTRAP) run

# All tests that this machine can run, or those of PATHS: make test PATHS="tests/api -k upload"
test:
	@$(BOOTSTRAP) test $(PATHS)

# Unit tests and the rules of the house, for each time you save.
test-fast:
	@$(BOOTSTRAP) test-fast

# The tests of what differs from HEAD, or from SINCE: make test-changed SINCE=main~3
test-changed:
	@$(BOOTSTRAP) test-changed $(SINCE)

# Everything, with every part that it needs: a missing one is a failure.
test-all:
	@$(PYTHON) scripts/parts.py install
	@$(BOOTSTRAP) docs
	@CI=true $(MAKE) --no-print-directory test
	@$(BOOTSTRAP) test-web

test-web:
	@$(BOOTSTRAP) test-web

# Seconds per directory and the slowest tests of the last run.
test-report:
	@$(BOOTSTRAP) test-report

setup:
	@$(BOOTSTRAP) setup

web:
	@$(BOOTSTRAP) web

bench:
	@$(BOOTSTRAP) bench

# The cost of lists and calls as an installation grows: ARGS="--sizes 100,1000,3000"
bench-growth:
	@$(BOOTSTRAP) bench-growth $(ARGS)

# Tollgate beside other frameworks, in one run: ARGS="'turn_*' --quick"
bench-peers:
	@$(BOOTSTRAP) bench-peers $(ARGS)

demo:
	@$(BOOTSTRAP) demo

check:
	@$(BOOTSTRAP) check

lock:
	@$(BOOTSTRAP) lock

# The site of the documentation, in site/ or FOLDER; a warning is a failure.
docs:
	@$(BOOTSTRAP) docs $(FOLDER)

# The changelog of the next release as a draft, or written: ARGS="--yes --version 0.3.0"
changelog:
	@$(BOOTSTRAP) changelog $(ARGS)

# The sizes and shapes of the code; of another checkout: make metrics ARGS="--tree ../other"
metrics:
	@$(BOOTSTRAP) metrics $(ARGS)
