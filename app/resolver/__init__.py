"""Projection of catalog, governance and policy for one agent and session."""
