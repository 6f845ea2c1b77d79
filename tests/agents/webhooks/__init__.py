"""Webhooks: signatures, deliveries, runs."""
