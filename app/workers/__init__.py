"""The edge without a request: separate processes."""
