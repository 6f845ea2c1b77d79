"""Shell commands in the workspace."""
