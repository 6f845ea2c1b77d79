"""A service that is killed at any moment of a run, and what its successor makes of it."""
