"""What this installation ships: built-in toolsets, plugins, and their schema formats."""
