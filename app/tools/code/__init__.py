"""Running of code."""
