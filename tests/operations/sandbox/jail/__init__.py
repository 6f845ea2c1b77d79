"""The programs on the inside of the sandbox, run for real."""
