"""Reading, writing and editing files of the workspace."""
