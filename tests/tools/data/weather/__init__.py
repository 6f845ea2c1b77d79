"""Weather tools."""
