"""Skills on disk: search, parsing, validation, switches, and preparation to run."""
