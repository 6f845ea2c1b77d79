"""Tools about the gate itself."""
