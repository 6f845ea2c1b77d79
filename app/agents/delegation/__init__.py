"""Delegation: sub-agents with loops in worker processes; all their calls take the same path."""
