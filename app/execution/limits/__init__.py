"""Limits on the number, rate and cost of calls."""
