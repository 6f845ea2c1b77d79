"""The acceptance criteria that a design names, each on a running service."""
