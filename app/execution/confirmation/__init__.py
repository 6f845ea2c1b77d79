"""Confirmation by a person before a call runs."""
