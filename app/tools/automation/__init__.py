"""Automation: schedules and triggers."""
