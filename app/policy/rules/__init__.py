"""Rules on arguments: what an administrator allows, asks about and denies. Pure code."""
