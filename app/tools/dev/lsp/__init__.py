"""Asking language servers about code."""
