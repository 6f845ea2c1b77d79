"""Benchmarks, each compared with a floor that does the minimum for the same work."""
