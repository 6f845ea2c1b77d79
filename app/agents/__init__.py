"""Sessions, runs and the agent loop."""
