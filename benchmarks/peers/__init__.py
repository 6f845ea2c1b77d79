"""Tollgate beside other frameworks, in one run: `make bench-peers`."""
