"""Triggers: requests to other systems that operators let agents send."""
