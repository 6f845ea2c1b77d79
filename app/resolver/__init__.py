"""Catalog, governance and policy projected for one agent and session."""
