"""Checkpoints: undo of file changes of a session, run by run."""
