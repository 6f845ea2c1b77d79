"""One tool call from arguments to result."""
