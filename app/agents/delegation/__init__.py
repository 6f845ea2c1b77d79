"""Delegation: sub-agents whose loops run in worker processes, one path for all their calls."""
