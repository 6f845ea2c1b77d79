"""Undoing what a session's file tools did, run by run."""
