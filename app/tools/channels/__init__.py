"""Tools that speak through chat channels of the desktop."""
