"""The in-memory implementation."""
