"""Processes of sessions: their output, their bounds, their end."""
