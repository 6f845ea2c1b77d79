"""Composition root: settings become services, services become the application."""
