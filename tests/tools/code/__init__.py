"""The `code` toolset."""
