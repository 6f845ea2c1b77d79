"""A model provider on loopback that says what its script tells it to, on the real wire."""
