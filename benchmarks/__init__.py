"""What things cost, each against a floor that does the least that could do the same work."""
