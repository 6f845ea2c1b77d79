"""The `files` toolset."""
