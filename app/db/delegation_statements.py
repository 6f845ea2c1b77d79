"""What is written of delegated work together with the events that tell of it."""

from __future__ import annotations

from app.db.statements import Statement

SAVE_TASK = Statement(
    24,
    "UPDATE delegated_tasks SET status = ?, state = ?, error = ?, started_at = ?, finished_at = ?"
    " WHERE id = ?",
)
INTERRUPT_TASK = Statement(
    24,
    "UPDATE delegated_tasks SET status = 'interrupted', error = ?, finished_at = ? WHERE id = ?",
)
END_BATCH = Statement(25, "UPDATE delegation_batches SET status = ?, finished_at = ? WHERE id = ?")

ALL = (SAVE_TASK, INTERRUPT_TASK, END_BATCH)
