"""Statements for delegated tasks, written together with their events."""

from __future__ import annotations

from app.db.statements import Statement

SAVE_TASK = Statement(
    24,
    "UPDATE delegated_tasks SET status = ?, state = ?, error = ?, started_at = ?, finished_at = ?,"
    " progress = ? WHERE id = ?",
)
INTERRUPT_TASK = Statement(
    24,
    "UPDATE delegated_tasks SET status = 'interrupted', error = ?, finished_at = ? WHERE id = ?",
)
KEEP_PARENT = Statement(25, "UPDATE delegation_batches SET background = ?, parent = ? WHERE id = ?")
# Without an owner: the next process continues it.
LEAVE_BATCH = Statement(26, "UPDATE delegation_batches SET owner = '' WHERE id = ?")
END_BATCH = Statement(
    26, "UPDATE delegation_batches SET status = ?, finished_at = ?, parent = NULL WHERE id = ?"
)
FORGET_PROGRESS = Statement(27, "UPDATE delegated_tasks SET progress = NULL WHERE batch_id = ?")

ALL = (SAVE_TASK, INTERRUPT_TASK, KEEP_PARENT, LEAVE_BATCH, END_BATCH, FORGET_PROGRESS)
