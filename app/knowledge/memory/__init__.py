"""Memory of agents, users and projects."""
