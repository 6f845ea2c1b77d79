"""Attempts to get out of the sandbox, judged from outside."""
