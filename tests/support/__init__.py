"""Shared support of tests: programs, servers and fakes."""
