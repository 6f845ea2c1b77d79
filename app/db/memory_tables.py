"""Tables: memory. Times and JSON as in `app.db.tables`."""

from __future__ import annotations
