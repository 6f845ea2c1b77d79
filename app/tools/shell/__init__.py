"""Running shell commands in the workspace."""
