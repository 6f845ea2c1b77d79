"""Requests to the web: what they reach, and what comes back."""
