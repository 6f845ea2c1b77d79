"""The local implementation against real files and processes."""
