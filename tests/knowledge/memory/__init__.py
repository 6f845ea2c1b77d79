"""What is remembered: its words, its ranks, its store."""
