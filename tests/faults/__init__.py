"""Faults that a service meets while it runs: slow clients, limits of the machine, lost files."""
