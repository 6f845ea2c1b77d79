"""What sessions wrote, and reading it."""
