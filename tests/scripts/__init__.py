"""Tests of the programs under `scripts/`."""
