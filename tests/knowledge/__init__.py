"""What agents know and keep."""
