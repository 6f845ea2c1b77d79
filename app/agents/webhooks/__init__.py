"""Webhooks: what other systems begin here, and as whom it runs."""
