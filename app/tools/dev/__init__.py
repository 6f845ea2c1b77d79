"""Tools for developers: checking code, asking language servers, reading git."""
