"""What texts mean, as vectors."""
