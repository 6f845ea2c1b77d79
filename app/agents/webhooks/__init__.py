"""Webhooks: runs started by other systems."""
