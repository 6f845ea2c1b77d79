"""Settings: their names, defaults, sources and checks."""
