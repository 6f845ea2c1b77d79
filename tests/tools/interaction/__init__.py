"""Tools that turn to people."""
