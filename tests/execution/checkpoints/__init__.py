"""Undo: what a run changed can be taken back."""
