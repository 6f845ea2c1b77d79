"""Making images: what is ordered, and who makes it."""
