"""Built-in tools on in-memory operations."""
