"""Triggers: requests to other systems that operators allow agents to send."""
