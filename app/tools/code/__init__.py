"""Running code."""
