"""Cost of lists and calls while an installation grows, measured on the running service."""
