"""Hooks around a call: functions in the process, and commands."""
