"""Provenance: files written by sessions, and their content when a command runs them."""
