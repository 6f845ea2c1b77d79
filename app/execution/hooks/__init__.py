"""Code around a call: hooks in the process, and commands."""
