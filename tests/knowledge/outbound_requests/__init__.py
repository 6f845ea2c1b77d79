"""Triggers: allow list, headers, what is stored."""
