"""Files that sessions wrote, and what they say when a command runs them."""
