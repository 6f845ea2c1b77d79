"""The `data` toolset."""
