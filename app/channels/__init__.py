"""Channels to people, and tasks for desktop operators."""
