"""Asking a person before a call runs."""
