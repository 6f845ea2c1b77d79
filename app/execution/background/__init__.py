"""Processes of sessions: they may outlive the call that started them, never the service."""
