"""Rules on arguments, by which administrators allow, ask about or deny calls. Pure code."""
