"""The terminal: the same composition as the server."""
