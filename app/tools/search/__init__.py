"""Finding files by name and by content."""
