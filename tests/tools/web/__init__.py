"""The web tools."""
