"""Tools for chat channels of the desktop."""
