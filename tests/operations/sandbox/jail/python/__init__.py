"""Running Python: levels, checks, guards, endings. No wall here but the process itself."""
