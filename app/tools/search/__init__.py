"""Search for files by name and by content."""
