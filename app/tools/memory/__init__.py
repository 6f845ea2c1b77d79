"""Tools for what agents remember."""
