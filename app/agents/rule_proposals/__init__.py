"""Proposals of rules from the history of this installation, for administrators to decide."""
