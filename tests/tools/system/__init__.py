"""System tools."""
