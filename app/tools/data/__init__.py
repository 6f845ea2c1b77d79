"""Computation on values in the call."""
