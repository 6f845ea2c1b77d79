"""Tools for the gate itself."""
