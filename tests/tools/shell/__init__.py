"""The `shell` toolset."""
