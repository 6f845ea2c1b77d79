"""Memory tools of agents."""
