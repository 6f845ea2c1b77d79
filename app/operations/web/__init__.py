"""The web: what may be reached, and requests that reach nothing else."""
