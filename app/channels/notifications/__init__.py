"""Notifications about pending requests: channels, subscriptions, the outbox and its sender."""
