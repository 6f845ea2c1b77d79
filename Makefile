# Each target is a wrapper: `python3 scripts/bootstrap.py TARGET` does the same without make.
PYTHON ?= python3
.PHONY: run test setup web bench demo check lock

run:
	@$(PYTHON) scripts/bootstrap.py run

test:
	@$(PYTHON) scripts/bootstrap.py test

setup:
	@$(PYTHON) scripts/bootstrap.py setup

web:
	@$(PYTHON) scripts/bootstrap.py web

bench:
	@$(PYTHON) scripts/bootstrap.py bench

demo:
	@$(PYTHON) scripts/bootstrap.py demo

check:
	@$(PYTHON) scripts/bootstrap.py check

lock:
	@$(PYTHON) scripts/bootstrap.py lock
