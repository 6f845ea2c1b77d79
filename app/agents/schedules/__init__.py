"""Schedules: timed runs, their agents, and their history."""
