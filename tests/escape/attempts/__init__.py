"""Attempts, by category."""
