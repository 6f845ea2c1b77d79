"""Execution tests."""
