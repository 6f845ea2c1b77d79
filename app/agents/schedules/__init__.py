"""Schedules: what runs by the clock, as which agent, and what became of it."""
