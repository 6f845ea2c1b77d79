"""Boards: todo lists, tasks, calendars, forums."""
