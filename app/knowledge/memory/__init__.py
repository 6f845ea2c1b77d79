"""What agents, users and projects remember."""
