"""Notifications, against scripted providers."""
