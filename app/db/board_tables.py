"""Tables: boards: todo lists, tasks, calendars, forums. Times and JSON as in `app.db.tables`."""

from __future__ import annotations
