"""The `search` toolset."""
